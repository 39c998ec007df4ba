/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Operations that wait for a counter: checks them, and builds and posts their work requests. */
#include "prov/base/cntr.h"
#include "atomic.h"
#include "hmem.h"
#include "prov/base/refuse.h"
#include "prov/verbs/provider/prov.h"
#include "prov/verbs/queue/batch.h"
#include "prov/verbs/queue/cntr.h"
#include "work.h"

struct request {
	struct ibv_send_wr wr;
	struct ibv_sge sge[VRB_IOV_MAX];
	uint64_t flags; /* flags of the slot */
	size_t len;
};

static bool is_of_device(const struct vrb_ep *ep, const void *buf, void *const *desc, size_t i)
{
	return ep->info->caps & FI_HMEM && buf && vrb_hmem_of(ep, buf, desc ? desc[i] : NULL);
}

static bool has_device_memory(const struct vrb_ep *ep, const struct iovec *iov, void *const *desc,
			      size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (is_of_device(ep, iov[i].iov_base, desc, i))
			return true;
	return false;
}

static struct vrb_atomic_operands operands_of(const struct ofi_atomic_args *args)
{
	return vrb_atomic_operands(&args->msg, args->compare, args->compare_count, args->result,
				   args->result_desc, args->result_count);
}

/*
 * Returns true if the processor would have to read device memory when the counter reaches its
 * threshold, which is not supported.
 */
static bool reads_device_memory(const struct vrb_ep *ep, const struct ofi_call *call)
{
	struct vrb_atomic_operands operands;

	switch (call->type) {
	case FI_OP_SEND:
		return call->flags & FI_INJECT &&
		       has_device_memory(ep, call->msg.msg_iov, call->msg.desc,
					 call->msg.iov_count);
	case FI_OP_WRITE:
		return call->flags & FI_INJECT &&
		       has_device_memory(ep, call->rma.msg_iov, call->rma.desc,
					 call->rma.iov_count);
	case FI_OP_ATOMIC:
	case FI_OP_FETCH_ATOMIC:
	case FI_OP_COMPARE_ATOMIC:
		operands = operands_of(&call->atomic);
		return is_of_device(ep, operands.buf, call->atomic.msg.desc, 0) ||
		       is_of_device(ep, operands.compare, call->atomic.compare_desc, 0);
	default:
		return false;
	}
}

static struct fi_msg fi_msg_of(const struct fi_msg_tagged *msg)
{
	return (struct fi_msg){ msg->msg_iov, msg->desc,    msg->iov_count,
				msg->addr,    msg->context, msg->data };
}

static ssize_t build_send(const struct vrb_ep *ep, const struct ofi_call *call, struct request *req)
{
	struct fi_msg msg = fi_msg_of(&call->msg);
	struct vrb_tx_mode mode;
	ssize_t ret = vrb_send_build(ep, &msg, call->flags, &req->wr, &req->len, &mode);

	if (ret)
		return ret;
	req->flags = FI_MSG | FI_SEND | mode.silent;
	if (has_device_memory(ep, msg.msg_iov, msg.desc, msg.iov_count))
		req->wr.send_flags &= ~(unsigned int)IBV_SEND_INLINE;
	return 0;
}

static ssize_t build_recv(const struct vrb_ep *ep, const struct ofi_call *call, struct request *req)
{
	struct fi_msg msg = fi_msg_of(&call->msg);
	ssize_t ret = vrb_sge_fill_recv(req->sge, &msg, ep->info->rx_attr->iov_limit,
					ep->domain->recv_max, &req->len);

	req->wr.num_sge = req->len ? (int)msg.iov_count : 0;
	req->flags = FI_MSG | FI_RECV | vrb_ep_rx_silent(ep, call->flags);
	return !ret && call->flags & ~OFI_RX_FLAGS ? -FI_EBADFLAGS : ret;
}

