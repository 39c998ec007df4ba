/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Collective operations in flight: executes their plans as transfers complete. */
#include <stdlib.h>
#include <string.h>
#include "coll_group.h"
#include "hmem_copy.h"
#include <rdma/fi_errno.h>

/* Returns the tag of a step: the operation's tag in the high bits, the round in the low bits. */
static uint64_t step_tag(const struct ofi_coll_op *op, const struct ofi_coll_step *step)
{
	return op->tag | step->round;
}

static void op_fail(struct ofi_coll_op *op, int err)
{
	if (!op->err)
		op->err = err;
}

/*
 * A failed operation continues to its end, because its peers would otherwise wait for it. Its
 * messages have the wrong length, so the operation fails on the peers, too, which pass the failure
 * on.
 */
static ssize_t step_send(struct ofi_coll_op *op, struct ofi_coll_step *step)
{
	static const uint8_t nothing;
	const struct ofi_coll *coll = op->group->coll;
	const void *src = op->err ? &nothing : step->src;
	size_t len = !op->err ? step->len : !step->len;

	if (op->group->lost[step->peer])
		return -FI_ECONNRESET;
	return coll->net.send(coll->arg, op->group->member[step->peer], step_tag(op, step), src,
			      len, step);
}

static ssize_t step_recv(struct ofi_coll_op *op, struct ofi_coll_step *step)
{
	const struct ofi_coll *coll = op->group->coll;
	fi_addr_t from = op->group->member[step->peer];
	uint64_t tag = step_tag(op, step);

	if (op->group->lost[step->peer] && !coll->net.arrived(coll->arg, from, tag))
		return -FI_ECONNRESET;
	return coll->net.recv(coll->arg, from, tag, step->dst, step->len, step);
}

/* Returns false if the step must be tried again. It may complete before the call returns. */
static bool step_post(struct ofi_coll_op *op, struct ofi_coll_step *step)
{
	ssize_t ret;

	op->pending++;
	step->active = true;
	ret = step->verb == OFI_COLL_SEND ? step_send(op, step) : step_recv(op, step);
	if (!ret)
		return true;
	step->active = false;
	op->pending--;
	if (ret == -FI_EAGAIN)
		return false;
	/* A join that other members know of waits for memory instead of failing. */
	if (ret == -FI_ENOMEM && op->join)
		return false;
	op_fail(op, (int)-ret);
	/*
	 * The member that waits for this message must learn of the failure as soon as there is
	 * memory.
	 */
	return ret != -FI_ENOMEM || step->verb != OFI_COLL_SEND;
}

static bool is_unsent(const struct ofi_coll_step *step)
{
	return step->verb == OFI_COLL_SEND && !step->done && !step->active;
}

/* Returns false if the plan cannot continue now. */
static bool step_do(struct ofi_coll_op *op, struct ofi_coll_step *step)
{
	if (op->owed && !is_unsent(step))
		return true;
	switch (step->verb) {
	case OFI_COLL_SEND:
	case OFI_COLL_RECV:
		op->stalled = !step_post(op, step);
		return !op->stalled;
	case OFI_COLL_WAIT:
		return !op->pending;
	case OFI_COLL_COPY:
		if (!op->err)
			memmove(step->dst, step->src, step->len);
		return true;
	default:
		if (!op->err)
			op->plan.reduce(step->dst, step->src, step->len);
		return true;
	}
}

static void op_run(struct ofi_coll_op *op);

/* Starts the second round of a join, in which each member learns whether all members agree. */
static void confirm_group(struct ofi_coll_group *group, int err)
{
	struct ofi_coll_op *op = group->confirmation;

	op_fail(op, err);
	op_run(op);
}

static void op_delete(struct ofi_coll_op *op)
{
	ofi_coll_plan_free(&op->plan);
	free(op->staged);
	free(op);
}

/* Returns true if a member waits for a message of a failed join, or may do so later. */
static bool is_owing(struct ofi_coll_op *op)
{
	struct ofi_coll_step *step;
	bool owing = false;

	for (size_t i = 0; op->join && op->err && i < op->plan.count; i++) {
		step = &op->plan.step[i];
		if (op->group && op->group->lost[step->peer])
			step->done = false;
		owing |= step->verb == OFI_COLL_SEND && !step->done;
	}
	return owing;
}

void ofi_coll_op_free(struct ofi_coll_op *op)
{
	struct ofi_coll_group *group = op->group;

	TAILQ_REMOVE(group ? &group->ops : &op->past->owed, op, link);
	if (!op->join)
		group->coll->ops--;
	if (!is_owing(op)) {
		op_delete(op);
		return;
	}
	op->owed = op->canceled = true;
	op->group = NULL;
	TAILQ_INSERT_TAIL(&op->past->owed, op, link);
}

