/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* fi_cq_signal wakes a thread that sleeps, or that sleeps only later; it wakes only one. */
#include <pthread.h>
#include <stdio.h>
#include "steps.h"

static void *signal_late(void *arg)
{
	struct fid_cq *cq = arg;

	sleep_ms(100);
	OK(fi_cq_signal(cq));
	return NULL;
}

static void check_signal(struct fid_cq *cq)
{
	struct fi_cq_tagged_entry entry;
	uint64_t start = now_ms();
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, signal_late, cq));
	RETURNS(fi_cq_sread(cq, &entry, 1, NULL, -1), -FI_EAGAIN);
	CHECK(now_ms() - start >= 90);
	pthread_join(thread, NULL);

	OK(fi_cq_signal(cq));
	start = now_ms();
	RETURNS(fi_cq_sread(cq, &entry, 1, NULL, WAIT_MS), -FI_EAGAIN);
	CHECK(now_ms() - start < WAIT_MS / 2);

	start = now_ms();
	RETURNS(fi_cq_sread(cq, &entry, 1, NULL, 50), -FI_EAGAIN);
	CHECK(now_ms() - start >= 50);
}

static void test(void)
{
	static const enum fi_wait_obj objs[] = { FI_WAIT_UNSPEC, FI_WAIT_FD, FI_WAIT_POLLFD,
						 FI_WAIT_YIELD };
	struct setup setup = { .buf_size = 4096, .format = FI_CQ_FORMAT_TAGGED };
	struct end end = { .setup = &setup, .sock = -1 };
	struct fi_cq_attr attr = { .format = FI_CQ_FORMAT_TAGGED };
	struct fid_cq *cq;
	size_t i;

	end_open(&end, info_for(&setup, local_addr(), NULL, FI_SOURCE));
	for (i = 0; i < ARRAY_SIZE(objs); i++) {
		printf("wait object %d\n", (int)objs[i]);
		attr.wait_obj = objs[i];
		cq = end_cq(&end, &attr);
		check_signal(cq);
		OK(fi_close(&cq->fid));
	}
	RETURNS(fi_cq_signal(end.cq), -FI_ENOSYS); /* FI_WAIT_NONE */
	end_close(&end);
}

int main(void)
{
	return run_test(test);
}
