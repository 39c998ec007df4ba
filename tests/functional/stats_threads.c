/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Statistics that one thread reads while others send and receive never decrease, and are exact at
 * the end.
 */
#include <pthread.h>
#include "stats.h"
#include "steps.h"

#define N 2000
#define L 50

static struct end *from, *to;
static bool done; /* atomic */

static void *watch(void *arg)
{
	uint64_t sends, last = 0, bytes, last_bytes = 0, received, last_received = 0;
	int count;

	(void)arg;
	while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE)) {
		sends = stats_of(&from->ep->fid, "sends");
		bytes = stats_of(&from->ep->fid, "send_bytes");
		received = stats_sum(0, FI_CLASS_RX_CTX, "rx_completed", &count);
		CHECK(sends >= last && sends <= N);
		CHECK(bytes >= last_bytes && bytes <= N * L);
		CHECK(received >= last_received && received <= N);
		last = sends;
		last_bytes = bytes;
		last_received = received;
		sched_yield();
	}
	return NULL;
}

static void *receive(void *arg)
{
	struct part part = { .len = L };
	struct fi_cq_tagged_entry entry;
	int i;

	(void)arg;
	for (i = 0; i < N; i++) {
		post_recv(to, &part);
		wait_comp(to->rxcq, &entry);
	}
	return NULL;
}

static void test(struct pair *pair)
{
	struct part part = { .len = L, .context = 1 };
	pthread_t watcher, receiver;
	int i;

	if (two_processes(pair))
		return;
	from = &pair->client;
	to = &pair->server;
	CHECK(!pthread_create(&watcher, NULL, watch, NULL));
	CHECK(!pthread_create(&receiver, NULL, receive, NULL));
	for (i = 0; i < N; i++) {
		post_send(from, &part);
		wait_context(from->cq, (void *)1);
	}
	CHECK(!pthread_join(receiver, NULL));
	__atomic_store_n(&done, true, __ATOMIC_RELEASE);
	CHECK(!pthread_join(watcher, NULL));
	EQUAL(stats_of(&from->ep->fid, "sends"), N);
	EQUAL(stats_of(&from->ep->fid, "send_bytes"), N * L);
	EQUAL(stats_of(&to->ep->fid, "rx_completed"), N);
	EQUAL(stats_of(&to->ep->fid, "receive_bytes"), N * L);
}

int main(int argc, char **argv)
{
	static const struct setup setup = { 0 };

	return run_pair(argc, argv, &setup, test);
}
