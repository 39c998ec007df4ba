/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Address vectors of datagram endpoints: inserting and looking up names. */
#include <stdlib.h>
#include <string.h>
#include <ofi/addr.h>
#include "prov/base/name.h"
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "av.h"
#include "prov/verbs/provider/prov.h"
#include "prov/verbs/queue/ah.h"
#include "prov/base/refuse.h"

static struct vrb_av *of_base(const struct ofi_av *base)
{
	return (struct vrb_av *)base;
}

static int dest_put(struct ofi_av *base, size_t index, void *entry, const struct vrb_dest *dest)
{
	struct vrb_av *av = of_base(base);
	bool indexed = av->has_sources && !vrb_dest_is_late(dest);

	return vrb_sources_put(&av->sources, &base->table, index, entry, dest, indexed)
		       ? 0
		       : -FI_ENOMEM;
}

static void dest_drop(struct ofi_av *base, size_t index, void *entry)
{
	struct vrb_av *av = of_base(base);
	struct vrb_dest *dest = entry;

	__atomic_store_n(&dest->ah, NULL, __ATOMIC_RELEASE);
	if (av->has_sources && !vrb_dest_is_late(dest))
		vrb_sources_remove(&av->sources, &base->table, index);
}

static int name_put(struct ofi_av *base, size_t index, void *entry, const void *addr)
{
	uint32_t format = of_base(base)->addr_format;
	char text[VRB_UD_NAME_STRLEN];
	struct vrb_dest dest;
	const char *why;

	if (!vrb_ud_name_in(format, addr, &dest, &why))
		return dest_put(base, index, entry, &dest);
	FI_WARN_SPARSE(&vrb_prov, FI_LOG_AV, "fi_av_insert: %s: %s\n",
		       vrb_ud_name_str(format, addr, text, sizeof(text)), why);
	return -FI_EINVAL;
}

static int ip_put(struct ofi_av *base, size_t index, void *entry, const void *addr)
{
	const struct vrb_av_found *found = addr;
	struct vrb_av_ip_entry *ip = entry;

	memcpy(&ip->addr, &found->addr, sizeof(ip->addr));
	return dest_put(base, index, &ip->dest, &found->dest);
}

static size_t av_name(struct ofi_av *base, fi_addr_t fi_addr, void *name)
{
	uint32_t format = of_base(base)->addr_format;
	size_t size = 0;
	void *entry;

	ofi_lock(&base->lock);
	entry = ofi_av_entry(base, fi_addr);
	if (entry && vrb_ud_format(format)) {
		vrb_ud_name_out(entry, name);
		size = sizeof(struct vrb_ud_name);
	} else if (entry) {
		size = ofi_av_addr_name(format, &((struct vrb_av_ip_entry *)entry)->addr, name);
	}
	ofi_unlock(&base->lock);
	return size;
}

static void av_text(const struct ofi_av *base, const void *addr, char *text, size_t len)
{
	uint32_t format = of_base(base)->addr_format;

	if (vrb_ud_format(format))
		vrb_ud_name_str(format, addr, text, len);
	else
		ofi_av_addr_text(format, addr, text, len);
}

static void av_free(struct ofi_av *base)
{
	struct vrb_av *av = of_base(base);

	vrb_late_fini(&av->late);
	vrb_sources_fini(&av->sources);
	vrb_ahs_fini(&av->paths);
	ofi_table_fini(&av->groups);
	free(av);
}

static const struct ofi_av_class name_class = {
	.addr_size = sizeof(struct vrb_ud_name),
	.entry_size = sizeof(struct vrb_dest),
	.put = name_put,
	.drop = dest_drop,
	.name = av_name,
	.text = av_text,
	.free = av_free,
};

/* For addresses that the connection manager has resolved. */
static const struct ofi_av_class ip_class = {
	.addr_size = sizeof(struct vrb_av_found),
	.entry_size = sizeof(struct vrb_av_ip_entry),
	.put = ip_put,
	.drop = dest_drop,
	.name = av_name,
	.text = av_text,
	.free = av_free,
};

static int av_insert(struct fid_av *fid, const void *addr, size_t count, fi_addr_t *fi_addr,
		     uint64_t flags, void *context)
{
	struct vrb_av *av = vrb_av(fid);
	int ret = ofi_av_check_insert(&av->base, "fi_av_insert", addr, count, fi_addr, flags,
				      context);

	if (ret)
		return ret;
	if (vrb_ud_format(av->addr_format))
		return ofi_av_insert(&av->base, addr, NULL, count, fi_addr, flags, context);
	return vrb_av_insert_addrs(av, addr, count, fi_addr, flags, context);
}

static const struct fi_ops_av av_ops = {
	.size = OFI_AV_DEFAULTS,
	.insert = av_insert,
	.insertsvc = vrb_av_insertsvc,
	.insertsym = vrb_av_insertsym,
	.remove = ofi_av_remove,
	.lookup = ofi_av_lookup,
	.straddr = ofi_av_straddr,
	.set_user_id = ofi_av_set_user_id,
};

static int av_setup(struct vrb_av *av, struct vrb_domain *domain, struct fi_av_attr *attr,
		    void *context)
{
	uint32_t format = ofi_name_format(domain->base.info);
	const struct ofi_av_class *cls = vrb_ud_format(format) ? &name_class : &ip_class;
	int ret = vrb_ud_port_find("fi_av_open", domain->ctx, domain->base.info, &av->port);

	if (ret)
		return ret;
	av->domain = domain;
	av->addr_format = format;
	vrb_late_init(&av->late);
	ofi_table_init(&av->groups, sizeof(struct vrb_dest));
	return ofi_av_init(&av->base, &vrb_prov, &domain->base.ref, &domain->fabric->ref, cls, attr,
			   context);
}

int vrb_av_open(struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **fid,
		void *context)
{
	struct vrb_av *av;
	int ret;

	if (!fid)
		return ofi_refuse_null(&vrb_prov, FI_LOG_AV, "fi_av_open", "av");
	av = calloc(1, sizeof(*av));
	if (!av)
		return -FI_ENOMEM;
	ret = av_setup(av, vrb_domain(domain), attr, context);
	if (ret) {
		free(av);
		return ret;
	}
	av->base.fid.fid.ops = ofi_ops(&ofi_av_fid_ops);
	av->base.fid.ops = ofi_ops(&av_ops);
	*fid = &av->base.fid;
	return 0;
}

static bool index_all(struct vrb_av *av)
{
	const struct ofi_table *table = &av->base.table;
	struct vrb_dest *dest;
	size_t i;

	for (i = 0; i < table->limit; i++) {
		dest = ofi_table_has(table, i) ? ofi_table_at(table, i) : NULL;
		if (dest && !vrb_dest_is_late(dest) &&
		    !vrb_sources_put(&av->sources, table, i, dest, NULL, true))
			return false;
	}
	return true;
}

int vrb_av_keep_sources(struct vrb_av *av)
{
	ofi_lock(&av->base.lock);
	if (!av->has_sources) {
		av->has_sources = index_all(av);
		if (!av->has_sources)
			vrb_sources_fini(&av->sources);
	}
	ofi_unlock(&av->base.lock);
	return av->has_sources ? 0 : -FI_ENOMEM;
}

fi_addr_t vrb_av_source(const struct vrb_av *av, const union ibv_gid *gid, uint32_t qpn)
{
	size_t index = vrb_sources_find(&av->sources, &av->base.table, gid, qpn);

	return index == OFI_TABLE_NONE ? FI_ADDR_NOTAVAIL : ofi_av_reported(&av->base, index);
}
