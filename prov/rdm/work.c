/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Triggered operations and deferred work: storing them, and running them when the counter reaches
 * its threshold.
 */
#include <stdlib.h>
#include <string.h>
#include "prov/base/cntr.h"
#include "prov/base/cq_ring.h"
#include "prov/base/reduce.h"
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "cntr.h"
#include "lock.h"
#include "objects.h"
#include "op.h"
#include "complete.h"
#include "prov/base/condition.h"
#include "rdm.h"
#include "work.h"
#include "prov/base/hmem_copy.h"

struct ofi_rdm_done {
	LIST_ENTRY(ofi_rdm_done) link; /* in ep->deferred.dones while the operation is in flight */
	struct ofi_cntr *cntr;	       /* referenced; may be NULL */
	void *context;
	bool entry; /* a CQ entry is wanted too */
};

struct work {
	struct ofi_trigger trigger;
	struct ofi_rdm_ep *ep;
	enum fi_op_type type;
	uint64_t flags;
	struct ofi_rdm_done *done; /* for deferred work only */
	union {
		struct fi_msg_tagged msg;
		struct fi_msg_rma rma;
		struct ofi_rdm_atomic_args atomic;
	};
	struct iovec iov[OFI_RDM_PROTO_IOV];
	void *desc[OFI_RDM_PROTO_IOV];
	struct fi_rma_iov rma_iov[OFI_RDM_PROTO_IOV];
	struct fi_ioc ioc[OFI_RDM_PROTO_IOV], compare[OFI_RDM_PROTO_IOV], result[OFI_RDM_PROTO_IOV];
	struct fi_rma_ioc rma_ioc[OFI_RDM_PROTO_IOV];
	void *copy; /* copy of the data with FI_INJECT */
};

static bool is_recv(enum fi_op_type type)
{
	return type == FI_OP_RECV || type == FI_OP_TRECV;
}

static void done_free(struct ofi_rdm_done *done)
{
	if (done && done->cntr)
		ofi_ref_put(&done->cntr->ref);
	free(done);
}

static void work_free(struct ofi_trigger *trigger)
{
	struct work *work = (struct work *)trigger;

	done_free(work->done);
	free(work->copy);
	free(work);
}

void ofi_rdm_work_done(struct ofi_rdm_ep *ep, struct ofi_rdm_cq *cq, const struct ofi_cq_item *item)
{
	struct ofi_rdm_done *done = item->context;
	struct ofi_cq_item entry = *item;

	entry.context = done->context;
	entry.flags &= ~OFI_RDM_DEFERRED;
	if (done->cntr && item->err)
		ofi_cntr_count_error(done->cntr, 1);
	else if (done->cntr)
		ofi_cntr_count(done->cntr, 1);
	if (cq && (done->entry || item->err))
		ofi_rdm_put(ep, cq, &entry);
	LIST_REMOVE(done, link);
	done_free(done);
}

/* Makes the call, or only checks its arguments. */
static ssize_t work_call(const struct work *work, bool check)
{
	uint64_t mark = work->done ? OFI_RDM_DEFERRED : 0;
	const struct ofi_rdm_work_calls *calls = work->ep->deferred.calls;

	switch (work->type) {
	case FI_OP_SEND:
	case FI_OP_TSEND:
		return calls->send(work->ep, &work->msg, work->flags, work->type == FI_OP_TSEND,
				   mark, check);
	case FI_OP_RECV:
	case FI_OP_TRECV:
		return calls->recv(work->ep, &work->msg, work->flags, work->type == FI_OP_TRECV,
				   mark, check);
	case FI_OP_READ:
	case FI_OP_WRITE:
		return calls->rma(work->ep, &work->rma, work->flags, work->type == FI_OP_READ, mark,
				  check);
	default:
		return calls->atomic(work->ep, work->type, &work->atomic, work->flags, mark, check);
	}
}

