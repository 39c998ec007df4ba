/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A peer is killed while its memory is read: it has acknowledged what was asked of it, and nothing
 * else is sent to it. Each read completes once, without an error only if its data have arrived.
 */
#include <stdio.h>
#include <string.h>
#include <rdma/fi_rma.h>
#include "rdm_node.h"

enum { MIB = 1 << 20, MOST = 4 * MIB, READS = 4 };
enum { FIRST = 1, FILL = 0xa5 };

/* Each round makes so many reads of that length; the last one fills the connection's queue. */
static const struct {
	unsigned int count;
	size_t len;
} rounds[] = { { 1, MIB }, { 1, MOST }, { READS, MOST } };

struct target {
	struct node_name name;
	uint64_t addr, key;
};

static uint8_t memory[MOST], in[READS][MOST];

/* Makes progress until it is killed. */
static void peer(struct child *parent, void *arg)
{
	struct target target = { .addr = (uintptr_t)memory };
	struct fi_cq_tagged_entry entry;
	struct fid_mr *mr;
	struct node node;
	int err;

	(void)arg;
	memset(memory, FILL, sizeof(memory));
	node_open(&node, NULL);
	OK(fi_mr_reg(node.domain, memory, sizeof(memory), FI_REMOTE_READ, 0, 0, 0, &mr, NULL));
	target.key = fi_mr_key(mr);
	target.name = node.name;
	node_trecv(&node, in[0], 8, FIRST, NULL);
	child_say(parent, &target, sizeof(target));
	for (;;)
		node_poll(&node, &entry, &err);
}

static void check_data(const struct fi_cq_tagged_entry *entry, size_t len)
{
	const uint8_t *data = entry->op_context;
	size_t i;

	for (i = 0; i < len; i++)
		EQUAL(data[i], FILL);
}

static void round_of(struct node *node, struct child *victim, unsigned int count, size_t len)
{
	const volatile uint8_t *first = in[0];
	unsigned int i, failed = 0;
	struct fi_cq_tagged_entry entry;
	uint64_t end = deadline();
	struct target target;
	fi_addr_t to;
	int err;

	child_hear(victim, &target, sizeof(target));
	to = node_know(node, &target.name);
	node_tsend(node, in[0], 8, to, FIRST);
	node_wait(node);
	memset(in, 0, sizeof(in));
	for (i = 0; i < count; i++)
		OK(fi_read(node->ep, in[i], len, NULL, to, target.addr, target.key, in[i]));
	for (i = 0; i < count && *first != FILL;)
		i += node_poll(node, &entry, &err);
	child_kill(victim);
	for (i = 0; i < count;) {
		if (!node_poll(node, &entry, &err)) {
			pause_until(end, "the completion of every read");
			continue;
		}
		i++;
		failed += err != 0;
		if (!err)
			check_data(&entry, len);
	}
	printf("%u of %u failed\n", failed, count);
	node_silent(node, 50);
}

static void test(void)
{
	struct child victims[ARRAY_SIZE(rounds)];
	struct node node;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rounds); i++)
		victims[i] = child_start(peer, NULL);
	node_open(&node, NULL);
	for (i = 0; i < ARRAY_SIZE(rounds); i++)
		round_of(&node, &victims[i], rounds[i].count, rounds[i].len);
	node_close(&node);
}

int main(void)
{
	return run_test(test);
}
