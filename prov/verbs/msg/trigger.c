/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Queueing operations that wait for a counter: calls with FI_TRIGGER, and fi_control of a domain.
 */
#include <stdlib.h>
#include <string.h>
#include <rdma/providers/fi_log.h>
#include "prov/base/cntr.h"
#include "prov/verbs/queue/cntr.h"
#include "prov/verbs/queue/cq.h"
#include "prov/verbs/provider/prov.h"
#include "prov/base/condition.h"
#include "work.h"

static struct vrb_work *work_of(struct ofi_trigger *trigger)
{
	return (struct vrb_work *)trigger;
}

static void work_free(struct ofi_trigger *trigger)
{
	struct vrb_work *work = work_of(trigger);

	if (work->completion)
		ofi_ref_put(&work->completion->ref);
	if (work->target)
		ofi_ref_put(&work->target->ref);
	free(work);
}

static int fire_op(struct ofi_trigger *trigger)
{
	return vrb_work_post(work_of(trigger));
}

static int fire_set(struct ofi_trigger *trigger)
{
	struct vrb_work *work = work_of(trigger);

	__atomic_store_n(&work->target->value, work->value, __ATOMIC_SEQ_CST);
	ofi_cntr_changed(work->target);
	return 0;
}

static int fire_add(struct ofi_trigger *trigger)
{
	struct vrb_work *work = work_of(trigger);

	ofi_cntr_count(work->target, work->value);
	return 0;
}

/* The arrays are stored after the structure. */
static struct vrb_work *work_new(struct vrb_ep *ep, enum fi_op_type type, uint64_t flags,
				 size_t count)
{
	size_t arrays = (count + 1) * (sizeof(struct iovec) + sizeof(void *));
	struct vrb_work *work;

	/* The work may outlive an alias, so it refers to the endpoint. */
	if (ep)
		ep = ep->self;
	work = calloc(1, sizeof(*work) + arrays + (ep ? ep->inject_size : 0));
	if (!work)
		return NULL;
	work->trigger.owner = ep;
	work->trigger.fire = fire_op;
	work->trigger.drop = work_free;
	work->ep = ep;
	work->type = type;
	work->flags = flags & ~(FI_TRIGGER | FI_MORE);
	work->count = count;
	work->iov = (struct iovec *)(work + 1);
	work->desc = (void **)(work->iov + count + 1);
	work->inject = (uint8_t *)(work->desc + count + 1);
	return work;
}

static void copy_iov(struct vrb_work *work, const struct iovec *iov, void **desc)
{
	if (work->count)
		memcpy(work->iov, iov, work->count * sizeof(*iov));
	if (work->count && desc)
		memcpy(work->desc, desc, work->count * sizeof(*desc));
}

static bool bad_iov(const struct iovec *iov, size_t count)
{
	return count > VRB_IOV_MAX || (count && !iov);
}

static ssize_t new_msg(struct vrb_ep *ep, enum fi_op_type type, const struct fi_msg *msg,
		       uint64_t flags, struct vrb_work **work)
{
	if (!msg || bad_iov(msg->msg_iov, msg->iov_count))
		return -FI_EINVAL;
	*work = work_new(ep, type, flags, msg->iov_count);
	if (!*work)
		return -FI_ENOMEM;
	copy_iov(*work, msg->msg_iov, msg->desc);
	(*work)->context = msg->context;
	(*work)->data = msg->data;
	return 0;
}

static ssize_t new_rma(struct vrb_ep *ep, enum fi_op_type type, const struct fi_msg_rma *msg,
		       uint64_t flags, struct vrb_work **work)
{
	if (!msg || msg->rma_iov_count != 1 || !msg->rma_iov ||
	    bad_iov(msg->msg_iov, msg->iov_count))
		return -FI_EINVAL;
	*work = work_new(ep, type, flags, msg->iov_count);
	if (!*work)
		return -FI_ENOMEM;
	copy_iov(*work, msg->msg_iov, msg->desc);
	(*work)->context = msg->context;
	(*work)->data = msg->data;
	(*work)->addr = msg->rma_iov->addr;
	(*work)->key = msg->rma_iov->key;
	(*work)->remote_len = msg->rma_iov->len;
	return 0;
}

