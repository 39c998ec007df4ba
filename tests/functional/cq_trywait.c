/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fi_trywait and poll on the descriptor of FI_GETWAIT lose no wakeup: many messages, each sent at
 * some moment around the call, are all received by a thread that sleeps without a time limit.
 */
#include <poll.h>
#include <stdio.h>
#include "steps.h"

#define COUNT 500

static void sleep_on(struct end *end, struct fid *fid)
{
	int ret = fi_trywait(end->fabric, &fid, 1);

	if (ret == -FI_EAGAIN)
		return;
	RETURNS(ret, 0);
	sleep_on_fd(fid);
}

static void wait_one(struct end *end, struct fid_cq *cq)
{
	struct fi_cq_tagged_entry entry;
	ssize_t ret;

	while ((ret = fi_cq_read(cq, &entry, 1)) == -FI_EAGAIN)
		sleep_on(end, &cq->fid);
	RETURNS(ret, 1);
}

static void step_recv(struct end *end, void *arg)
{
	(void)arg;
	OK(fi_recv(end->ep, end->buf, 8, end->desc, 0, NULL));
}

/*
 * A pause of varying length, so that the message arrives at different points of the other end's
 * loop.
 */
static void spin(int n)
{
	volatile int i;

	for (i = 0; i < n; i++)
		;
}

static void step_echo(struct end *end, void *arg)
{
	int i, count = *(int *)arg;

	for (i = 0; i < count; i++) {
		wait_one(end, end->rxcq);
		step_recv(end, NULL);
		spin(i * 37 % 5000);
		OK(fi_send(end->ep, end->buf, 8, end->desc, 0, NULL));
		wait_one(end, end->cq);
	}
}

static void ping(struct end *end, int count)
{
	int i;

	for (i = 0; i < count; i++) {
		step_recv(end, NULL);
		spin(i * 53 % 7000);
		OK(fi_send(end->ep, end->buf, 8, end->desc, 0, NULL));
		wait_one(end, end->cq);
		wait_one(end, end->rxcq);
	}
}

/* fi_trywait allows sleeping if the queue is empty, and refuses it otherwise. */
static void simple(struct pair *pair)
{
	struct fid *fids[2] = { &pair->client.cq->fid, &pair->client.eq->fid };
	struct end *end = &pair->client;
	struct pollfd fds = { .events = POLLIN };
	int ret;

	OK(fi_trywait(end->fabric, fids, 2));
	OK(fi_control(fids[0], FI_GETWAIT, &fds.fd));
	EQUAL(poll(&fds, 1, 20), 0);
	at(&pair->server, step_recv, NULL, 0);
	OK(fi_send(end->ep, end->buf, 8, end->desc, 0, NULL));
	EQUAL(poll(&fds, 1, WAIT_MS), 1);
	ret = fi_trywait(end->fabric, fids, 2);
	RETURNS(ret, -FI_EAGAIN);
	wait_one(end, end->cq);
	OK(fi_trywait(end->fabric, fids, 2));
	EQUAL(poll(&fds, 1, 20), 0);
}

static void test(struct pair *pair)
{
	struct fi_cq_tagged_entry entry;
	int count = COUNT;

	simple(pair);
	at(&pair->server, next_recv, &entry, sizeof(entry));
	if (!two_processes(pair))
		return;
	at(&pair->server, step_recv, NULL, 0);
	at_begin(&pair->server, step_echo, &count, sizeof(count));
	ping(&pair->client, COUNT);
	at_end(&pair->server, &count, sizeof(count));
}

int main(int argc, char **argv)
{
	static const struct setup setup = { .wait_obj = FI_WAIT_FD };

	return run_pair(argc, argv, &setup, test);
}
