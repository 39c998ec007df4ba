/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Messages between two hosts over a network that treats packets badly (rdm_lossy.h). */
#include <stdio.h>
#include <stdlib.h>
#include "fixture.h"
#include "hosts.h"
#include "rdm_lossy.h"
#include "rdm_node.h"

#define SERVICE "7492"

enum { MESSAGES = 120, LARGEST = 100000, WINDOW = 8, TAG = 2 };

static uint8_t outs[MESSAGES][LARGEST], ins[MESSAGES][LARGEST];
static const char *network;

void lossy_shape(const char *how)
{
	char command[160];

	snprintf(command, sizeof(command), "tc qdisc %s dev %s root%s%s", how ? "replace" : "del",
		 local_interface(), how ? " netem " : "", how ? how : "");
	shell(command);
}

static size_t length(unsigned int i)
{
	return i % 10 == 9 ? LARGEST - i : i % 3 ? 8 + i : 4000 + i;
}

static void received(const struct fi_cq_tagged_entry *entry)
{
	unsigned int i = (unsigned int)((uint8_t(*)[LARGEST])entry->op_context - ins);

	CHECK(i < MESSAGES);
	EQUAL(entry->len, length(i));
	CHECK_FILLED(ins[i], length(i), i);
}

static void exchange(struct node *node, fi_addr_t to)
{
	unsigned int sent = 0, complete = 0, arrived = 0;
	struct fi_cq_tagged_entry entry;
	uint64_t start = now_ms();

	while (complete < MESSAGES || arrived < MESSAGES) {
		if (sent < MESSAGES && sent < complete + WINDOW) {
			fill(outs[sent], length(sent), sent);
			node_tsend(node, outs[sent], length(sent), to, TAG);
			sent++;
			continue;
		}
		entry = node_wait(node);
		if (entry.flags & FI_SEND) {
			complete++;
			continue;
		}
		received(&entry);
		arrived++;
	}
	printf("%llu ms\n", (unsigned long long)(now_ms() - start));
}

/*
 * Neither host leaves before the other has finished. A lost acknowledgment costs the sender its
 * completion if the peer closes before the device has retransmitted, so the network loses nothing
 * while the last messages are sent.
 */
static void part(struct node *node, fi_addr_t to)
{
	char word[2];
	unsigned int i;

	lossy_shape(NULL);
	for (i = 0; i < 2; i++) {
		node_trecv(node, &word[i], 1, TAG + 1 + i, NULL);
		node_tsend(node, "a", 1, to, TAG + 1 + i);
		node_wait(node);
		node_wait(node);
	}
}

static void run(void)
{
	struct node node;
	unsigned int i;
	fi_addr_t to;

	lossy_shape(network);
	to = node_open_host(&node, SERVICE);
	for (i = 0; i < MESSAGES; i++)
		node_trecv(&node, ins[i], LARGEST, TAG, ins[i]);
	exchange(&node, to);
	part(&node, to);
	node_close(&node);
}

int lossy_run(const char *how)
{
	need_vm();
	network = how;
	return run_hosts(run, run);
}
