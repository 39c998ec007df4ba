/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A receiver on the same host posts its receives late. The sender is told to stop and does, and all
 * its messages arrive: what is in its ring by then is no offense.
 */
#include <stdlib.h>
#include "rdm_node.h"

enum { MESSAGES = 2500, LEN = 2048, LATE_MS = 1500, TAG = 3 };

static void sender(struct child *parent, void *arg)
{
	static uint64_t outs[MESSAGES][LEN / 8];
	const size_t *len = arg;
	struct fi_cq_tagged_entry entry;
	unsigned int i, done = 0;
	uint64_t end = deadline();
	struct node_name name;
	struct node node;
	ssize_t ret;
	fi_addr_t to;

	node_open(&node, NULL);
	child_hear(parent, &name, sizeof(name));
	to = node_know(&node, &name);
	for (i = 0; done < MESSAGES;) {
		if (i < MESSAGES) {
			outs[i][0] = i;
			ret = fi_tsend(node.ep, outs[i], *len, NULL, to, TAG, NULL);
			CHECK(!ret || ret == -FI_EAGAIN);
			i += !ret;
		}
		ret = fi_cq_read(node.cq, &entry, 1);
		CHECK(ret == 1 || ret == -FI_EAGAIN);
		done += ret == 1;
		pause_until(end, "the sends");
	}
	node_close(&node);
}

static void late(size_t len)
{
	struct child child = child_start(sender, &len);
	uint64_t in[LEN / 8], i;
	struct node node;

	node_open(&node, NULL);
	child_say(&child, &node.name, sizeof(node.name));
	node_silent(&node, LATE_MS);
	for (i = 0; i < MESSAGES; i++) {
		node_trecv(&node, in, sizeof(in), TAG, NULL);
		node_wait(&node);
		EQUAL(in[0], i);
	}
	child_end(&child);
	node_close(&node);
}

static void test(void)
{
	setenv("FI_VERBS_SHM", "1", 1);
	setenv("FI_VERBS_RDM_UNEXPECTED_SIZE", "65536", 1);
	late(LEN);
	late(300);
}

int main(void)
{
	return run_test(test);
}
