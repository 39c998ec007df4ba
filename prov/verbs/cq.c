/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Completion queues: opening and closing, room for the queues attached, and what is kept for later reads. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <ofi/ops.h>
#include <rdma/providers/fi_log.h>
#include "batch.h"
#include "cq.h"
#include "ep.h"
#include "err.h"
#include "ops.h"
#include "prov.h"

#define CQ_DEFAULT_SIZE 1024

static void set_special(struct vrb_cq *cq, uint32_t bits, bool on)
{
	if (on)
		__atomic_or_fetch(&cq->special, bits, __ATOMIC_RELEASE);
	else
		__atomic_and_fetch(&cq->special, ~bits, __ATOMIC_RELEASE);
}

void vrb_cq_keep(struct vrb_cq *cq, uint32_t from, uint32_t end)
{
	if (from == end)
		return;
	cq->first = from;
	cq->kept = end - from;
	set_special(cq, VRB_CQ_KEPT, true);
}

void vrb_cq_lose(struct vrb_wq *wq)
{
	__atomic_store_n(&wq->lost, true, __ATOMIC_RELEASE);
	set_special(wq->cq, VRB_CQ_LOST, true);
	if (wq->cq->channel)
		vrb_cq_signal(&wq->cq->fid);
}

/* What was kept goes first. Nothing is kept afterwards. */
static int take_kept(struct vrb_cq *cq)
{
	int n = (int)cq->kept;

	cq->kept = 0;
	set_special(cq, VRB_CQ_KEPT, false);
	return n;
}

static bool is_lost(const struct ibv_wc *wc)
{
	return __atomic_load_n(&((struct vrb_slot *)(uintptr_t)wc->wr_id)->wq->lost,
			       __ATOMIC_ACQUIRE);
}

/* From the device, but nothing of a queue that the library completes itself. */
static inline int take_polled(struct vrb_cq *cq, int want)
{
	int n, i, taken;

	do {
		n = ibv_poll_cq(cq->ibv, want, cq->wc);
		if (n <= 0 || !(__atomic_load_n(&cq->special, __ATOMIC_ACQUIRE) & VRB_CQ_LOST))
			return n;
		for (i = taken = 0; i < n; i++)
			if (!is_lost(&cq->wc[i]))
				cq->wc[taken++] = cq->wc[i];
	} while (!taken);
	return taken;
}

static int take_lost(struct vrb_cq *cq)
{
	struct vrb_wq *wq;

	LIST_FOREACH (wq, &cq->wqs, siblings) {
		if (!__atomic_load_n(&wq->lost, __ATOMIC_ACQUIRE))
			continue;
		if (!vrb_wq_used(wq))
			continue;
		cq->wc[0] = (struct ibv_wc){
			.wr_id = (uintptr_t)wq->tail,
			.status = IBV_WC_WR_FLUSH_ERR,
		};
		return 1;
	}
	return 0;
}

/* Frees the queues of closed endpoints: the device was seen to have no more of them. */
static void reap(struct vrb_cq *cq)
{
	struct vrb_wq *wq;

	while ((wq = LIST_FIRST(&cq->closed))) {
		LIST_REMOVE(wq, siblings);
		vrb_wq_free(wq);
	}
	set_special(cq, VRB_CQ_CLOSED, false);
}

/* Rings the doorbells that FI_MORE left: whoever looks for completions posts nothing now. */
static void ring_held(struct vrb_cq *cq)
{
	struct vrb_wq *wq;

	LIST_FOREACH (wq, &cq->wqs, siblings)
		if (vrb_wq_held(wq))
			vrb_batch_flush(wq->ep);
}

static inline int take(struct vrb_cq *cq, int want)
{
	int n;

	if (cq->kept)
		return take_kept(cq);
	cq->first = 0;
	n = take_polled(cq, want);
	if (!n)
		reap(cq);
	if (n <= 0 && (__atomic_load_n(&cq->special, __ATOMIC_ACQUIRE) & VRB_CQ_LOST))
		n = take_lost(cq);
	return n < 0 ? -FI_EIO : n;
}

int vrb_cq_poll(struct vrb_cq *cq, size_t count)
{
	int want = vrb_cq_want(cq, count);

	if (!want)
		return 0;
	if (__atomic_load_n(&cq->special, __ATOMIC_ACQUIRE) >= VRB_CQ_HELD)
		ring_held(cq);
	return take(cq, want);
}

