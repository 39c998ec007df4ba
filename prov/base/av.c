/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Address vectors: indices, insertion and its reports, user ids. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include <ofi/addr.h>
#include "av.h"
#include "name.h"
#include "ops.h"
#include "refuse.h"

#define INSERT_FLAGS (FI_MORE | FI_SYNC_ERR | FI_AV_USER_ID)
#define RESERVE_MAX  ((size_t)1 << 24) /* limits the memory that a wrong hint can cost */

static int check_sharing(const struct fi_provider *prov, const struct ofi_av_class *cls,
			 const struct fi_av_attr *attr)
{
	if (!attr->name)
		return ofi_refuse(prov, FI_LOG_AV, -FI_EINVAL,
				  "fi_av_open: FI_READ requires an address vector with a name\n");
	if (!cls->shared)
		return ofi_refuse(
			prov, FI_LOG_AV, -FI_ENOSYS,
			"fi_av_open: address vectors of these endpoints are not shared between processes; leave name NULL\n");
	if (attr->flags & FI_AV_USER_ID)
		return ofi_refuse(
			prov, FI_LOG_AV, -FI_EOPNOTSUPP,
			"fi_av_open: FI_AV_USER_ID is not possible with a name, because all processes share the addresses\n");
	return 0;
}

static int av_check_attr(const struct fi_provider *prov, const struct ofi_av_class *cls,
			 const struct fi_av_attr *attr)
{
	if (!attr)
		return ofi_refuse_null(prov, FI_LOG_AV, "fi_av_open", "attr");
	if (attr->flags & ~OFI_AV_FLAGS)
		return ofi_refuse(
			prov, FI_LOG_AV, -FI_EBADFLAGS,
			"fi_av_open: flags 0x%llx: allowed are FI_EVENT, FI_SYMMETRIC, FI_AV_USER_ID and FI_READ\n",
			(unsigned long long)attr->flags);
	if (attr->type != FI_AV_UNSPEC && attr->type != FI_AV_MAP && attr->type != FI_AV_TABLE)
		return ofi_refuse(prov, FI_LOG_AV, -FI_EINVAL,
				  "fi_av_open: type %d: use FI_AV_TABLE or FI_AV_MAP\n",
				  (int)attr->type);
	if (attr->rx_ctx_bits < 0 || attr->rx_ctx_bits > cls->rx_ctx_bits)
		return ofi_refuse(prov, FI_LOG_AV, -FI_EINVAL,
				  "fi_av_open: rx_ctx_bits %d: it must be from 0 to %d\n",
				  attr->rx_ctx_bits, cls->rx_ctx_bits);
	return attr->name || (attr->flags & FI_READ) ? check_sharing(prov, cls, attr) : 0;
}

int ofi_av_init(struct ofi_av *av, const struct fi_provider *prov, struct ofi_ref *parent,
		const struct ofi_ref *fabric, const struct ofi_av_class *cls,
		struct fi_av_attr *attr, void *context)
{
	int ret = av_check_attr(prov, cls, attr);

	if (ret)
		return ret;
	*av = (struct ofi_av){
		.fid.fid = { .fclass = FI_CLASS_AV, .context = context },
		.parent = parent,
		.fabric = fabric,
		.prov = prov,
		.cls = cls,
		.event = attr->flags & FI_EVENT,
	};
	ofi_lock_init(&av->lock);
	ofi_table_init(&av->table, cls->entry_size);
	if (!attr->name &&
	    !ofi_table_reserve(&av->table, attr->count < RESERVE_MAX ? attr->count : RESERVE_MAX))
		return -FI_ENOMEM;
	if (!attr->name && attr->type == FI_AV_UNSPEC)
		attr->type = FI_AV_TABLE;
	ofi_ref_get(parent);
	return 0;
}

int ofi_av_share(struct ofi_av *av, const char *scope, uint32_t addr_format,
		 struct fi_av_attr *attr)
{
	return ofi_av_shared_open(av->prov, av->cls->shared, scope, addr_format, attr, &av->shared);
}

