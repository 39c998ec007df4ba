/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * FI_TRIGGER: the server answers each message without a call of its application, with sends, writes
 * and atomics that wait for the counter of its receives.
 */
#include <string.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_trigger.h>
#include "steps.h"

enum { ROUNDS = 10, LEN = 64 };

static struct fi_triggered_context contexts[3 * ROUNDS];

static struct fi_triggered_context *when(struct end *end, int i, uint64_t threshold)
{
	contexts[i] = (struct fi_triggered_context){
		.event_type = FI_TRIGGER_THRESHOLD,
		.trigger.threshold = { end->cntr[CNTR_RECV], threshold },
	};
	return &contexts[i];
}

static void queue_send(struct end *end, int i)
{
	struct iovec iov = { end->buf, LEN };
	struct fi_msg msg = { .msg_iov = &iov,
			      .desc = &end->desc,
			      .iov_count = 1,
			      .context = when(end, 3 * i, (uint64_t)i + 1) };

	OK(fi_sendmsg(end->ep, &msg, FI_TRIGGER));
	memset(&iov, 0xff, sizeof(iov));
}

/* To the client's buffer, behind the message. */
static void queue_rma(struct end *end, int i)
{
	struct iovec iov = { end->buf, LEN };
	struct fi_rma_iov target = { end->peer.addr + 1024, LEN, end->peer.key };
	struct fi_msg_rma msg = { .msg_iov = &iov,
				  .desc = &end->desc,
				  .iov_count = 1,
				  .rma_iov = &target,
				  .rma_iov_count = 1,
				  .context = when(end, 3 * i + 1, (uint64_t)i + 1) };

	OK(fi_writemsg(end->ep, &msg, FI_TRIGGER));
}

static void queue_atomic(struct end *end, int i)
{
	static uint64_t one = 1;
	struct fi_ioc ioc = { &one, 1 };
	struct fi_rma_ioc target = { end->peer.addr + 2048, 1, end->peer.key };
	struct fi_msg_atomic msg = { .msg_iov = &ioc,
				     .iov_count = 1,
				     .rma_iov = &target,
				     .rma_iov_count = 1,
				     .datatype = FI_UINT64,
				     .op = FI_SUM,
				     .context = when(end, 3 * i + 2, (uint64_t)i + 1) };

	OK(fi_atomicmsg(end->ep, &msg, FI_TRIGGER | FI_INJECT));
}

/* The last operation is queued first: the thresholds determine the order. */
static void step_queue(struct end *end, void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < ROUNDS; i++)
		OK(fi_recv(end->ep, end->buf, LEN, end->desc, 0, NULL));
	for (i = ROUNDS - 1; i >= 0; i--) {
		queue_rma(end, i);
		queue_atomic(end, i);
		queue_send(end, i);
	}
}

/* Reading the counter suffices. */
static void step_progress(struct end *end, void *arg)
{
	RETURNS(fi_cntr_wait(end->cntr[CNTR_RECV], *(uint64_t *)arg, WAIT_MS), 0);
	RETURNS(fi_cntr_wait(end->cntr[CNTR_SEND], *(uint64_t *)arg, WAIT_MS), 0);
}

static void step_contexts(struct end *end, void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < ROUNDS; i++) {
		wait_context(end->cq, &contexts[3 * i + 1]);
		wait_context(end->cq, &contexts[3 * i + 2]);
		wait_context(end->cq, &contexts[3 * i]);
	}
	no_comp(end->cq, 5);
}

static void test(struct pair *pair)
{
	struct end *end = &pair->client;
	struct fi_cq_tagged_entry entry;
	uint64_t i;

	at(&pair->server, step_queue, NULL, 0);
	no_comp(end->rxcq, 20);
	for (i = 1; i <= ROUNDS; i++) {
		OK(fi_recv(end->ep, end->buf + 4096, LEN, end->desc, 0, NULL));
		fill(end->buf, LEN, (unsigned int)i);
		OK(fi_send(end->ep, end->buf, LEN, end->desc, 0, end));
		at(&pair->server, step_progress, &i, sizeof(i));
		wait_comp(end->rxcq, &entry);
		CHECK_FILLED(end->buf + 4096, LEN, (unsigned int)i);
		CHECK_FILLED(end->buf + 1024, LEN, (unsigned int)i);
		EQUAL(*(uint64_t *)(end->buf + 2048), i);
		wait_context(end->cq, end);
	}
	at(&pair->server, step_contexts, NULL, 0);
}

int main(int argc, char **argv)
{
	static const struct setup setup = {
		.caps = FI_MSG | FI_RMA | FI_ATOMIC | FI_TRIGGER,
		.cntrs = FI_SEND | FI_RECV,
		.cntr_obj = FI_WAIT_UNSPEC,
	};

	return run_pair(argc, argv, &setup, test);
}
