/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Many endpoints send to one at once: everything arrives, and no send has to be retried often. What
 * a message takes is compared with that of one sender alone, which sends as much. Arguments are
 * other numbers of senders, messages of each, and bytes of a message.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "incast.h"

enum { PROCESSES = 4, LIMIT_S = 600 };

static struct incast incast = { .senders = 64, .each = 16, .len = 2048 };

struct part {
	const struct incast *incast;
	unsigned int from, to;
};

static void be_sources(struct child *parent, void *arg)
{
	const struct part *part = arg;
	struct node_name name;

	/* Each endpoint has its own buffers. */
	if (part->to - part->from > 1)
		setenv("FI_VERBS_RDM_RX_BUFFERS", "16", 1);
	child_hear(parent, &name, sizeof(name));
	incast_send(parent, part->incast, part->from, part->to, &name);
}

struct crowd {
	struct child children[PROCESSES];
	unsigned int count;
};

static void tell(void *arg)
{
	struct crowd *crowd = arg;
	unsigned int i;
	char byte;

	for (i = 0; i < crowd->count; i++)
		child_hear(&crowd->children[i], &byte, 1);
	for (i = 0; i < crowd->count; i++)
		child_say(&crowd->children[i], "g", 1);
}

static void start(struct crowd *crowd, const struct incast *how)
{
	struct part part = { .incast = how };
	unsigned int i;

	crowd->count = how->senders < PROCESSES ? how->senders : PROCESSES;
	for (i = 0; i < crowd->count; i++) {
		part.from = part.to;
		part.to = how->senders * (i + 1) / crowd->count;
		crowd->children[i] = child_start(be_sources, &part);
	}
}

static void tell_rate(struct child *parent, const struct incast *how, double us, uint64_t again)
{
	double messages = (double)how->senders * how->each;

	printf("%.3f times -FI_EAGAIN for each message\n", (double)again / messages);
	fflush(stdout);
	CHECK((double)again <= messages / 10);
	child_say(parent, &us, sizeof(us));
}

/* Tells the parent what a message takes. */
static void be_all(struct child *parent, void *arg)
{
	const struct incast *how = arg;
	struct incast_times times;
	struct incast_report report;
	uint64_t again = 0;
	struct crowd crowd;
	struct node node;
	unsigned int i;
	double us;

	start(&crowd, how);
	node_open(&node, NULL);
	for (i = 0; i < crowd.count; i++)
		child_say(&crowd.children[i], &node.name, sizeof(node.name));
	times = incast_receive(&node, how, tell, &crowd);
	us = incast_print(how, &times);
	for (i = 0; i < crowd.count; i++) {
		child_hear(&crowd.children[i], &report, sizeof(report));
		again += report.again;
	}
	node_silent(&node, 100);
	for (i = 0; i < crowd.count; i++) {
		child_say(&crowd.children[i], "e", 1);
		child_end(&crowd.children[i]);
	}
	node_close(&node);
	tell_rate(parent, how, us, again);
}

/* In a process that has opened nothing before. */
static double run(struct incast *how)
{
	struct child child = child_start(be_all, how);
	double us;

	child_hear(&child, &us, sizeof(us));
	child_end(&child);
	return us;
}

static void test(void)
{
	struct incast alone = incast;
	double one, many;

	alarm(LIMIT_S);
	alone.each *= alone.senders;
	alone.senders = 1;
	one = run(&alone);
	many = run(&incast);
	printf("a message takes %.2f us alone, %.2f us among %u senders: %.3f times\n", one, many,
	       incast.senders, many / one);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		incast.senders = (unsigned int)atoi(argv[1]);
	if (argc > 2)
		incast.each = (unsigned int)atoi(argv[2]);
	if (argc > 3)
		incast.len = (size_t)atol(argv[3]);
	return run_test(test);
}
