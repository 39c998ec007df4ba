/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * With FI_VERBS_MAX_CONN, connections end to make room for others, idle ones first: everything
 * arrives, also what was queued before its connection ended, and the limit is never exceeded for
 * long.
 */
#include <stdlib.h>
#include <sys/socket.h>
#include "rdm_node.h"

enum { CAP = 2, PEERS = 3, ROUNDS = 2, LEN = 100000, TAG = 4, BURST = 300, SHORT = 4000 };

static char out[LEN], in[LEN];

static bool is_told(const struct child *parent)
{
	char word;

	return recv(parent->sock, &word, 1, MSG_DONTWAIT) == 1;
}

/* Connections that end are soon freed. */
static void few_qps(unsigned int most)
{
	uint64_t end = deadline();

	while (count_qps() > most) {
		sleep_ms(20);
		pause_until(end, "few queue pairs");
	}
}

/* More messages than a connection has credits for. */
static void receive_burst(struct node *node)
{
	unsigned int i, failed = 0;

	for (i = 0; i < BURST; i++)
		node_trecv(node, in, SHORT, TAG, NULL);
	node_reap(node, BURST, &failed);
	EQUAL(failed, 0);
}

/*
 * To all peers, first to those that are connected: their connections end while most of it is
 * queued.
 */
static void send_bursts(struct node *node, const fi_addr_t *to)
{
	unsigned int i, n, failed = 0;

	for (i = PEERS; i--;)
		for (n = 0; n < BURST; n++)
			node_tsend(node, out, SHORT, to[i], TAG);
	node_reap(node, PEERS * BURST, &failed);
	EQUAL(failed, 0);
}

static void peer(struct child *parent, void *arg)
{
	static const size_t lens[] = { 8, LEN };
	struct node node;
	unsigned int i;

	(void)arg;
	node_open(&node, NULL);
	child_say(parent, &node.name, sizeof(node.name));
	for (i = 0; i < ROUNDS; i++) {
		node_trecv(&node, in, LEN, TAG, NULL);
		EQUAL(node_wait(&node).len, lens[i % ARRAY_SIZE(lens)]);
		CHECK_FILLED(in, lens[i % ARRAY_SIZE(lens)], i);
	}
	receive_burst(&node);
	child_say(parent, "d", 1);
	/* The other side ends the connection only when this side answers. */
	while (!is_told(parent)) {
		fi_cq_read(node.cq, NULL, 0);
		sleep_ms(1);
	}
	node_close(&node);
}

static void test(void)
{
	static const size_t lens[] = { 8, LEN };
	struct child children[PEERS];
	unsigned int i, n, failed = 0, before;
	struct node_name name;
	fi_addr_t to[PEERS];
	struct node node;
	char word;

	for (i = 0; i < PEERS; i++)
		children[i] = child_start(peer, NULL);
	node_open(&node, NULL);
	for (i = 0; i < PEERS; i++) {
		child_hear(&children[i], &name, sizeof(name));
		to[i] = node_know(&node, &name);
	}
	before = count_qps();
	for (n = 0; n < ROUNDS; n++) {
		fill(out, LEN, n);
		for (i = 0; i < PEERS; i++)
			node_tsend(&node, out, lens[n % ARRAY_SIZE(lens)], to[i], TAG);
		node_reap(&node, PEERS, &failed);
		EQUAL(failed, 0);
	}
	send_bursts(&node, to);
	for (i = 0; i < PEERS; i++)
		child_hear(&children[i], &word, 1);
	few_qps(before + 2 * CAP);
	for (i = 0; i < PEERS; i++)
		child_say(&children[i], "e", 1);
	for (i = 0; i < PEERS; i++)
		child_end(&children[i]);
	node_close(&node);
}

int main(void)
{
	need_vm();
	setenv("FI_VERBS_MAX_CONN", "2", 1);
	return run_test(test);
}
