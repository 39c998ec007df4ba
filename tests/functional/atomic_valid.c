/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * For every datatype, operation and kind, posting accepts and performs what the queries report as
 * supported, and refuses everything else. The device supports only 64-bit integers.
 */
#include <stdio.h>
#include <rdma/fi_atomic.h>
#include "steps.h"

enum kind { BASE, FETCH, COMPARE, KINDS };

static bool expected(enum kind kind, enum fi_datatype type, enum fi_op op)
{
	if (type != FI_INT64 && type != FI_UINT64)
		return false;
	switch (kind) {
	case BASE:
		return op == FI_ATOMIC_WRITE || op == FI_SUM;
	case FETCH:
		return op == FI_ATOMIC_READ || op == FI_SUM;
	default:
		return op == FI_CSWAP;
	}
}

static int valid(struct fid_ep *ep, enum kind kind, enum fi_datatype type, enum fi_op op,
		 size_t *count)
{
	switch (kind) {
	case BASE:
		return fi_atomicvalid(ep, type, op, count);
	case FETCH:
		return fi_fetch_atomicvalid(ep, type, op, count);
	default:
		return fi_compare_atomicvalid(ep, type, op, count);
	}
}

static ssize_t post(struct end *end, enum kind kind, enum fi_datatype type, enum fi_op op)
{
	uint64_t addr = end->peer.addr, key = end->peer.key;
	uint8_t *buf = end->buf;
	void *desc = end->desc;

	switch (kind) {
	case BASE:
		return fi_atomic(end->ep, buf, 1, desc, 0, addr, key, type, op, end);
	case FETCH:
		return fi_fetch_atomic(end->ep, buf, 1, desc, buf + 64, desc, 0, addr, key, type,
				       op, end);
	default:
		return fi_compare_atomic(end->ep, buf, 1, desc, buf + 128, desc, buf + 64, desc, 0,
					 addr, key, type, op, end);
	}
}

static void one(struct end *end, enum kind kind, enum fi_datatype type, enum fi_op op)
{
	static const uint64_t flags[] = { 0, FI_FETCH_ATOMIC, FI_COMPARE_ATOMIC };
	int want = expected(kind, type, op) ? 0 : -FI_EOPNOTSUPP;
	struct fi_atomic_attr attr = { 0 };
	size_t count = 0;

	printf("kind %d, type %d, op %d\n", kind, type, op);
	RETURNS(valid(end->ep, kind, type, op, &count), want);
	RETURNS(fi_query_atomic(end->domain, type, op, &attr, flags[kind]), want);
	RETURNS(post(end, kind, type, op), want);
	if (want)
		return;
	EQUAL(count, 1);
	EQUAL(attr.count, 1);
	EQUAL(attr.size, sizeof(uint64_t));
	wait_context(end->cq, end);
}

/* Arguments that are invalid for every operation. */
static void bad(struct end *end)
{
	uint64_t addr = end->peer.addr, key = end->peer.key;
	struct fi_atomic_attr attr;
	struct fid_ep *ep = end->ep;

	RETURNS(fi_atomic(ep, end->buf, 2, end->desc, 0, addr, key, FI_UINT64, FI_SUM, end),
		-FI_EMSGSIZE);
	RETURNS(fi_atomic(ep, end->buf, 0, end->desc, 0, addr, key, FI_UINT64, FI_SUM, end),
		-FI_EINVAL);
	RETURNS(fi_atomic(ep, end->buf, 1, end->desc, 0, addr + 4, key, FI_UINT64, FI_SUM, end),
		-FI_EINVAL);
	RETURNS(fi_atomic(ep, NULL, 1, NULL, 0, addr, key, FI_UINT64, FI_SUM, end), -FI_EINVAL);
	RETURNS(fi_query_atomic(end->domain, FI_UINT64, FI_SUM, &attr, FI_TAGGED), -FI_EOPNOTSUPP);
	RETURNS(fi_query_atomic(end->domain, FI_UINT64, FI_SUM, NULL, 0), -FI_EINVAL);
	no_comp(end->cq, 5);
}

static void test(struct pair *pair)
{
	struct end *end = &pair->client;
	int kind, type, op;

	for (kind = BASE; kind < KINDS; kind++)
		for (type = 0; type <= FI_FLOAT8_E5M2 + 1; type++)
			for (op = 0; op <= FI_DIFF + 1; op++)
				one(end, kind, type, op);
	one(end, BASE, FI_VOID, FI_SUM);
	one(end, BASE, FI_UINT64, FI_NOOP);
	bad(end);
}

int main(int argc, char **argv)
{
	static const struct setup setup = { 0 };

	return run_pair(argc, argv, &setup, test);
}
