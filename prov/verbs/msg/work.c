/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Work that has waited for a counter: building and posting its work requests, and reporting it. */
#include <string.h>
#include "prov/base/cntr.h"
#include "atomic.h"
#include "hmem.h"
#include "prov/base/refuse.h"
#include "prov/verbs/provider/prov.h"
#include "prov/verbs/queue/batch.h"
#include "prov/verbs/provider/err.h"
#include "prov/verbs/queue/post.h"
#include "work.h"

#define READ_FLAGS (VRB_TX_FLAGS & ~(FI_INJECT | FI_REMOTE_CQ_DATA))
#define FETCH	   (FI_ATOMIC | FI_READ)

struct request {
	struct ibv_send_wr wr;
	struct ibv_sge sge[VRB_IOV_MAX];
	uint64_t flags; /* flags of the slot */
	size_t len;
};

static bool is_of_device(const struct vrb_work *work, const void *buf, const void *desc)
{
	return work->ep->info->caps & FI_HMEM && buf && vrb_hmem_of(work->ep, buf, desc);
}

static bool has_device_memory(const struct vrb_work *work)
{
	size_t i;

	for (i = 0; i < work->count; i++)
		if (is_of_device(work, work->iov[i].iov_base, work->desc[i]))
			return true;
	return false;
}

/*
 * Returns true if the processor would have to read data in device memory when the counter is
 * reached, which it cannot.
 */
static bool reads_device_memory(const struct vrb_work *work)
{
	return (work->flags & FI_INJECT && has_device_memory(work)) ||
	       is_of_device(work, work->operand, work->operand_desc) ||
	       is_of_device(work, work->compare, NULL);
}

static unsigned int inline_flag(const struct vrb_work *work, size_t len)
{
	return has_device_memory(work) ? 0 : vrb_inline_flag(work->ep, len);
}

static ssize_t build_iov(const struct vrb_work *work, size_t limit, struct request *req)
{
	ssize_t ret = vrb_sge_fill(req->sge, work->iov, work->desc, work->count, limit,
				   work->type == FI_OP_RECV, &req->len);

	req->wr.sg_list = req->sge;
	req->wr.num_sge = req->len ? (int)work->count : 0;
	return ret;
}

static ssize_t build_tx(const struct vrb_work *work, struct request *req, uint64_t allowed)
{
	const struct vrb_ep *ep = work->ep;
	struct vrb_tx_mode mode;
	ssize_t ret = vrb_tx_mode(ep, work->flags, allowed, req->len, &mode);

	if (ret)
		return ret;
	if ((work->flags & FI_REMOTE_CQ_DATA) && work->data > VRB_CQ_DATA_MAX)
		return -FI_EINVAL;
	req->wr.imm_data = htonl((uint32_t)work->data);
	req->wr.send_flags = mode.wr_flags | IBV_SEND_SIGNALED;
	req->flags |= mode.silent;
	return 0;
}

static ssize_t build_send(const struct vrb_work *work, struct request *req)
{
	bool data = work->flags & FI_REMOTE_CQ_DATA;
	ssize_t ret = build_iov(work, work->ep->info->tx_attr->iov_limit, req);

	if (ret)
		return ret;
	req->flags = FI_MSG | FI_SEND;
	req->wr.opcode = data ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND;
	ret = build_tx(work, req, VRB_TX_FLAGS);
	req->wr.send_flags |= inline_flag(work, req->len);
	return ret;
}

static ssize_t build_recv(const struct vrb_work *work, struct request *req)
{
	bool silent = work->ep->rx_selective && !(work->flags & FI_COMPLETION);
	ssize_t ret = build_iov(work, work->ep->info->rx_attr->iov_limit, req);

	req->flags = FI_MSG | FI_RECV | (silent ? VRB_SILENT : 0);
	if (ret)
		return ret;
	if (work->flags & ~VRB_RX_FLAGS)
		return -FI_EBADFLAGS;
	return req->len > UINT32_MAX ? -FI_EMSGSIZE : 0;
}

