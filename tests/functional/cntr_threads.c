/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Threads wait for one counter while others post and read the completion queue: each wakes up, and
 * each entry is read once.
 */
#include <pthread.h>
#include "steps.h"

enum { COUNT = 400, WAITERS = 3 };

struct waiter {
	struct end *end;
	pthread_t thread;
};

static void *wait_steps(void *arg)
{
	struct end *end = ((struct waiter *)arg)->end;
	uint64_t i;

	for (i = 1; i <= COUNT; i += 3)
		RETURNS(fi_cntr_wait(end->cntr[CNTR_SEND], i, WAIT_MS), 0);
	return NULL;
}

static void *read_all(void *arg)
{
	struct end *end = ((struct waiter *)arg)->end;
	struct fi_cq_tagged_entry entry;
	uint64_t limit = deadline();
	uintptr_t next = 0;
	ssize_t ret;

	while (next < COUNT) {
		ret = fi_cq_sread(end->cq, &entry, 1, NULL, 100);
		if (ret == -FI_EAGAIN) {
			pause_until(limit, "all completions are read");
			continue;
		}
		RETURNS(ret, 1);
		EQUAL((uintptr_t)entry.op_context, next);
		next++;
	}
	return NULL;
}

static void step_recvs(struct end *end, void *arg)
{
	int i;

	for (i = 0; i < *(int *)arg; i++)
		OK(fi_recv(end->ep, end->buf, 8, end->desc, 0, NULL));
}

static void step_received(struct end *end, void *arg)
{
	RETURNS(fi_cntr_wait(end->cntr[CNTR_RECV], *(uint64_t *)arg, WAIT_MS), 0);
}

static void post_all(struct pair *pair)
{
	struct end *end = &pair->client;
	uint64_t limit = deadline(), received;
	int depth = 20;
	uintptr_t i;

	for (i = 0; i < COUNT; i++) {
		if (i % 20 == 0) {
			received = i;
			at(&pair->server, step_received, &received, sizeof(received));
			at(&pair->server, step_recvs, &depth, sizeof(depth));
		}
		while (AGAIN(limit, fi_send(end->ep, end->buf, 8, end->desc, 0, (void *)i)))
			;
	}
}

static void test(struct pair *pair)
{
	struct waiter waiters[WAITERS + 1];
	int i;

	for (i = 0; i <= WAITERS; i++) {
		waiters[i].end = &pair->client;
		CHECK(!pthread_create(&waiters[i].thread, NULL, i ? wait_steps : read_all,
				      &waiters[i]));
	}
	post_all(pair);
	for (i = 0; i <= WAITERS; i++)
		CHECK(!pthread_join(waiters[i].thread, NULL));
	EQUAL(fi_cntr_read(pair->client.cntr[CNTR_SEND]), COUNT);
}

int main(int argc, char **argv)
{
	static const struct setup setup = {
		.no_cq = false,
		.wait_obj = FI_WAIT_FD,
		.tx_size = 32,
		.rx_size = 32,
		.rx_bind = FI_SELECTIVE_COMPLETION,
		.cntrs = FI_SEND | FI_RECV,
		.cntr_obj = FI_WAIT_FD,
	};

	return run_pair(argc, argv, &setup, test);
}
