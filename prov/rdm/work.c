/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Making the calls of triggered operations and deferred work, and completing deferred work. */
#include <stdlib.h>
#include <rdma/fi_errno.h>
#include "prov/base/cntr.h"
#include "prov/base/cq_ring.h"
#include "cntr.h"
#include "complete.h"
#include "lock.h"
#include "work.h"

struct ofi_rdm_done {
	LIST_ENTRY(ofi_rdm_done) link; /* in ep->deferred.dones while the operation is in flight */
	struct ofi_cntr *cntr;	       /* referenced; may be NULL */
	void *context;
	bool entry; /* a CQ entry is wanted too */
};

struct rdm_work {
	struct ofi_work base;
	struct ofi_rdm_done *done; /* for deferred work, until the operation owns it */
};

static void done_free(struct ofi_rdm_done *done)
{
	if (done && done->cntr)
		ofi_ref_put(&done->cntr->ref);
	free(done);
}

static void work_release(struct ofi_work *work)
{
	done_free(((struct rdm_work *)work)->done);
}

void ofi_rdm_work_done(struct ofi_rdm_ep *ep, struct ofi_rdm_cq *cq, const struct ofi_cq_item *item)
{
	struct ofi_rdm_done *done = item->context;
	struct ofi_cq_item entry = *item;

	entry.context = done->context;
	entry.flags &= ~OFI_RDM_DEFERRED;
	ofi_cntr_finish(done->cntr, !item->err);
	done->cntr = NULL;
	if (cq && (done->entry || item->err))
		ofi_rdm_put(ep, cq, &entry);
	LIST_REMOVE(done, link);
	done_free(done);
}

/* Makes the call, or only checks its arguments. */
static ssize_t work_call(const struct ofi_work *work, bool check)
{
	uint64_t mark = work->deferred ? OFI_RDM_DEFERRED : 0, flags = work->call.flags;
	struct ofi_rdm_ep *ep = work->on.ep;
	const struct ofi_rdm_work_calls *calls = ep->deferred.calls;
	enum fi_op_type type = work->call.type;

	switch (type) {
	case FI_OP_SEND:
	case FI_OP_TSEND:
		return calls->send(ep, &work->call.msg, flags, type == FI_OP_TSEND, mark, check);
	case FI_OP_RECV:
	case FI_OP_TRECV:
		return calls->recv(ep, &work->call.msg, flags, type == FI_OP_TRECV, mark, check);
	case FI_OP_READ:
	case FI_OP_WRITE:
		return calls->rma(ep, &work->call.rma, flags, type == FI_OP_READ, mark, check);
	default:
		return calls->atomic(ep, type, &work->call.atomic, flags, mark, check);
	}
}

/*
 * The context of a deferred call is an ofi_rdm_done, which contains the application's context. The
 * operation always completes, but a CQ entry is written only if the application wants one.
 */
static bool set_done(struct rdm_work *work)
{
	void **context = ofi_call_context(&work->base.call);

	work->done = calloc(1, sizeof(*work->done));
	if (!work->done)
		return false;
	work->done->cntr = work->base.completion;
	work->done->entry = work->base.call.flags & FI_COMPLETION;
	work->done->context = *context;
	work->base.completion = NULL;
	work->base.call.flags |= FI_COMPLETION;
	*context = work->done;
	return true;
}

static ssize_t work_prepare(struct ofi_work *work)
{
	const struct ofi_rdm_ep *ep = work->on.ep;

	if (work->deferred && !ep->enabled)
		return -FI_EOPBADSTATE;
	if (work->deferred && !set_done((struct rdm_work *)work))
		return -FI_ENOMEM;
	return work_call(work, true);
}

static uint64_t class_of(const struct ofi_work *work)
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

	return classes[work->call.type];
}

/*
 * Reports the error of a call that was made later, since there is nobody to return it to. The
 * caller holds the lock.
 */
static void work_fail(struct ofi_work *work, int err)
{
	struct ofi_rdm_ep *ep = work->on.ep;
	bool is_recv = work->trigger.part == OFI_TRIGGER_RECEIVES;
	struct ofi_cq_item item = {
		.context = *ofi_call_context(&work->call),
		.flags = class_of(work),
		.src = FI_ADDR_NOTAVAIL,
		.err = err,
	};

	if (work->deferred) {
		ofi_rdm_work_done(ep, is_recv ? ep->rx_cq : ep->tx_cq, &item);
		return;
	}
	if (!is_recv) {
		ofi_rdm_complete_tx(ep, item.context, item.flags, err, 0);
		return;
	}
	ofi_cntr_count_result(ep->cntrs[OFI_RDM_RECV], false);
	if (ep->rx_cq)
		ofi_rdm_put(ep, ep->rx_cq, &item);
}

static void work_enlist(struct ofi_rdm_ep *ep, struct ofi_rdm_done *done, bool in)
{
	if (!done)
		return;
	ofi_rdm_lock(ep);
	if (in)
		LIST_INSERT_HEAD(&ep->deferred.dones, done, link);
	else
		LIST_REMOVE(done, link);
	ofi_rdm_unlock(ep);
}

static int work_fire(struct ofi_work *work)
{
	struct ofi_rdm_done *done = ((struct rdm_work *)work)->done;
	struct ofi_rdm_ep *ep = work->on.ep;
	ssize_t ret;

	work_enlist(ep, done, true);
	ret = work_call(work, false);
	if (ret == -FI_EAGAIN) {
		work_enlist(ep, done, false);
		return -FI_EAGAIN;
	}
	if (ret) {
		ofi_rdm_lock(ep);
		work_fail(work, (int)-ret);
		ofi_rdm_unlock(ep);
	}
	((struct rdm_work *)work)->done = NULL; /* the operation owns it, or it is gone */
	return 0;
}

static int work_watch(struct ofi_work *work, struct ofi_cntr *cntr)
{
	return ofi_rdm_cntr_watch_work(work->on.ep, cntr);
}

const struct ofi_work_ops ofi_rdm_work_ops = {
	.size = sizeof(struct rdm_work),
	.limit = OFI_RDM_PROTO_IOV,
	.copies_hmem = true,
	.prepare = work_prepare,
	.fire = work_fire,
	.release = work_release,
	.watch = work_watch,
};

ssize_t ofi_rdm_trigger(struct ofi_rdm_ep *ep, const struct ofi_call *call)
{
	struct ofi_work_ep on = { ep, ep->domain, ep->info };

	return ofi_work_trigger(&ofi_rdm_work_ops, &on, call);
}

bool ofi_rdm_trigger_cancel(struct ofi_rdm_ep *ep, const void *context)
{
	const struct ofi_trigger_match match = { .owner = ep, .context = context };
	struct ofi_trigger *trigger =
		context ? ofi_triggers_take(&ep->domain->triggers, &match) : NULL;

	if (!trigger)
		return false;
	ofi_rdm_lock(ep);
	work_fail((struct ofi_work *)trigger, FI_ECANCELED);
	ofi_rdm_unlock(ep);
	ofi_trigger_finish(trigger);
	return true;
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

bool ofi_rdm_work_has(const struct ofi_rdm_ep *ep, const void *context)
{
	const struct ofi_rdm_done *done;

	LIST_FOREACH (done, &ep->deferred.dones, link)
		if (done->context == context)
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
