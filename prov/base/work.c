/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Queueing operations that wait for a counter: copying their arguments, and fi_control. */
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "cntr.h"
#include "desc.h"
#include "hmem_copy.h"
#include "reduce.h"
#include "refuse.h"
#include "work.h"

/* Room for one element of every list that an operation may have. */
#define ELEMENT (3 * sizeof(struct fi_ioc) + sizeof(struct fi_rma_ioc) + 3 * sizeof(void *))

_Static_assert(sizeof(struct fi_ioc) == sizeof(struct iovec) &&
		       sizeof(struct fi_rma_ioc) == sizeof(struct fi_rma_iov),
	       "an element of the lists of an atomic operation is as large as of the others");

void **ofi_call_context(struct ofi_call *call)
{
	switch (call->type) {
	case FI_OP_READ:
	case FI_OP_WRITE:
		return &call->rma.context;
	case FI_OP_ATOMIC:
	case FI_OP_FETCH_ATOMIC:
	case FI_OP_COMPARE_ATOMIC:
		return &call->atomic.msg.context;
	default:
		return &call->msg.context;
	}
}

static void work_free(struct ofi_trigger *trigger)
{
	struct ofi_work *work = (struct ofi_work *)trigger;

	if (work->ops->release)
		work->ops->release(work);
	if (work->completion)
		ofi_ref_put(&work->completion->ref);
	free(work->copy);
	free(work);
}

static int work_fire(struct ofi_trigger *trigger)
{
	struct ofi_work *work = (struct ofi_work *)trigger;

	return work->ops->fire(work);
}

/* Copying the arguments. */

/* Copies a list, or reserves an empty one if there is none. */
static void *list_keep(struct ofi_work *work, const void *list, size_t count, size_t size)
{
	void *copy = work->room;

	if (list)
		memcpy(copy, list, count * size);
	work->room += count * size;
	return copy;
}

#define KEEP(work, list, count) list_keep(work, list, count, sizeof(*(list)))

static bool has_hmem(const struct ofi_work *work)
{
	return work->on.info->caps & FI_HMEM;
}

/* Returns the list, or NULL if nobody reads it: then it can be any pointer. */
static void *const *read_desc(const struct ofi_work *work, void **desc)
{
	return work->ops->reads_desc || has_hmem(work) ? ofi_desc_list(desc) : NULL;
}

static void keep_msg(struct ofi_work *work, struct fi_msg_tagged *msg)
{
	msg->msg_iov = work->iov = KEEP(work, msg->msg_iov, msg->iov_count);
	msg->desc = KEEP(work, read_desc(work, msg->desc), msg->iov_count);
}

static void keep_rma(struct ofi_work *work, struct fi_msg_rma *msg)
{
	msg->msg_iov = work->iov = KEEP(work, msg->msg_iov, msg->iov_count);
	msg->desc = KEEP(work, ofi_desc_list(msg->desc), msg->iov_count);
	msg->rma_iov = KEEP(work, msg->rma_iov, msg->rma_iov_count);
}

static bool is_recv(const struct ofi_call *call)
{
	return call->type == FI_OP_RECV || call->type == FI_OP_TRECV;
}

static void keep_atomic(struct ofi_work *work, struct ofi_atomic_args *args)
{
	struct fi_msg_atomic *msg = &args->msg;

	if (msg->msg_iov)
		msg->msg_iov = work->ioc = KEEP(work, msg->msg_iov, msg->iov_count);
	msg->desc = KEEP(work, read_desc(work, msg->desc), msg->iov_count);
	msg->rma_iov = KEEP(work, msg->rma_iov, msg->rma_iov_count);
	if (args->compare)
		args->compare = work->compare = KEEP(work, args->compare, args->compare_count);
	if (args->result)
		args->result = KEEP(work, args->result, args->result_count);
	args->compare_desc = KEEP(work, has_hmem(work) ? ofi_desc_list(args->compare_desc) : NULL,
				  args->compare_count);
	args->result_desc = KEEP(work, read_desc(work, args->result_desc), args->result_count);
}