static void **context_of(struct work *work)
{
	switch (work->type) {
	case FI_OP_SEND:
	case FI_OP_TSEND:
	case FI_OP_RECV:
	case FI_OP_TRECV:
		return &work->msg.context;
	case FI_OP_READ:
	case FI_OP_WRITE:
		return &work->rma.context;
	default:
		return &work->atomic.msg.context;
	}
}

static uint64_t class_of(const struct work *work)
{
	static const uint64_t classes[] = {
		[FI_OP_SEND] = FI_MSG | FI_SEND,
		[FI_OP_TSEND] = FI_TAGGED | FI_SEND,
		[FI_OP_RECV] = FI_MSG | FI_RECV,
		[FI_OP_TRECV] = FI_TAGGED | FI_RECV,
		[FI_OP_READ] = FI_RMA | FI_READ,
		[FI_OP_WRITE] = FI_RMA | FI_WRITE,
		[FI_OP_ATOMIC] = FI_ATOMIC | FI_WRITE,
		[FI_OP_FETCH_ATOMIC] = FI_ATOMIC | FI_READ,
		[FI_OP_COMPARE_ATOMIC] = FI_ATOMIC | FI_READ,
	};

	return classes[work->type];
}

/*
 * The deferred call returned an error, which cannot be returned to anyone: reports it. The caller
 * holds the lock.
 */
static void work_fail(struct work *work, int err)
{
	struct ofi_rdm_ep *ep = work->ep;
	struct ofi_cq_item item = {
		.context = *context_of(work),
		.flags = class_of(work),
		.src = FI_ADDR_NOTAVAIL,
		.err = err,
	};

	if (work->done) {
		ofi_rdm_work_done(ep, is_recv(work->type) ? ep->rx_cq : ep->tx_cq, &item);
		return;
	}
	if (!is_recv(work->type)) {
		ofi_rdm_complete_tx(ep, item.context, item.flags, err, 0);
		return;
	}
	if (ep->cntrs[OFI_RDM_RECV])
		ofi_cntr_count_error(ep->cntrs[OFI_RDM_RECV], 1);
	if (ep->rx_cq)
		ofi_rdm_put(ep, ep->rx_cq, &item);
}

static void work_enlist(struct work *work, bool in)
{
	struct ofi_rdm_ep *ep = work->ep;

	if (!work->done)
		return;
	ofi_rdm_lock(ep);
	if (in)
		LIST_INSERT_HEAD(&ep->deferred.dones, work->done, link);
	else
		LIST_REMOVE(work->done, link);
	ofi_rdm_unlock(ep);
}

static int work_fire(struct ofi_trigger *trigger)
{
	struct work *work = (struct work *)trigger;
	ssize_t ret;

	work_enlist(work, true);
	ret = work_call(work, false);
	if (ret == -FI_EAGAIN) {
		work_enlist(work, false);
		return -FI_EAGAIN;
	}
	if (ret) {
		ofi_rdm_lock(work->ep);
		work_fail(work, (int)-ret);
		ofi_rdm_unlock(work->ep);
	}
	work->done = NULL; /* the operation owns it, or it is gone */
	return 0;
}

/* Copying the arguments. */

static bool bad_list(const void *list, size_t count)
{
	return count > OFI_RDM_PROTO_IOV || (count && !list);
}

#define KEEP(to, list, count) ((count) ? memcpy(to, list, (count) * sizeof(*(to))) : (to))

static void keep_desc(struct work *work, void *const *desc, size_t count)
{
	if (desc)
		KEEP(work->desc, desc, count);
}

static bool keep_msg(struct work *work, const struct fi_msg_tagged *msg)
{
	if (bad_list(msg->msg_iov, msg->iov_count))
		return false;
	work->msg = *msg;
	work->msg.msg_iov = KEEP(work->iov, msg->msg_iov, msg->iov_count);
	keep_desc(work, msg->desc, msg->iov_count);
	work->msg.desc = work->desc;
	return true;
}