/* An RMA write with data is always reported, but for what belongs to a closed endpoint. */
uint64_t vrb_cq_arrived(const struct ibv_wc *wc, uint64_t flags, uint64_t *data)
{
	const struct vrb_slot *slot = (const struct vrb_slot *)(uintptr_t)wc->wr_id;

	if (!(wc->opcode & IBV_WC_RECV) || slot->wq->closed)
		return flags;
	*data = ntohl(wc->imm_data);
	if (wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM)
		return FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA;
	return flags | FI_REMOTE_CQ_DATA;
}

/* Retires a silent success. False for what the application is to read. */
static bool retire_silent(const struct ibv_wc *wc)
{
	struct vrb_slot *slot = (struct vrb_slot *)(uintptr_t)wc->wr_id;

	(void)__atomic_load_n(&slot->wq->head, __ATOMIC_ACQUIRE);
	if (wc->status != IBV_WC_SUCCESS || (wc->opcode & IBV_WC_RECV) ||
	    !(slot->flags & VRB_SILENT))
		return false;
	vrb_wq_retire(slot->wq, slot);
	return true;
}

void vrb_cq_reclaim(struct vrb_cq *cq)
{
	uint32_t i, end;
	int n;

	if (cq->locked && !ofi_trylock(&cq->lock))
		return;
	if (!cq->kept) {
		n = take(cq, (int)cq->bunch);
		i = cq->first;
		end = i + (n > 0 ? (uint32_t)n : 0);
		/* Not what comes behind an unread one: retiring it would free the unread one's slot. */
		while (i < end && retire_silent(&cq->wc[i]))
			i++;
		vrb_cq_keep(cq, i, end);
	}
	vrb_cq_unlock(cq);
}

/* Grows the device's CQ so that it holds `entries`. */
static bool grow(struct vrb_cq *cq, uint64_t entries)
{
	if (entries <= cq->capacity)
		return true;
	if (entries > (uint64_t)cq->domain->attr.max_cqe || ibv_resize_cq(cq->ibv, (int)entries))
		return false;
	cq->capacity = cq->ibv->cqe;
	return true;
}

/* The first queue that finds no room turns what is left into the pool, the last quarter of a CQ at least. */
static int share(struct vrb_cq *cq, struct vrb_wq *wq)
{
	if (!cq->shared && cq->reserved == cq->capacity) {
		FI_WARN(&vrb_prov, FI_LOG_CQ,
			"fi_enable: completion queue of %u entries is full and the device allows "
			"no more than %d; "
			"open more completion queues\n",
			cq->capacity, cq->domain->attr.max_cqe);
		return -FI_ENOSPC;
	}
	__atomic_add_fetch(&cq->pool, (int)(cq->capacity - cq->reserved), __ATOMIC_RELEASE);
	cq->reserved = cq->capacity;
	cq->shared = true;
	wq->pool = &cq->pool;
	vrb_wq_set(wq, VRB_WQ_SHARES);
	return 0;
}

int vrb_cq_attach(struct vrb_cq *cq, struct vrb_wq *wq, uint32_t size)
{
	uint32_t reservable = cq->domain->attr.max_cqe / 4 * 3;
	uint64_t need = (uint64_t)cq->reserved + size;
	int ret = 0;

	ofi_lock(&cq->domain->lock);
	if (!cq->shared && need <= reservable && grow(cq, need)) {
		cq->reserved = need;
	} else {
		grow(cq, cq->domain->attr.max_cqe);
		ret = share(cq, wq);
	}
	ofi_unlock(&cq->domain->lock);
	if (ret)
		return ret;
	vrb_cq_lock(cq);
	wq->cq = cq;
	LIST_INSERT_HEAD(&cq->wqs, wq, siblings);
	if (vrb_wq_special(wq) & VRB_WQ_TRACED)
		set_special(cq, VRB_CQ_TRACED, true);
	vrb_cq_unlock(cq);
	return 0;
}

/* Gives back the credits of what is outstanding, or the reservation. */
static void release(struct vrb_cq *cq, struct vrb_wq *wq, uint32_t size)
{
	if (vrb_wq_special(wq) & VRB_WQ_SHARES) {
		vrb_wq_give_pool(wq, vrb_wq_used(wq));
		vrb_wq_clear(wq, VRB_WQ_SHARES);
		return;
	}
	ofi_lock(&cq->domain->lock);
	if (cq->shared)
		__atomic_add_fetch(&cq->pool, (int)size, __ATOMIC_RELEASE);
	else
		cq->reserved -= size;
	ofi_unlock(&cq->domain->lock);
}

static void silence(struct vrb_wq *wq)
{
	uint32_t i;

	for (i = 0; i <= wq->size; i++)
		wq->slots[i].flags |= VRB_SILENT;
}

