/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * With 12 MiB of lockable memory, little more than an endpoint's receive buffers need, unexpected
 * messages do not hold those buffers: later packets arrive, including control packets.
 */
#include <grp.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>
#include "rdm_node.h"

enum {
	MESSAGES = 1500,
	LEN = 1000,
	LONG_LEN = 4000,
	BIG = 200000,
	TAG = 3,
	BIG_TAG = 4,
	USER = 65534
};

/* Some are long, and hold one receive buffer each, up to the limit. */
static size_t length(unsigned int i)
{
	return i % 3 ? LEN : LONG_LEN;
}

static void sender(struct child *parent, void *arg)
{
	static uint8_t out[MESSAGES][LONG_LEN], big[BIG];
	struct node_name name;
	unsigned int i, failed = 0;
	struct node node;
	fi_addr_t to;

	(void)arg;
	node_open(&node, NULL);
	child_hear(parent, &name, sizeof(name));
	to = node_know(&node, &name);
	for (i = 0; i < MESSAGES; i++) {
		fill(out[i], length(i), i);
		node_tsend(&node, out[i], length(i), to, TAG);
	}
	node_reap(&node, MESSAGES, &failed);
	fill(big, BIG, MESSAGES);
	node_tsend(&node, big, BIG, to, BIG_TAG);
	node_reap(&node, 1, &failed);
	EQUAL(failed, 0);
	child_hear(parent, &i, sizeof(i));
	node_close(&node);
}

static void limit_user(void)
{
	struct rlimit limit = { 12 << 20, 12 << 20 };

	if (geteuid())
		skip("has to begin as root");
	CHECK(!setrlimit(RLIMIT_MEMLOCK, &limit));
	CHECK(!setgroups(0, NULL) && !setgid(USER) && !setuid(USER));
	if (access("/dev/infiniband/rdma_cm", R_OK | W_OK))
		skip("/dev/infiniband/rdma_cm is for root only");
}

/* The large one follows all others, and needs a request, an answer and an end. */
static void starve(void *arg)
{
	static uint8_t in[LONG_LEN], big[BIG];
	struct child child = child_start(sender, NULL);
	struct node node;
	unsigned int i;

	(void)arg;
	limit_user();
	node_open(&node, NULL);
	child_say(&child, &node.name, sizeof(node.name));
	node_trecv(&node, big, BIG, BIG_TAG, NULL);
	node_wait(&node);
	CHECK_FILLED(big, BIG, MESSAGES);
	for (i = 0; i < MESSAGES; i++) {
		node_trecv(&node, in, sizeof(in), TAG, NULL);
		EQUAL(node_wait(&node).len, length(i));
		CHECK_FILLED(in, length(i), i);
	}
	child_say(&child, &i, sizeof(i));
	child_end(&child);
	node_close(&node);
}

int main(void)
{
	return run_apart("starve", starve, NULL);
}