static ssize_t build_rma(const struct vrb_ep *ep, const struct ofi_call *call, struct request *req)
{
	const struct fi_msg_rma *msg = &call->rma;
	bool read = call->type == FI_OP_READ;
	struct vrb_tx_mode mode;
	ssize_t ret = vrb_rma_build(ep, msg, call->flags, read, &req->wr, &req->len, &mode);

	if (ret)
		return ret;
	req->flags = FI_RMA | (read ? FI_READ : FI_WRITE) | mode.silent;
	if (has_device_memory(ep, msg->msg_iov, msg->desc, msg->iov_count))
		req->wr.send_flags &= ~(unsigned int)IBV_SEND_INLINE;
	return 0;
}

static ssize_t build_atomic(const struct vrb_ep *ep, const struct ofi_call *call,
			    struct request *req)
{
	struct vrb_atomic_operands operands = operands_of(&call->atomic);
	const struct fi_msg_atomic *msg = &call->atomic.msg;
	bool writes = call->type == FI_OP_ATOMIC;
	struct vrb_tx_mode mode;
	ssize_t ret = -FI_EINVAL;

	req->len = VRB_ATOMIC_SIZE;
	if (msg->rma_iov_count == 1)
		ret = vrb_atomic_check(call->type, msg->datatype, msg->op, &operands, msg->rma_iov);
	if (!ret)
		ret = vrb_tx_mode(ep, call->flags, ep->tx_flags & ~FI_REMOTE_CQ_DATA, req->len,
				  &mode);
	if (ret)
		return ret;
	req->flags = FI_ATOMIC | (writes ? FI_WRITE : FI_READ) | mode.silent;
	req->wr.num_sge = 1;
	vrb_atomic_sge(ep, call->type, msg->op, &operands, req->sge);
	vrb_atomic_fill(ep, msg->op, &operands, msg->rma_iov, mode.wr_flags, &req->wr);
	return 0;
}

/* Tagged messages are not supported. */
static ssize_t work_build(const struct ofi_work *work, struct request *req)
{
	const struct ofi_call *call = &work->call;
	const struct vrb_ep *ep = work->on.ep;

	req->wr = (struct ibv_send_wr){ .sg_list = req->sge };
	switch (call->type) {
	case FI_OP_SEND:
		return build_send(ep, call, req);
	case FI_OP_RECV:
		return build_recv(ep, call, req);
	case FI_OP_READ:
	case FI_OP_WRITE:
		return build_rma(ep, call, req);
	case FI_OP_ATOMIC:
	case FI_OP_FETCH_ATOMIC:
	case FI_OP_COMPARE_ATOMIC:
		return build_atomic(ep, call, req);
	default:
		return -FI_EOPNOTSUPP;
	}
}

static ssize_t work_prepare(struct ofi_work *work)
{
	struct request req;

	if (!((const struct vrb_ep *)work->on.ep)->enabled)
		return -FI_EOPBADSTATE;
	if (reads_device_memory(work->on.ep, &work->call))
		return ofi_refuse(
			&vrb_prov, FI_LOG_EP_DATA, -FI_EOPNOTSUPP,
			"work that waits for a counter: operands and injected data cannot be in device memory\n");
	if (work->call.type == FI_OP_RECV && vrb_ep_shares_rx(work->on.ep))
		return ofi_refuse(
			&vrb_prov, FI_LOG_EP_DATA, -FI_EOPNOTSUPP,
			"work that waits for a counter: receives cannot be posted to an endpoint with a shared receive context\n");
	return work_build(work, &req);
}

/*
 * If the connection has ended, the queue pair is in the error state and flushes the request.
 * Returns false if the device is lost.
 */
static bool work_post(struct vrb_wq *wq, struct request *req)
{
	struct ibv_recv_wr recv = { .wr_id = req->wr.wr_id,
				    .sg_list = req->wr.sg_list,
				    .num_sge = req->wr.num_sge };
	int err;

	req->wr.send_flags |= IBV_SEND_SIGNALED;
	if (req->flags & FI_RECV)
		err = ibv_post_recv(wq->qp, &recv, &wq->bad_recv);
	else
		err = ibv_post_send(wq->qp, &req->wr, &wq->bad_send);
	if (err)
		vrb_wq_lose(wq);
	return !err;
}

static uint64_t slot_flags(const struct ofi_work *work, const struct request *req)
{
	uint64_t silent = work->call.flags & FI_COMPLETION ? 0 : VRB_SILENT;

	return work->deferred ? req->flags | silent | VRB_UNCOUNTED | VRB_WORK : req->flags;
}

