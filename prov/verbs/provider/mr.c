/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory regions: one ibv_mr for each buffer. The descriptor has the lkey, the key is the rkey. A
 * region of several buffers has no descriptor, and the application chooses its key: peers ask the
 * target for the rkey of each buffer. A region of memory that is not mapped has no ibv_mr: the
 * library performs all accesses of peers.
 */
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include "prov/base/cntr.h"
#include "prov/base/desc.h"
#include "prov/base/ops.h"
#include "prov/base/reduce.h"
#include <rdma/fi_domain.h>
#include <rdma/providers/fi_log.h>
#include "err.h"
#include "mr.h"
#include "mr_hmem.h"
#include "prov/verbs/discovery/resolve.h"
#include "prov/verbs/msg/ops.h"
#include "prov.h"
#include "prov/base/refuse.h"

struct buffer {
	struct ibv_mr *ibv;
	uint64_t start;	 /* start of its addresses */
	uint64_t offset; /* bytes of the buffers before it */
	size_t len;
};

struct vrb_mr {
	struct fid_mr fid;
	struct vrb_domain *domain;
	bool opaque;   /* not system memory, or a dma-buf */
	bool unbacked; /* the memory is empty or need not exist: the device has no key */
	bool writable; /* the device may write it for local operations */
	uint64_t access;
	struct ofi_cntr *cntrs[2]; /* for remote reads and remote writes; guarded by domain->lock */
	uint32_t count;
	struct buffer buffers[];
};

static int mr_compare(const void *a, const void *b)
{
	uint64_t x = ((const struct vrb_mr *)a)->fid.key, y = ((const struct vrb_mr *)b)->fid.key;

	return x < y ? -1 : x > y;
}

static void get_place(const struct vrb_mr *mr, uint32_t index, struct ofi_mr_place *place)
{
	const struct buffer *buffer = &mr->buffers[index];

	*place = (struct ofi_mr_place){
		.start = buffer->start,
		.len = buffer->len,
		.access = mr->access,
		.rkey = mr->unbacked ? 0 : buffer->ibv->rkey,
		.count = mr->count,
		.opaque = mr->opaque,
		.unbacked = mr->unbacked,
	};
	if (!vrb_mr_is_virtual(mr->domain))
		place->base = buffer->start - buffer->offset;
}

static bool mr_find(struct ofi_domain *of, uint64_t key, uint32_t buffer,
		    struct ofi_mr_place *place)
{
	struct vrb_domain *domain = (struct vrb_domain *)of;
	const struct vrb_mr wanted = { .fid.key = key };
	struct vrb_mr **found;
	bool has;

	ofi_lock(&domain->lock);
	found = tfind(&wanted, &domain->mrs, mr_compare);
	has = found && buffer < (*found)->count;
	if (has)
		get_place(*found, buffer, place);
	ofi_unlock(&domain->lock);
	return has;
}

static void mr_count_remote(struct ofi_domain *of, uint64_t key, uint64_t what)
{
	struct vrb_domain *domain = (struct vrb_domain *)of;
	const struct vrb_mr wanted = { .fid.key = key };
	struct ofi_cntr *read, *write;
	struct vrb_mr **found;

	ofi_lock(&domain->lock);
	found = tfind(&wanted, &domain->mrs, mr_compare);
	read = found && what & FI_REMOTE_READ ? (*found)->cntrs[0] : NULL;
	write = found && what & FI_REMOTE_WRITE ? (*found)->cntrs[1] : NULL;
	ofi_cntr_count_both(read, write);
	ofi_unlock(&domain->lock);
}

static uint32_t lkey_of(const struct vrb_mr *mr)
{
	return ofi_desc_lkey(mr->fid.mem_desc);
}

static int lkey_compare(const void *a, const void *b)
{
	uint32_t x = lkey_of(a), y = lkey_of(b);

	return x < y ? -1 : x > y;
}

static bool mr_range(struct ofi_domain *of, uint32_t lkey, uintptr_t *start, size_t *len)
{
	const struct vrb_mr wanted = { .fid.mem_desc = (void *)(uintptr_t)lkey };
	struct vrb_domain *domain = (struct vrb_domain *)of;
	struct vrb_mr **found;

	ofi_lock(&domain->lock);
	found = tfind(&wanted, &domain->locals, lkey_compare);
	if (found) {
		*start = (*found)->buffers[0].start;
		*len = (*found)->buffers[0].len;
	}
	ofi_unlock(&domain->lock);
	return found;
}

