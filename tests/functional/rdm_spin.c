/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One CPU, and many processes that spin on it, as on an overloaded machine: all connect to each
 * other within the time limit for a silent peer, although every handshake takes longer than usual.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "rdm_node.h"

enum { RANKS = 8, SPINNERS = 12, TAG = 9 };

static void one_cpu(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	CHECK(!sched_setaffinity(0, sizeof(set), &set));
}

static void spin(struct child *parent, void *arg)
{
	volatile unsigned int *turns = arg;

	(void)parent;
	for (;;)
		(*turns)++;
}

static void rank(struct child *parent, void *arg)
{
	unsigned int i, failed = 0, self = *(unsigned int *)arg;
	struct node_name names[RANKS];
	uint64_t out = self, in[RANKS];
	fi_addr_t to[RANKS];
	struct node node;

	node_open(&node, NULL);
	child_say(parent, &node.name, sizeof(node.name));
	child_hear(parent, names, sizeof(names));
	for (i = 0; i < RANKS; i++)
		to[i] = node_know(&node, &names[i]);
	for (i = 0; i < RANKS; i++)
		node_trecv(&node, &in[i], sizeof(in[i]), TAG, NULL);
	for (i = 0; i < RANKS; i++)
		node_tsend(&node, &out, sizeof(out), to[(self + i) % RANKS], TAG);
	node_reap(&node, 2 * RANKS, &failed);
	EQUAL(failed, 0);
	child_say(parent, "d", 1);
	child_hear(parent, in, 1);
	node_close(&node);
}

static void test(void)
{
	struct child children[RANKS], spinners[SPINNERS];
	struct node_name names[RANKS];
	unsigned int i, turns = 0;
	uint64_t start;
	char word;

	one_cpu();
	for (i = 0; i < RANKS; i++)
		children[i] = child_start(rank, &i);
	for (i = 0; i < RANKS; i++)
		child_hear(&children[i], &names[i], sizeof(names[i]));
	for (i = 0; i < SPINNERS; i++)
		spinners[i] = child_start(spin, &turns);
	start = now_ms();
	for (i = 0; i < RANKS; i++)
		child_say(&children[i], names, sizeof(names));
	for (i = 0; i < RANKS; i++)
		child_hear(&children[i], &word, 1);
	printf("%d ranks and %d others on a CPU: connected in %llu ms\n", RANKS, SPINNERS,
	       (unsigned long long)(now_ms() - start));
	for (i = 0; i < SPINNERS; i++)
		child_kill(&spinners[i]);
	for (i = 0; i < RANKS; i++)
		child_say(&children[i], "e", 1);
	for (i = 0; i < RANKS; i++)
		child_end(&children[i]);
}

int main(void)
{
	setenv("FI_VERBS_RDM_CONNECT_TIMEOUT", "3000", 1);
	return run_test(test);
}
