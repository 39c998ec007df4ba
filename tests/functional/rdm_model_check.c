/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The checks of the model of reliable-datagram endpoints. */
#include <stdlib.h>
#include <string.h>
#include "rdm_model.h"

enum { UNTOUCHED = 0xee };

struct model_op *model_op(struct model *model, enum model_kind kind, int ep, int peer, size_t len)
{
	struct model_op *op = &model->ops[model->count];

	if (model->count == MODEL_OPS)
		return NULL;
	memset(op, 0, sizeof(*op));
	op->buf = malloc(len + 1);
	CHECK(op->buf);
	memset(op->buf, UNTOUCHED, len);
	op->kind = kind;
	op->ep = ep;
	op->peer = peer;
	op->len = len;
	op->age = model->count++;
	model->open++;
	return op;
}

static unsigned int message_seed(const struct model_op *op)
{
	return (unsigned int)(op->number * 31 + op->ep * 7 + op->peer);
}

void model_message(struct model *model, struct model_op *op)
{
	unsigned int *sent = &model->sent[op->ep][op->peer];

	model->messages[op->ep][op->peer][*sent] = op;
	op->number = (*sent)++;
	fill(op->buf, op->len, message_seed(op));
}

uint64_t model_data(const struct model_op *message)
{
	return (uint64_t)message->ep << 32 | message->number;
}

static void op_complete(struct model *model, struct model_op *op)
{
	CHECK(!op->complete);
	op->complete = true;
	model->open--;
	free(op->buf);
	op->buf = NULL;
}

static bool op_matches(const struct model_op *receive, const struct model_op *message)
{
	if (receive->tagged != message->tagged || receive->ep != message->peer)
		return false;
	if (receive->peer >= 0 && receive->peer != message->ep)
		return false;
	return !receive->tagged || !((receive->tag ^ message->tag) & ~receive->ignore);
}

static struct model_op *message_of(struct model *model, int ep, uint64_t data)
{
	uint64_t from = data >> 32;
	uint32_t number = (uint32_t)data;

	CHECK(from < MODEL_EPS);
	CHECK(number < model->sent[from][ep]);
	return model->messages[from][ep][number];
}

/* Checks a message that arrived, whole or cut off at the length of the receive. */
static void received(struct model *model, struct model_op *op, uint64_t data, uint64_t tag)
{
	struct model_op *message = message_of(model, op->ep, data);
	size_t i, len = message->len < op->len ? message->len : op->len;

	CHECK(!message->partner);
	CHECK(op_matches(op, message));
	message->partner = op;
	op->partner = message;
	if (message->tagged)
		EQUAL(tag, message->tag);
	CHECK_FILLED(op->buf, len, message_seed(message));
	for (i = len; i < op->len && i < len + MODEL_MARGIN; i++)
		EQUAL(op->buf[i], UNTOUCHED);
	op_complete(model, op);
}

static void receive_complete(struct model *model, struct model_op *op,
			     const struct fi_cq_tagged_entry *entry, fi_addr_t source)
{
	CHECK(entry->flags & FI_RECV);
	CHECK(entry->flags & FI_REMOTE_CQ_DATA);
	EQUAL(!!(entry->flags & FI_TAGGED), op->tagged);
	received(model, op, entry->data, entry->tag);
	EQUAL(entry->len, op->partner->len);
	EQUAL(source, model->addr[op->partner->ep][op->ep]);
}

static void transfer_complete(struct model *model, struct model_op *op)
{
	if (op->kind == MODEL_READ || op->delivery)
		CHECK(!memcmp(op->buf, model->window[op->peer] + op->at, op->len));
	model->transferring[op->ep][op->peer] = false;
	op_complete(model, op);
}

void model_success(struct model *model, int ep, const struct fi_cq_tagged_entry *entry,
		   fi_addr_t source)
{
	struct model_op *op = entry->op_context;

	CHECK(op);
	EQUAL(op->ep, ep);
	if (op->kind == MODEL_RECV)
		receive_complete(model, op, entry, source);
	else if (op->kind == MODEL_WRITE || op->kind == MODEL_READ)
		transfer_complete(model, op);
	else
		op_complete(model, op);
}

void model_error(struct model *model, int ep, const struct fi_cq_err_entry *entry)
{
	struct model_op *op = entry->op_context;

	CHECK(op);
	EQUAL(op->ep, ep);
	if (op->kind == MODEL_PEEK) {
		EQUAL(entry->err, FI_ENOMSG);
		op_complete(model, op);
	} else if (entry->err == FI_ECANCELED) {
		CHECK(op->kind == MODEL_RECV && op->canceled);
		op_complete(model, op);
	} else {
		EQUAL(op->kind, MODEL_RECV);
		EQUAL(entry->err, FI_ETRUNC);
		received(model, op, entry->data, entry->tag);
		EQUAL(entry->olen, op->partner->len - op->len);
	}
}

/*
 * The later message must not have taken a receive that was posted before the receive of the
 * earlier message and that the earlier message matches too.
 */
static void check_order(const struct model_op *earlier, const struct model_op *later)
{
	if (later->partner->age < earlier->partner->age && op_matches(later->partner, earlier))
		FAIL("message %u of %d to %d overtook message %u", later->number, later->ep,
		     later->peer, earlier->number);
}

static void check_messages(struct model_op *const *messages, unsigned int count)
{
	unsigned int i, j;

	for (i = 0; i < count; i++) {
		CHECK(messages[i]->partner);
		for (j = 0; j < i; j++)
			check_order(messages[j], messages[i]);
	}
}

bool model_sums(const struct model *model)
{
	int ep;

	for (ep = 0; ep < MODEL_EPS; ep++)
		if (memcmp(model->window[ep] + MODEL_WINDOW, model->sums[ep],
			   sizeof(model->sums[ep])))
			return false;
	return true;
}

void model_check(const struct model *model)
{
	int ep, peer;

	for (ep = 0; ep < MODEL_EPS; ep++)
		for (peer = 0; peer < MODEL_EPS; peer++)
			check_messages(model->messages[ep][peer], model->sent[ep][peer]);
}

void model_free(struct model *model)
{
	unsigned int i;

	for (i = 0; i < model->count; i++)
		free(model->ops[i].buf);
	free(model);
}
