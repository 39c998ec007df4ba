/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Processes that all connect to each other are each stopped several times for longer than
 * connecting takes, and twice for longer than the time after which a silent peer is given up: all
 * reach each other, nothing fails, and no warning is logged.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "rdm_node.h"

enum { RANKS = 6, STOPS = 5, EACH = 3, TAG = 9, GIVE_UP_MS = 2500 };

static void rank(struct child *parent, void *arg)
{
	struct node_name names[RANKS];
	unsigned int i, k, failed = 0, self = *(unsigned int *)arg;
	uint64_t out = self, in[RANKS * EACH];
	fi_addr_t to[RANKS];
	struct node node;

	node_open(&node, NULL);
	child_say(parent, &node.name, sizeof(node.name));
	child_hear(parent, names, sizeof(names));
	for (i = 0; i < RANKS; i++)
		to[i] = node_know(&node, &names[i]);
	for (i = 0; i < RANKS * EACH; i++)
		node_trecv(&node, &in[i], sizeof(in[i]), TAG, NULL);
	for (k = 0; k < EACH; k++)
		for (i = 0; i < RANKS; i++)
			node_tsend(&node, &out, sizeof(out), to[(self + i) % RANKS], TAG);
	node_reap(&node, 2 * RANKS * EACH, &failed);
	EQUAL(failed, 0);
	child_say(parent, "d", 1);
	/* Its device answers until the others have received what was sent. */
	child_hear(parent, in, 1);
	node_close(&node);
}

/* At moments that are approximately those of a handshake; all but one run. */
static void stop_some(const struct child *children)
{
	static const int ms[STOPS] = { 300, 700, 2500, 500, 1500 };
	int i;

	for (i = 0; i < STOPS; i++) {
		const struct child *child = &children[(7 * i + 2) % RANKS];

		CHECK(!kill(child->pid, SIGSTOP));
		if (!i)
			continue;
		sleep_ms(ms[i]);
		CHECK(!kill(child->pid, SIGCONT));
		sleep_ms(i * 7);
	}
	CHECK(!kill(children[2].pid, SIGCONT));
}

static char logs[] = "/tmp/rdm_slow.XXXXXX";

static void no_warning(void)
{
	char command[100];

	snprintf(command, sizeof(command), "! grep -rF '<warn>' %s", logs);
	shell(command);
	snprintf(command, sizeof(command), "rm -r %s", logs);
	shell(command);
}

static void test(void)
{
	struct node_name names[RANKS];
	struct child children[RANKS];
	unsigned int i;
	uint64_t start;
	char word;

	for (i = 0; i < RANKS; i++)
		children[i] = child_start(rank, &i);
	for (i = 0; i < RANKS; i++)
		child_hear(&children[i], &names[i], sizeof(names[i]));
	start = now_ms();
	for (i = 0; i < RANKS; i++)
		child_say(&children[i], names, sizeof(names));
	stop_some(children);
	for (i = 0; i < RANKS; i++)
		child_hear(&children[i], &word, 1);
	printf("%d ranks connected in %llu ms\n", RANKS, (unsigned long long)(now_ms() - start));
	for (i = 0; i < RANKS; i++)
		child_say(&children[i], "e", 1);
	for (i = 0; i < RANKS; i++)
		child_end(&children[i]);
	no_warning();
}

int main(void)
{
	char limit[16];

	CHECK(mkdtemp(logs));
	setenv("FI_LOG_LOCATION", logs, 1);
	snprintf(limit, sizeof(limit), "%d", GIVE_UP_MS);
	setenv("FI_VERBS_RDM_CONNECT_TIMEOUT", limit, 1);
	setenv("FI_LOG_LEVEL", "warn", 1);
	return run_test(test);
}
