/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Atomics: write, sum, fetching read, fetch-and-add, and compare-and-swap in every form, on both
 * 64-bit types.
 */
#include <stdio.h>
#include <string.h>
#include <rdma/fi_atomic.h>
#include "steps.h"

#define WORDS	  3 /* the middle one is the target; its neighbors must not change */
#define NEIGHBOUR 0x1122334455667788ull

struct words {
	uint64_t word[WORDS];
};

/* At the client, in registered memory: the operand and the fetched value. */
struct local {
	uint64_t operand, compare, result;
};

static struct local *local(struct end *end)
{
	return (struct local *)end->buf;
}

static uint64_t target(const struct end *end)
{
	return end->peer.addr + sizeof(uint64_t);
}

static void step_set(struct end *end, void *arg)
{
	memcpy(end->buf, arg, sizeof(struct words));
}

static void step_get(struct end *end, void *arg)
{
	memcpy(arg, end->buf, sizeof(struct words));
}

static ssize_t plain(struct end *end, enum fi_datatype type, enum fi_op op, uint64_t compare)
{
	struct local *here = local(end);
	uint64_t key = end->peer.key, addr = target(end);

	here->compare = compare;
	switch (op) {
	case FI_ATOMIC_READ:
		return fi_fetch_atomic(end->ep, NULL, 1, NULL, &here->result, end->desc, 0, addr,
				       key, type, op, here);
	case FI_CSWAP:
		return fi_compare_atomic(end->ep, &here->operand, 1, end->desc, &here->compare,
					 end->desc, &here->result, end->desc, 0, addr, key, type,
					 op, here);
	default:
		return fi_atomic(end->ep, &here->operand, 1, end->desc, 0, addr, key, type, op,
				 here);
	}
}

static ssize_t vector(struct end *end, enum fi_datatype type, enum fi_op op, uint64_t compare)
{
	struct local *here = local(end);
	struct fi_ioc operand = { &here->operand, 1 }, comp = { &here->compare, 1 };
	struct fi_ioc result = { &here->result, 1 };
	uint64_t key = end->peer.key, addr = target(end);
	void *desc = end->desc;

	here->compare = compare;
	switch (op) {
	case FI_ATOMIC_READ:
		return fi_fetch_atomicv(end->ep, NULL, NULL, 0, &result, &desc, 1, 0, addr, key,
					type, op, here);
	case FI_CSWAP:
		return fi_compare_atomicv(end->ep, &operand, &desc, 1, &comp, &desc, 1, &result,
					  &desc, 1, 0, addr, key, type, op, here);
	default:
		return fi_atomicv(end->ep, &operand, &desc, 1, 0, addr, key, type, op, here);
	}
}

static ssize_t message(struct end *end, enum fi_datatype type, enum fi_op op, uint64_t compare)
{
	struct local *here = local(end);
	struct fi_ioc operand = { &here->operand, 1 }, comp = { &here->compare, 1 };
	struct fi_ioc result = { &here->result, 1 };
	struct fi_rma_ioc remote = { target(end), 1, end->peer.key };
	void *desc = end->desc;
	struct fi_msg_atomic msg = {
		.msg_iov = &operand,
		.desc = &desc,
		.iov_count = 1,
		.rma_iov = &remote,
		.rma_iov_count = 1,
		.datatype = type,
		.op = op,
		.context = here,
	};

	here->compare = compare;
	switch (op) {
	case FI_ATOMIC_READ:
		msg.iov_count = 0;
		return fi_fetch_atomicmsg(end->ep, &msg, &result, &desc, 1, 0);
	case FI_CSWAP:
		return fi_compare_atomicmsg(end->ep, &msg, &comp, &desc, 1, &result, &desc, 1,
					    FI_FENCE);
	default:
		return fi_atomicmsg(end->ep, &msg, FI_COMPLETION);
	}
}

