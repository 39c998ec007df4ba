/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A counter's descriptor works in an epoll set after fi_trywait, whoever else reads the completion
 * queue.
 */
#include <sys/epoll.h>
#include <unistd.h>
#include "steps.h"

enum { COUNT = 50 };

static void step_recv(struct end *end, void *arg)
{
	(void)arg;
	OK(fi_recv(end->ep, end->buf, 8, end->desc, 0, end));
}

static int new_set(struct fid_cntr *cntr)
{
	struct epoll_event event = { .events = EPOLLIN };
	int fd = -1, set = epoll_create1(0);

	OK(fi_control(&cntr->fid, FI_GETWAIT, &fd));
	CHECK(set >= 0);
	CHECK(!epoll_ctl(set, EPOLL_CTL_ADD, fd, &event));
	return set;
}

/* This is how an application waits for more than one object. */
static void wait_for(struct end *end, struct fid_cntr *cntr, int set, uint64_t value)
{
	struct fid *fid = &cntr->fid;
	struct epoll_event event;
	ssize_t ret;

	while (fi_cntr_read(cntr) < value) {
		ret = fi_trywait(end->fabric, &fid, 1);
		if (ret == -FI_EAGAIN)
			continue;
		OK(ret);
		EQUAL(epoll_wait(set, &event, 1, WAIT_MS), 1);
	}
	EQUAL(fi_cntr_read(cntr), value);
}

static void step_wait(struct end *end, void *arg)
{
	static int set = -1;

	if (set < 0)
		set = new_set(end->cntr[CNTR_RECV]);
	wait_for(end, end->cntr[CNTR_RECV], set, *(uint64_t *)arg);
}

static void quiet(struct end *end, struct fid_cntr *cntr, int set)
{
	struct fid *fid = &cntr->fid;
	struct epoll_event event;

	while (fi_trywait(end->fabric, &fid, 1) == -FI_EAGAIN)
		;
	EQUAL(epoll_wait(set, &event, 1, 20), 0);
}

static void test(struct pair *pair)
{
	struct end *end = &pair->client;
	int set = new_set(end->cntr[CNTR_SEND]);
	uint64_t i;

	for (i = 1; i <= COUNT; i++) {
		at(&pair->server, step_recv, NULL, 0);
		OK(fi_send(end->ep, end->buf, 8, end->desc, 0, end));
		if (!end->setup->no_cq && i % 3 == 0)
			wait_context(end->cq, end);
		wait_for(end, end->cntr[CNTR_SEND], set, i);
		at(&pair->server, step_wait, &i, sizeof(i));
		if (i % 10 == 0)
			quiet(end, end->cntr[CNTR_SEND], set);
	}
	close(set);
}

int main(int argc, char **argv)
{
	struct setup setup = {
		.no_cq = true,
		.cntrs = FI_SEND | FI_RECV,
		.cntr_obj = FI_WAIT_FD,
	};
	int ret = run_pair(argc, argv, &setup, test);

	if (ret)
		return ret;
	setup.no_cq = false;
	setup.wait_obj = FI_WAIT_FD;
	return run_pair(argc, argv, &setup, test);
}
