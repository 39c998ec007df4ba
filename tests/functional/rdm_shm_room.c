/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A process fills the memory that it shares with its peer, and sleeps until the peer, which does
 * nothing for a while, has read it.
 */
#include <stdlib.h>
#include <unistd.h>
#include "rdm_node.h"

/* A connection on which nothing happens is probed after 2 s, which would wake the process. */
enum { LEN = 2000, COUNT = 30, ROUNDS = 32, QUIET_US = 100000, SLEEP_MS = 1500, TAG = 3, LATE = 2 };

static char out[LEN], in[LEN];

static void reader(struct child *parent, void *arg)
{
	struct node_name name;
	struct node node;
	int i;

	(void)arg;
	node_open(&node, NULL);
	child_hear(parent, &name, sizeof(name));
	node_know(&node, &name);
	child_say(parent, &node.name, sizeof(node.name));
	for (i = 0; i < COUNT * ROUNDS; i++) {
		if (i % COUNT == 0)
			usleep(QUIET_US);
		node_trecv(&node, in, LEN, TAG, NULL);
		node_wait(&node);
		CHECK_FILLED(in, LEN, 1);
	}
	child_hear(parent, &i, 1);
	node_close(&node);
}

/* A busy machine may delay what wakes the process. Without it, several waits would be late. */
static void wait_sent(struct node *node)
{
	static int late;
	struct fi_cq_tagged_entry entry;
	ssize_t ret;

	do
		ret = fi_cq_sread(node->cq, &entry, 1, NULL, SLEEP_MS);
	while (ret == -FI_EAGAIN && ++late <= LATE);
	EQUAL(ret, 1);
}

static void send_all(struct node *node, fi_addr_t to)
{
	int i;

	for (i = 0; i < COUNT; i++)
		node_tsend(node, out, LEN, to, TAG);
	for (i = 0; i < COUNT; i++)
		wait_sent(node);
}

static void test(void)
{
	struct child child = child_start(reader, NULL);
	struct node_name name;
	struct node node;
	fi_addr_t to;
	int i;

	node_wait_obj = FI_WAIT_UNSPEC;
	node_open(&node, NULL);
	child_say(&child, &node.name, sizeof(node.name));
	child_hear(&child, &name, sizeof(name));
	to = node_know(&node, &name);
	fill(out, LEN, 1);
	for (i = 0; i < ROUNDS; i++)
		send_all(&node, to);
	child_say(&child, "e", 1);
	child_end(&child);
	node_close(&node);
}

int main(void)
{
	setenv("FI_VERBS_SHM", "1", 1);
	need_env("WEFT_DEVICE");
	return run_test(test);
}