bool vrb_cq_drain(struct vrb_cq *cq, struct vrb_wq *wq)
{
	bool blocked;

	vrb_cq_lock(cq);
	silence(wq);
	vrb_cq_unlock(cq);
	vrb_cq_reclaim(cq);
	vrb_cq_lock(cq);
	blocked = cq->kept;
	vrb_cq_unlock(cq);
	return vrb_wq_used(wq) && !blocked;
}

void vrb_cq_detach(struct vrb_cq *cq, struct vrb_wq *wq, uint32_t size)
{
	vrb_cq_lock(cq);
	LIST_REMOVE(wq, siblings);
	release(cq, wq, size);
	wq->closed = true;
	silence(wq);
	LIST_INSERT_HEAD(&cq->closed, wq, siblings);
	set_special(cq, VRB_CQ_CLOSED, true);
	vrb_cq_unlock(cq);
}

/* The error that a read stopped at, NULL when there is none. What closed endpoints left is dropped. */
static const struct ibv_wc *kept_error(struct vrb_cq *cq)
{
	const struct ibv_wc *wc;

	for (; cq->kept; cq->first++, cq->kept--) {
		wc = &cq->wc[cq->first];
		if (wc->status == IBV_WC_SUCCESS)
			return NULL;
		if (!((struct vrb_slot *)(uintptr_t)wc->wr_id)->wq->closed)
			return wc;
	}
	set_special(cq, VRB_CQ_KEPT, false);
	return NULL;
}

/* The structure grew: err_data_size came with API 1.5, src_addr with 1.20. */
static void copy_error(const struct vrb_cq *cq, struct fi_cq_err_entry *to,
		       const struct fi_cq_err_entry *from)
{
	uint32_t version = cq->domain->info->fabric_attr->api_version;
	void *data = to->err_data;
	size_t room = 0;

	if (data && FI_VERSION_GE(version, FI_VERSION(1, 5)))
		room = to->err_data_size;
	memcpy(to, from, offsetof(struct fi_cq_err_entry, err_data));
	if (room) {
		room = room < sizeof(cq->detail) ? 0 : sizeof(cq->detail);
		memcpy(data, &cq->detail, room);
	} else {
		to->err_data = (void *)&cq->detail;
		room = sizeof(cq->detail);
	}
	if (FI_VERSION_GE(version, FI_VERSION(1, 5)))
		to->err_data_size = room;
	if (FI_VERSION_GE(version, FI_VERSION(1, 20)))
		to->src_addr = FI_ADDR_NOTAVAIL;
}

static void take_error(struct vrb_cq *cq, const struct ibv_wc *wc, struct fi_cq_err_entry *entry)
{
	struct vrb_slot *slot = (struct vrb_slot *)(uintptr_t)wc->wr_id;
	struct fi_cq_err_entry error;

	vrb_wc_error(wc, &error);
	vrb_wc_detail(wc, &cq->detail);
	copy_error(cq, entry, &error);
	vrb_wq_retire(slot->wq, slot);
	vrb_cq_keep(cq, cq->first + 1, cq->first + take_kept(cq));
}

ssize_t vrb_cq_readerr(struct fid_cq *fid, struct fi_cq_err_entry *entry, uint64_t flags)
{
	struct vrb_cq *cq = vrb_cq(fid);
	const struct ibv_wc *wc;

	if (!entry)
		return -FI_EINVAL;
	if (flags)
		return -FI_EBADFLAGS;
	vrb_cq_lock(cq);
	wc = kept_error(cq);
	if (wc)
		take_error(cq, wc, entry);
	vrb_cq_unlock(cq);
	return wc ? 1 : -FI_EAGAIN;
}

/* A connected endpoint has one source, which is in no address vector. */
ssize_t vrb_cq_readfrom(struct fid_cq *cq, void *buf, size_t count, fi_addr_t *src)
{
	ssize_t i, n = cq->ops->read(cq, buf, count);

	for (i = 0; src && i < n; i++)
		src[i] = FI_ADDR_NOTAVAIL;
	return n;
}

const char *vrb_cq_strerror(struct fid_cq *fid, int prov_errno, const void *err_data, char *buf,
			    size_t len)
{
	const struct vrb_wc_detail *detail = err_data;
	static __thread char text[256];

	(void)fid;
	if (detail && detail->size != sizeof(*detail))
		detail = NULL;
	if (!buf || !len)
		return vrb_wc_text(prov_errno, detail, text, sizeof(text));
	return vrb_wc_text(prov_errno, detail, buf, len);
}

