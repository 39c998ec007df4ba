/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The address vector: lookup of addresses by fi_addr and of fi_addrs by address. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ofi/addr.h>
#include "prov/base/name.h"
#include "prov/base/ops.h"
#include "prov/base/refuse.h"
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "av_key.h"
#include "prov/base/av_set.h"
#include "lock.h"
#include "peer.h"

/*
 * The address of receive context 0 is the fi_addr itself. Other contexts set bits above any table
 * index.
 */
enum { RX_CTX_BITS = 32 };

/* An entry of the table. What follows the address is guarded by the index's lock. */
struct av_entry {
	struct ofi_rdm_addr addr; /* first */
	/*
	 * The entries of one address are a chain, in the order in which they were inserted; the
	 * index has the first. If there is more, `next` is the index of the next entry, else the
	 * number of the address's authorization key, or 0.
	 */
	uint32_t next : 31;
	uint32_t more : 1;
};

/* Reads one address. With FI_ADDR_STR the input is an array of pointers to strings. */
static bool addr_in(const struct ofi_rdm_av *av, const void *from, struct ofi_rdm_addr *addr)
{
	struct sockaddr_storage ss;
	const char *text;

	if (av->addr_format == FI_ADDR_EFA)
		return ofi_rdm_addr_from_name(addr, from);
	if (av->addr_format != FI_ADDR_STR)
		return ofi_addr_format(from) == av->addr_format && ofi_rdm_addr_set(addr, from);
	text = *(const char *const *)from;
	return text && !ofi_addr_parse(text, &ss) &&
	       ofi_rdm_addr_set(addr, (const struct sockaddr *)&ss);
}

static const void *key_of(const void *av, uint32_t number)
{
	return ofi_av_at(av, number);
}

static struct ofi_index_keys keys_of(const struct ofi_rdm_av *av)
{
	return (struct ofi_index_keys){
		.owner = &av->base,
		.key_of = key_of,
		.hash = ofi_rdm_addr_hash,
		.compare = ofi_rdm_addr_compare,
	};
}

/* Returns the entry that the index has for an address, or NULL. The caller holds its lock. */
static struct av_entry *first_of(const struct ofi_rdm_av *av, const void *addr, size_t *index)
{
	uint32_t number = ofi_index_find(&av->index, keys_of(av), addr);

	*index = number;
	return number == OFI_INDEX_NONE ? NULL : ofi_av_at(&av->base, number);
}

static struct av_entry *last_of(const struct ofi_rdm_av *av, struct av_entry *entry)
{
	while (entry && entry->more)
		entry = ofi_av_at(&av->base, entry->next);
	return entry;
}

static int av_put(struct ofi_av *base, size_t index, void *to, const void *from)
{
	struct ofi_rdm_av *av = (struct ofi_rdm_av *)base;
	struct av_entry *entry = to, *last;
	struct ofi_rdm_addr addr;
	bool done = true;
	size_t at;

	if (!addr_in(av, from, &addr))
		return -FI_EINVAL;
	if (index > INT32_MAX)
		return -FI_ENOMEM;
	ofi_lock(&av->index_lock);
	*entry = (struct av_entry){ .addr = addr };
	last = last_of(av, first_of(av, &addr, &at));
	if (last) {
		entry->next = last->next;
		last->next = index & INT32_MAX;
		last->more = true;
	} else {
		done = ofi_index_add(&av->index, keys_of(av), (uint32_t)index);
	}
	ofi_unlock(&av->index_lock);
	return done ? 0 : -FI_ENOMEM;
}

static void av_forget(struct ofi_rdm_av *av, size_t index, const struct av_entry *entry)
{
	struct av_entry *first, *before;
	size_t at;

	ofi_lock(&av->index_lock);
	first = before = first_of(av, entry, &at);
	if (first && at == index) {
		ofi_index_remove(&av->index, keys_of(av), (uint32_t)index);
		if (first->more)
			ofi_index_add(&av->index, keys_of(av), first->next);
	} else if (first) {
		while (before->more && before->next != index)
			before = ofi_av_at(&av->base, before->next);
		if (before->more) {
			before->next = entry->next;
			before->more = entry->more;
		}
	}
	ofi_unlock(&av->index_lock);
}

/*
 * Tells the endpoints that the address `gone` is removed, or if that is NULL, that the entry has a
 * new id. Called with the base's lock held, so the list of endpoints does not change.
 */
static void tell_eps(struct ofi_rdm_av *av, fi_addr_t fi_addr, const struct ofi_rdm_addr *gone)
{
	struct ofi_rdm_ep *ep;
	bool outside;

	LIST_FOREACH (ep, &av->eps, av_link) {
		outside = ofi_rdm_step_out(ep->with_domain);
		ofi_rdm_lock(ep);
		if (gone)
			ofi_rdm_peer_forget(ep, fi_addr, gone);
		else
			ofi_rdm_peer_rename(ep, fi_addr);
		ofi_rdm_unlock(ep);
		ofi_rdm_step_in(outside);
	}
}