static ssize_t new_atomic(struct vrb_ep *ep, enum fi_op_type type, const struct fi_msg_atomic *msg,
			  const struct fi_msg_compare *compare, const struct fi_msg_fetch *fetch,
			  uint64_t flags, struct vrb_work **out)
{
	struct vrb_work *work;

	if (!msg || msg->rma_iov_count != 1 || !msg->rma_iov)
		return -FI_EINVAL;
	work = work_new(ep, type, flags, 0);
	if (!work)
		return -FI_ENOMEM;
	work->context = msg->context;
	work->addr = msg->rma_iov->addr;
	work->key = msg->rma_iov->key;
	work->elements = msg->rma_iov->count;
	work->datatype = msg->datatype;
	work->op = msg->op;
	work->operand = vrb_ioc_addr(msg->msg_iov, msg->iov_count);
	work->operand_desc = msg->desc ? msg->desc[0] : NULL;
	if (compare)
		work->compare = vrb_ioc_addr(compare->msg_iov, compare->iov_count);
	if (fetch) {
		work->result = vrb_ioc_addr(fetch->msg_iov, fetch->iov_count);
		work->result_desc = fetch->desc ? fetch->desc[0] : NULL;
	}
	*out = work;
	return 0;
}

/* Queues work after checking it, or frees it. */
static ssize_t trigger_queue(struct vrb_domain *domain, struct vrb_work *work,
			     struct ofi_cntr *cntr, uint64_t threshold)
{
	ssize_t ret = work->ep ? vrb_work_check(work) : 0;

	if (ret) {
		work_free(&work->trigger);
		return ret;
	}
	if (work->ep)
		vrb_work_inject(work);
	work->trigger.cntr = cntr;
	work->trigger.threshold = threshold;
	ofi_triggers_add(&domain->base.triggers, &work->trigger);
	return 0;
}

static ssize_t trigger_condition(const struct vrb_ep *ep, const void *context, uint64_t flags,
				 struct ofi_cntr **cntr, uint64_t *threshold)
{
	if (!(flags & FI_TRIGGER) || !vrb_ep_triggers(ep))
		return -FI_EBADFLAGS;
	return ofi_trigger_condition(&ep->domain->base, context, cntr, threshold);
}

ssize_t vrb_trigger_msg(struct vrb_ep *ep, enum fi_op_type type, const struct fi_msg *msg,
			uint64_t flags)
{
	struct vrb_work *work = NULL;
	struct ofi_cntr *cntr;
	uint64_t threshold;
	ssize_t ret = trigger_condition(ep, msg->context, flags, &cntr, &threshold);

	if (!ret)
		ret = new_msg(ep, type, msg, flags, &work);
	return ret ? ret : trigger_queue(ep->domain, work, cntr, threshold);
}

ssize_t vrb_trigger_rma(struct vrb_ep *ep, enum fi_op_type type, const struct fi_msg_rma *msg,
			uint64_t flags)
{
	struct vrb_work *work = NULL;
	struct ofi_cntr *cntr;
	uint64_t threshold;
	ssize_t ret = trigger_condition(ep, msg->context, flags, &cntr, &threshold);

	if (!ret)
		ret = new_rma(ep, type, msg, flags, &work);
	return ret ? ret : trigger_queue(ep->domain, work, cntr, threshold);
}

ssize_t vrb_trigger_atomic(struct vrb_ep *ep, enum fi_op_type type, const struct fi_msg_atomic *msg,
			   const struct fi_msg_compare *compare, const struct fi_msg_fetch *fetch,
			   uint64_t flags)
{
	struct vrb_work *work = NULL;
	struct ofi_cntr *cntr;
	uint64_t threshold;
	ssize_t ret = trigger_condition(ep, msg->context, flags, &cntr, &threshold);

	if (!ret)
		ret = new_atomic(ep, type, msg, compare, fetch, flags, &work);
	return ret ? ret : trigger_queue(ep->domain, work, cntr, threshold);
}

/* Finds the endpoint of deferred work, which must be one that counts its completions. */
static ssize_t check_ep(const struct vrb_domain *domain, struct fid_ep *fid, struct vrb_ep **ep)
{
	*ep = (struct vrb_ep *)fid;
	if (!fid || !vrb_is_ep(&fid->fid) || (*ep)->domain != domain) {
		FI_WARN(&vrb_prov, FI_LOG_DOMAIN,
			"fi_control(FI_QUEUE_WORK): %p is not an endpoint of the domain\n",
			(void *)fid);
		return -FI_EINVAL;
	}
	*ep = (*ep)->self;
	if (vrb_ep_triggers(*ep))
		return 0;
	FI_WARN(&vrb_prov, FI_LOG_DOMAIN,
		"fi_control(FI_QUEUE_WORK): the endpoint was opened without FI_TRIGGER; request it in the hints of fi_getinfo\n");
	return -FI_EOPNOTSUPP;
}

static ssize_t new_cntr_op(struct vrb_domain *domain, const struct fi_deferred_work *from,
			   struct vrb_work **work)
{
	struct ofi_cntr *target = ofi_trigger_cntr(&domain->base, from->op.cntr->cntr);