static bool keep_rma(struct work *work, const struct fi_msg_rma *msg)
{
	if (bad_list(msg->msg_iov, msg->iov_count) || bad_list(msg->rma_iov, msg->rma_iov_count))
		return false;
	work->rma = *msg;
	work->rma.msg_iov = KEEP(work->iov, msg->msg_iov, msg->iov_count);
	work->rma.rma_iov = KEEP(work->rma_iov, msg->rma_iov, msg->rma_iov_count);
	keep_desc(work, msg->desc, msg->iov_count);
	work->rma.desc = work->desc;
	return true;
}

/* An operation that only reads has no operands, and its operand arguments are not checked. */
static bool is_read(const struct work *work, const struct fi_msg_atomic *msg)
{
	return work->type == FI_OP_FETCH_ATOMIC && msg->op == FI_ATOMIC_READ;
}

static bool keep_atomic(struct work *work, const struct ofi_rdm_atomic_args *args)
{
	const struct fi_msg_atomic *msg = &args->msg;
	const struct fi_ioc *ioc = is_read(work, msg) ? NULL : msg->msg_iov;
	size_t count = ioc ? msg->iov_count : 0;

	if (bad_list(msg->rma_iov, msg->rma_iov_count) ||
	    bad_list(args->compare, args->compare_count) ||
	    bad_list(args->result, args->result_count) || count > OFI_RDM_PROTO_IOV)
		return false;
	work->atomic = *args;
	work->atomic.msg.msg_iov = ioc ? KEEP(work->ioc, ioc, count) : NULL;
	work->atomic.msg.iov_count = count;
	work->atomic.msg.rma_iov = KEEP(work->rma_ioc, msg->rma_iov, msg->rma_iov_count);
	if (args->compare)
		work->atomic.compare = KEEP(work->compare, args->compare, args->compare_count);
	if (args->result)
		work->atomic.result = KEEP(work->result, args->result, args->result_count);
	work->atomic.msg.desc = NULL;
	return true;
}

/*
 * Copies the bytes that FI_INJECT allows the application to reuse. The operation has been checked.
 */
static bool copy_iov(struct work *work, size_t *count)
{
	size_t i, len = 0;

	for (i = 0; i < *count; i++)
		len += work->iov[i].iov_len;
	work->copy = malloc(len + 1);
	if (!work->copy)
		return false;
	if (ofi_rdm_gather(work->copy, work->iov, *count, work->ep->hmem))
		return false;
	work->iov[0] = (struct iovec){ work->copy, len };
	work->desc[0] = NULL;
	*count = 1;
	return true;
}

static bool copy_ioc(struct work *work, struct fi_ioc *ioc, size_t count, uint8_t **to)
{
	size_t i, len, size = ofi_datatype_size(work->atomic.msg.datatype);

	for (i = 0; i < count; i++) {
		len = ioc[i].count * size;
		if (ofi_hmem_load(work->ep->hmem, *to, ioc[i].addr, len))
			return false;
		ioc[i].addr = *to;
		*to += len;
	}
	return true;
}

static size_t bytes_of(const struct work *work)
{
	size_t i, n = 0;

	for (i = 0; i < work->atomic.msg.rma_iov_count; i++)
		n += work->rma_ioc[i].count;
	return n * ofi_datatype_size(work->atomic.msg.datatype);
}

static bool copy_operands(struct work *work)
{
	uint8_t *to = work->copy = malloc(2 * bytes_of(work));

	return to &&
	       (!work->atomic.msg.msg_iov ||
		copy_ioc(work, work->ioc, work->atomic.msg.iov_count, &to)) &&
	       copy_ioc(work, work->compare, work->atomic.compare_count, &to);
}

