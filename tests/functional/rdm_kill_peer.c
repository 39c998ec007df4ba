/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A peer is killed during transfers: each operation to it completes once, those that were not done
 * with an error; operations to others continue. Later sends to it fail in time, once each.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "rdm_node.h"

enum { SMALL = 40, LARGE = 4, SMALL_LEN = 300, LARGE_LEN = 200000, LATE = 5, TIMEOUT_MS = 1500 };
enum { VICTIM = 1, OTHER = 2, DONE = 3 };

static char out[LARGE_LEN], in[LARGE_LEN];

/* Takes the small messages that arrive, and never the large ones. */
static void peer(struct child *parent, void *arg)
{
	unsigned int i, failed = 0, count = *(unsigned int *)arg;
	struct node node;
	char go;

	node_open(&node, NULL);
	for (i = 0; i < count; i++)
		node_trecv(&node, in, SMALL_LEN, OTHER, NULL);
	child_say(parent, &node.name, sizeof(node.name));
	node_reap(&node, count, &failed);
	EQUAL(failed, 0);
	child_say(parent, "d", 1);
	child_hear(parent, &go, 1);
	node_close(&node);
}

static void send_all(struct node *node, fi_addr_t to, uint64_t tag)
{
	int i;

	for (i = 0; i < SMALL; i++)
		node_tsend(node, out, SMALL_LEN, to, tag);
	for (i = 0; i < LARGE && tag == VICTIM; i++)
		node_tsend(node, out, LARGE_LEN, to, tag);
}

static void test(void)
{
	unsigned int victims = 1, others = 2 * SMALL + 1, failed = 0, i;
	struct child victim = child_start(peer, &victims);
	struct child other = child_start(peer, &others);
	struct node_name name;
	fi_addr_t to[2];
	struct node node;
	uint64_t start;
	char done;

	node_open(&node, NULL);
	child_hear(&victim, &name, sizeof(name));
	to[0] = node_know(&node, &name);
	child_hear(&other, &name, sizeof(name));
	to[1] = node_know(&node, &name);
	/* Both have started, and the victim is connected. */
	node_tsend(&node, out, SMALL_LEN, to[0], OTHER);
	node_tsend(&node, out, SMALL_LEN, to[1], OTHER);
	node_reap(&node, 2, &failed);
	child_hear(&victim, &done, 1);
	send_all(&node, to[0], VICTIM);
	send_all(&node, to[1], OTHER);
	child_kill(&victim);
	send_all(&node, to[1], OTHER);
	node_reap(&node, 3 * SMALL + LARGE, &failed);
	printf("%u failed\n", failed);
	CHECK(failed >= LARGE && failed <= SMALL + LARGE);
	child_hear(&other, &done, 1);
	start = now_ms();
	for (i = 0; i < LATE; i++)
		node_tsend(&node, out, SMALL_LEN, to[0], VICTIM);
	failed = 0;
	node_reap(&node, LATE, &failed);
	EQUAL(failed, LATE);
	printf("after %llu ms\n", (unsigned long long)(now_ms() - start));
	CHECK(now_ms() - start < TIMEOUT_MS + 5000);
	node_silent(&node, 50);
	child_say(&other, "g", 1);
	child_end(&other);
	node_close(&node);
}

int main(void)
{
	setenv("FI_VERBS_RDM_CONNECT_TIMEOUT", "1500", 1);
	return run_test(test);
}
