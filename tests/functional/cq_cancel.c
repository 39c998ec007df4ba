/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A thread that waits in fi_cq_sread is canceled; others go on to use the queue. */
#include <poll.h>
#include <pthread.h>
#include "steps.h"

enum { ROUNDS = 20 };

static void *read_forever(void *arg)
{
	struct fi_cq_tagged_entry entry;

	RETURNS(fi_cq_sread(arg, &entry, 1, NULL, -1), -FI_EAGAIN);
	return NULL;
}

static void cancel_reader(struct fid_cq *cq, uint64_t ms)
{
	pthread_t thread;
	void *ret;

	CHECK(!pthread_create(&thread, NULL, read_forever, cq));
	sleep_ms(ms);
	CHECK(!pthread_cancel(thread));
	CHECK(!pthread_join(thread, &ret));
	CHECK(ret == PTHREAD_CANCELED);
}

/* The queue's descriptor does not stay readable for a thread that is gone. */
static void test(void)
{
	struct setup setup = { .buf_size = 4096, .format = FI_CQ_FORMAT_TAGGED };
	struct end end = { .setup = &setup, .sock = -1 };
	struct fi_cq_attr attr = { .format = FI_CQ_FORMAT_TAGGED, .wait_obj = FI_WAIT_FD };
	struct pollfd pfd = { .events = POLLIN };
	struct fi_cq_tagged_entry entry;
	struct fid_cq *cq;
	struct fid *fid;
	uint64_t i;

	end_open(&end, info_for(&setup, local_addr(), NULL, FI_SOURCE));
	cq = end_cq(&end, &attr);
	fid = &cq->fid;
	for (i = 0; i < ROUNDS; i++)
		cancel_reader(cq, i);
	OK(fi_cq_signal(cq));
	RETURNS(fi_cq_sread(cq, &entry, 1, NULL, WAIT_MS), -FI_EAGAIN);
	OK(fi_trywait(end.fabric, &fid, 1));
	OK(fi_control(fid, FI_GETWAIT, &pfd.fd));
	CHECK(poll(&pfd, 1, 0) == 0);
	OK(fi_close(fid));
	end_close(&end);
}

int main(void)
{
	return run_test(test);
}