static bool work_inject(struct work *work)
{
	if (!(work->flags & FI_INJECT))
		return true;
	switch (work->type) {
	case FI_OP_SEND:
	case FI_OP_TSEND:
		return copy_iov(work, &work->msg.iov_count);
	case FI_OP_WRITE:
		return copy_iov(work, &work->rma.iov_count);
	default:
		return copy_operands(work);
	}
}

/* Queueing. */

static struct work *work_new(struct ofi_rdm_ep *ep, enum fi_op_type type, uint64_t flags)
{
	struct work *work = calloc(1, sizeof(*work));

	if (!work)
		return NULL;
	work->trigger.owner = ep;
	work->trigger.fire = work_fire;
	work->trigger.drop = work_free;
	work->ep = ep;
	work->type = type;
	work->flags = flags & ~(FI_TRIGGER | FI_MORE);
	return work;
}

/* Queues work; `kept` tells whether its arguments could be copied. */
static ssize_t work_queue(struct work *work, bool kept)
{
	ssize_t ret = kept ? work_call(work, true) : -FI_EINVAL;

	if (!ret && !work_inject(work))
		ret = -FI_ENOMEM;
	if (ret) {
		work_free(&work->trigger);
		return ret;
	}
	ofi_triggers_add(&work->ep->domain->triggers, &work->trigger);
	return 0;
}

static ssize_t work_prepare(struct ofi_rdm_ep *ep, enum fi_op_type type, const void *context,
			    uint64_t flags, struct work **out)
{
	struct ofi_cntr *cntr;
	uint64_t threshold;
	ssize_t ret;

	if (!(flags & FI_TRIGGER) || !(ep->info->caps & FI_TRIGGER))
		return -FI_EBADFLAGS;
	ret = ofi_trigger_condition(ep->domain, context, &cntr, &threshold);
	if (ret)
		return ret;
	*out = work_new(ep, type, flags);
	if (!*out)
		return -FI_ENOMEM;
	(*out)->trigger.cntr = cntr;
	(*out)->trigger.threshold = threshold;
	return 0;
}

ssize_t ofi_rdm_trigger_msg(struct ofi_rdm_ep *ep, enum fi_op_type type,
			    const struct fi_msg_tagged *msg, uint64_t flags)
{
	struct work *work;
	ssize_t ret = work_prepare(ep, type, msg->context, flags, &work);

	return ret ? ret : work_queue(work, keep_msg(work, msg));
}

ssize_t ofi_rdm_trigger_rma(struct ofi_rdm_ep *ep, enum fi_op_type type,
			    const struct fi_msg_rma *msg, uint64_t flags)
{
	struct work *work;
	ssize_t ret = work_prepare(ep, type, msg->context, flags, &work);

	return ret ? ret : work_queue(work, keep_rma(work, msg));
}

ssize_t ofi_rdm_trigger_atomic(struct ofi_rdm_ep *ep, enum fi_op_type type,
			       const struct ofi_rdm_atomic_args *args, uint64_t flags)
{
	struct work *work;
	ssize_t ret = work_prepare(ep, type, args->msg.context, flags, &work);

	return ret ? ret : work_queue(work, keep_atomic(work, args));
}

/* Deferred work. */

