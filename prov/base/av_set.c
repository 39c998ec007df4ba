/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* AV sets. */
#include <stdlib.h>
#include <string.h>
#include "av_set.h"
#include "ops.h"
#include "refuse.h"
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>

#define KINDS                                                                        \
	(FI_BARRIER_SET | FI_BROADCAST_SET | FI_ALLTOALL_SET | FI_ALLREDUCE_SET |    \
	 FI_ALLGATHER_SET | FI_REDUCE_SCATTER_SET | FI_REDUCE_SET | FI_SCATTER_SET | \
	 FI_GATHER_SET)

/* A prefix for the addresses of sets, distinct from those of peers and of groups. */
#define ADDR_SET   0xa5e7ULL
#define ADDR_SHIFT 48

static bool has(const struct ofi_av_set *set, fi_addr_t addr)
{
	for (size_t i = 0; i < set->count; i++)
		if (set->member[i] == addr)
			return true;
	return false;
}

static bool av_has(struct ofi_av *av, fi_addr_t addr)
{
	bool known;

	ofi_lock(&av->lock);
	known = ofi_av_has(av, addr);
	ofi_unlock(&av->lock);
	return known;
}

static int set_append(struct ofi_av_set *set, fi_addr_t addr)
{
	size_t room = set->room ? 2 * set->room : 16;
	fi_addr_t *more;

	if (set->count == set->room) {
		more = realloc(set->member, room * sizeof(*more));
		if (!more)
			return -FI_ENOMEM;
		set->member = more;
		set->room = room;
	}
	set->member[set->count++] = addr;
	return 0;
}

static int av_set_compare(const void *a, const void *b)
{
	fi_addr_t x = *(const fi_addr_t *)a, y = *(const fi_addr_t *)b;

	return x < y ? -1 : x > y;
}

fi_addr_t *ofi_av_set_members(struct ofi_av_set *set, size_t *count)
{
	fi_addr_t *copy;

	ofi_lock(&set->lock);
	copy = malloc(set->count ? set->count * sizeof(*copy) : 1);
	if (copy && set->count)
		memcpy(copy, set->member, set->count * sizeof(*copy));
	*count = set->count;
	ofi_unlock(&set->lock);
	return copy;
}

/* The source of a set operation: its members in their order, and sorted. */
struct source {
	fi_addr_t *ordered, *sorted;
	size_t count;
};

static void source_free(struct source *src)
{
	free(src->ordered);
	free(src->sorted);
}

static fi_addr_t *sorted_copy(const fi_addr_t *member, size_t count)
{
	size_t bytes = count * sizeof(*member);
	fi_addr_t *copy = malloc(bytes ? bytes : 1);

	if (copy && bytes) {
		memcpy(copy, member, bytes);
		qsort(copy, count, sizeof(*copy), av_set_compare);
	}
	return copy;
}

static int source_get(const char *call, struct fid_av_set *dst_fid, const struct fid_av_set *fid,
		      struct source *src)
{
	struct ofi_av_set *dst = ofi_av_set(dst_fid);

	if (!fid || ofi_av_set(fid)->av != dst->av)
		return ofi_refuse(dst->av->prov, FI_LOG_AV, -FI_EINVAL, "%s: %s\n", call,
				  fid ? "the sets belong to different address vectors"
				      : "src is NULL");
	src->ordered = ofi_av_set_members(ofi_av_set(fid), &src->count);
	src->sorted = src->ordered ? sorted_copy(src->ordered, src->count) : NULL;
	if (!src->sorted) {
		source_free(src);
		return -FI_ENOMEM;
	}
	return 0;
}

static bool source_has(const struct source *src, fi_addr_t addr)
{
	return bsearch(&addr, src->sorted, src->count, sizeof(addr), av_set_compare);
}

/* Keeps the members that the source has; without `those`, the ones that it does not have. */
static int av_set_keep(const char *call, struct fid_av_set *dst, const struct fid_av_set *src,
		       bool those)
{
	struct ofi_av_set *set = ofi_av_set(dst);
	struct source from;
	size_t kept = 0;
	int ret = source_get(call, dst, src, &from);

	if (ret)
		return ret;
	ofi_lock(&set->lock);
	for (size_t i = 0; i < set->count; i++)
		if (source_has(&from, set->member[i]) == those)
			set->member[kept++] = set->member[i];
	set->count = kept;
	ofi_unlock(&set->lock);
	source_free(&from);
	return 0;
}