static void av_drop(struct ofi_av *base, size_t index, void *entry)
{
	struct ofi_rdm_av *av = (struct ofi_rdm_av *)base;

	av_forget(av, index, entry);
	tell_eps(av, index, entry);
}

static int av_pack(struct ofi_av *base, void *entry, const void *from)
{
	struct ofi_rdm_addr addr;

	if (!addr_in((struct ofi_rdm_av *)base, from, &addr))
		return -FI_EINVAL;
	memcpy(entry, &addr, sizeof(addr));
	return 0;
}

static bool av_valid(const void *entry)
{
	const struct ofi_rdm_addr *stored = entry;
	struct ofi_rdm_addr addr;

	return ofi_rdm_addr_is_qp(stored)
		       ? ofi_rdm_addr_set_qp(&addr, stored->qp.gid, stored->qp.qpn, stored->qp.key)
		       : ofi_rdm_addr_set(&addr, entry);
}

static const struct ofi_av_shared_class shared_class = {
	.entry_size = sizeof(struct ofi_rdm_addr),
	.valid = av_valid,
	.compare = ofi_rdm_addr_compare,
};

static size_t av_name(struct ofi_av *base, fi_addr_t fi_addr, void *name)
{
	struct ofi_rdm_av *av = (struct ofi_rdm_av *)base;
	struct ofi_rdm_addr addr;

	if (!ofi_rdm_av_get(av, fi_addr, &addr))
		return 0;
	if (av->addr_format != FI_ADDR_EFA)
		return ofi_av_addr_name(av->addr_format, &addr, name);
	ofi_rdm_addr_name(&addr, name);
	return OFI_RDM_ADDR_NAME;
}

static void av_text(const struct ofi_av *base, const void *addr, char *text, size_t len)
{
	uint32_t format = ((const struct ofi_rdm_av *)base)->addr_format;
	struct ofi_rdm_addr named;

	if (format != FI_ADDR_EFA) {
		ofi_av_addr_text(format, addr, text, len);
		return;
	}
	ofi_rdm_addr_from_name(&named, addr);
	ofi_rdm_addr_str(&named, text, len);
}

static void av_free(struct ofi_av *av)
{
	ofi_rdm_av_keys_free((struct ofi_rdm_av *)av);
	ofi_index_fini(&((struct ofi_rdm_av *)av)->index);
	free(av);
}

#define CLASS(size, bits)                                                                         \
	{                                                                                         \
		.addr_size = (size), .entry_size = sizeof(struct av_entry), .put = av_put,        \
		.drop = av_drop, .rx_ctx_bits = (bits), .shared = &shared_class, .pack = av_pack, \
		.name = av_name, .text = av_text, .free = av_free,                                \
	}

static const struct ofi_av_class in_class = CLASS(sizeof(struct sockaddr_in), RX_CTX_BITS);
static const struct ofi_av_class in6_class = CLASS(sizeof(struct sockaddr_in6), RX_CTX_BITS);
static const struct ofi_av_class str_class = CLASS(sizeof(char *), RX_CTX_BITS);
static const struct ofi_av_class qp_class = CLASS(OFI_RDM_ADDR_NAME, 0);

static const struct ofi_av_class *class_of(uint32_t addr_format)
{
	if (addr_format == FI_ADDR_STR)
		return &str_class;
	if (addr_format == FI_ADDR_EFA)
		return &qp_class;
	return addr_format == FI_SOCKADDR_IN6 ? &in6_class : &in_class;
}

static bool entry_get(struct ofi_rdm_av *av, fi_addr_t fi_addr, struct ofi_rdm_addr *addr)
{
	const void *entry;

	if (av->base.shared)
		return ofi_av_shared_get(av->base.shared, fi_addr, addr);
	entry = ofi_table_has(&av->base.table, fi_addr) ? ofi_av_at(&av->base, fi_addr) : NULL;
	if (entry)
		memcpy(addr, entry, sizeof(*addr));
	return entry;
}

bool ofi_rdm_av_get(struct ofi_rdm_av *av, fi_addr_t fi_addr, struct ofi_rdm_addr *addr)
{
	uint64_t context;
	fi_addr_t entry = ofi_rdm_av_split(av, fi_addr, &context);

	if (context >= OFI_RDM_CMWIRE_CONTEXTS || !entry_get(av, entry, addr))
		return false;
	return !context || ofi_rdm_addr_shift(addr, (int)context);
}

fi_addr_t ofi_rdm_av_find(struct ofi_rdm_av *av, const struct ofi_rdm_addr *addr)
{
	size_t index;
	bool found;

	if (av->base.shared) {
		index = ofi_av_shared_find(av->base.shared, addr);
		return index == OFI_AV_SHARED_NONE ? FI_ADDR_NOTAVAIL : index;
	}
	ofi_lock(&av->index_lock);
	found = first_of(av, addr, &index);
	ofi_unlock(&av->index_lock);
	return found ? index : FI_ADDR_NOTAVAIL;
}

uint32_t ofi_rdm_av_get_key(struct ofi_rdm_av *av, const struct ofi_rdm_addr *addr)
{
	const struct av_entry *last;
	uint32_t number;
	size_t index;

	ofi_lock(&av->index_lock);
	last = last_of(av, first_of(av, addr, &index));
	number = last ? last->next : 0;
	ofi_unlock(&av->index_lock);
	return number;
}

