/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * With FI_VERBS_MAX_CONN, long messages that nobody has received do not keep others from being
 * connected, whether the receiver or the sender has too many connections, and whether the receiver
 * knows the senders.
 */
#include <stdlib.h>
#include "rdm_node.h"

enum { NODES = 4, LEN = 200000, TAG = 4, SETTLE_MS = 300 };

static char out[NODES][LEN], in[LEN];
static struct node nodes[NODES];
static unsigned int received;

/* All nodes make progress. */
static void poll_all(void)
{
	struct fi_cq_tagged_entry entry;
	unsigned int i;
	int err;

	for (i = 0; i < NODES; i++) {
		if (!node_poll(&nodes[i], &entry, &err))
			continue;
		EQUAL(err, 0);
		received += !!(entry.flags & FI_RECV);
	}
}

static void settle(void)
{
	unsigned int ms;

	for (ms = 0; ms < SETTLE_MS; ms++) {
		poll_all();
		sleep_ms(1);
	}
}

static void receive(unsigned int at, unsigned int number)
{
	uint64_t end = deadline();

	received = 0;
	node_trecv(&nodes[at], in, LEN, TAG + number, NULL);
	for (; !received; pause_until(end, "a message behind those that nobody has received"))
		poll_all();
	CHECK_FILLED(in, LEN, number);
}

static void send_one(unsigned int from, fi_addr_t to, unsigned int number)
{
	fill(out[number], LEN, number);
	node_tsend(&nodes[from], out[number], LEN, to, TAG + number);
	settle();
}

/* Node 0 may know the others, as FI_ADDR 0 to 2, and they know it as 0. */
static void open_all(bool known)
{
	unsigned int i;

	for (i = 0; i < NODES; i++)
		node_open(&nodes[i], NULL);
	for (i = 1; i < NODES; i++) {
		if (known)
			EQUAL(node_know(&nodes[0], &nodes[i].name), i - 1);
		EQUAL(node_know(&nodes[i], &nodes[0].name), 0);
	}
}

enum round { FROM_STRANGERS, TO_ONE, FROM_ONE, ROUNDS };

static void test(void)
{
	unsigned int round, i;
	bool from_one;

	for (round = 0; round < ROUNDS; round++) {
		from_one = round == FROM_ONE;
		open_all(round != FROM_STRANGERS);
		for (i = 1; i < NODES; i++)
			send_one(from_one ? 0 : i, from_one ? i - 1 : 0, i);
		for (i = NODES - 1; i; i--)
			receive(from_one ? i : 0, i);
		settle();
		for (i = 0; i < NODES; i++)
			node_close(&nodes[i]);
	}
}

int main(void)
{
	need_vm();
	setenv("FI_VERBS_MAX_CONN", "2", 1);
	return run_test(test);
}