/* Adds all missing members, or none when out of memory. */
static int add_missing(struct ofi_av_set *set, const struct source *src)
{
	struct source old = { .ordered = NULL };
	int ret;

	ofi_lock(&set->lock);
	old.count = set->count;
	old.sorted = sorted_copy(set->member, set->count);
	ret = old.sorted ? 0 : -FI_ENOMEM;
	for (size_t i = 0; i < src->count && !ret; i++)
		if (!source_has(&old, src->ordered[i]))
			ret = set_append(set, src->ordered[i]);
	if (ret)
		set->count = old.count;
	ofi_unlock(&set->lock);
	source_free(&old);
	return ret;
}

static int set_union(struct fid_av_set *dst, const struct fid_av_set *src)
{
	struct source from;
	int ret = source_get("fi_av_set_union", dst, src, &from);

	if (ret)
		return ret;
	ret = add_missing(ofi_av_set(dst), &from);
	source_free(&from);
	return ret;
}

static int set_intersect(struct fid_av_set *dst, const struct fid_av_set *src)
{
	return av_set_keep("fi_av_set_intersect", dst, src, true);
}

static int set_diff(struct fid_av_set *dst, const struct fid_av_set *src)
{
	return av_set_keep("fi_av_set_diff", dst, src, false);
}

static int set_insert(struct fid_av_set *fid, fi_addr_t addr)
{
	struct ofi_av_set *set = ofi_av_set(fid);
	int ret = -FI_EINVAL;
	bool known;

	if (!av_has(set->av, addr))
		return ofi_refuse(set->av->prov, FI_LOG_AV, -FI_EINVAL,
				  "fi_av_set_insert: fi_addr 0x%llx is not in the address vector\n",
				  (unsigned long long)addr);
	ofi_lock(&set->lock);
	known = has(set, addr);
	if (!known)
		ret = set_append(set, addr);
	ofi_unlock(&set->lock);
	if (known)
		FI_WARN(set->av->prov, FI_LOG_AV,
			"fi_av_set_insert: fi_addr 0x%llx is in the set already\n",
			(unsigned long long)addr);
	return ret;
}

static int set_remove(struct fid_av_set *fid, fi_addr_t addr)
{
	struct ofi_av_set *set = ofi_av_set(fid);
	size_t i;

	ofi_lock(&set->lock);
	for (i = 0; i < set->count && set->member[i] != addr; i++)
		;
	if (i == set->count) {
		ofi_unlock(&set->lock);
		return ofi_refuse(set->av->prov, FI_LOG_AV, -FI_EINVAL,
				  "fi_av_set_remove: fi_addr 0x%llx is not in the set\n",
				  (unsigned long long)addr);
	}
	set->count--;
	memmove(&set->member[i], &set->member[i + 1], (set->count - i) * sizeof(*set->member));
	ofi_unlock(&set->lock);
	return 0;
}

static fi_addr_t addr_of(const struct ofi_av_set *set)
{
	return (ADDR_SET << ADDR_SHIFT) | ((uintptr_t)set & ((1ULL << ADDR_SHIFT) - 1));
}

bool ofi_av_set_owns(const struct ofi_av_set *set, fi_addr_t coll_addr)
{
	return coll_addr == addr_of(set);
}

static int set_addr(struct fid_av_set *fid, fi_addr_t *coll_addr)
{
	struct ofi_av_set *set = ofi_av_set(fid);

	if (!coll_addr)
		return ofi_refuse_null(set->av->prov, FI_LOG_AV, "fi_av_set_addr", "coll_addr");
	*coll_addr = addr_of(set);
	return 0;
}

static void set_free(struct ofi_av_set *set)
{
	ofi_ref_put(&set->av->ref);
	free(set->member);
	free(set);
}

static int set_close(struct fid *fid)
{
	set_free((struct ofi_av_set *)fid);
	return 0;
}

static const struct fi_ops set_fid_ops = {
	.size = OFI_FID_DEFAULTS,
	.close = set_close,
};

