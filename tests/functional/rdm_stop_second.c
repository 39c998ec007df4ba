/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An endpoint at the second address of an interface asks for a stopped peer from that address: the
 * peer, which then continues, refuses nobody.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fixture.h"
#include "rdm_node.h"

#define SECOND "10.77.0.99"

enum { STOP_MS = 1000, LEN = 100000 };

static char out[LEN], in[2][LEN];
static char logs[] = "/tmp/rdm_stop_second.XXXXXX";

static void peer(struct child *parent, void *arg)
{
	struct node node;

	(void)arg;
	node_open(&node, "7495");
	node_trecv(&node, in[0], LEN, 1, NULL);
	node_trecv(&node, in[1], LEN, 1, NULL);
	child_say(parent, &node.name, sizeof(node.name));
	node_wait(&node);
	node_stop(&node, parent);
}

static void run(void)
{
	struct child child = child_start(peer, NULL);
	struct node_name name;
	struct node node;
	fi_addr_t to;

	setenv("WEFT_ADDR", SECOND, 1);
	node_open(&node, "7496");
	child_hear(&child, &name, sizeof(name));
	to = node_know(&node, &name);
	node_tsend(&node, out, LEN, to, 1);
	node_wait(&node);
	sleep_ms(50);
	node_tsend(&node, out, LEN, to, 1);
	node_outwait(&node, &child, STOP_MS);
}

static void test(void)
{
	char command[200];

	CHECK(mkdtemp(logs));
	setenv("FI_LOG_LOCATION", logs, 1);
	setenv("FI_LOG_LEVEL", "warn", 1);
	snprintf(command, sizeof(command), "ip addr add " SECOND "/24 dev %s", local_interface());
	shell(command);
	run();
	snprintf(command, sizeof(command), "! grep -rF '<warn>' %s && rm -r %s", logs, logs);
	shell(command);
}

int main(void)
{
	need_vm();
	return run_test(test);
}