int ofi_av_fini(struct ofi_av *av)
{
	size_t i;

	if (ofi_ref_busy(&av->ref))
		return ofi_refuse(
			av->prov, FI_LOG_AV, -FI_EBUSY,
			"fi_close: address vector %p is still bound; close its endpoints first\n",
			(void *)av);
	for (i = 0; i < av->table.limit; i++)
		if (ofi_table_has(&av->table, i))
			av->cls->drop(av, i, ofi_table_at(&av->table, i));
	ofi_table_fini(&av->table);
	ofi_av_shared_close(av->shared);
	if (av->eq)
		ofi_ref_put(&av->eq->ref);
	ofi_ref_put(av->parent);
	return 0;
}

int ofi_av_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct ofi_av *av = (struct ofi_av *)fid;

	return ofi_eq_bind(av->prov, FI_LOG_AV, "fi_av_bind", &av->eq, bfid, av->fabric, flags);
}

int ofi_av_close(struct fid *fid)
{
	struct ofi_av *av = (struct ofi_av *)fid;
	struct ofi_ref *parent = av->parent;
	int ret;

	if (ofi_ref_inherited(parent))
		return 0;
	/* The domain outlives the AV, whose class may free objects of the domain. */
	ofi_ref_get(parent);
	ret = ofi_av_fini(av);
	if (!ret)
		av->cls->free(av);
	ofi_ref_put(parent);
	return ret;
}

const struct fi_ops ofi_av_fid_ops = {
	.size = OFI_FID_DEFAULTS,
	.close = ofi_av_close,
	.bind = ofi_av_bind,
};

static int check_flags(const struct ofi_av *av, const char *call, uint64_t flags)
{
	if (flags & ~INSERT_FLAGS)
		return ofi_refuse(
			av->prov, FI_LOG_AV, -FI_EBADFLAGS,
			"%s: flags 0x%llx: allowed are FI_MORE, FI_SYNC_ERR and FI_AV_USER_ID\n",
			call, (unsigned long long)flags);
	if (av->event && (flags & FI_SYNC_ERR))
		return ofi_refuse(
			av->prov, FI_LOG_AV, -FI_EBADFLAGS,
			"%s: FI_SYNC_ERR is not possible, the address vector was opened with FI_EVENT and reports errors to its event queue\n",
			call);
	return 0;
}

static int check_shared(const struct ofi_av *av, const char *call, bool user_id)
{
	if (ofi_av_shared_read_only(av->shared))
		return ofi_refuse(av->prov, FI_LOG_AV, -FI_EPERM,
				  "%s: the address vector was opened read-only, with FI_READ\n",
				  call);
	if (!user_id)
		return 0;
	return ofi_refuse(av->prov, FI_LOG_AV, -FI_EOPNOTSUPP,
			  "%s: addresses that are shared between processes have no user ids\n",
			  call);
}

int ofi_av_check_insert(const struct ofi_av *av, const char *call, const void *addr, size_t count,
			fi_addr_t *fi_addr, uint64_t flags, void *context)
{
	int ret = check_flags(av, call, flags);
	const char *missing = NULL;

	if (!ret && av->shared)
		ret = check_shared(av, call, flags & FI_AV_USER_ID);
	if (ret)
		return ret;
	if (av->event && !av->eq)
		return ofi_refuse(
			av->prov, FI_LOG_AV, -FI_ENOEQ,
			"%s: opened with FI_EVENT, but no event queue is bound; use fi_av_bind\n",
			call);
	if (count && !addr)
		missing = "addr";
	else if (count && (flags & FI_AV_USER_ID) && !fi_addr)
		missing = "fi_addr (the user ids, with FI_AV_USER_ID)";
	else if (count && (flags & FI_SYNC_ERR) && !context)
		missing = "context (an array of int, with FI_SYNC_ERR)";
	if (missing)
		return ofi_refuse_null(av->prov, FI_LOG_AV, call, missing);
	if (count > INT_MAX)
		return ofi_refuse(av->prov, FI_LOG_AV, -FI_EINVAL, "%s: count %zu is above %d\n",
				  call, count, INT_MAX);
	return 0;
}

static bool set_tag(struct ofi_av *av, size_t index, uint64_t user_id)
{
	uint64_t *tag = ofi_table_tag(&av->table, index);

	if (!tag)
		return false;
	__atomic_store_n(tag, user_id, __ATOMIC_RELAXED);
	__atomic_store_n(&av->user_ids, true, __ATOMIC_RELEASE);
	return true;
}

/*
 * Skips the index of a failed address for the rest of the call, so that the indices of the others
 * stay in order.
 */