/* Returns true if endpoints find the region by its descriptor. */
static bool has_range(const struct vrb_mr *mr)
{
	return mr->domain->rdm && mr->fid.mem_desc;
}

/* If memory runs out, the region is not listed, and its descriptor has no effect. */
static void range_add(struct vrb_mr *mr)
{
	if (!has_range(mr))
		return;
	ofi_lock(&mr->domain->lock);
	tsearch(mr, &mr->domain->locals, lkey_compare);
	ofi_unlock(&mr->domain->lock);
}

const struct ofi_domain_ops vrb_domain_callbacks = {
	.mr_find = mr_find,
	.mr_range = mr_range,
	.mr_count = mr_count_remote,
	.resolve = vrb_resolve_peer,
};

/*
 * Returns true if the region can be found by its key. No peer can name a region without remote
 * access, so its key need not be unique: soft-RoCE gives all of them 0, and programs do, too. If
 * the device chooses the keys, an empty one has none, either.
 */
static bool is_listed(const struct vrb_mr *mr)
{
	return mr->domain->rdm && mr->access & (FI_REMOTE_READ | FI_REMOTE_WRITE) &&
	       (mr->count || !vrb_mr_prov_key(mr->domain));
}

/*
 * Lists the region. Returns -FI_ENOKEY if the key is in use. Nodes of the tree may move or be freed
 * once the lock is released.
 */
static int mr_list(struct vrb_mr *mr)
{
	struct vrb_mr **found, *holder = NULL;

	if (!is_listed(mr))
		return 0;
	ofi_lock(&mr->domain->lock);
	found = tsearch(mr, &mr->domain->mrs, mr_compare);
	if (found)
		holder = *found;
	ofi_unlock(&mr->domain->lock);
	if (holder == mr)
		return 0;
	if (!holder)
		return -FI_ENOMEM;
	return ofi_refuse(&vrb_prov, FI_LOG_MR, -FI_ENOKEY, "fi_mr_reg: key 0x%llx is in use\n",
			  (unsigned long long)mr->fid.key);
}

/* After a fi_close that failed the region is in no tree, and its key may be that of another one. */
static void tree_remove(struct vrb_mr *mr, void **tree, int (*compare)(const void *, const void *))
{
	struct vrb_mr **found;

	ofi_lock(&mr->domain->lock);
	found = tfind(mr, tree, compare);
	if (found && *found == mr)
		tdelete(mr, tree, compare);
	ofi_unlock(&mr->domain->lock);
}

/*
 * Waits for other threads that found the region while it was listed and still access it for a peer.
 */
static void wait_for_targets(struct vrb_mr *mr)
{
	if (!mr->domain->rdm)
		return;
	ofi_atomics_lock();
	ofi_atomics_unlock();
}

static void mr_count(struct vrb_domain *domain, int counter, uint64_t n)
{
	ofi_stats_add_shared(domain->base.stats, counter, n);
}

static int check_bind(const struct vrb_mr *mr, struct fid *bfid, uint64_t flags)
{
	const struct vrb_domain *domain = mr->domain;

	if (!ofi_cntr_of(bfid, &domain->base.ref))
		return ofi_refuse(&vrb_prov, FI_LOG_MR, -FI_EINVAL,
				  "fi_mr_bind: a memory region takes counters of its own domain\n");
	if (!flags || (flags & ~(FI_REMOTE_READ | FI_REMOTE_WRITE)))
		return -FI_EBADFLAGS;
	if (domain->base.info->caps & FI_RMA_EVENT)
		return 0;
	return ofi_refuse(
		&vrb_prov, FI_LOG_MR, -FI_EOPNOTSUPP,
		"fi_mr_bind: the domain was opened without FI_RMA_EVENT; request it in the hints of fi_getinfo\n");
}

static bool has_cntr(struct vrb_mr *mr, uint64_t flags)
{
	bool has;

	ofi_lock(&mr->domain->lock);
	has = ((flags & FI_REMOTE_READ) && mr->cntrs[0]) ||
	      ((flags & FI_REMOTE_WRITE) && mr->cntrs[1]);
	ofi_unlock(&mr->domain->lock);
	return has;
}

static void set_cntr(struct vrb_mr *mr, int i, struct ofi_cntr *cntr)
{
	ofi_lock(&mr->domain->lock);
	mr->cntrs[i] = cntr;
	ofi_unlock(&mr->domain->lock);
}

static void mr_unbind(struct vrb_mr *mr, int i)
{
	struct ofi_cntr *cntr = mr->cntrs[i];

	if (!cntr)
		return;
	set_cntr(mr, i, NULL);
	vrb_rdm_of(mr->domain)->unwatch(mr->domain->base.progress, cntr);
	ofi_ref_put(&cntr->ref);
}