/*
 * Raises *most to the length of a list. Returns false if the length is not 0 and the list is NULL.
 */
static bool measure(const void *list, size_t count, size_t *most)
{
	if (count > *most)
		*most = count;
	return list || !count;
}

static bool measure_atomic(const struct ofi_atomic_args *args, size_t *most)
{
	return measure(args->msg.rma_iov, args->msg.rma_iov_count, most) &&
	       measure(args->compare, args->compare_count, most) &&
	       measure(args->result, args->result_count, most) &&
	       measure(args->msg.msg_iov, args->msg.iov_count, most);
}

static bool measure_call(const struct ofi_call *call, size_t *most)
{
	switch (call->type) {
	case FI_OP_READ:
	case FI_OP_WRITE:
		return measure(call->rma.msg_iov, call->rma.iov_count, most) &&
		       measure(call->rma.rma_iov, call->rma.rma_iov_count, most);
	case FI_OP_ATOMIC:
	case FI_OP_FETCH_ATOMIC:
	case FI_OP_COMPARE_ATOMIC:
		return measure_atomic(&call->atomic, most);
	default:
		return measure(call->msg.msg_iov, call->msg.iov_count, most);
	}
}

static void keep_lists(struct ofi_work *work)
{
	switch (work->call.type) {
	case FI_OP_READ:
	case FI_OP_WRITE:
		keep_rma(work, &work->call.rma);
		break;
	case FI_OP_ATOMIC:
	case FI_OP_FETCH_ATOMIC:
	case FI_OP_COMPARE_ATOMIC:
		keep_atomic(work, &work->call.atomic);
		break;
	default:
		keep_msg(work, &work->call.msg);
	}
}

static int load(const struct ofi_work *work, void *to, const void *from, size_t len)
{
	return ofi_hmem_load(work->ops->copies_hmem && has_hmem(work), to, from, len);
}

/*
 * Copies the bytes that FI_INJECT allows the application to reuse. The operation has been checked.
 * Returns 0 or -FI_E*.
 */
static int copy_iov(struct ofi_work *work, size_t *count, void **desc)
{
	size_t i, len = 0;
	int ret = 0;
	uint8_t *to;

	for (i = 0; i < *count; i++)
		len += work->iov[i].iov_len;
	to = work->copy = malloc(len + 1);
	if (!to)
		return -FI_ENOMEM;
	for (i = 0; i < *count && !ret; to += work->iov[i++].iov_len)
		ret = load(work, to, work->iov[i].iov_base, work->iov[i].iov_len);
	work->iov[0] = (struct iovec){ work->copy, len };
	*count = 1;
	desc[0] = NULL;
	return ret;
}

static int copy_ioc(struct ofi_work *work, struct fi_ioc *ioc, size_t count, uint8_t **to)
{
	size_t i, len, size = ofi_datatype_size(work->call.atomic.msg.datatype);
	int ret = 0;

	for (i = 0; ioc && i < count && !ret; i++, *to += len) {
		len = ioc[i].count * size;
		ret = load(work, *to, ioc[i].addr, len);
		ioc[i].addr = *to;
	}
	return ret;
}

static int copy_operands(struct ofi_work *work)
{
	struct ofi_atomic_args *args = &work->call.atomic;
	size_t i, n = 0;
	uint8_t *to;
	int ret;

	for (i = 0; i < args->msg.rma_iov_count; i++)
		n += args->msg.rma_iov[i].count;
	to = work->copy = malloc(2 * n * ofi_datatype_size(args->msg.datatype));
	args->msg.desc = args->compare_desc = NULL;
	ret = to ? copy_ioc(work, work->ioc, args->msg.iov_count, &to) : -FI_ENOMEM;
	return ret ? ret : copy_ioc(work, work->compare, args->compare_count, &to);
}

static int copy_injected(struct ofi_work *work)
{
	struct ofi_call *call = &work->call;

	if (!(call->flags & FI_INJECT))
		return 0;
	switch (call->type) {
	case FI_OP_RECV:
	case FI_OP_TRECV:
		return 0;
	case FI_OP_SEND:
	case FI_OP_TSEND:
		return copy_iov(work, &call->msg.iov_count, call->msg.desc);
	case FI_OP_WRITE:
		return copy_iov(work, &call->rma.iov_count, call->rma.desc);
	default:
		return copy_operands(work);
	}
}