static int insert_one(struct ofi_av *av, const void *addr, int err, const fi_addr_t *user_id,
		      size_t *at)
{
	size_t index = ofi_table_take(&av->table, *at);
	int ret = err;

	if (index == OFI_TABLE_NONE)
		return err ? err : -FI_ENOMEM;
	*at = index;
	if (!ret && user_id && !set_tag(av, index, *user_id))
		ret = -FI_ENOMEM;
	if (!ret)
		ret = av->cls->put(av, index, ofi_table_at(&av->table, index), addr);
	if (ret) {
		ofi_table_give(&av->table, index);
		*at = index + 1;
	}
	return ret;
}

static int share_one(struct ofi_av *av, const void *addr, int err, size_t *at)
{
	uint8_t entry[OFI_AV_SHARED_ENTRY] __attribute__((aligned(8)));
	size_t limit = ofi_av_shared_limit(av->shared);
	int ret = err ? err : av->cls->pack(av, entry, addr);

	if (!ret)
		ret = ofi_av_shared_add(av->shared, entry, at);
	if (ret)
		*at = (*at > limit ? *at : limit) + 1;
	return ret;
}

static void report_error(const struct ofi_av *av, size_t i, int err, void *context)
{
	struct fi_eq_err_entry entry = {
		.fid = (fid_t)&av->fid.fid,
		.context = context,
		.data = i,
		.err = -err,
		.prov_errno = -err,
	};

	ofi_eq_post_err(av->eq, &entry);
}

static int report_done(struct ofi_av *av, int done, void *context)
{
	struct fi_eq_entry entry = {
		.fid = &av->fid.fid,
		.context = context,
		.data = (uint64_t)done,
	};

	return ofi_eq_post(av->eq, FI_AV_COMPLETE, &entry, sizeof(entry));
}

int ofi_av_insert(struct ofi_av *av, const void *addrs, const int *errs, size_t count,
		  fi_addr_t *fi_addr, uint64_t flags, void *context)
{
	const fi_addr_t *ids = flags & FI_AV_USER_ID ? fi_addr : NULL;
	int *status = flags & FI_SYNC_ERR ? context : NULL;
	const uint8_t *addr = addrs;
	int ret, err, broken = 0, done = 0;
	size_t i, at = 0;

	ofi_lock(&av->lock);
	if (av->shared)
		broken = ofi_av_shared_begin(av->shared);
	for (i = 0; i < count; i++, addr += av->cls->addr_size) {
		err = broken ? broken : errs ? errs[i] : 0;
		ret = av->shared ? share_one(av, addr, err, &at)
				 : insert_one(av, addr, err, ids ? &ids[i] : NULL, &at);
		done += !ret;
		if (fi_addr)
			fi_addr[i] = ret ? FI_ADDR_NOTAVAIL : at;
		if (status)
			status[i] = -ret;
		if (ret && av->event)
			report_error(av, i, ret, context);
	}
	if (av->shared && !broken)
		ofi_av_shared_end(av->shared);
	ofi_unlock(&av->lock);
	return av->event ? report_done(av, done, context) : done;
}

void *ofi_av_entry(const struct ofi_av *av, fi_addr_t fi_addr)
{
	return ofi_table_has(&av->table, fi_addr) ? ofi_table_at(&av->table, fi_addr) : NULL;
}

bool ofi_av_has(const struct ofi_av *av, fi_addr_t fi_addr)
{
	uint8_t entry[OFI_AV_SHARED_ENTRY] __attribute__((aligned(8)));

	return av->shared ? ofi_av_shared_get(av->shared, fi_addr, entry)
			  : ofi_table_has(&av->table, fi_addr);
}

fi_addr_t ofi_av_limit(const struct ofi_av *av)
{
	return av->shared ? ofi_av_shared_limit(av->shared)
			  : __atomic_load_n(&av->table.limit, __ATOMIC_ACQUIRE);
}

static int unknown_addr(const struct ofi_av *av, const char *call, fi_addr_t fi_addr)
{
	return ofi_refuse(av->prov, FI_LOG_AV, -FI_EINVAL,
			  "%s: fi_addr 0x%llx is not in the address vector\n", call,
			  (unsigned long long)fi_addr);
}