static bool keep_deferred(struct work *work, const struct fi_deferred_work *from)
{
	const struct fi_op_fetch_atomic *fetch = from->op.fetch_atomic;
	const struct fi_op_compare_atomic *compare = from->op.compare_atomic;
	const struct fi_msg *msg = &from->op.msg->msg;

	switch (from->op_type) {
	case FI_OP_SEND:
	case FI_OP_RECV:
		return keep_msg(work, &(struct fi_msg_tagged){ .msg_iov = msg->msg_iov,
							       .desc = msg->desc,
							       .iov_count = msg->iov_count,
							       .addr = msg->addr,
							       .context = msg->context,
							       .data = msg->data });
	case FI_OP_TSEND:
	case FI_OP_TRECV:
		return keep_msg(work, &from->op.tagged->msg);
	case FI_OP_READ:
	case FI_OP_WRITE:
		return keep_rma(work, &from->op.rma->msg);
	case FI_OP_ATOMIC:
		return keep_atomic(work,
				   &(struct ofi_rdm_atomic_args){ .msg = from->op.atomic->msg });
	case FI_OP_FETCH_ATOMIC:
		return keep_atomic(work, &(struct ofi_rdm_atomic_args){
						 .msg = fetch->msg,
						 .result = fetch->fetch.msg_iov,
						 .result_count = fetch->fetch.iov_count });
	default:
		return keep_atomic(work, &(struct ofi_rdm_atomic_args){
						 .msg = compare->msg,
						 .compare = compare->compare.msg_iov,
						 .compare_count = compare->compare.iov_count,
						 .result = compare->fetch.msg_iov,
						 .result_count = compare->fetch.iov_count });
	}
}

static uint64_t flags_of(const struct fi_deferred_work *from)
{
	switch (from->op_type) {
	case FI_OP_SEND:
	case FI_OP_RECV:
		return from->op.msg->flags;
	case FI_OP_TSEND:
	case FI_OP_TRECV:
		return from->op.tagged->flags;
	case FI_OP_READ:
	case FI_OP_WRITE:
		return from->op.rma->flags;
	case FI_OP_ATOMIC:
		return from->op.atomic->flags;
	case FI_OP_FETCH_ATOMIC:
		return from->op.fetch_atomic->flags;
	default:
		return from->op.compare_atomic->flags;
	}
}

static ssize_t set_done(struct work *work, struct fid_cntr *fid)
{
	struct ofi_rdm_ep *ep = work->ep;
	struct ofi_cntr *cntr = ofi_trigger_cntr(ep->domain, fid);
	int ret;

	work->done = calloc(1, sizeof(*work->done));
	if (!work->done)
		return -FI_ENOMEM;
	work->done->entry = work->flags & FI_COMPLETION;
	work->flags |= FI_COMPLETION;
	if (!fid)
		return 0;
	if (!cntr)
		return -FI_EINVAL;
	ret = ofi_rdm_cntr_watch_work(ep, cntr);
	if (ret)
		return ret;
	ofi_ref_get(&cntr->ref);
	work->done->cntr = cntr;
	return 0;
}

/* The context of the call is the ofi_rdm_done, which contains the application's context. */
static void set_context(struct work *work)
{
	work->done->context = *context_of(work);
	*context_of(work) = work->done;
}

ssize_t ofi_rdm_work_defer(struct ofi_rdm_ep *ep, const struct fi_deferred_work *from,
			   struct ofi_cntr *cntr)
{
	struct work *work = work_new(ep, from->op_type, flags_of(from));
	ssize_t ret;
	bool kept;

	if (!work)
		return -FI_ENOMEM;
	work->trigger.key = from;
	work->trigger.cntr = cntr;
	work->trigger.threshold = from->threshold;
	work->trigger.errors = true;
	ret = set_done(work, from->completion_cntr);
	if (ret) {
		work_free(&work->trigger);
		return ret;
	}
	kept = keep_deferred(work, from);
	if (kept)
		set_context(work);
	return work_queue(work, kept);
}

bool ofi_rdm_work_cancel(struct ofi_rdm_ep *ep, const void *context)
{
	struct ofi_rdm_done *done;

	LIST_FOREACH (done, &ep->deferred.dones, link)
		if (done->context == context && (ofi_rdm_proto_cancel(&ep->proto, true, done) ||
						 ofi_rdm_proto_cancel(&ep->proto, false, done)))
			return true;
	return false;
}

void ofi_rdm_work_fini(struct ofi_rdm_ep *ep)
{
	struct ofi_rdm_done *done;

	while ((done = LIST_FIRST(&ep->deferred.dones))) {
		LIST_REMOVE(done, link);
		done_free(done);
	}
}