/* FI_SUM that fetches the previous value. */
static ssize_t fetch_add(struct end *end, enum fi_datatype type, enum fi_op op, uint64_t form)
{
	struct local *here = local(end);
	struct fi_ioc operand = { &here->operand, 1 }, result = { &here->result, 1 };
	struct fi_rma_ioc remote = { target(end), 1, end->peer.key };
	uint64_t key = end->peer.key, addr = target(end);
	void *desc = end->desc;
	struct fi_msg_atomic msg = { .msg_iov = &operand,
				     .desc = &desc,
				     .iov_count = 1,
				     .rma_iov = &remote,
				     .rma_iov_count = 1,
				     .datatype = type,
				     .op = op,
				     .context = here };

	if (form == 0)
		return fi_fetch_atomic(end->ep, &here->operand, 1, desc, &here->result, desc, 0,
				       addr, key, type, op, here);
	if (form == 1)
		return fi_fetch_atomicv(end->ep, &operand, &desc, 1, &result, &desc, 1, 0, addr,
					key, type, op, here);
	return fi_fetch_atomicmsg(end->ep, &msg, &result, &desc, 1, 0);
}

typedef ssize_t form_fn(struct end *end, enum fi_datatype type, enum fi_op op, uint64_t arg);

/* A target of `before` and an operand give `after`; the fetched value is `before`. */
static void one(struct pair *pair, form_fn *form, enum fi_datatype type, enum fi_op op,
		uint64_t arg, uint64_t before, uint64_t operand, uint64_t after, bool fetches)
{
	struct words words = { { NEIGHBOUR, before, NEIGHBOUR } };
	struct end *client = &pair->client;
	struct fi_cq_tagged_entry entry;

	at(&pair->server, step_set, &words, sizeof(words));
	*local(client) = (struct local){ .operand = operand, .result = 0x5555 };
	OK(form(client, type, op, arg));
	wait_comp(client->cq, &entry);
	EQUAL(entry.op_context, local(client));
	EQUAL(entry.flags, FI_ATOMIC | (fetches ? FI_READ : FI_WRITE));
	EQUAL(local(client)->result, fetches ? before : 0x5555);
	at(&pair->server, step_get, &words, sizeof(words));
	EQUAL(words.word[0], NEIGHBOUR);
	EQUAL(words.word[1], after);
	EQUAL(words.word[2], NEIGHBOUR);
}

static void test_type(struct pair *pair, enum fi_datatype type)
{
	form_fn *const forms[] = { plain, vector, message };
	const uint64_t big = 0x8000000000000001ull;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(forms); i++) {
		printf("type %d, form %zu\n", (int)type, i);
		one(pair, forms[i], type, FI_ATOMIC_WRITE, 0, 7, big, big, false);
		one(pair, forms[i], type, FI_SUM, 0, 7, big, big + 7, false);
		one(pair, forms[i], type, FI_SUM, 0, 5, (uint64_t)-6, (uint64_t)-1, false);
		one(pair, forms[i], type, FI_ATOMIC_READ, 0, big, 9, big, true);
		one(pair, forms[i], type, FI_CSWAP, big, big, 9, 9, true);
		one(pair, forms[i], type, FI_CSWAP, big + 1, big, 9, big, true);
		one(pair, fetch_add, type, FI_SUM, i, UINT64_MAX, 3, 2, true);
	}
}

/* Injected atomics have no completion; the application may reuse the operand at once. */
static void test_inject(struct pair *pair, enum fi_op op, uint64_t after)
{
	struct words words = { { NEIGHBOUR, 40, NEIGHBOUR } };
	struct end *client = &pair->client;
	uint64_t end = deadline(), operand = 2;

	at(&pair->server, step_set, &words, sizeof(words));
	OK(fi_inject_atomic(client->ep, &operand, 1, 0, target(client), client->peer.key, FI_UINT64,
			    op));
	operand = 0xee;
	do {
		pause_until(end, "the injected atomic");
		at(&pair->server, step_get, &words, sizeof(words));
	} while (words.word[1] == 40);
	EQUAL(words.word[1], after);
	no_comp(client->cq, 5);
}

static void test(struct pair *pair)
{
	test_type(pair, FI_UINT64);
	test_type(pair, FI_INT64);
	test_inject(pair, FI_SUM, 42);
	test_inject(pair, FI_ATOMIC_WRITE, 2);
}

int main(int argc, char **argv)
{
	static const struct setup setup = { 0 };

	return run_pair(argc, argv, &setup, test);
}