void ofi_rdm_av_set_key(struct ofi_rdm_av *av, const struct ofi_rdm_addr *addr, uint32_t number)
{
	struct av_entry *last;
	size_t index;

	ofi_lock(&av->index_lock);
	last = last_of(av, first_of(av, addr, &index));
	if (last)
		last->next = number & INT32_MAX;
	ofi_unlock(&av->index_lock);
}

bool ofi_rdm_av_knows(struct ofi_rdm_av *av, const struct ofi_rdm_addr *addr, uint8_t *context)
{
	bool known = ofi_rdm_av_find(av, addr) != FI_ADDR_NOTAVAIL;
	struct ofi_rdm_addr base = *addr;

	if (!known && *context && ofi_rdm_addr_shift(&base, -*context))
		return ofi_rdm_av_find(av, &base) != FI_ADDR_NOTAVAIL;
	*context = 0;
	return known;
}

void ofi_rdm_av_bind(struct ofi_rdm_av *av, struct ofi_rdm_ep *ep)
{
	ofi_lock(&av->base.lock);
	LIST_INSERT_HEAD(&av->eps, ep, av_link);
	ofi_unlock(&av->base.lock);
	ofi_ref_get(&av->base.ref);
}

void ofi_rdm_av_leave(struct ofi_rdm_av *av, struct ofi_rdm_ep *ep)
{
	ofi_lock(&av->base.lock);
	LIST_REMOVE(ep, av_link);
	ofi_unlock(&av->base.lock);
}

static int av_insert(struct fid_av *fid, const void *addr, size_t count, fi_addr_t *fi_addr,
		     uint64_t flags, void *context)
{
	struct ofi_rdm_av *av = ofi_rdm_av_of(fid);
	int ret;

	if (flags & FI_AUTH_KEY && av->keys)
		return ofi_rdm_av_insert_with_keys(av, addr, count, fi_addr, flags, context);
	ret = ofi_av_check_insert(&av->base, "fi_av_insert", addr, count, fi_addr, flags, context);
	return ret ? ret : ofi_av_insert(&av->base, addr, NULL, count, fi_addr, flags, context);
}

/* Updates the endpoints that know the address, so that they report the new id. */
static int av_set_user_id(struct fid_av *fid, fi_addr_t fi_addr, fi_addr_t user_id, uint64_t flags)
{
	int ret = ofi_av_set_user_id(fid, fi_addr, user_id, flags);
	struct ofi_rdm_av *av = ofi_rdm_av_of(fid);

	if (ret)
		return ret;
	ofi_lock(&av->base.lock);
	tell_eps(av, fi_addr, NULL);
	ofi_unlock(&av->base.lock);
	return 0;
}

static const struct fi_ops_av av_ops = {
	.size = OFI_AV_DEFAULTS,
	.insert = av_insert,
	.insertsvc = ofi_rdm_av_insertsvc,
	.insertsym = ofi_rdm_av_insertsym,
	.remove = ofi_av_remove,
	.lookup = ofi_av_lookup,
	.straddr = ofi_av_straddr,
	.av_set = ofi_av_set_open,
	.set_user_id = av_set_user_id,
	.insert_auth_key = ofi_rdm_av_insert_auth_key,
	.lookup_auth_key = ofi_rdm_av_lookup_auth_key,
};

int ofi_rdm_av_open(struct fid_domain *domain_fid, struct fi_av_attr *attr, struct fid_av **fid,
		    void *context)
{
	struct ofi_domain *domain = ofi_domain(domain_fid);
	struct ofi_rdm_av *av;
	int ret;

	if (!fid)
		return ofi_refuse_null(domain->prov, FI_LOG_AV, "fi_av_open", "av");
	av = calloc(1, sizeof(*av));
	if (!av)
		return -FI_ENOMEM;
	av->domain = domain;
	av->addr_format = ofi_name_format(domain->info);
	av->context_bits = attr ? attr->rx_ctx_bits : 0;
	LIST_INIT(&av->eps);
	ofi_lock_init(&av->index_lock);
	if (ofi_rdm_av_has_keys(domain))
		av->keys = calloc(OFI_RDM_AV_KEYS, sizeof(*av->keys));
	if (ofi_rdm_av_has_keys(domain) && !av->keys)
		ret = -FI_ENOMEM;
	else
		ret = ofi_av_init(&av->base, domain->prov, &domain->ref, domain->fabric,
				  class_of(av->addr_format), attr, context);
	if (ret) {
		free(av->keys);
		free(av);
		return ret;
	}
	if (attr->name)
		ret = ofi_av_share(&av->base, domain->info->domain_attr->name, av->addr_format,
				   attr);
	if (ret) {
		ofi_av_close(&av->base.fid.fid);
		return ret;
	}
	av->base.fid.fid.ops = ofi_ops(&ofi_av_fid_ops);
	av->base.fid.ops = ofi_ops(&av_ops);
	*fid = &av->base.fid;
	return 0;
}
