/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One to four receive buffers and many senders: all messages arrive, those of each sender in order.
 */
#include <stdio.h>
#include <stdlib.h>
#include "rdm_node.h"

enum { SENDERS = 3, MESSAGES = 25, LEN = 2000, TAG = 3 };

static size_t length(unsigned int i)
{
	return i % 7 ? 8 + i : LEN;
}

static void sender(struct child *parent, void *arg)
{
	uint64_t outs[MESSAGES][LEN / 8], which = *(unsigned int *)arg;
	unsigned int i, failed = 0;
	struct node_name name;
	struct node node;
	fi_addr_t to;

	node_open(&node, NULL);
	child_hear(parent, &name, sizeof(name));
	to = node_know(&node, &name);
	for (i = 0; i < MESSAGES; i++) {
		outs[i][0] = which << 32 | i;
		node_tsend(&node, outs[i], length(i), to, TAG);
	}
	node_reap(&node, MESSAGES, &failed);
	EQUAL(failed, 0);
	node_close(&node);
}

static void flood(void *arg)
{
	unsigned int i, next[SENDERS] = { 0 }, which;
	uint64_t in[LEN / 8], start = now_ms();
	struct child children[SENDERS];
	struct node node;

	(void)arg;
	for (i = 0; i < SENDERS; i++)
		children[i] = child_start(sender, &i);
	node_open(&node, NULL);
	for (i = 0; i < SENDERS; i++)
		child_say(&children[i], &node.name, sizeof(node.name));
	for (i = 0; i < SENDERS * MESSAGES; i++) {
		node_trecv(&node, in, sizeof(in), TAG, NULL);
		node_wait(&node);
		which = (unsigned int)(in[0] >> 32);
		CHECK(which < SENDERS);
		EQUAL(in[0] & 0xffffffff, next[which]++);
	}
	node_silent(&node, 20);
	for (i = 0; i < SENDERS; i++)
		child_end(&children[i]);
	node_close(&node);
	printf("%s buffers: %llu ms\n", getenv("FI_VERBS_RDM_RX_BUFFERS"),
	       (unsigned long long)(now_ms() - start));
}

int main(void)
{
	static const char *const depths[] = { "1", "4" };
	size_t i;
	int ret = 0;

	for (i = 0; i < ARRAY_SIZE(depths) && !ret; i++) {
		setenv("FI_VERBS_RDM_RX_BUFFERS", depths[i], 1);
		ret = run_apart("flood", flood, NULL);
	}
	return ret;
}
