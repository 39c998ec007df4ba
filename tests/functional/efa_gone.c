/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A device that tests/efa makes look like an Elastic Fabric Adapter reports that a peer's queue
 * pair is gone: each message to it fails with FI_ECONNRESET, also with an old libefa.
 */
#include <stdio.h>
#include <stdlib.h>
#include "rdm_node.h"

enum { SENDS = 3 };

static char out[100], in[100];

static void peer(struct child *parent, void *arg)
{
	unsigned int failed = 0;
	struct node node;
	char go;

	(void)arg;
	node_open(&node, NULL);
	node_trecv(&node, in, sizeof(in), 1, NULL);
	child_say(parent, &node.name, sizeof(node.name));
	node_reap(&node, 1, &failed);
	EQUAL(failed, 0);
	child_say(parent, "d", 1);
	child_hear(parent, &go, 1);
}

static void test(void)
{
	struct child child = child_start(peer, NULL);
	unsigned int i, failed = 0;
	struct fi_cq_tagged_entry entry;
	struct node_name name;
	struct node node;
	fi_addr_t to;
	char done;
	int err;

	node_open(&node, NULL);
	child_hear(&child, &name, sizeof(name));
	to = node_know(&node, &name);
	node_tsend(&node, out, sizeof(out), to, 1);
	node_reap(&node, 1, &failed);
	EQUAL(failed, 0);
	child_hear(&child, &done, 1);
	child_kill(&child);
	for (i = 0; i < SENDS; i++)
		OK(fi_tsend(node.ep, out, sizeof(out), NULL, to, 1, NULL));
	for (i = 0; i < SENDS; i++) {
		while (!node_poll(&node, &entry, &err))
			;
		CHECK(err == FI_ECONNRESET || !printf("%s\n", fi_strerror(err)));
	}
	node_close(&node);
}

int main(void)
{
	int ret;

	setenv("WEFT_PROVIDER", "efa", 1);
	setenv("FI_EFA_ENABLE_SHM_TRANSFER", "0", 1);
	ret = run_test(test);
	setenv("FAKE_LIBEFA44", "1", 1);
	return ret ? ret : run_test(test);
}
