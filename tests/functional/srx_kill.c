/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A peer is killed while it floods a shared receive context: its endpoint gets the event, and the
 * receives that it has not used remain and serve another connection.
 */
#include <signal.h>
#include <stdio.h>
#include "links.h"

#define RECVS 16
#define LEN   1024

static void step_call(struct end *end, void *arg)
{
	end_aim(end, arg);
	OK(fi_connect(end->ep, end->info->dest_addr, NULL, 0));
}

static void step_flood(struct end *end, void *arg)
{
	int i;

	(void)arg;
	wait_event(end->eq, FI_CONNECTED, &end->ep->fid, NULL, 0);
	for (i = 0; i < 200; i++)
		if (fi_send(end->ep, end->buf, LEN, end->desc, 0, NULL))
			break;
}

static void post(struct end *end, uint64_t slot)
{
	OK(fi_recv(end->srx, end->buf + slot * LEN, LEN, end->desc, 0, (void *)(uintptr_t)slot));
}

/*
 * Takes completions until no more arrive; returns their number. The receive that the peer was about
 * to fill may fail.
 */
static size_t settle(struct end *end, bool again)
{
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry error = { 0 };
	uint64_t quiet = now_ms() + 300;
	size_t count = 0;
	ssize_t ret;

	while (now_ms() < quiet) {
		ret = fi_cq_read(end->rxcq, &entry, 1);
		if (ret == -FI_EAVAIL) {
			RETURNS(fi_cq_readerr(end->rxcq, &error, 0), 1);
			EQUAL(error.err, FI_ECANCELED);
			entry.op_context = error.op_context;
		} else if (ret == -FI_EAGAIN) {
			continue;
		}
		count++;
		quiet = now_ms() + 300;
		if (again && count < 40)
			post(end, (uint64_t)(uintptr_t)entry.op_context);
	}
	return count;
}

static void test(struct pair *pair)
{
	struct end *end = &pair->client;
	struct link link;
	struct place place;
	struct fi_info *info;
	uint64_t i, left;

	end_listen(end, local_addr(), &place);
	at(&pair->server, step_call, &place, sizeof(place));
	info = end_request(end, NULL, NULL);
	end->ep = end_ep(end, info);
	fi_freeinfo(info);
	for (i = 0; i < RECVS; i++)
		post(end, i);
	OK(fi_accept(end->ep, NULL, 0));
	wait_event(end->eq, FI_CONNECTED, &end->ep->fid, NULL, 0);
	at_begin(&pair->server, step_flood, NULL, 0);
	wait_context(end->rxcq, (void *)0);
	post(end, 0);
	kill(pair->server.pid, SIGKILL);
	wait_event(end->eq, FI_SHUTDOWN, &end->ep->fid, NULL, 0);
	settle(end, true);
	left = RECVS - (uint64_t)fi_rx_size_left(end->srx) % RECVS;
	printf("%llu receives are left\n", (unsigned long long)left);
	if (fi_rx_size_left(end->srx) == RECVS)
		for (i = 0, left = RECVS; i < RECVS; i++)
			post(end, i);
	OK(fi_close(&end->ep->fid));
	end->ep = NULL;
	left -= settle(end, false);
	link_open(end, &place, &link, NULL, NULL);
	for (i = 0; i < left; i++)
		OK(fi_inject(link.from, end->buf, 8, 0));
	EQUAL(settle(end, false), left);
	EQUAL(fi_rx_size_left(end->srx), RECVS);
	link_close(&link);
	end_close(end);
}

int main(void)
{
	static const struct setup setup = { .srx_size = RECVS };

	return run_two_processes(&setup, test);
}