static ssize_t build_rma(const struct vrb_work *work, struct request *req)
{
	bool read = work->type == FI_OP_READ, data = work->flags & FI_REMOTE_CQ_DATA;
	ssize_t ret = build_iov(work, work->ep->info->tx_attr->iov_limit, req);

	if (ret)
		return ret;
	req->flags = FI_RMA | (read ? FI_READ : FI_WRITE);
	ret = build_tx(work, req, read ? READ_FLAGS : VRB_TX_FLAGS);
	if (ret)
		return ret;
	if (work->remote_len != req->len)
		return -FI_EINVAL;
	if (work->key >> 32)
		return -FI_EKEYREJECTED;
	if (read)
		req->wr.opcode = IBV_WR_RDMA_READ;
	else
		req->wr.opcode = data ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE;
	if (!read)
		req->wr.send_flags |= inline_flag(work, req->len);
	req->wr.wr.rdma.remote_addr = work->addr;
	req->wr.wr.rdma.rkey = (uint32_t)work->key;
	return 0;
}

static ssize_t check_atomic(const struct vrb_work *work)
{
	bool known;

	if (work->type == FI_OP_ATOMIC)
		known = vrb_atomic_write_op(work->op);
	else if (work->type == FI_OP_FETCH_ATOMIC)
		known = vrb_atomic_fetch_op(work->op);
	else
		known = vrb_atomic_compare_op(work->op);
	if (!known || !vrb_atomic_is_word(work->datatype))
		return -FI_EOPNOTSUPP;
	if (work->elements != 1 || work->addr % VRB_ATOMIC_SIZE)
		return -FI_EINVAL;
	if (work->key >> 32)
		return -FI_EKEYREJECTED;
	if (!work->operand && work->op != FI_ATOMIC_READ)
		return -FI_EINVAL;
	if (work->type != FI_OP_ATOMIC && !work->result)
		return -FI_EINVAL;
	return work->type == FI_OP_COMPARE_ATOMIC && !work->compare ? -FI_EINVAL : 0;
}

static uint64_t work_load(const void *buf)
{
	uint64_t word = 0;

	if (buf)
		memcpy(&word, buf, sizeof(word));
	return word;
}

/* Sets the single segment: the destination of the result, or the operand of a write. */
static void set_atomic_sge(const struct vrb_work *work, struct request *req)
{
	struct vrb_domain *domain = work->ep->domain;

	req->wr.sg_list = req->sge;
	req->wr.num_sge = 1;
	if (work->type != FI_OP_ATOMIC)
		vrb_sge_set(req->sge, work->result, VRB_ATOMIC_SIZE, work->result_desc);
	else if (work->op == FI_SUM)
		vrb_sge_set(req->sge, domain->scratch, VRB_ATOMIC_SIZE,
			    (void *)(uintptr_t)domain->scratch_mr->lkey);
	else
		vrb_sge_set(req->sge, work->operand, VRB_ATOMIC_SIZE, work->operand_desc);
}

static void set_device_atomic(const struct vrb_work *work, struct request *req)
{
	bool add = work->op == FI_SUM;

	req->wr.opcode = add ? IBV_WR_ATOMIC_FETCH_AND_ADD : IBV_WR_ATOMIC_CMP_AND_SWP;
	req->wr.wr.atomic.remote_addr = work->addr;
	req->wr.wr.atomic.rkey = (uint32_t)work->key;
	req->wr.wr.atomic.compare_add = work_load(add ? work->operand : work->compare);
	req->wr.wr.atomic.swap = add ? 0 : work_load(work->operand);
}