/* The counters and thresholds that operations wait for. */

/* Returns the fid's counter if it belongs to the domain; otherwise logs and returns NULL. */
static struct ofi_cntr *find_cntr(const struct ofi_domain *domain, struct fid_cntr *fid)
{
	struct ofi_cntr *cntr = ofi_cntr_of((struct fid *)fid, &domain->ref);

	if (fid && !cntr)
		FI_WARN(domain->prov, FI_LOG_DOMAIN,
			"triggered operation: %p is not a counter of the endpoint's domain\n",
			(void *)fid);
	return cntr;
}

/* Reads the trigger condition from the context of a call with FI_TRIGGER. Returns 0 or -FI_E*. */
static ssize_t trigger_condition(const struct ofi_domain *domain,
				 const struct fi_triggered_context *context, struct ofi_cntr **cntr,
				 uint64_t *threshold)
{
	if (!context)
		return -FI_EINVAL;
	if (context->event_type != FI_TRIGGER_THRESHOLD)
		return -FI_ENOSYS;
	*cntr = find_cntr(domain, context->trigger.threshold.cntr);
	*threshold = context->trigger.threshold.threshold;
	return *cntr ? 0 : -FI_EINVAL;
}

/* Queueing. */

static ssize_t work_new(const struct ofi_work_ops *ops, const struct ofi_work_ep *on,
			const struct ofi_call *call, struct ofi_work **out)
{
	struct ofi_call kept = *call;
	struct ofi_work *work;
	size_t most = 1;

	if (ofi_atomic_only_reads(kept.type, &kept.atomic)) {
		kept.atomic.msg.msg_iov = NULL;
		kept.atomic.msg.desc = NULL;
		kept.atomic.msg.iov_count = 0;
	}
	if (!measure_call(&kept, &most) || most > ops->limit)
		return -FI_EINVAL;
	work = calloc(1, ops->size + most * ELEMENT);
	if (!work)
		return -FI_ENOMEM;
	work->trigger.owner = on->ep;
	work->trigger.part = is_recv(call) ? OFI_TRIGGER_RECEIVES : OFI_TRIGGER_SENDS;
	work->trigger.fire = work_fire;
	work->trigger.drop = work_free;
	work->ops = ops;
	work->on = *on;
	work->call = kept;
	work->call.flags &= ~(FI_TRIGGER | FI_MORE);
	work->room = (uint8_t *)work + ops->size;
	keep_lists(work);
	*out = work;
	return 0;
}

/*
 * Queues work, or frees it on failure. The counter is watched last: it must not ask an endpoint for
 * progress whose work was refused.
 */
static ssize_t work_queue(struct ofi_work *work)
{
	struct ofi_cntr *completion = work->completion; /* which prepare() may hand on */
	ssize_t ret = work->ops->prepare(work);

	if (!ret)
		ret = copy_injected(work);
	if (!ret && completion)
		ret = work->ops->watch(work, completion);
	if (ret)
		work_free(&work->trigger);
	else
		ofi_triggers_add(&work->on.domain->triggers, &work->trigger);
	return ret;
}

/*
 * Returns false if threads that read different completion queues may take no locks: work would make
 * one of them look at the queues of others.
 */
static bool runs_work(const struct ofi_domain *domain)
{
	return domain->info->caps & FI_TRIGGER ||
	       domain->info->domain_attr->threading != FI_THREAD_COMPLETION;
}

ssize_t ofi_work_trigger(const struct ofi_work_ops *ops, const struct ofi_work_ep *on,
			 const struct ofi_call *call)
{
	struct ofi_call copy = *call;
	struct ofi_work *work = NULL;
	struct ofi_cntr *cntr;
	uint64_t threshold;
	ssize_t ret;

	if (!(call->flags & on->info->caps & FI_TRIGGER) || !runs_work(on->domain))
		return -FI_EBADFLAGS;
	ret = trigger_condition(on->domain, *ofi_call_context(&copy), &cntr, &threshold);
	if (!ret)
		ret = work_new(ops, on, call, &work);
	if (ret)
		return ret;
	work->trigger.cntr = cntr;
	work->trigger.threshold = threshold;
	work->trigger.context = *ofi_call_context(&copy);
	return work_queue(work);
}

