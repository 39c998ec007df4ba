/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A counter for each kind of operation counts all operations of its kind, including injected and
 * silent ones, and no others.
 */
#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>
#include "steps.h"

#define WAIT(end, which, value) RETURNS(fi_cntr_wait((end)->cntr[which], value, WAIT_MS), 0)

static void step_recvs(struct end *end, void *arg)
{
	int i, n = *(int *)arg;

	for (i = 0; i < n; i++)
		OK(fi_recv(end->ep, end->buf + 64 * i, 64, end->desc, 0, end));
}

static void step_received(struct end *end, void *arg)
{
	uint64_t *n = arg;

	WAIT(end, CNTR_RECV, *n);
	*n = fi_cntr_read(end->cntr[CNTR_RECV]);
}

static void expect(struct end *end, uint64_t sends, uint64_t reads, uint64_t writes)
{
	WAIT(end, CNTR_SEND, sends);
	WAIT(end, CNTR_READ, reads);
	WAIT(end, CNTR_WRITE, writes);
	EQUAL(fi_cntr_read(end->cntr[CNTR_SEND]), sends);
	EQUAL(fi_cntr_read(end->cntr[CNTR_READ]), reads);
	EQUAL(fi_cntr_read(end->cntr[CNTR_WRITE]), writes);
	EQUAL(fi_cntr_readerr(end->cntr[CNTR_SEND]), 0);
}

static void messages(struct pair *pair)
{
	struct end *end = &pair->client;
	uint64_t received = 4;
	int n = 5;

	at(&pair->server, step_recvs, &n, sizeof(n));
	OK(fi_inject(end->ep, end->buf, 8, 0));
	expect(end, 1, 0, 0);
	OK(fi_send(end->ep, end->buf, 8, end->desc, 0, end));
	OK(fi_senddata(end->ep, end->buf, 8, end->desc, 7, 0, end));
	OK(fi_injectdata(end->ep, end->buf, 8, 7, 0));
	expect(end, 4, 0, 0);
	at(&pair->server, step_received, &received, sizeof(received));
	EQUAL(received, 4);
}

static void rma(struct pair *pair)
{
	struct end *end = &pair->client;
	uint64_t addr = end->peer.addr, key = end->peer.key, received = 5;

	OK(fi_inject_write(end->ep, end->buf, 8, 0, addr, key));
	expect(end, 4, 0, 1);
	OK(fi_write(end->ep, end->buf, 8, end->desc, 0, addr, key, end));
	OK(fi_read(end->ep, end->buf, 8, end->desc, 0, addr, key, end));
	expect(end, 4, 1, 2);
	OK(fi_atomic(end->ep, end->buf, 1, end->desc, 0, addr, key, FI_UINT64, FI_SUM, end));
	OK(fi_inject_atomic(end->ep, end->buf, 1, 0, addr, key, FI_UINT64, FI_ATOMIC_WRITE));
	OK(fi_fetch_atomic(end->ep, end->buf, 1, end->desc, end->buf + 8, end->desc, 0, addr, key,
			   FI_UINT64, FI_SUM, end));
	OK(fi_compare_atomic(end->ep, end->buf, 1, end->desc, end->buf + 8, end->desc,
			     end->buf + 16, end->desc, 0, addr, key, FI_UINT64, FI_CSWAP, end));
	expect(end, 4, 3, 4);
	/* A write with data consumes a receive of the target, and counts as one. */
	OK(fi_writedata(end->ep, end->buf, 8, end->desc, 9, 0, addr, key, end));
	expect(end, 4, 3, 5);
	at(&pair->server, step_received, &received, sizeof(received));
	EQUAL(received, 5);
}

static void test(struct pair *pair)
{
	messages(pair);
	rma(pair);
}

int main(int argc, char **argv)
{
	static const struct setup setup = {
		.tx_bind = FI_SELECTIVE_COMPLETION,
		.cntrs = FI_SEND | FI_RECV | FI_READ | FI_WRITE,
		.cntr_obj = FI_WAIT_UNSPEC,
	};

	return run_pair(argc, argv, &setup, test);
}
