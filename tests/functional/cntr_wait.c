/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fi_cntr_wait with each wait object: thresholds, timeouts, and messages and other threads that end
 * the wait.
 */
#include <pthread.h>
#include <unistd.h>
#include "steps.h"

static struct fid_cntr *open_one(struct end *end, enum fi_wait_obj obj)
{
	struct fi_cntr_attr attr = { .wait_obj = obj };
	struct fid_cntr *cntr;

	OK(fi_cntr_open(end->domain, &attr, &cntr, NULL));
	return cntr;
}

static void times_out(struct fid_cntr *cntr)
{
	uint64_t start = now_ms();

	RETURNS(fi_cntr_wait(cntr, 1, 0), -FI_ETIMEDOUT);
	RETURNS(fi_cntr_wait(cntr, 1, 50), -FI_ETIMEDOUT);
	CHECK(now_ms() - start >= 49);
	RETURNS(fi_cntr_wait(cntr, 0, 0), 0);
}

struct job {
	struct fid_cntr *cntr;
	bool err;
};

static void *change_later(void *arg)
{
	struct job *job = arg;

	sleep_ms(30);
	if (job->err)
		OK(fi_cntr_adderr(job->cntr, 1));
	else
		OK(fi_cntr_add(job->cntr, 3));
	return NULL;
}

static void woken_by_thread(struct fid_cntr *cntr)
{
	struct job job = { cntr, false };
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, change_later, &job));
	RETURNS(fi_cntr_wait(cntr, 3, WAIT_MS), 0);
	CHECK(!pthread_join(thread, NULL));
	job.err = true;
	CHECK(!pthread_create(&thread, NULL, change_later, &job));
	RETURNS(fi_cntr_wait(cntr, 4, -1), -FI_EAVAIL);
	CHECK(!pthread_join(thread, NULL));
}

static void step_recv(struct end *end, void *arg)
{
	(void)arg;
	OK(fi_recv(end->ep, end->buf, 8, end->desc, 0, end));
}

static void step_wait(struct end *end, void *arg)
{
	RETURNS(fi_cntr_wait(end->cntr[CNTR_RECV], *(uint64_t *)arg, WAIT_MS), 0);
}

static void messages(struct pair *pair)
{
	struct end *end = &pair->client;
	uint64_t i;

	for (i = 1; i <= 20; i++) {
		at(&pair->server, step_recv, NULL, 0);
		if (two_processes(pair))
			at_begin(&pair->server, step_wait, &i, sizeof(i));
		sleep_ms(i % 3 * 5);
		OK(fi_inject(end->ep, end->buf, 8, 0));
		if (two_processes(pair))
			at_end(&pair->server, &i, sizeof(i));
		else
			step_wait(&pair->server, &i);
		RETURNS(fi_cntr_wait(end->cntr[CNTR_SEND], i, WAIT_MS), 0);
	}
}

static void test(struct pair *pair)
{
	static const enum fi_wait_obj objs[] = { FI_WAIT_UNSPEC, FI_WAIT_FD, FI_WAIT_YIELD,
						 FI_WAIT_MUTEX_COND };
	struct fid_cntr *cntr;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(objs); i++) {
		cntr = open_one(&pair->client, objs[i]);
		times_out(cntr);
		woken_by_thread(cntr);
		OK(fi_close(&cntr->fid));
	}
	cntr = open_one(&pair->client, FI_WAIT_NONE);
	times_out(cntr);
	woken_by_thread(cntr);
	OK(fi_close(&cntr->fid));
	messages(pair);
}

int main(int argc, char **argv)
{
	static const enum fi_wait_obj objs[] = { FI_WAIT_FD, FI_WAIT_YIELD, FI_WAIT_MUTEX_COND };
	struct setup setup = { .cntrs = FI_SEND | FI_RECV };
	unsigned int i;
	int ret = 0;

	for (i = 0; i < ARRAY_SIZE(objs) && !ret; i++) {
		setup.cntr_obj = objs[i];
		setup.wait_obj = i ? FI_WAIT_NONE : FI_WAIT_FD;
		ret = run_pair(argc, argv, &setup, test);
	}
	return ret;
}