/* Deferred work. */

static struct ofi_atomic_args atomic_of(const struct fi_deferred_work *from)
{
	const struct fi_op_fetch_atomic *fetch = from->op.fetch_atomic;
	const struct fi_op_compare_atomic *compare = from->op.compare_atomic;

	if (from->op_type == FI_OP_ATOMIC)
		return (struct ofi_atomic_args){ .msg = from->op.atomic->msg };
	if (from->op_type == FI_OP_FETCH_ATOMIC)
		return ofi_atomic_args(&fetch->msg, NULL, NULL, 0, fetch->fetch.msg_iov,
				       fetch->fetch.desc, fetch->fetch.iov_count);
	return ofi_atomic_args(&compare->msg, compare->compare.msg_iov, compare->compare.desc,
			       compare->compare.iov_count, compare->fetch.msg_iov,
			       compare->fetch.desc, compare->fetch.iov_count);
}

static uint64_t atomic_flags(const struct fi_deferred_work *from)
{
	if (from->op_type == FI_OP_ATOMIC)
		return from->op.atomic->flags;
	return from->op_type == FI_OP_FETCH_ATOMIC ? from->op.fetch_atomic->flags
						   : from->op.compare_atomic->flags;
}

static struct ofi_call call_of(const struct fi_deferred_work *from)
{
	struct ofi_call call = { .type = from->op_type };

	switch (from->op_type) {
	case FI_OP_SEND:
	case FI_OP_RECV:
		call.flags = from->op.msg->flags;
		call.msg = ofi_untagged(&from->op.msg->msg);
		break;
	case FI_OP_TSEND:
	case FI_OP_TRECV:
		call.flags = from->op.tagged->flags;
		call.msg = from->op.tagged->msg;
		break;
	case FI_OP_READ:
	case FI_OP_WRITE:
		call.flags = from->op.rma->flags;
		call.rma = from->op.rma->msg;
		break;
	default:
		call.flags = atomic_flags(from);
		call.atomic = atomic_of(from);
	}
	return call;
}

static ssize_t refuse_work(const struct ofi_domain *domain)
{
	return ofi_refuse(
		domain->prov, FI_LOG_DOMAIN, -FI_EOPNOTSUPP,
		"fi_control(FI_QUEUE_WORK): the domain or the endpoint was opened without FI_TRIGGER; request it in the hints of fi_getinfo\n");
}

/* Every structure of the union begins with the endpoint. */
static ssize_t find_ep(ofi_work_find *find, const struct fi_deferred_work *from,
		       struct ofi_work_ep *on)
{
	struct fid_ep *fid = from->op.msg->ep;

	if (!fid || !find(on->domain, fid, on))
		return ofi_refuse(
			on->domain->prov, FI_LOG_DOMAIN, -FI_EINVAL,
			"fi_control(FI_QUEUE_WORK): %p is not an endpoint of the domain\n",
			(void *)fid);
	return on->info->caps & FI_TRIGGER && runs_work(on->domain) ? 0 : refuse_work(on->domain);
}

static ssize_t set_completion(struct ofi_work *work, struct fid_cntr *fid)
{
	struct ofi_cntr *cntr = find_cntr(work->on.domain, fid);

	if (!cntr)
		return fid ? -FI_EINVAL : 0;
	ofi_ref_get(&cntr->ref);
	work->completion = cntr;
	return 0;
}

static ssize_t queue_operation(struct ofi_domain *domain, const struct ofi_work_ops *ops,
			       ofi_work_find *find, const struct fi_deferred_work *from,
			       struct ofi_cntr *cntr)
{
	struct ofi_work_ep on = { .domain = domain };
	struct ofi_work *work = NULL;
	struct ofi_call call;
	ssize_t ret =
		from->op_type > FI_OP_COMPARE_ATOMIC ? -FI_EOPNOTSUPP : find_ep(find, from, &on);

