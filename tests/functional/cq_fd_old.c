/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A program of API 1.2 knows no fi_trywait(): it sleeps on the descriptor of FI_GETWAIT after a
 * read that found nothing, or before its first one.
 */
#include "steps.h"

#define COUNT 100

/* Sleeps first, and reads once after each wakeup, as fi_msg_epoll of fabtests 1.1 does. */
static void wait_one(struct fid_cq *cq)
{
	struct fi_cq_tagged_entry entry;
	ssize_t ret;

	do
		sleep_on_fd(&cq->fid);
	while ((ret = fi_cq_sread(cq, &entry, 1, NULL, 0)) == -FI_EAGAIN);
	RETURNS(ret, 1);
}

static void step_recv(struct end *end, void *arg)
{
	(void)arg;
	OK(fi_recv(end->ep, end->buf, 8, end->desc, 0, NULL));
}

static void step_echo(struct end *end, void *arg)
{
	int i, count = *(int *)arg;

	for (i = 0; i < count; i++) {
		wait_one(end->rxcq);
		step_recv(end, NULL);
		OK(fi_send(end->ep, end->buf, 8, end->desc, 0, NULL));
		wait_one(end->cq);
	}
}

static void test(struct pair *pair)
{
	struct end *end = &pair->client;
	int i, count = COUNT;

	if (!two_processes(pair)) {
		at(&pair->server, step_recv, NULL, 0);
		OK(fi_send(end->ep, end->buf, 8, end->desc, 0, NULL));
		wait_one(end->cq);
		wait_one(pair->server.rxcq);
		return;
	}
	at(&pair->server, step_recv, NULL, 0);
	at_begin(&pair->server, step_echo, &count, sizeof(count));
	for (i = 0; i < COUNT; i++) {
		step_recv(end, NULL);
		OK(fi_send(end->ep, end->buf, 8, end->desc, 0, NULL));
		wait_one(end->cq);
		wait_one(end->rxcq);
	}
	at_end(&pair->server, &count, sizeof(count));
}

int main(int argc, char **argv)
{
	static const struct setup setup = { .wait_obj = FI_WAIT_FD, .api = FI_VERSION(1, 2) };

	return run_pair(argc, argv, &setup, test);
}