	if (!target || from->completion_cntr)
		return -FI_EINVAL;
	*work = work_new(NULL, from->op_type, 0, 0);
	if (!*work)
		return -FI_ENOMEM;
	(*work)->trigger.fire = from->op_type == FI_OP_CNTR_SET ? fire_set : fire_add;
	(*work)->target = target;
	(*work)->value = from->op.cntr->value;
	ofi_ref_get(&target->ref);
	return 0;
}

/* Every structure of the union begins with the endpoint. */
static ssize_t new_op(struct vrb_domain *domain, const struct fi_deferred_work *from,
		      struct vrb_work **work)
{
	struct vrb_ep *ep;
	ssize_t ret;

	if (from->op_type > FI_OP_COMPARE_ATOMIC)
		return -FI_EOPNOTSUPP;
	ret = check_ep(domain, from->op.msg->ep, &ep);
	if (ret)
		return ret;
	switch (from->op_type) {
	case FI_OP_SEND:
	case FI_OP_RECV:
		return new_msg(ep, from->op_type, &from->op.msg->msg, from->op.msg->flags, work);
	case FI_OP_READ:
	case FI_OP_WRITE:
		return new_rma(ep, from->op_type, &from->op.rma->msg, from->op.rma->flags, work);
	case FI_OP_ATOMIC:
		return new_atomic(ep, from->op_type, &from->op.atomic->msg, NULL, NULL,
				  from->op.atomic->flags, work);
	case FI_OP_FETCH_ATOMIC:
		return new_atomic(ep, from->op_type, &from->op.fetch_atomic->msg, NULL,
				  &from->op.fetch_atomic->fetch, from->op.fetch_atomic->flags,
				  work);
	case FI_OP_COMPARE_ATOMIC:
		return new_atomic(ep, from->op_type, &from->op.compare_atomic->msg,
				  &from->op.compare_atomic->compare,
				  &from->op.compare_atomic->fetch, from->op.compare_atomic->flags,
				  work);
	default:
		return -FI_EOPNOTSUPP; /* tagged messages are not supported */
	}
}

static bool is_cntr_op(enum fi_op_type type)
{
	return type == FI_OP_CNTR_SET || type == FI_OP_CNTR_ADD;
}

/* Makes the completions of the work visible to the completion counter. */
static ssize_t set_completion(struct vrb_domain *domain, struct vrb_work *work,
			      struct fid_cntr *fid)
{
	struct ofi_cntr *cntr = ofi_trigger_cntr(&domain->base, fid);

	if (!fid)
		return 0;
	if (!cntr)
		return -FI_EINVAL;
	ofi_ref_get(&cntr->ref);
	work->completion = cntr;
	return vrb_cntr_watch_work(work->ep, cntr, work->type == FI_OP_RECV);
}

static ssize_t queue_work(struct vrb_domain *domain, const struct fi_deferred_work *from)
{
	struct ofi_cntr *cntr =
		from ? ofi_trigger_cntr(&domain->base, from->triggering_cntr) : NULL;
	struct vrb_work *work = NULL;
	ssize_t ret;

	if (!cntr || !from->op.msg)
		return -FI_EINVAL;
	if (domain->base.progress && !is_cntr_op(from->op_type))
		return vrb_rdm_of(domain)->queue_work(&domain->base, from, cntr);
	if (is_cntr_op(from->op_type))
		ret = new_cntr_op(domain, from, &work);
	else
		ret = new_op(domain, from, &work);
	if (ret)
		return ret;
	work->trigger.key = from;
	work->trigger.errors = true;
	work->deferred = true;
	ret = work->ep ? set_completion(domain, work, from->completion_cntr) : 0;
	if (ret) {
		work_free(&work->trigger);
		return ret;
	}
	return trigger_queue(domain, work, cntr, from->threshold);
}

static int flush_work(struct vrb_domain *domain, void *arg)
{
	struct ofi_trigger_match match = { .cntr = ofi_trigger_cntr(&domain->base, arg) };

	if (arg && !match.cntr)
		return -FI_EINVAL;
	ofi_triggers_cancel(&domain->base.triggers, &match);
	return 0;
}

int vrb_domain_control(struct fid *fid, int command, void *arg)
{
	struct vrb_domain *domain = (struct vrb_domain *)fid;
	struct ofi_trigger_match match = { .key = arg };

	switch (command) {
	case FI_QUEUE_WORK:
		return (int)queue_work(domain, arg);
	case FI_CANCEL_WORK:
		if (!arg)
			return -FI_EINVAL;
		return ofi_triggers_cancel(&domain->base.triggers, &match) ? 0 : -FI_ENOENT;
	case FI_FLUSH_WORK:
		return flush_work(domain, arg);
	default:
		return -FI_ENOSYS;
	}
}
