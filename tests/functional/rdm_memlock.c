/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * With less lockable memory than an endpoint has receive buffers, messages of all sizes still
 * complete. 8 MiB is the limit that most distributions set.
 */
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>
#include "rdm_node.h"

enum { MOST = 1 << 20, TAG = 5, USER = 65534 };

static void limit_user(rlim_t bytes)
{
	struct rlimit limit = { bytes, bytes };

	if (geteuid())
		skip("has to begin as root");
	CHECK(!setrlimit(RLIMIT_MEMLOCK, &limit));
	CHECK(!setgroups(0, NULL) && !setgid(USER) && !setuid(USER));
	if (access("/dev/infiniband/rdma_cm", R_OK | W_OK))
		skip("/dev/infiniband/rdma_cm is for root only");
}

static void send_all_sizes(struct node *node)
{
	static uint8_t in[MOST], out[MOST];
	fi_addr_t self = node_know(node, &node->name);
	unsigned int failed = 0;
	size_t len;

	for (len = 1; len <= MOST; len *= 4) {
		fill(out, len, (unsigned int)len);
		node_trecv(node, in, len, TAG, NULL);
		node_tsend(node, out, len, self, TAG);
		node_reap(node, 2, &failed);
		CHECK_FILLED(in, len, (unsigned int)len);
	}
	EQUAL(failed, 0);
}

static void test(void *arg)
{
	const rlim_t *bytes = arg;
	struct node node;

	limit_user(*bytes);
	node_open(&node, NULL);
	send_all_sizes(&node);
	node_close(&node);
}

int main(void)
{
	static rlim_t limits[] = { 8 << 20, 2 << 20 };
	unsigned int i;
	char name[32];
	int ret = 0;

	for (i = 0; i < ARRAY_SIZE(limits) && !ret; i++) {
		snprintf(name, sizeof(name), "%lu MiB", (unsigned long)limits[i] >> 20);
		ret = run_apart(name, test, &limits[i]);
	}
	return ret;
}
