/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Many endpoints send at once to one that they are not connected to: no send has to be retried, and
 * everything arrives once, in order for each sender. The receiver's completion queue grows
 * meanwhile. tests/bench/storm does the same with 500.
 */
#include <stdio.h>
#include <stdlib.h>
#include "rdm_node.h"

enum { MANY = 44, EACH = 3, LARGE = 20000, TAG = 6 };

static uint64_t outs[EACH][LARGE / 8], in[LARGE / 8];

static size_t length(unsigned int i)
{
	return i == 1 ? LARGE : 16;
}

static void open_more(struct node *node, struct fid_ep **eps)
{
	unsigned int i;

	for (i = 0; i < MANY; i++) {
		OK(fi_endpoint(node->domain, node->info, &eps[i], NULL));
		OK(fi_ep_bind(eps[i], &node->cq->fid, FI_TRANSMIT | FI_RECV));
		OK(fi_ep_bind(eps[i], &node->av->fid, 0));
		OK(fi_enable(eps[i]));
	}
}

/* The buffers are all alike, except for the injected number of the sender. */
static void sender(struct child *parent, void *arg)
{
	unsigned int i, k, failed = 0;
	struct fid_ep *eps[MANY];
	struct node_name name;
	struct node node;
	fi_addr_t to;

	(void)arg;
	node_open(&node, NULL);
	open_more(&node, eps);
	child_hear(parent, &name, sizeof(name));
	to = node_know(&node, &name);
	for (k = 0; k < EACH; k++)
		outs[k][0] = k;
	for (i = 0; i < MANY; i++) {
		OK(fi_tinjectdata(eps[i], outs[0], length(0), i, to, TAG));
		for (k = 1; k < EACH; k++)
			OK(fi_tsenddata(eps[i], outs[k], length(k), NULL, i, to, TAG, NULL));
	}
	node_reap(&node, MANY * (EACH - 1), &failed);
	EQUAL(failed, 0);
	child_hear(parent, &i, 1);
	for (i = 0; i < MANY; i++)
		OK(fi_close(&eps[i]->fid));
	node_close(&node);
}

static void test(void)
{
	struct child child = child_start(sender, NULL);
	struct fi_cq_tagged_entry entry;
	unsigned int i, next[MANY] = { 0 };
	struct node node;
	uint64_t start;

	node_open(&node, NULL);
	child_say(&child, &node.name, sizeof(node.name));
	start = now_ms();
	for (i = 0; i < MANY * EACH; i++) {
		node_trecv(&node, in, sizeof(in), TAG, NULL);
		entry = node_wait(&node);
		CHECK(entry.flags & FI_REMOTE_CQ_DATA && entry.data < MANY);
		EQUAL(in[0], next[entry.data]);
		EQUAL(entry.len, length(next[entry.data]++));
	}
	printf("%d endpoints in %llu ms\n", MANY, (unsigned long long)(now_ms() - start));
	node_silent(&node, 20);
	child_say(&child, "e", 1);
	child_end(&child);
	node_close(&node);
}

int main(void)
{
	setenv("FI_VERBS_RDM_RX_BUFFERS", "16", 1);
	setenv("FI_VERBS_RDM_CONNECT_TIMEOUT", "60000", 1);
	return run_test(test);
}