static int mr_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	static const uint64_t kinds[2] = { FI_REMOTE_READ, FI_REMOTE_WRITE };
	struct vrb_mr *mr = (struct vrb_mr *)fid;
	struct ofi_cntr *cntr = (struct ofi_cntr *)bfid;
	int i, ret;

	if (!mr->domain->base.progress)
		return ofi_refuse(
			&vrb_prov, FI_LOG_MR, -FI_ENOSYS,
			"fi_mr_bind: regions of this domain take no counters; those of an FI_EP_RDM domain do\n");
	ret = check_bind(mr, bfid, flags);
	if (ret)
		return ret;
	if (has_cntr(mr, flags))
		return ofi_refuse_second(&vrb_prov, FI_LOG_MR, "fi_mr_bind", "a counter");
	for (i = 0; i < 2; i++) {
		if (!(flags & kinds[i]))
			continue;
		ret = vrb_rdm_of(mr->domain)->watch(mr->domain->base.progress, cntr);
		if (ret && i && (flags & kinds[0]))
			mr_unbind(mr, 0);
		if (ret)
			return ret;
		ofi_ref_get(&cntr->ref);
		set_cntr(mr, i, cntr);
	}
	return 0;
}

/* The start of a dma-buf's region is not in ibv->addr, where libibverbs stores the offset. */
static int get_raw(const struct vrb_mr *mr, const struct fi_mr_raw_attr *raw)
{
	uint64_t start = vrb_mr_is_virtual(mr->domain) ? mr->buffers[0].start : 0;

	return vrb_mr_raw_get(mr->fid.key, vrb_mr_key_size(mr->domain), start, raw);
}

/*
 * The device follows changes of host memory that it pages on demand. Other pages are pinned: the
 * region keeps them, even if other pages are mapped at the address now.
 */
static int mr_refresh(const struct vrb_mr *mr, const struct fi_mr_modify *modify)
{
	if (!modify)
		return ofi_refuse_null(&vrb_prov, FI_LOG_MR, "fi_mr_refresh", "the argument");
	if (modify->flags)
		return ofi_refuse_flags(&vrb_prov, FI_LOG_MR, "fi_mr_refresh", modify->flags);
	if (mr->unbacked ||
	    (!mr->opaque && vrb_mr_access(mr->domain, mr->access) & IBV_ACCESS_ON_DEMAND))
		return 0;
	return ofi_decline(
		&vrb_prov, FI_LOG_MR, -FI_EOPNOTSUPP,
		"fi_mr_refresh: the pages of the region are pinned; if others are mapped there now, register them\n");
}

/* A region needs no FI_ENABLE, since FI_MR_RMA_EVENT is not supported. */
static int mr_control(struct fid *fid, int command, void *arg)
{
	const struct vrb_mr *mr = (struct vrb_mr *)fid;

	switch (command) {
	case FI_GET_RAW_MR:
		return get_raw(mr, arg);
	case FI_REFRESH:
		return mr_refresh(mr, arg);
	case FI_ENABLE:
		if (mr->domain->base.progress)
			return 0;
		break;
	}
	return ofi_decline_command(
		&vrb_prov, FI_LOG_MR, command,
		"a memory region supports FI_GET_RAW_MR, FI_REFRESH, and FI_ENABLE with FI_EP_RDM");
}

/*
 * Deregisters the buffers, the last one first. After an error, returned as errno, it stops; another
 * call continues there.
 */
static int mr_dereg(struct vrb_mr *mr)
{
	struct buffer *buffer;
	int err = 0;

	if (mr->unbacked)
		mr->count = 0;
	for (; mr->count && !err; mr->count -= !err) {
		buffer = &mr->buffers[mr->count - 1];
		vrb_mr_table_remove(mr->domain, buffer->ibv);
		err = ibv_dereg_mr(buffer->ibv);
		/* The kernel frees what an application has of a device that is removed. */
		if (err == EIO && __atomic_load_n(&mr->domain->dead, __ATOMIC_ACQUIRE))
			err = 0;
		if (err)
			FI_WARN(&vrb_prov, FI_LOG_MR, "fi_close: ibv_dereg_mr of key 0x%x: %s%s\n",
				buffer->ibv->rkey, strerror(err), vrb_remedy(err));
		else
			mr_count(mr->domain, OFI_STATS_MR_BYTES, -(uint64_t)buffer->len);
	}
	return err;
}

