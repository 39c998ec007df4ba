/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Hosts do not answer, and a device that tests/efa makes look like an Elastic Fabric Adapter tries
 * for long to send them packets, and requests for connections: other peers still get messages soon.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "rdm_node.h"

enum { ENDPOINTS = 52, CONNECTED = 6, WINDOW = 70, MESSAGES = 30, PAUSE_MS = 100, MOST_MS = 2000 };

static char out[100], in[100];

/* Takes a message on each of the first endpoints. */
static void host(struct child *parent, void *arg)
{
	static struct node nodes[ENDPOINTS];
	struct fi_cq_tagged_entry entry;
	unsigned int i, count = 0;
	char go;
	int err;

	(void)arg;
	for (i = 0; i < ENDPOINTS; i++) {
		node_open(&nodes[i], NULL);
		child_say(parent, &nodes[i].name, sizeof(nodes[i].name));
	}
	for (i = 0; i < CONNECTED; i++)
		node_trecv(&nodes[i], in, sizeof(in), 1, NULL);
	for (i = 0; count < CONNECTED; i = (i + 1) % CONNECTED)
		if (node_poll(&nodes[i], &entry, &err))
			count++;
		else
			usleep(100);
	child_say(parent, "d", 1);
	child_hear(parent, &go, 1);
}

static void live(struct child *parent, void *arg)
{
	struct fi_cq_tagged_entry entry;
	struct node node;
	int i, err;
	char go;

	(void)arg;
	node_open(&node, NULL);
	child_say(parent, &node.name, sizeof(node.name));
	for (i = 0; i < 1 + 2 * MESSAGES; i++) {
		node_trecv(&node, in, sizeof(in), 1, NULL);
		while (!node_poll(&node, &entry, &err))
			usleep(100);
		EQUAL(err, 0);
	}
	child_hear(parent, &go, 1);
	node_close(&node);
}

static fi_addr_t meet(struct node *node, const struct child *child)
{
	struct node_name name;

	child_hear(child, &name, sizeof(name));
	return node_know(node, &name);
}

static void send_first(struct node *node, fi_addr_t to)
{
	unsigned int failed = 0;

	node_tsend(node, out, sizeof(out), to, 1);
	node_reap(node, 1, &failed);
	EQUAL(failed, 0);
}

static void try_send(struct node *node, fi_addr_t to)
{
	ssize_t ret = fi_tsend(node->ep, out, sizeof(out), NULL, to, 1, NULL);

	CHECK(!ret || ret == -FI_EAGAIN || !printf("%s\n", fi_strerror((int)-ret)));
}

/* Nothing else completes meanwhile. */
static void talk(struct node *node, fi_addr_t to)
{
	struct fi_cq_tagged_entry entry;
	uint64_t start;
	int i, err;

	for (i = 0; i < MESSAGES; i++) {
		start = now_ms();
		OK(fi_tsend(node->ep, out, sizeof(out), NULL, to, 1, NULL));
		while (!node_poll(node, &entry, &err))
			CHECK(now_ms() - start < MOST_MS);
		EQUAL(err, 0);
		while (now_ms() - start < PAUSE_MS)
			CHECK(!node_poll(node, &entry, &err));
	}
}

static void test(void)
{
	struct child down = child_start(host, NULL), child = child_start(live, NULL);
	fi_addr_t to[ENDPOINTS], other;
	struct node node;
	unsigned int i;
	char done;

	node_open(&node, NULL);
	for (i = 0; i < ENDPOINTS; i++)
		to[i] = meet(&node, &down);
	other = meet(&node, &child);
	send_first(&node, other);
	for (i = 0; i < CONNECTED; i++)
		send_first(&node, to[i]);
	child_hear(&down, &done, 1);
	kill(down.pid, SIGSTOP);
	usleep(10000);
	for (i = CONNECTED; i < ENDPOINTS; i++)
		try_send(&node, to[i]);
	talk(&node, other);
	for (i = 0; i < CONNECTED * WINDOW; i++)
		try_send(&node, to[i / WINDOW]);
	talk(&node, other);
	child_say(&child, "g", 1);
	child_end(&child);
	child_kill(&down);
	node_close(&node);
}

int main(void)
{
	setenv("WEFT_PROVIDER", "efa", 1);
	setenv("FI_EFA_ENABLE_SHM_TRANSFER", "0", 1);
	setenv("FI_VERBS_RDM_RX_BUFFERS", "64", 1);
	setenv("FAKE_EFA_ORDER", "1", 1);
	setenv("FAKE_DEAD_MS", "20000", 1);
	return run_test(test);
}