static const struct fi_ops_av_set set_ops = {
	.size = OFI_AV_SET_DEFAULTS,
	.set_union = set_union,
	.intersect = set_intersect,
	.diff = set_diff,
	.insert = set_insert,
	.remove = set_remove,
	.addr = set_addr,
};

static bool has_range(const struct fi_av_set_attr *attr)
{
	return attr->start_addr != FI_ADDR_NOTAVAIL || attr->end_addr != FI_ADDR_NOTAVAIL;
}

static const char *check_range(const struct fi_av_set_attr *attr)
{
	if (!has_range(attr))
		return attr->stride ? "stride applies to a range only; set it to 0" : NULL;
	if (attr->comm_key_size)
		return "comm_key requires start_addr and end_addr to be FI_ADDR_NOTAVAIL";
	if (attr->start_addr == FI_ADDR_NOTAVAIL || attr->end_addr == FI_ADDR_NOTAVAIL ||
	    attr->start_addr > attr->end_addr)
		return "start_addr is above end_addr, or one of them is missing";
	if (!attr->stride)
		return "a range needs a stride; set start_addr and end_addr to FI_ADDR_NOTAVAIL for an empty set";
	if (attr->count && (attr->end_addr - attr->start_addr) / attr->stride >= attr->count)
		return "the range has more addresses than count";
	return NULL;
}

static int av_set_check_attr(const struct fi_provider *prov, const struct fi_av_set_attr *attr)
{
	const char *wrong = NULL;

	if (!attr)
		wrong = "attr is NULL";
	else if (attr->comm_key_size && !attr->comm_key)
		wrong = "comm_key is NULL";
	else if (attr->comm_key_size > OFI_AV_SET_KEY_MAX)
		wrong = "comm_key_size is above 64";
	else if (!(attr->flags & FI_UNIVERSE))
		wrong = check_range(attr);
	if (wrong)
		return ofi_refuse(prov, FI_LOG_AV, -FI_EINVAL, "fi_av_set: %s\n", wrong);
	if (attr->flags & ~(FI_UNIVERSE | KINDS))
		return ofi_refuse(prov, FI_LOG_AV, -FI_EBADFLAGS,
				  "fi_av_set: flags 0x%llx: allowed are FI_UNIVERSE and FI_*_SET\n",
				  (unsigned long long)attr->flags);
	return 0;
}

/* Fills the set with the existing addresses of the range, or of the whole address vector. */
static int set_fill(struct ofi_av_set *set, const struct fi_av_set_attr *attr)
{
	bool all = attr->flags & FI_UNIVERSE;
	fi_addr_t limit = ofi_av_limit(set->av), addr = all ? 0 : attr->start_addr;
	uint64_t stride = all ? 1 : attr->stride;
	int ret = 0;

	if (!all && !has_range(attr))
		return 0;
	if (!all && attr->end_addr < limit)
		limit = attr->end_addr + 1;
	for (; addr < limit && !ret; addr += stride) {
		if (av_has(set->av, addr))
			ret = set_append(set, addr);
		if (stride >= limit - addr)
			break;
	}
	return ret;
}

int ofi_av_set_open(struct fid_av *av, struct fi_av_set_attr *attr, struct fid_av_set **fid,
		    void *context)
{
	struct ofi_av_set *set;
	int ret = fid ? av_set_check_attr(ofi_av(av)->prov, attr) : -FI_EINVAL;

	if (ret)
		return ret;
	set = calloc(1, sizeof(*set));
	if (!set)
		return -FI_ENOMEM;
	set->av = ofi_av(av);
	ofi_ref_get(&set->av->ref);
	set->fid.fid.fclass = FI_CLASS_AV_SET;
	set->fid.fid.context = context;
	set->fid.fid.ops = ofi_ops(&set_fid_ops);
	set->fid.ops = ofi_ops(&set_ops);
	ofi_lock_init(&set->lock);
	set->key_len = attr->comm_key_size;
	if (set->key_len)
		memcpy(set->key, attr->comm_key, set->key_len);
	ret = set_fill(set, attr);
	if (ret) {
		set_free(set);
		return ret;
	}
	*fid = &set->fid;
	return 0;
}