static int mr_close(struct fid *fid)
{
	struct vrb_mr *mr = (struct vrb_mr *)fid;
	int err;

	if (ofi_ref_inherited(&mr->domain->base.ref))
		return 0;
	tree_remove(mr, &mr->domain->mrs, mr_compare);
	if (has_range(mr)) {
		tree_remove(mr, &mr->domain->locals, lkey_compare);
		vrb_domain_rdm()->forget(mr->domain->base.progress, mr->fid.mem_desc);
	}
	wait_for_targets(mr);
	mr_unbind(mr, 0);
	mr_unbind(mr, 1);
	err = mr_dereg(mr);
	if (err)
		return vrb_errno(err);
	if (__atomic_load_n(&mr->domain->reports_mrs, __ATOMIC_ACQUIRE))
		ofi_eq_forget(mr->domain->base.eq, fid);
	mr_count(mr->domain, OFI_STATS_MRS_CLOSED, 1);
	ofi_ref_put(&mr->domain->base.ref);
	free(mr);
	return 0;
}

static const struct fi_ops mr_fid_ops = {
	.size = OFI_FID_DEFAULTS,
	.close = mr_close,
	.bind = mr_bind,
	.control = mr_control,
};

/* Returns 0 or an errno. */
static int reg_buffer(struct vrb_mr *mr, const struct iovec *iov,
		      const struct vrb_mr_memory *memory, struct ibv_mr **ibv)
{
	int flags = vrb_mr_access(mr->domain, mr->access);

	mr->writable = flags & IBV_ACCESS_LOCAL_WRITE;
	*ibv = memory ? vrb_mr_hmem_reg(mr->domain, memory, flags)
		      : vrb_mr_reg(mr->domain, iov, mr->access, &mr->writable);
	if (!*ibv)
		return errno;
	if (vrb_mr_table_add(mr->domain, *ibv, vrb_mr_remote_access(mr->access))) {
		ibv_dereg_mr(*ibv);
		return ENOMEM;
	}
	mr_count(mr->domain, OFI_STATS_MR_BYTES, iov->iov_len);
	return 0;
}

/*
 * Registers the buffers, but not an empty one; `memory` describes device memory or a dma-buf, or is
 * NULL. Returns 0 or an errno; the buffers before the one that failed remain registered.
 */
static int reg_buffers(struct vrb_mr *mr, const struct iovec *iov, size_t count,
		       const struct vrb_mr_memory *memory)
{
	struct ibv_mr *ibv = NULL;
	uint64_t offset = 0;
	int err = 0;

	if (!memory && !iov->iov_len && !mr->unbacked)
		return 0;
	for (; mr->count < count; mr->count++) {
		if (!mr->unbacked)
			err = reg_buffer(mr, iov, memory, &ibv);
		if (err)
			return err;
		mr->buffers[mr->count] = (struct buffer){
			.ibv = ibv,
			.start = (uintptr_t)iov->iov_base,
			.offset = offset,
			.len = iov->iov_len,
		};
		offset += iov->iov_len;
		iov++;
	}
	return 0;
}

/* Logs why a buffer cannot be registered. */
static int refuse_buffer(const struct vrb_mr *mr, const struct iovec *iov, int err)
{
	FI_WARN_SPARSE(&vrb_prov, FI_LOG_MR, "fi_mr_reg: ibv_reg_mr of %zu B at %p: %s%s\n",
		       iov->iov_len, iov->iov_base, strerror(err),
		       err == EFAULT && vrb_mr_may_be_unbacked(mr->domain)
			       ? "; memory that is not mapped needs Linux 5.14"
			       : vrb_reg_remedy(err));
	return err;
}

/* Does the same, but not for system memory that does not exist yet, if it need not. */
static int reg_what_exists(struct vrb_mr *mr, const struct iovec *iov, size_t count,
			   const struct vrb_mr_memory *memory)
{
	int err = EFAULT;

	mr->unbacked = !memory && !iov->iov_len && !vrb_mr_prov_key(mr->domain);
	if (memory || iov->iov_base || !iov->iov_len)
		err = reg_buffers(mr, iov, count, memory);
	if (!err || memory)
		return err;
	if (!vrb_mr_may_be_unbacked(mr->domain) || vrb_mr_is_mapped(iov, count, mr->access, err))
		return refuse_buffer(mr, &iov[mr->count], err);
	if (mr_dereg(mr))
		return err;
	FI_INFO(&vrb_prov, FI_LOG_MR,
		"fi_mr_reg: %zu B at %p are not mapped, or not for this access: they get no device key\n",
		iov->iov_len, iov->iov_base);
	mr->unbacked = true;
	return reg_buffers(mr, iov, count, NULL);
}

