/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A peer that is killed and starts again at the same address is reached again, in both directions.
 * What the old process announced and never delivered does not arrive.
 */
#include <stdlib.h>
#include "rdm_node.h"

#define SERVICE "7491"

enum { LEN = 200000, TAG = 7, ANSWER = 8, ROUNDS = 3 };

static char bufs[2][LEN];

/*
 * Sends messages that nobody receives during its life, or that are received. Then it waits for an
 * answer.
 */
static void peer(struct child *parent, void *arg)
{
	unsigned int round = *(unsigned int *)arg, failed = 0;
	struct node_name name;
	struct node node;
	fi_addr_t to;

	child_hear(parent, &name, sizeof(name));
	node_open(&node, SERVICE);
	child_say(parent, &node.name, sizeof(node.name));
	to = node_know(&node, &name);
	fill(bufs[0], LEN, round);
	node_trecv(&node, bufs[1], LEN, ANSWER, NULL);
	node_tsend(&node, bufs[0], LEN, to, TAG);
	if (round + 1 < ROUNDS) {
		/* The announcement has arrived. */
		OK(fi_tinject(node.ep, &round, sizeof(round), to, ANSWER));
		while (now_ms())
			fi_cq_read(node.cq, NULL, 0);
	}
	node_reap(&node, 2, &failed);
	EQUAL(failed, 0);
	CHECK_FILLED(bufs[1], LEN, 77);
	child_say(parent, "d", 1);
	child_hear(parent, bufs[0], 1);
	node_close(&node);
}

static void test(void)
{
	struct child children[ROUNDS];
	struct node_name name;
	unsigned int round, word, failed = 0;
	struct node node;
	fi_addr_t to = 0;

	for (round = 0; round < ROUNDS; round++)
		children[round] = child_start(peer, &round);
	node_open(&node, NULL);
	for (round = 0; round < ROUNDS; round++) {
		child_say(&children[round], &node.name, sizeof(node.name));
		child_hear(&children[round], &name, sizeof(name));
		if (!round)
			to = node_know(&node, &name);
		if (round + 1 == ROUNDS)
			break;
		node_trecv(&node, &word, sizeof(word), ANSWER, NULL);
		node_wait(&node);
		EQUAL(word, round);
		child_kill(&children[round]);
	}
	node_trecv(&node, bufs[0], LEN, TAG, NULL);
	node_wait(&node);
	CHECK_FILLED(bufs[0], LEN, ROUNDS - 1);
	fill(bufs[1], LEN, 77);
	node_tsend(&node, bufs[1], LEN, to, ANSWER);
	node_reap(&node, 1, &failed);
	EQUAL(failed, 0);
	child_hear(&children[round], &word, 1);
	child_say(&children[round], "e", 1);
	node_trecv(&node, bufs[0], LEN, TAG, NULL);
	node_silent(&node, 100);
	child_end(&children[round]);
	node_close(&node);
}

int main(void)
{
	return run_test(test);
}
