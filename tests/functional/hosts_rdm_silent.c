/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The other host goes silent when it must send the next packet: it has a message or its
 * announcement, and nothing is in flight to it. Operations that wait for its answer fail, and it is
 * connected again when it returns.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_tagged.h>
#include "fixture.h"
#include "hosts.h"
#include "rdm_node.h"

#define SERVICE "7493"

enum { LARGE = 1 << 20, SILENCE_MS = 6000 };

static uint8_t large[LARGE], small[100];

static void silence(bool on)
{
	char command[128];

	snprintf(command, sizeof(command), "tc qdisc %s dev %s root netem loss 100%%",
		 on ? "add" : "del", local_interface());
	shell(command);
}

/* No receive is posted for the second message. */
static void vanish(void)
{
	struct node node;

	node_open_host(&node, SERVICE);
	node_trecv(&node, small, sizeof(small), 1, NULL);
	node_wait(&node);
	sleep_ms(1000);
	silence(true);
	sleep_ms(SILENCE_MS);
	silence(false);
	node_trecv(&node, small, sizeof(small), 3, small);
	while (node_wait(&node).op_context != small)
		;
	node_close(&node);
}

static void post(struct node *node, void *buf, size_t len, fi_addr_t to)
{
	struct iovec iov = { buf, len };
	struct fi_msg_tagged msg = {
		.msg_iov = &iov, .iov_count = 1, .addr = to, .tag = 2, .context = buf
	};

	OK(fi_tsendmsg(node->ep, &msg, FI_DELIVERY_COMPLETE));
}

static void survive(void)
{
	unsigned int failed = 0;
	struct node node;
	uint64_t start;
	fi_addr_t to;

	to = node_open_host(&node, SERVICE);
	node_tsend(&node, small, sizeof(small), to, 1);
	node_wait(&node);
	post(&node, small, sizeof(small), to);
	post(&node, large, sizeof(large), to);
	start = now_ms();
	node_reap(&node, 2, &failed);
	printf("%llu ms\n", (unsigned long long)(now_ms() - start));
	EQUAL(failed, 2);
	CHECK(now_ms() - start >= 500); /* not at once, for another reason */
	node_tsend(&node, small, sizeof(small), to, 3);
	node_wait(&node);
	node_close(&node);
}

int main(void)
{
	need_vm();
	/* As in hosts_silent. */
	setenv("FI_VERBS_RETRY_COUNT", "3", 1);
	setenv("FI_VERBS_ACK_TIMEOUT", "14", 1);
	return run_hosts(vanish, survive);
}