	if (ret)
		return ret;
	call = call_of(from);
	ret = work_new(ops, &on, &call, &work);
	if (ret)
		return ret;
	work->deferred = true;
	work->trigger.key = from;
	work->trigger.cntr = cntr;
	work->trigger.threshold = from->threshold;
	work->trigger.errors = true;
	ret = set_completion(work, from->completion_cntr);
	if (!ret)
		return work_queue(work);
	work_free(&work->trigger);
	return ret;
}

/* Operations on counters. */

struct count {
	struct ofi_trigger trigger;
	struct ofi_cntr *cntr; /* referenced; NULL once the operation is done */
	uint64_t value;
	bool set; /* not add */
};

static void count_free(struct ofi_trigger *trigger)
{
	const struct count *count = (const struct count *)trigger;

	if (count->cntr)
		ofi_ref_put(&count->cntr->ref);
	free(trigger);
}

static int count_fire(struct ofi_trigger *trigger)
{
	struct count *count = (struct count *)trigger;
	struct ofi_cntr *cntr = count->cntr;

	count->cntr = NULL;
	ofi_ref_leave(&cntr->ref);
	if (count->set)
		ofi_cntr_write(cntr, &cntr->value, count->value);
	else
		ofi_cntr_count(cntr, count->value);
	ofi_ref_left(&cntr->ref);
	return 0;
}

static ssize_t queue_count(struct ofi_domain *domain, const struct fi_deferred_work *from,
			   struct ofi_cntr *cntr)
{
	struct ofi_cntr *to = find_cntr(domain, from->op.cntr->cntr);
	struct count *count;

	if (!to || from->completion_cntr)
		return -FI_EINVAL;
	if (!runs_work(domain))
		return refuse_work(domain);
	count = calloc(1, sizeof(*count));
	if (!count)
		return -FI_ENOMEM;
	*count = (struct count){
		.trigger = { .cntr = cntr,
			     .threshold = from->threshold,
			     .errors = true,
			     .key = from,
			     .fire = count_fire,
			     .drop = count_free },
		.cntr = to,
		.value = from->op.cntr->value,
		.set = from->op_type == FI_OP_CNTR_SET,
	};
	ofi_ref_get(&to->ref);
	ofi_triggers_add(&domain->triggers, &count->trigger);
	return 0;
}

/* fi_control. */

static ssize_t queue_work(struct ofi_domain *domain, const struct ofi_work_ops *ops,
			  ofi_work_find *find, const struct fi_deferred_work *from)
{
	struct ofi_cntr *cntr = from ? find_cntr(domain, from->triggering_cntr) : NULL;

	if (!cntr || !from->op.msg)
		return -FI_EINVAL;
	if (from->op_type == FI_OP_CNTR_SET || from->op_type == FI_OP_CNTR_ADD)
		return queue_count(domain, from, cntr);
	return queue_operation(domain, ops, find, from, cntr);
}

static int flush_work(struct ofi_domain *domain, void *arg)
{
	struct ofi_trigger_match match = { .cntr = find_cntr(domain, arg) };

	if (arg && !match.cntr)
		return -FI_EINVAL;
	ofi_triggers_cancel(&domain->triggers, &match);
	return 0;
}

int ofi_work_control(struct ofi_domain *domain, const struct ofi_work_ops *ops, ofi_work_find *find,
		     int command, void *arg)
{
	struct ofi_trigger_match match = { .key = arg };

	switch (command) {
	case FI_QUEUE_WORK:
		return (int)queue_work(domain, ops, find, arg);
	case FI_CANCEL_WORK:
		if (!arg)
			return -FI_EINVAL;
		return ofi_triggers_cancel(&domain->triggers, &match) ? 0 : -FI_ENOENT;
	case FI_FLUSH_WORK:
		return flush_work(domain, arg);
	default:
		return -FI_ENOSYS;
	}
}