static int unshare_one(struct ofi_av *av, fi_addr_t fi_addr)
{
	uint8_t entry[OFI_AV_SHARED_ENTRY] __attribute__((aligned(8)));
	bool gone;

	ofi_lock(&av->lock);
	gone = ofi_av_shared_get(av->shared, fi_addr, entry) &&
	       ofi_av_shared_remove(av->shared, fi_addr);
	if (gone)
		av->cls->drop(av, fi_addr, entry);
	ofi_unlock(&av->lock);
	return gone ? 0 : unknown_addr(av, "fi_av_remove", fi_addr);
}

static int remove_one(struct ofi_av *av, fi_addr_t fi_addr)
{
	void *entry;

	if (av->shared)
		return unshare_one(av, fi_addr);
	ofi_lock(&av->lock);
	entry = ofi_av_entry(av, fi_addr);
	if (entry) {
		av->cls->drop(av, fi_addr, entry);
		ofi_table_give(&av->table, fi_addr);
	}
	ofi_unlock(&av->lock);
	return entry ? 0 : unknown_addr(av, "fi_av_remove", fi_addr);
}

/* Removes all given addresses that exist. If some do not, returns the error for the first one. */
int ofi_av_remove(struct fid_av *fid, fi_addr_t *fi_addr, size_t count, uint64_t flags)
{
	struct ofi_av *av = ofi_av(fid);
	size_t i;
	int one, ret = 0;

	if (flags)
		return ofi_refuse_flags(av->prov, FI_LOG_AV, "fi_av_remove", flags);
	if (count && !fi_addr)
		return ofi_refuse_null(av->prov, FI_LOG_AV, "fi_av_remove", "fi_addr");
	if (av->shared && (ret = check_shared(av, "fi_av_remove", false)))
		return ret;
	for (i = 0; i < count; i++) {
		one = remove_one(av, fi_addr[i]);
		if (!ret)
			ret = one;
	}
	return ret;
}

int ofi_av_set_user_id(struct fid_av *fid, fi_addr_t fi_addr, fi_addr_t user_id, uint64_t flags)
{
	struct ofi_av *av = ofi_av(fid);
	bool known, set = false;

	if (flags)
		return ofi_refuse_flags(av->prov, FI_LOG_AV, "fi_av_set_user_id", flags);
	if (av->shared)
		return check_shared(av, "fi_av_set_user_id", true);
	ofi_lock(&av->lock);
	known = ofi_table_has(&av->table, fi_addr);
	if (known)
		set = set_tag(av, fi_addr, user_id);
	ofi_unlock(&av->lock);
	if (!known)
		return unknown_addr(av, "fi_av_set_user_id", fi_addr);
	return set ? 0 : -FI_ENOMEM;
}

int ofi_av_lookup(struct fid_av *fid, fi_addr_t fi_addr, void *addr, size_t *len)
{
	uint8_t name[OFI_AV_NAME] __attribute__((aligned(8)));
	struct ofi_av *av = ofi_av(fid);
	size_t size;

	if (!len || (!addr && *len))
		return ofi_refuse_null(av->prov, FI_LOG_AV, "fi_av_lookup", "addr or addrlen");
	size = av->cls->name(av, fi_addr, name);
	if (!size)
		return unknown_addr(av, "fi_av_lookup", fi_addr);
	ofi_copy_out(name, size, addr, len);
	return 0;
}

const char *ofi_av_straddr(struct fid_av *fid, const void *addr, char *buf, size_t *len)
{
	char text[OFI_AV_TEXT] = "(null)";
	size_t room;

	if (!len)
		return NULL;
	if (addr)
		ofi_av(fid)->cls->text(ofi_av(fid), addr, text, sizeof(text));
	*len = room = buf ? *len : 0;
	if (!ofi_copy_out(text, strlen(text) + 1, buf, len) && room)
		buf[room - 1] = '\0';
	return buf;
}

size_t ofi_av_addr_name(uint32_t format, const void *addr, void *name)
{
	size_t size = ofi_addr_size(addr);

	if (format == FI_ADDR_STR)
		return strlen(ofi_addr_str(addr, name, OFI_AV_NAME)) + 1;
	memcpy(name, addr, size);
	return size;
}

void ofi_av_addr_text(uint32_t format, const void *addr, char *text, size_t len)
{
	if (format == FI_ADDR_STR)
		snprintf(text, len, "%s", (const char *)addr);
	else if (ofi_addr_format(addr) != format)
		snprintf(text, len, "not an address of this address vector's format");
	else
		ofi_addr_str(addr, text, len);
}
