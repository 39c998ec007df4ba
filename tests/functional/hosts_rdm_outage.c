/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The network carries nothing for a second, as when a switch fails over: nothing is lost, and no
 * operation fails, also those on queue pairs that FI_VERBS_RDM_TRANSPORT=auto made.
 */
#include <stdio.h>
#include <stdlib.h>
#include "hosts.h"
#include "rdm_node.h"

#define SERVICE "7494"

enum { ROUNDS = 300, LEN = 6000, OUTAGE_MS = 1200, TAG = 1 };

static uint8_t out[LEN], in[LEN];

static void stop_network(void)
{
	char command[200];

	snprintf(command, sizeof(command),
		 "tc qdisc add dev %s root netem loss 100%% && "
		 "(sleep %d.%d && tc qdisc del dev %s root) &",
		 local_interface(), OUTAGE_MS / 1000, OUTAGE_MS % 1000 / 100, local_interface());
	shell(command);
}

static void receive(struct node *node, unsigned int i)
{
	struct fi_cq_tagged_entry entry;

	do
		entry = node_wait(node);
	while (entry.op_context != in);
	CHECK_FILLED(in, LEN, i);
}

static void echo(void)
{
	struct node node;
	fi_addr_t to = node_open_host(&node, SERVICE);
	unsigned int i;

	for (i = 0; i < ROUNDS; i++) {
		node_trecv(&node, in, LEN, TAG, in);
		receive(&node, i);
		fill(out, LEN, i);
		node_tsend(&node, out, LEN, to, TAG);
		while (node_wait(&node).op_context != NULL)
			;
	}
	node_close(&node);
}

static void ask(void)
{
	struct node node;
	fi_addr_t to = node_open_host(&node, SERVICE);
	uint64_t start = 0;
	unsigned int i;

	for (i = 0; i < ROUNDS; i++) {
		if (i == ROUNDS / 2) {
			CHECK(has_peer_on("rc"));
			stop_network();
			start = now_ms();
		}
		node_trecv(&node, in, LEN, TAG, in);
		fill(out, LEN, i);
		node_tsend(&node, out, LEN, to, TAG);
		receive(&node, i);
	}
	printf("%llu ms\n", (unsigned long long)(now_ms() - start));
	CHECK(now_ms() - start >= OUTAGE_MS / 2);
	CHECK(has_peer_on("rc"));
	node_close(&node);
}

int main(void)
{
	need_vm();
	setenv("FI_VERBS_RDM_TRANSPORT", "auto", 1);
	return run_hosts(echo, ask);
}
