/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A process writes at random over the memory that it shares with another while they exchange
 * messages: the other neither crashes nor waits for ever, and its other peer is not affected. Nor
 * does a process that clears what all peers of an endpoint share keep that endpoint asleep.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "rdm_node.h"

enum { LEN = 2000, VANDAL = 1, PING = 2, ROUNDS = 300, MS = 1500, SLEEP_MS = 5000, MAPS = 64 };

struct range {
	uint64_t *from, *to;
};

static char out[LEN], in[LEN], vandal_in[LEN];

/* Finds the memory that this process shares. */
static size_t find_shared(struct range *ranges)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	size_t n = 0;

	CHECK(maps);
	while (n < MAPS && fgets(line, sizeof(line), maps))
		if (strstr(line, "memfd:weft") &&
		    sscanf(line, "%p-%p", (void **)&ranges[n].from, (void **)&ranges[n].to) == 2)
			n++;
	fclose(maps);
	return n;
}

static void scribble(const struct range *range)
{
	size_t words = (size_t)(range->to - range->from);

	/* Half of the time the ends and the bells, else a packet. */
	range->from[(size_t)rand() % (rand() % 2 ? words : 24)] =
		rand() % 2 ? (uint64_t)rand() << (rand() % 33) : UINT64_MAX;
}

/* Clears the memory of one page, which all peers share, except the token at its beginning. */
static void clear_bells(const struct range *ranges, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if ((char *)ranges[i].to - (char *)ranges[i].from <= 4096)
			memset(ranges[i].from + 2, 0, 4096 - 16);
}

static bool drive(struct node *node)
{
	struct fi_cq_tagged_entry entry;
	int err;

	return node_poll(node, &entry, &err);
}

static void scribble_all(struct node *node, const struct range *ranges, size_t n, fi_addr_t to)
{
	uint64_t end = now_ms() + MS;
	int i;

	while (now_ms() < end) {
		fi_tsend(node->ep, out, LEN, NULL, to, VANDAL, NULL);
		for (i = 0; i < 4; i++)
			scribble(&ranges[(size_t)rand() % n]);
		drive(node);
	}
}

/*
 * Its own library may see anything: it exits when it is told to, or before. With an argument it
 * only clears, until it is killed.
 */
static void vandal(struct child *parent, void *arg)
{
	struct range ranges[MAPS];
	struct node_name name;
	struct node node;
	uint64_t end;
	fi_addr_t to;
	size_t n;
	char word;

	node_open(&node, NULL);
	child_hear(parent, &name, sizeof(name));
	to = node_know(&node, &name);
	child_say(parent, &node.name, sizeof(node.name));
	node_tsend(&node, out, LEN, to, VANDAL);
	end = now_ms() + MS;
	for (n = 0; now_ms() < end && n < 4; n = find_shared(ranges))
		drive(&node);
	printf("%zu shared ranges\n", n);
	CHECK(n >= 4);
	child_say(parent, "s", 1);
	child_hear(parent, &word, 1);
	while (arg)
		clear_bells(ranges, n);
	scribble_all(&node, ranges, n, to);
	child_say(parent, "d", 1);
	_exit(0);
}

static void echo(struct child *parent, void *arg)
{
	struct node_name name;
	struct node node;
	fi_addr_t to;
	int i;

	(void)arg;
	node_open(&node, NULL);
	child_hear(parent, &name, sizeof(name));
	to = node_know(&node, &name);
	child_say(parent, &node.name, sizeof(node.name));
	for (i = 0; i < ROUNDS; i++) {
		node_trecv(&node, in, LEN, PING, NULL);
		node_wait(&node);
		node_tsend(&node, in, LEN, to, PING);
		node_wait(&node);
	}
	node_close(&node);
}

static fi_addr_t meet(struct node *node, struct child *child)
{
	struct node_name name;

	child_say(child, &node->name, sizeof(node->name));
	child_hear(child, &name, sizeof(name));
	return node_know(node, &name);
}

/* Completions of what is exchanged with the vandal may come at any time, with any error. */
static void wait_for(struct node *node, const void *context, int round)
{
	struct fi_cq_tagged_entry entry;
	uint64_t end = deadline();
	char what[32];
	int err;

	snprintf(what, sizeof(what), "the echo of round %d", round);
	for (;;) {
		if (node_poll(node, &entry, &err) && entry.op_context == context) {
			EQUAL(err, 0);
			return;
		}
		pause_until(end, what);
	}
}

/* Meets both, and exchanges a message with the first, which does no harm before. */
static void meet_both(struct node *node, struct child *bad, struct child *good, fi_addr_t *to)
{
	char word;

	node_open(node, NULL);
	to[0] = meet(node, bad);
	to[1] = meet(node, good);
	node_trecv(node, vandal_in, LEN, VANDAL, NULL);
	node_wait(node);
	node_tsend(node, out, LEN, to[0], VANDAL);
	node_wait(node);
	child_hear(bad, &word, 1);
	child_say(bad, &word, 1);
}

static void ping(struct node *node, fi_addr_t to, int i)
{
	fill(out, LEN, (unsigned int)i);
	memset(in, 0, LEN);
	OK(fi_trecv(node->ep, in, LEN, NULL, FI_ADDR_UNSPEC, PING, 0, in));
	OK(fi_tsend(node->ep, out, LEN, NULL, to, PING, out));
}

static void scribbled(struct child *bad, struct child *good)
{
	struct node node;
	fi_addr_t to[2];
	int i;

	meet_both(&node, bad, good, to);
	for (i = 0; i < ROUNDS; i++) {
		fi_tsend(node.ep, out, LEN, NULL, to[0], VANDAL, NULL);
		fi_trecv(node.ep, vandal_in, LEN, NULL, FI_ADDR_UNSPEC, VANDAL, 0, NULL);
		ping(&node, to[1], i);
		wait_for(&node, in, i);
		CHECK(!memcmp(in, out, LEN));
	}
	child_kill(bad);
	child_end(good);
	node_close(&node);
}

static void sleep_for(struct node *node, int round)
{
	struct fi_cq_tagged_entry entry;
	ssize_t ret = fi_cq_sread(node->cq, &entry, 1, NULL, SLEEP_MS);

	if (ret != 1)
		FAIL("round %d: fi_cq_sread gives %zd, the next fi_cq_read %zd", round, ret,
		     fi_cq_read(node->cq, &entry, 1));
}

/* The echo may arrive while this process is going to sleep. */
static void cleared(struct child *bad, struct child *good)
{
	struct node node;
	fi_addr_t to[2];
	int i, left;

	node_wait_obj = FI_WAIT_UNSPEC;
	meet_both(&node, bad, good, to);
	for (i = 0; i < ROUNDS; i++) {
		ping(&node, to[1], i);
		for (left = 2; left; left--)
			sleep_for(&node, i);
		CHECK(!memcmp(in, out, LEN));
	}
	child_kill(bad);
	child_end(good);
	node_close(&node);
}

static void test(void)
{
	struct child bad = child_start(vandal, NULL), good = child_start(echo, NULL);
	struct child clears = child_start(vandal, ""), also_good = child_start(echo, NULL);

	scribbled(&bad, &good);
	cleared(&clears, &also_good);
}

int main(void)
{
	setenv("FI_VERBS_SHM", "1", 1);
	setenv("FI_LOG_LEVEL", "error", 1);
	need_env("WEFT_DEVICE");
	return run_test(test);
}