void ofi_coll_owed_run(struct ofi_coll_group *group)
{
	struct ofi_coll_op *op;

	TAILQ_FOREACH (op, &group->past->owed, link) {
		op->group = group;
		op->next = 0;
		op->canceled = false;
		op->stalled = group->coll->stalled = true;
	}
	TAILQ_CONCAT(&group->ops, &group->past->owed, link);
}

void ofi_coll_owed_free(struct ofi_coll *coll, struct ofi_coll_past *past)
{
	struct ofi_coll_op *op;

	while ((op = TAILQ_FIRST(&past->owed))) {
		TAILQ_REMOVE(&past->owed, op, link);
		for (size_t i = 0; i < op->plan.count; i++)
			if (op->plan.step[i].active)
				coll->net.cancel(coll->arg, &op->plan.step[i]);
		op_delete(op);
	}
}

/* Copies the result of an operation on a host copy to device memory. */
static void copy_result_back(struct ofi_coll_op *op)
{
	if (op->staged && !op->err &&
	    ofi_hmem_store(true, op->result, op->staged + op->result_at, op->result_len))
		op->err = FI_EIO;
}

/* Frees the operation and reports its result. */
static void op_end(struct ofi_coll_op *op)
{
	struct ofi_coll *coll = op->group->coll;
	const struct ofi_coll_done done = {
		.group = op->group,
		.join = op->join,
		.kind = op->kind,
		.context = op->context,
		.err = op->err,
	};

	ofi_coll_op_free(op);
	coll->net.done(coll->arg, &done);
}

static void op_finish(struct ofi_coll_op *op)
{
	struct ofi_coll_group *group = op->group;
	int err = op->err;

	copy_result_back(op);
	if (op->owed) {
		ofi_coll_op_free(op);
		return;
	}
	if (op->join && op != group->confirmation) {
		group->agreed = op->word & group->offer;
		if (!err && !group->agreed)
			err = FI_ENOSPC;
		ofi_coll_op_free(op);
		confirm_group(group, err);
		return;
	}
	if (op->join) {
		if (op->word != group->agreed)
			op_fail(op, FI_EPROTO);
		ofi_coll_group_form(group, op->err);
	}
	op_end(op);
}

/*
 * A transfer that completes within the call that starts it re-enters here; the outer call continues
 * the plan.
 */
static void op_run(struct ofi_coll_op *op)
{
	if (op->running || op->canceled)
		return;
	op->running = true;
	op->stalled = false;
	while (op->next < op->plan.count && step_do(op, &op->plan.step[op->next]))
		op->next++;
	op->running = false;
	if (op->next == op->plan.count && !op->pending)
		op_finish(op);
	else if (op->stalled)
		op->group->coll->stalled = true;
}

void ofi_coll_event(void *cookie, size_t len, int err)
{
	struct ofi_coll_step *step = cookie;
	struct ofi_coll_op *op = step->owner;

	op->pending--;
	step->active = false;
	step->done = !err;
	if (err && err != FI_ETRUNC)
		op_fail(op, err);
	else if (step->verb == OFI_COLL_RECV && len != step->len)
		op_fail(op, len == !step->len ? FI_ECANCELED : FI_ETRUNC);
	if (op->group)
		op_run(op);
	else if (!op->pending)
		ofi_coll_op_free(op);
}

/* An operation that ends may start or remove others, so the search starts over after each. */
static bool run_stalled(struct ofi_coll *coll)
{
	struct ofi_coll_group *group;
	struct ofi_coll_op *op;

	TAILQ_FOREACH (group, &coll->groups, link)
		TAILQ_FOREACH (op, &group->ops, link)
			if (op->stalled && op->turn != coll->turn) {
				op->turn = coll->turn;
				op_run(op);
				return true;
			}
	return false;
}

void ofi_coll_progress(struct ofi_coll *coll)
{
	if (!coll->stalled)
		return;
	coll->stalled = false;
	coll->turn++;
	while (run_stalled(coll))
		;
}

static struct ofi_coll_op *op_new(struct ofi_coll_group *group, const struct ofi_coll_call *call,
				  struct ofi_coll_shape *shape, ofi_reduce_fn *reduce, bool join)
{
	struct ofi_coll_op *op = calloc(1, sizeof(*op));

	if (!op)
		return NULL;
	op->join = join;
	op->past = group->past;
	if (join)
		shape->result = &op->word;
	op->plan.reduce = reduce;
	if (ofi_coll_plan_make(&op->plan, shape)) {
		free(op);
		return NULL;
	}
	for (size_t i = 0; i < op->plan.count; i++)
		op->plan.step[i].owner = op;
	op->group = group;
	op->kind = call->kind;
	op->context = call->context;
	op->turn = group->coll->turn;
	TAILQ_INSERT_TAIL(&group->ops, op, link);
	group->coll->ops += !join;
	return op;
}

