/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A peer that is stopped during transfers and continues later receives everything, once and in
 * order.
 */
#include <signal.h>
#include <stdlib.h>
#include "rdm_node.h"

enum { MESSAGES = 900, BEFORE = 100, LEN = 700, LARGE = 150000, TAG = 5 };

static char outs[2][LARGE];

static size_t length(unsigned int i)
{
	return i % 100 == 99 ? LARGE : LEN + i % 50;
}

static void peer(struct child *parent, void *arg)
{
	char *in = malloc(LARGE);
	struct node node;
	unsigned int i;

	(void)arg;
	node_open(&node, NULL);
	child_say(parent, &node.name, sizeof(node.name));
	for (i = 0; i < MESSAGES; i++) {
		node_trecv(&node, in, LARGE, TAG, NULL);
		EQUAL(node_wait(&node).len, length(i));
		CHECK_FILLED(in, length(i), i & 1);
		if (i == BEFORE / 2)
			child_say(parent, "h", 1);
	}
	node_silent(&node, 20);
	child_say(parent, "d", 1);
	child_hear(parent, in, 1);
	node_close(&node);
	free(in);
}

static void test(void)
{
	struct child child = child_start(peer, NULL);
	struct fi_cq_tagged_entry entry;
	unsigned int i, failed = 0, done = 0;
	struct node_name name;
	struct node node;
	fi_addr_t to;
	char word;
	int err;

	fill(outs[0], LARGE, 0);
	fill(outs[1], LARGE, 1);
	node_open(&node, NULL);
	child_hear(&child, &name, sizeof(name));
	to = node_know(&node, &name);
	for (i = 0; i < MESSAGES; i++) {
		node_tsend(&node, outs[i & 1], length(i), to, TAG);
		while (node_poll(&node, &entry, &err)) {
			EQUAL(err, 0);
			done++;
		}
		if (i == BEFORE) {
			child_hear(&child, &word, 1);
			CHECK(!kill(child.pid, SIGSTOP));
		}
	}
	sleep_ms(300);
	CHECK(!kill(child.pid, SIGCONT));
	node_reap(&node, MESSAGES - done, &failed);
	EQUAL(failed, 0);
	child_hear(&child, &word, 1);
	node_silent(&node, 20);
	child_say(&child, "e", 1);
	child_end(&child);
	node_close(&node);
}

int main(void)
{
	return run_test(test);
}
