/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * N messages of L bytes in each direction appear as N and N * L in the statistics of both ends,
 * read from within and from outside.
 */
#include <unistd.h>
#include "stats.h"
#include "steps.h"

#define N 500
#define L 777

/* Reads the completion of a send. */
static void reap_send(struct end *end, void *arg)
{
	const struct part *part = arg;

	wait_context(end->cq, (void *)(uintptr_t)part->context);
}

static void step_check(struct end *end, void *arg)
{
	struct fid *ep = &end->ep->fid;

	(void)arg;
	EQUAL(stats_of(ep, "sends"), N);
	EQUAL(stats_of(ep, "send_bytes"), N * L);
	EQUAL(stats_of(ep, "tx_completed"), N);
	EQUAL(stats_of(ep, "tx_outstanding"), 0);
	EQUAL(stats_of(ep, "doorbells"), N);
	EQUAL(stats_of(ep, "receives"), N);
	EQUAL(stats_of(ep, "rx_completed"), N);
	EQUAL(stats_of(ep, "receive_bytes"), N * L);
	EQUAL(stats_of(ep, "tx_eagain") + stats_of(ep, "rx_eagain"), 0);
	EQUAL(stats_of(ep, "tx_errors") + stats_of(ep, "rx_errors"), 0);
	EQUAL(stats_of(ep, "writes") + stats_of(ep, "reads") + stats_of(ep, "atomics"), 0);
	EQUAL(stats_of(&end->cq->fid, "completed"), N);
	EQUAL(stats_of(&end->rxcq->fid, "completed"), N);
	EQUAL(stats_of(&end->domain->fid, "regions"), 1);
	EQUAL(stats_of(&end->domain->fid, "registered_bytes"), end->setup->buf_size);
}

/* Of a process with this many endpoints. */
static void check_process(pid_t pid, int eps)
{
	int count;

	EQUAL(stats_sum(pid, FI_CLASS_TX_CTX, "sends", &count), eps * N);
	EQUAL(count, eps);
	EQUAL(stats_sum(pid, FI_CLASS_RX_CTX, "receive_bytes", &count), eps * N * L);
	EQUAL(count, eps);
	EQUAL(stats_sum(pid, FI_CLASS_CQ, "completed", &count), eps * 2 * N);
	EQUAL(count, 2 * eps);
}

static void test(struct pair *pair)
{
	struct end *ends[2] = { &pair->client, &pair->server };
	struct part part = { .len = L, .context = 1 };
	struct fi_cq_tagged_entry entry;
	int i, k;

	for (i = 0; i < 2 * N; i++) {
		k = i % 2;
		at(ends[!k], post_recv, &part, sizeof(part));
		at(ends[k], post_send, &part, sizeof(part));
		at(ends[!k], next_recv, &entry, sizeof(entry));
		EQUAL(entry.len, L);
		at(ends[k], reap_send, &part, sizeof(part));
	}
	at(&pair->client, step_check, NULL, 0);
	at(&pair->server, step_check, NULL, 0);
	if (two_processes(pair))
		check_process(pair->server.pid, 1);
	check_process(getpid(), two_processes(pair) ? 1 : 2);
}

int main(int argc, char **argv)
{
	static const struct setup setup = { 0 };

	return run_pair(argc, argv, &setup, test);
}