static bool has_room(const struct vrb_ep *ep, struct vrb_wq *wq)
{
	bool over = __atomic_load_n(&ep->down_err, __ATOMIC_RELAXED);

	return wq->cq && vrb_wq_refresh(wq) && (over || !(vrb_wq_special(wq) & VRB_WQ_SHUT)) &&
	       vrb_wq_take_pool(wq);
}

/* Returns true if the queue is full, and its owner may never read a completion of it. */
static bool is_full_of_silent(struct vrb_wq *wq)
{
	return wq->cq && !vrb_wq_refresh(wq) &&
	       __atomic_load_n(&wq->tail, __ATOMIC_ACQUIRE)->flags & VRB_SILENT;
}

static int work_fire(struct ofi_work *work)
{
	struct vrb_ep *ep = work->on.ep;
	struct vrb_wq *wq = work->call.type == FI_OP_RECV ? ep->rq : ep->sq;
	uint8_t data[VRB_INLINE_MAX];
	struct request req;
	bool good = true, silent;
	int ret = -FI_EAGAIN;

	work_build(work, &req);
	vrb_inline_gather(&req.wr, data);
	ofi_lock(&wq->lock);
	if (wq == ep->sq)
		vrb_batch_ring(ep, 0);
	silent = is_full_of_silent(wq);
	if (silent)
		vrb_cq_reclaim(wq->cq);
	if (has_room(ep, wq)) {
		req.wr.wr_id =
			vrb_wq_take(wq, *ofi_call_context(&work->call), slot_flags(work, &req),
				    work->deferred ? (uintptr_t)work->completion : req.len);
		vrb_wq_count(wq, req.flags, req.len, 1);
		if (work->deferred)
			work->completion = NULL; /* owned by the slot now */
		good = work_post(wq, &req);
		ret = 0;
	}
	vrb_wq_guard(wq);
	ofi_unlock(&wq->lock);
	/* A thread that slept now would not notice that silent requests make room. */
	if (ret && silent)
		vrb_ep_wake(ep);
	if (!good)
		ofi_cntr_wake_all(&ep->domain->base.triggers, &ep->watches);
	return ret;
}

bool vrb_work_find(const struct ofi_domain *domain, struct fid_ep *fid, struct ofi_work_ep *on)
{
	if (!vrb_is_ep(&fid->fid) || (struct ofi_domain *)vrb_ep(fid)->domain != domain)
		return false;
	on->ep = vrb_ep_self(&fid->fid);
	on->info = vrb_ep(fid)->info;
	return true;
}

static int work_watch(struct ofi_work *work, struct ofi_cntr *cntr)
{
	return vrb_cntr_watch_work(work->on.ep, cntr, work->call.type == FI_OP_RECV);
}

const struct ofi_work_ops vrb_work_ops = {
	.size = sizeof(struct ofi_work),
	.limit = VRB_IOV_MAX,
	.reads_desc = true,
	.prepare = work_prepare,
	.fire = work_fire,
	.watch = work_watch,
};

static ssize_t msg_trigger(struct vrb_ep *ep, const struct ofi_call *call)
{
	struct ofi_work_ep on = { ep->self, &ep->domain->base, ep->info };

	return ofi_work_trigger(&vrb_work_ops, &on, call);
}

ssize_t vrb_trigger_msg(struct vrb_ep *ep, enum fi_op_type type, const struct fi_msg *msg,
			uint64_t flags)
{
	return msg_trigger(ep, &(struct ofi_call){ type, flags, .msg = ofi_untagged(msg) });
}

ssize_t vrb_trigger_rma(struct vrb_ep *ep, enum fi_op_type type, const struct fi_msg_rma *msg,
			uint64_t flags)
{
	return msg_trigger(ep, &(struct ofi_call){ type, flags, .rma = *msg });
}

ssize_t vrb_trigger_atomic(struct vrb_ep *ep, enum fi_op_type type, struct ofi_atomic_args args,
			   uint64_t flags)
{
	return msg_trigger(ep, &(struct ofi_call){ type, flags, .atomic = args });
}