static int check_attr(const struct vrb_domain *domain, const struct fi_cq_attr *attr)
{
	if (attr->flags & ~FI_AFFINITY)
		return -FI_EBADFLAGS;
	if (attr->format > FI_CQ_FORMAT_TAGGED)
		return -FI_EINVAL;
	if ((attr->flags & FI_AFFINITY) &&
	    (attr->signaling_vector < 0 ||
	     attr->signaling_vector >= domain->ctx->num_comp_vectors)) {
		FI_WARN(&vrb_prov, FI_LOG_CQ,
			"fi_cq_open: signaling_vector %d, %s has vectors 0 to %d\n",
			attr->signaling_vector, ibv_get_device_name(domain->ctx->device),
			domain->ctx->num_comp_vectors - 1);
		return -FI_EINVAL;
	}
	if (attr->size > (size_t)domain->attr.max_cqe) {
		FI_WARN(&vrb_prov, FI_LOG_CQ,
			"fi_cq_open: size %zu, %s allows at most %d entries\n", attr->size,
			ibv_get_device_name(domain->ctx->device), domain->attr.max_cqe);
		return -FI_EINVAL;
	}
	return 0;
}

static int create(struct vrb_cq *cq, const struct fi_cq_attr *attr)
{
	struct vrb_domain *domain = cq->domain;
	int vector = attr->flags & FI_AFFINITY ? attr->signaling_vector : 0;
	int err, size = attr->size ? (int)attr->size : CQ_DEFAULT_SIZE;

	if (size > domain->attr.max_cqe)
		size = domain->attr.max_cqe;
	cq->ibv = ibv_create_cq(domain->ctx, size, cq, cq->channel, vector);
	if (!cq->ibv) {
		err = errno;
		FI_WARN(&vrb_prov, FI_LOG_CQ,
			"fi_cq_open: ibv_create_cq of %d entries on %s: %s%s\n", size,
			ibv_get_device_name(domain->ctx->device), strerror(err), vrb_remedy(err));
		return vrb_errno(err);
	}
	cq->capacity = cq->ibv->cqe;
	return 0;
}

static void cq_free(struct vrb_cq *cq)
{
	if (!cq)
		return;
	reap(cq);
	if (cq->ibv) {
		ibv_ack_cq_events(cq->ibv, cq->unacked);
		ibv_destroy_cq(cq->ibv);
	}
	vrb_cq_wait_close(cq);
	free(cq);
}

static int cq_close(struct fid *fid)
{
	struct vrb_cq *cq = vrb_cq((struct fid_cq *)fid);
	struct vrb_domain *domain = cq->domain;

	if (ofi_ref_busy(&cq->ref))
		return -FI_EBUSY;
	ofi_lock(&domain->lock);
	LIST_REMOVE(cq, siblings);
	ofi_unlock(&domain->lock);
	cq_free(cq);
	ofi_ref_put(&domain->ref);
	return 0;
}

static struct fi_ops cq_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = cq_close,
	.control = vrb_cq_control,
};

void vrb_cq_ops_init(void)
{
	int i;

	ofi_ops_fill(&cq_fid_ops);
	for (i = FI_CQ_FORMAT_CONTEXT; i <= FI_CQ_FORMAT_TAGGED; i++) {
		ofi_ops_fill(&vrb_cq_ops[i]);
		ofi_ops_fill(&vrb_cq_bare_ops[i]);
	}
}

int vrb_cq_open(struct fid_domain *fid, struct fi_cq_attr *attr, struct fid_cq **cq_fid,
		void *context)
{
	struct vrb_domain *domain = vrb_domain(fid);
	struct vrb_cq *cq;
	int ret;

	if (!attr || !cq_fid)
		return -FI_EINVAL;
	ret = check_attr(domain, attr);
	if (ret)
		return ret;
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return -FI_ENOMEM;
	cq->domain = domain;
	cq->locked = domain->lock_polls;
	cq->bunch = vrb_params.cqread_bunch_size < VRB_CQ_BUNCH_MAX ? vrb_params.cqread_bunch_size
								    : VRB_CQ_BUNCH_MAX;
	cq->format = attr->format ? attr->format : FI_CQ_FORMAT_CONTEXT;
	ret = vrb_cq_wait_open(cq, attr);
	if (!ret)
		ret = create(cq, attr);
	if (ret) {
		cq_free(cq);
		return ret;
	}
	cq->fid = (struct fid_cq){
		.fid = { .fclass = FI_CLASS_CQ, .context = context, .ops = &cq_fid_ops },
		.ops = cq->locked ? &vrb_cq_ops[cq->format] : &vrb_cq_bare_ops[cq->format],
	};
	ofi_ref_get(&domain->ref);
	ofi_lock(&domain->lock);
	LIST_INSERT_HEAD(&domain->cqs, cq, siblings);
	ofi_unlock(&domain->lock);
	*cq_fid = &cq->fid;
	return 0;
}
