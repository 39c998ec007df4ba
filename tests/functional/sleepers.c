/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Threads that sleep on one object. */
#include "sleepers.h"

#include <pthread.h>
#include <stdlib.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>

enum { SLEEP_MS = 10000, SETTLE_MS = 8 };

struct sleepers {
	unsigned int count, begun; /* begun is atomic */
	sleep_fn *sleep;
	void *object;
	uint64_t start;
	pthread_t threads[SLEEPERS_MAX];
};

static void *run(void *arg)
{
	struct sleepers *sleepers = arg;
	unsigned int number = __atomic_fetch_add(&sleepers->begun, 1, __ATOMIC_SEQ_CST);

	sleepers->sleep(sleepers->object, number);
	return NULL;
}

struct sleepers *sleepers_start(unsigned int count, sleep_fn *sleep, void *object)
{
	struct sleepers *sleepers = calloc(1, sizeof(*sleepers));
	uint64_t end = deadline();
	unsigned int i;

	CHECK(sleepers && count <= SLEEPERS_MAX);
	sleepers->count = count;
	sleepers->sleep = sleep;
	sleepers->object = object;
	for (i = 0; i < count; i++)
		CHECK(!pthread_create(&sleepers->threads[i], NULL, run, sleepers));
	while (__atomic_load_n(&sleepers->begun, __ATOMIC_SEQ_CST) < count)
		pause_until(end, "threads that run");
	sleep_ms(SETTLE_MS);
	sleepers->start = now_ms();
	return sleepers;
}

void sleepers_join(struct sleepers *sleepers)
{
	unsigned int i;

	for (i = 0; i < sleepers->count; i++)
		CHECK(!pthread_join(sleepers->threads[i], NULL));
	CHECK(now_ms() - sleepers->start < SLEEP_MS / 2);
	free(sleepers);
}

void sleep_for_entry(void *object, unsigned int number)
{
	struct fi_cq_tagged_entry entry;

	(void)number;
	RETURNS(fi_cq_sread(object, &entry, 1, NULL, SLEEP_MS), 1);
}

void sleep_for_signal(void *object, unsigned int number)
{
	struct fi_cq_tagged_entry entry;

	(void)number;
	RETURNS(fi_cq_sread(object, &entry, 1, NULL, SLEEP_MS), -FI_EAGAIN);
}

void sleep_for_value(void *object, unsigned int number)
{
	OK(fi_cntr_wait(object, 1 + number, SLEEP_MS));
}
