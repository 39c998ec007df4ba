/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Endpoints that all send to each other have fewer connections than peers: everything arrives once
 * and in order, small and large messages, and nothing fails, however long it waits for a
 * connection.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include "rdm_node.h"

enum { RANKS = 6, CAP = 4, EACH = 120, LARGE = 100000, DEPTH = 40, TAG = 100 };

struct message {
	uint32_t from, number;
	uint8_t rest[LARGE - 8];
};

static struct message out[DEPTH], in[RANKS];

static size_t length(unsigned int number)
{
	return number % 16 == 15 ? LARGE : number % 4 ? 16 : 6000;
}

struct run {
	struct node node;
	fi_addr_t to[RANKS];
	unsigned int self, sent, complete, arrived;
	unsigned int next[RANKS]; /* of each */
	bool free[DEPTH];
};

static void expect(struct run *run, unsigned int from)
{
	if (run->next[from] < EACH)
		node_trecv(&run->node, &in[from], LARGE, TAG + from, &in[from]);
}

/* The destination of the messages changes all the time. */
static void send_one(struct run *run)
{
	unsigned int round = run->sent / (RANKS - 1), turn = run->sent % (RANKS - 1);
	unsigned int peer = (run->self + 1 + (turn + round) % (RANKS - 1)) % RANKS, i = 0;

	while (i < DEPTH && !run->free[i])
		i++;
	if (i == DEPTH)
		return;
	run->free[i] = false;
	out[i].from = run->self;
	out[i].number = round;
	OK(fi_tsend(run->node.ep, &out[i], length(round), NULL, run->to[peer], TAG + run->self,
		    &out[i]));
	run->sent++;
}

static void done(struct run *run, const struct fi_cq_tagged_entry *entry)
{
	const struct message *message = entry->op_context;

	if (entry->flags & FI_SEND) {
		run->free[message - out] = true;
		run->complete++;
		return;
	}
	EQUAL(message->from, message - in);
	EQUAL(message->number, run->next[message->from]);
	EQUAL(entry->len, length(message->number));
	run->next[message->from]++;
	run->arrived++;
	expect(run, message->from);
}

static void rank(struct child *parent, void *arg)
{
	enum { ALL = (RANKS - 1) * EACH };
	struct run *run = calloc(1, sizeof(*run));
	struct node_name names[RANKS];
	struct fi_cq_tagged_entry entry;
	uint64_t end = deadline();
	unsigned int i;
	int err;

	CHECK(run);
	run->self = *(unsigned int *)arg;
	memset(run->free, 1, sizeof(run->free));
	node_open(&run->node, NULL);
	child_say(parent, &run->node.name, sizeof(run->node.name));
	child_hear(parent, names, sizeof(names));
	for (i = 0; i < RANKS; i++)
		run->to[i] = node_know(&run->node, &names[i]);
	for (i = 0; i < RANKS; i++)
		if (i != run->self)
			expect(run, i);
	while (run->complete < ALL || run->arrived < ALL) {
		if (run->sent < ALL)
			send_one(run);
		if (node_poll(&run->node, &entry, &err)) {
			EQUAL(err, 0);
			done(run, &entry);
			end = deadline();
		}
		pause_until(end, "a completion");
	}
	child_say(parent, "d", 1);
	/* Others may still have to end their connections to make room. */
	while (recv(parent->sock, &i, 1, MSG_DONTWAIT) != 1) {
		fi_cq_read(run->node.cq, NULL, 0);
		sleep_ms(1);
	}
	node_close(&run->node);
	free(run);
}

static void test(void)
{
	struct node_name names[RANKS];
	struct child children[RANKS];
	unsigned int i;
	uint64_t start;
	char word;

	for (i = 0; i < RANKS; i++)
		children[i] = child_start(rank, &i);
	for (i = 0; i < RANKS; i++)
		child_hear(&children[i], &names[i], sizeof(names[i]));
	start = now_ms();
	for (i = 0; i < RANKS; i++)
		child_say(&children[i], names, sizeof(names));
	for (i = 0; i < RANKS; i++)
		child_hear(&children[i], &word, 1);
	printf("%d messages in %llu ms\n", RANKS * (RANKS - 1) * EACH,
	       (unsigned long long)(now_ms() - start));
	for (i = 0; i < RANKS; i++)
		child_say(&children[i], "e", 1);
	for (i = 0; i < RANKS; i++)
		child_end(&children[i]);
}

int main(void)
{
	char cap[16];

	snprintf(cap, sizeof(cap), "%d", CAP);
	setenv("FI_VERBS_MAX_CONN", cap, 1);
	setenv("FI_VERBS_RDM_CONNECT_TIMEOUT", "3000", 1);
	return run_test(test);
}