static void set_fid(struct vrb_mr *mr, const struct vrb_mr_memory *memory, uint64_t key,
		    void *context)
{
	static const struct ibv_mr none;
	const struct ibv_mr *ibv = mr->count && !mr->unbacked ? mr->buffers[0].ibv : &none;

	mr->fid = (struct fid_mr){
		.fid = { .fclass = FI_CLASS_MR, .context = context, .ops = ofi_ops(&mr_fid_ops) },
		.key = vrb_mr_prov_key(mr->domain) ? ibv->rkey : key,
	};
	if (mr->count == 1 && !mr->unbacked)
		mr->fid.mem_desc = vrb_mr_hmem_desc(memory, ibv->lkey, mr->writable);
}

static int reg(struct vrb_domain *domain, const struct iovec *iov, size_t count,
	       const struct vrb_mr_memory *memory, uint64_t access, uint64_t key,
	       struct fid_mr **mr_fid, void *context)
{
	struct vrb_mr *mr = calloc(1, sizeof(*mr) + count * sizeof(struct buffer));
	int ret;

	if (!mr)
		return -FI_ENOMEM;
	mr->domain = domain;
	mr->opaque = memory;
	mr->access = access;
	ret = reg_what_exists(mr, iov, count, memory);
	if (ret) {
		ret = vrb_errno(ret);
		mr_count(domain, OFI_STATS_MR_ERRORS, 1);
	} else {
		set_fid(mr, memory, key, context);
		ret = mr_list(mr);
	}
	if (ret) {
		mr_dereg(mr);
		free(mr);
		return ret;
	}
	range_add(mr);
	mr_count(domain, OFI_STATS_MRS, 1);
	ofi_ref_get(&domain->base.ref);
	*mr_fid = &mr->fid;
	if (__atomic_load_n(&domain->reports_mrs, __ATOMIC_ACQUIRE))
		ofi_eq_report(domain->base.eq, FI_MR_COMPLETE, &mr->fid.fid, 0);
	return 0;
}

static int mr_regv(struct fid *fid, const struct iovec *iov, size_t count, uint64_t access,
		   uint64_t offset, uint64_t requested_key, uint64_t flags, struct fid_mr **mr,
		   void *context)
{
	int ret = vrb_mr_check((struct vrb_domain *)fid, iov, count, access, offset, flags);

	if (ret)
		return ret;
	return mr ? reg((struct vrb_domain *)fid, iov, count, NULL, access, requested_key, mr,
			context)
		  : ofi_refuse_null(&vrb_prov, FI_LOG_MR, "fi_mr_reg", "mr");
}

static int mr_reg(struct fid *fid, const void *buf, size_t len, uint64_t access, uint64_t offset,
		  uint64_t requested_key, uint64_t flags, struct fid_mr **mr, void *context)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)buf, .iov_len = len };

	return mr_regv(fid, &iov, 1, access, offset, requested_key, flags, mr, context);
}

static int mr_regattr(struct fid *fid, const struct fi_mr_attr *attr, uint64_t flags,
		      struct fid_mr **mr)
{
	static const struct iovec whole; /* for a dma-buf, which need not be mapped */
	struct vrb_domain *domain = (struct vrb_domain *)fid;
	struct vrb_mr_memory memory;
	int ret;

	if (!attr)
		return ofi_refuse_null(&vrb_prov, FI_LOG_MR, "fi_mr_regattr", "attr");
	ret = vrb_mr_check_key(domain, attr);
	if (!ret)
		ret = vrb_mr_memory(domain, attr, flags, &memory);
	if (ret)
		return ret;
	flags &= ~VRB_MR_HMEM_FLAGS;
	if (!memory.hmem && !memory.dmabuf)
		return mr_regv(fid, attr->mr_iov, attr->iov_count, attr->access, attr->offset,
			       attr->requested_key, flags, mr, attr->context);
	ret = vrb_mr_check(domain, memory.dmabuf ? &whole : &memory.iov, 1, attr->access,
			   attr->offset, flags);
	if (ret)
		return ret;
	return mr ? reg(domain, &memory.iov, 1, &memory, attr->access, attr->requested_key, mr,
			attr->context)
		  : ofi_refuse_null(&vrb_prov, FI_LOG_MR, "fi_mr_regattr", "mr");
}

const struct fi_ops_mr vrb_mr_ops = {
	.size = OFI_MR_DEFAULTS,
	.reg = mr_reg,
	.regv = mr_regv,
	.regattr = mr_regattr,
};