static ssize_t build_atomic(const struct vrb_work *work, struct request *req)
{
	ssize_t ret = check_atomic(work);

	if (ret)
		return ret;
	req->len = VRB_ATOMIC_SIZE;
	req->flags = work->type == FI_OP_ATOMIC ? FI_ATOMIC | FI_WRITE : FETCH;
	ret = build_tx(work, req, VRB_TX_FLAGS & ~FI_REMOTE_CQ_DATA);
	if (ret)
		return ret;
	set_atomic_sge(work, req);
	if (work->op == FI_SUM || work->op == FI_CSWAP) {
		set_device_atomic(work, req);
		return 0;
	}
	req->wr.opcode = work->op == FI_ATOMIC_READ ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE;
	if (work->op != FI_ATOMIC_READ)
		req->wr.send_flags |= vrb_inline_flag(work->ep, VRB_ATOMIC_SIZE);
	req->wr.wr.rdma.remote_addr = work->addr;
	req->wr.wr.rdma.rkey = (uint32_t)work->key;
	return 0;
}

static ssize_t work_build(const struct vrb_work *work, struct request *req)
{
	req->wr = (struct ibv_send_wr){ .opcode = IBV_WR_SEND };
	switch (work->type) {
	case FI_OP_SEND:
		return build_send(work, req);
	case FI_OP_RECV:
		return build_recv(work, req);
	case FI_OP_READ:
	case FI_OP_WRITE:
		return build_rma(work, req);
	default:
		return build_atomic(work, req);
	}
}

ssize_t vrb_work_check(struct vrb_work *work)
{
	struct request req;

	if (reads_device_memory(work))
		return ofi_refuse(
			&vrb_prov, FI_LOG_EP_DATA, -FI_EOPNOTSUPP,
			"work that waits for a counter: operands and injected data cannot be in device memory\n");
	return work_build(work, &req);
}

void vrb_work_inject(struct vrb_work *work)
{
	size_t i, len = 0;

	if (!(work->flags & FI_INJECT))
		return;
	if (work->operand) {
		work->word = work_load(work->operand);
		work->operand = &work->word;
		return;
	}
	for (i = 0; i < work->count; i++) {
		memcpy(work->inject + len, work->iov[i].iov_base, work->iov[i].iov_len);
		len += work->iov[i].iov_len;
	}
	work->count = len ? 1 : 0;
	work->iov[0] = (struct iovec){ work->inject, len };
	work->desc[0] = NULL;
}

/* If the connection has ended, the queue pair is in the error state and flushes what is posted. */
static void work_post(struct vrb_wq *wq, struct request *req)
{
	struct ibv_recv_wr recv = { .wr_id = req->wr.wr_id,
				    .sg_list = req->wr.sg_list,
				    .num_sge = req->wr.num_sge };
	int err;

	if (req->flags & FI_RECV)
		err = ibv_post_recv(wq->qp, &recv, &wq->bad_recv);
	else
		err = ibv_post_send(wq->qp, &req->wr, &wq->bad_send);
	if (err)
		vrb_wq_lose(wq);
}

static uint64_t slot_flags(const struct vrb_work *work, const struct request *req)
{
	uint64_t silent = work->flags & FI_COMPLETION ? 0 : VRB_SILENT;

	return work->deferred ? req->flags | silent | VRB_UNCOUNTED | VRB_WORK : req->flags;
}

int vrb_work_post(struct vrb_work *work)
{
	struct vrb_ep *ep = work->ep;
	struct vrb_wq *wq = work->type == FI_OP_RECV ? ep->rq : ep->sq;
	struct request req;
	int ret = -FI_EAGAIN;
	bool over;

	work_build(work, &req);
	ofi_lock(&wq->lock);
	if (wq == ep->sq)
		vrb_batch_ring(ep, 0);
	over = __atomic_load_n(&ep->down_err, __ATOMIC_RELAXED);
	if (wq->cq && vrb_wq_refresh(wq) && (over || !(vrb_wq_special(wq) & VRB_WQ_SHUT)) &&
	    vrb_wq_take_pool(wq)) {
		req.wr.wr_id = vrb_wq_take(wq, work->context, slot_flags(work, &req),
					   work->deferred ? (uintptr_t)work->completion : req.len);
		vrb_wq_count(wq, req.flags, req.len, 1);
		if (work->deferred)
			work->completion = NULL; /* owned by the slot now */
		work_post(wq, &req);
		ret = 0;
	}
	vrb_wq_guard(wq);
	ofi_unlock(&wq->lock);
	return ret;
}
