/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Threads with a context each exchange messages at the same time: nothing is lost or mixed up.
 * Prints the rate of 1, 2 and 4 threads.
 */
#include <pthread.h>
#include <stdio.h>
#include "sep.h"

enum { ROUNDS = 400 };

struct worker {
	pthread_t thread;
	struct sep_pair *pair;
	int index;
};

static void wait_one(struct fid_cq *cq)
{
	struct fi_cq_tagged_entry entry;
	uint64_t end = deadline();
	ssize_t ret;

	while ((ret = fi_cq_read(cq, &entry, 1)) == -FI_EAGAIN)
		pause_until(end, "a completion");
	EQUAL(ret, 1);
}

/* One thread is both ends of an index. */
static void *work(void *arg)
{
	struct worker *worker = arg;
	struct sep_side *a = &worker->pair->side[0], *b = &worker->pair->side[1];
	int i, index = worker->index;
	uint64_t out, in = 0;

	for (i = 0; i < ROUNDS; i++) {
		out = (uint64_t)(index * ROUNDS + i);
		OK(fi_trecv(b->rx[index], &in, sizeof(in), NULL, FI_ADDR_UNSPEC, 1, 0, NULL));
		OK(fi_tsend(a->tx[index], &out, sizeof(out), NULL, sep_addr(worker->pair, 0, index),
			    1, NULL));
		wait_one(b->cq[index]);
		EQUAL(in, out);
		wait_one(a->cq[index]);
	}
	return NULL;
}

static void run(struct sep_pair *pair, int threads)
{
	struct worker workers[SEP_MANY];
	uint64_t start = now_ms();
	int i;

	for (i = 0; i < threads; i++) {
		workers[i] = (struct worker){ .pair = pair, .index = i };
		EQUAL(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
	}
	for (i = 0; i < threads; i++)
		pthread_join(workers[i].thread, NULL);
	printf("%d threads: %d messages in %d ms\n", threads, threads * ROUNDS,
	       (int)(now_ms() - start));
}

static void run_model(enum fi_threading threading)
{
	struct sep_pair pair;

	sep_open(&pair, threading);
	run(&pair, 1);
	run(&pair, 2);
	run(&pair, 4);
	sep_close(&pair);
}

static void test(void)
{
	run_model(FI_THREAD_SAFE);
	run_model(FI_THREAD_COMPLETION);
}

int main(void)
{
	return run_test(test);
}