void ofi_coll_op_cancel(struct ofi_coll_op *op)
{
	const struct ofi_coll *coll = op->group->coll;
	struct ofi_coll_step *step = op->plan.step;
	bool busy = false;

	op->canceled = true;
	op_fail(op, FI_ECANCELED);
	for (size_t i = 0; i < op->next; i++) {
		/* Whether the messages of a join arrive has to be known. */
		if (!step[i].active || (op->join && step[i].verb == OFI_COLL_SEND))
			continue;
		step[i].active = !coll->net.cancel(coll->arg, &step[i]);
		op->pending -= !step[i].active;
		busy |= step[i].active;
	}
	if (busy)
		return;
	if (op->join)
		ofi_coll_op_free(op);
	else
		op_end(op);
}

/*
 * The operation stays until its last transfer has ended, even if that happens within this function.
 */
void ofi_coll_op_sever(struct ofi_coll_op *op)
{
	const struct ofi_coll *coll = op->group->coll;

	op->canceled = true;
	for (size_t i = 0; i < op->next; i++)
		if (op->plan.step[i].active)
			coll->net.sever(coll->arg, &op->plan.step[i]);
}

static struct ofi_coll_op *join_op(struct ofi_coll_group *group, void *context, void *words,
				   uint64_t tag)
{
	const struct ofi_coll_call call = { .kind = FI_ALLREDUCE, .context = context };
	struct ofi_coll_shape shape = {
		.kind = FI_ALLREDUCE,
		.buf = words,
		.count = 1,
		.bytes = sizeof(group->offer),
		.rank = group->rank,
		.size = group->size,
	};
	struct ofi_coll_op *op =
		op_new(group, &call, &shape, ofi_reduce_find(FI_UINT64, FI_BAND), true);

	if (op)
		op->tag = tag;
	return op;
}

int ofi_coll_agree(struct ofi_coll_group *group, void *context, uint64_t tag, uint64_t confirm_tag)
{
	struct ofi_coll_op *op = join_op(group, context, &group->offer, tag);

	if (op)
		group->confirmation = join_op(group, context, &group->agreed, confirm_tag);
	if (!op || !group->confirmation)
		return -FI_ENOMEM;
	op_run(op);
	return 0;
}

/*
 * Sends the remaining messages at once, in a form that makes the receivers' join fail. Returns
 * false if some are left.
 */
static bool coll_refuse(struct ofi_coll_op *op)
{
	op_fail(op, FI_ECANCELED);
	for (; op->next < op->plan.count; op->next++)
		if (is_unsent(&op->plan.step[op->next]) && !step_post(op, &op->plan.step[op->next]))
			return false;
	return true;
}

bool ofi_coll_refuse(struct ofi_coll_group *group)
{
	struct ofi_coll_op *op;
	bool all = true;

	TAILQ_FOREACH (op, &group->ops, link) {
		op->canceled = true;
		if (op->join && !coll_refuse(op) && !op->owed)
			all = false;
	}
	return all;
}

static bool is_reduction(enum fi_collective_op kind)
{
	return kind == FI_ALLREDUCE || kind == FI_REDUCE || kind == FI_REDUCE_SCATTER;
}

/* Returns 0 if the operation supports the type and the arithmetic, else -FI_EOPNOTSUPP. */
static int check_type(enum fi_collective_op kind, enum fi_datatype datatype, enum fi_op op)
{
	bool known;

	if ((unsigned)kind > FI_GATHER)
		return -FI_EOPNOTSUPP;
	if (kind == FI_BARRIER)
		known = datatype == FI_VOID && op == FI_NOOP;
	/* The result would depend on the order. */
	else if (is_reduction(kind))
		known = op != FI_DIFF && ofi_reduce_find(datatype, op);
	else
		known = ofi_datatype_size(datatype) &&
			(op == FI_NOOP || op == FI_ATOMIC_READ || op == FI_ATOMIC_WRITE);
	return known ? 0 : -FI_EOPNOTSUPP;
}

static bool is_rooted(enum fi_collective_op kind)
{
	return kind == FI_BROADCAST || kind == FI_REDUCE || kind == FI_SCATTER || kind == FI_GATHER;
}

/* Return the sizes of the input and the result of this member; 0 if it has none. */
static size_t input_size(const struct ofi_coll_shape *shape)
{
	bool sliced = shape->kind == FI_ALLTOALL || shape->kind == FI_REDUCE_SCATTER ||
		      shape->kind == FI_SCATTER;

	if (shape->kind == FI_BROADCAST ||
	    (shape->kind == FI_SCATTER && shape->rank != shape->root))
		return 0;
	return sliced ? shape->size * shape->bytes : shape->bytes;
}

static size_t output_size(const struct ofi_coll_shape *shape)
{
	bool sliced = shape->kind == FI_ALLTOALL || shape->kind == FI_ALLGATHER ||
		      shape->kind == FI_GATHER;

	if ((shape->kind == FI_REDUCE || shape->kind == FI_GATHER) && shape->rank != shape->root)
		return 0;
	return sliced ? shape->size * shape->bytes : shape->bytes;
}

/*
 * Replaces buffers in device memory by a copy in host memory, because the CPU reduces and moves the
 * data. *kept receives the fields that the operation must keep.
 */
static int stage_buffers(struct ofi_coll_shape *shape, struct ofi_coll_op *kept)
{
	size_t in = input_size(shape), out = output_size(shape);
	bool root = shape->kind == FI_BROADCAST && shape->rank == shape->root;
	uint8_t *copy;
	int ret;

	if (!in && !out)
		return 0;
	copy = malloc(in + out);
	if (!copy)
		return -FI_ENOMEM;
	ret = ofi_hmem_load(true, copy, shape->buf, in);
	if (!ret && root)
		ret = ofi_hmem_load(true, copy + in, shape->result, out);
	if (ret) {
		free(copy);
		return ret;
	}
	*kept = (struct ofi_coll_op){
		.staged = copy, .result = shape->result, .result_at = in, .result_len = out
	};
	shape->buf = copy;
	shape->result = copy + in;
	return 0;
}

static bool is_device_call(const struct ofi_coll_call *call)
{
	return ofi_hmem_at(call->device, call->buf) || ofi_hmem_at(call->device, call->result);
}

static int shape_fill(const struct ofi_coll_group *group, const struct ofi_coll_call *call,
		      struct ofi_coll_shape *shape)
{
	size_t unit = ofi_datatype_size(call->datatype), most = group->coll->net.max_msg / 2;

	shape->kind = call->kind;
	shape->buf = call->buf;
	shape->result = call->result;
	shape->rank = group->rank;
	shape->size = group->size;
	if (is_rooted(call->kind))
		shape->root = ofi_coll_group_rank(group, call->root);
	if (shape->root >= shape->size)
		return -FI_EINVAL;
	if (call->kind == FI_BARRIER)
		return 0;
	if (ofi_coll_sliced(call->kind))
		most /= group->size;
	if (call->count > most / unit)
		return -FI_EMSGSIZE;
	shape->count = call->count;
	shape->bytes = call->count * unit;
	if ((input_size(shape) && !shape->buf) || (output_size(shape) && !shape->result))
		return -FI_EINVAL;
	return 0;
}

ssize_t ofi_coll_start(struct ofi_coll *coll, fi_addr_t addr, const struct ofi_coll_call *call)
{
	struct ofi_coll_group *group = ofi_coll_find(coll, addr);
	struct ofi_coll_shape shape = { 0 };
	struct ofi_coll_op *op, kept = { .staged = NULL };
	int ret;

	if (!group)
		return -FI_EINVAL;
	ret = check_type(call->kind, call->datatype, call->op);
	if (!ret)
		ret = shape_fill(group, call, &shape);
	if (ret)
		return ret;
	if (coll->ops >= coll->net.max_ops)
		return -FI_EAGAIN;
	ret = is_device_call(call) ? stage_buffers(&shape, &kept) : 0;
	if (ret)
		return ret;
	op = op_new(group, call, &shape, ofi_reduce_find(call->datatype, call->op), false);
	if (!op) {
		free(kept.staged);
		return -FI_ENOMEM;
	}
	op->staged = kept.staged;
	op->result = kept.result;
	op->result_at = kept.result_at;
	op->result_len = kept.result_len;
	op->tag = ofi_coll_group_tag(group);
	op_run(op);
	return 0;
}

int ofi_coll_query(enum fi_collective_op kind, struct fi_collective_attr *attr, uint64_t flags,
		   size_t max_msg)
{
	size_t unit, most = max_msg / 2;
	int ret;

	if (!attr)
		return -FI_EINVAL;
	/* The API has a flag for reduce-scatter with the value of another operation. */
	if (flags && (flags != FI_SCATTER || kind != FI_REDUCE_SCATTER))
		return -FI_EBADFLAGS;
	/* Operations that do not reduce have no arithmetic; attr->op is ignored. */
	ret = check_type(kind, attr->datatype, is_reduction(kind) ? attr->op : FI_NOOP);
	if (ret)
		return ret;
	if (ofi_coll_sliced(kind))
		most /= OFI_COLL_MEMBERS_MAX;
	unit = ofi_datatype_size(attr->datatype);
	attr->datatype_attr.size = unit;
	attr->datatype_attr.count = unit ? most / unit : 0;
	attr->max_members = OFI_COLL_MEMBERS_MAX;
	attr->mode = 0;
	return 0;
}
