/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Many processes of a host, each with one endpoint, that all send to each other at once and poll
 * without a pause, as a job of MPI does when it starts: every pair connects, no message is lost,
 * and no peer is given up because the host is busy. The number of processes is an argument.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include "rdm_node.h"

enum { RANKS = 16, MOST = 128 };

struct message {
	uint32_t from, to;
};

struct rank {
	struct child *parent;
	struct node node;
	unsigned int number;
	fi_addr_t to[MOST];
	struct message out[MOST], in[MOST];
	bool heard[MOST];
};

struct report {
	uint64_t ms;	   /* until this rank had sent to and heard all others */
	uint64_t again;	   /* calls that had to be repeated */
	uint64_t cpu_ms;   /* of this process, since it began */
	uint64_t switches; /* of its threads */
};

static unsigned int ranks = RANKS;

static void open_rank(struct rank *self)
{
	struct node_name names[MOST];
	unsigned int i;

	node_open(&self->node, NULL);
	child_say(self->parent, &self->node.name, sizeof(names[0]));
	child_hear(self->parent, names, ranks * sizeof(names[0]));
	for (i = 0; i < ranks; i++)
		self->to[i] = node_know(&self->node, &names[i]);
}

static unsigned int poll_once(struct rank *self)
{
	struct fi_cq_tagged_entry entry;
	struct message *in;
	int err;

	if (!node_poll(&self->node, &entry, &err))
		return 0;
	EQUAL(err, 0);
	if (entry.flags & FI_RECV) {
		in = entry.op_context;
		EQUAL(in->to, self->number);
		CHECK(in->from < ranks && !self->heard[in->from]);
		self->heard[in->from] = true;
	}
	return 1;
}

/* The ranks begin with different peers, as collective operations do. */
static void talk(struct rank *self, struct report *report)
{
	unsigned int i, to, done = 0, all = 2 * (ranks - 1);
	uint64_t begin = now_ms();
	ssize_t ret;

	for (i = 1; i < ranks; i++)
		node_trecv(&self->node, &self->in[i], sizeof(self->in[i]), 1, &self->in[i]);
	for (i = 1; i < ranks; i++) {
		to = (self->number + i) % ranks;
		self->out[to] = (struct message){ self->number, to };
		while ((ret = fi_tsend(self->node.ep, &self->out[to], sizeof(self->out[to]), NULL,
				       self->to[to], 1, NULL)) == -FI_EAGAIN) {
			report->again++;
			done += poll_once(self);
		}
		OK(ret);
	}
	while (done < all)
		done += poll_once(self);
	report->ms = now_ms() - begin;
}

static uint64_t ms_of(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * 1000 + (uint64_t)time->tv_usec / 1000;
}

static void add_use(struct report *report)
{
	struct rusage use;

	CHECK(!getrusage(RUSAGE_SELF, &use));
	report->cpu_ms = ms_of(&use.ru_utime) + ms_of(&use.ru_stime);
	report->switches = (uint64_t)(use.ru_nvcsw + use.ru_nivcsw);
}

static void run(struct child *parent, void *arg)
{
	struct rank *self = calloc(1, sizeof(*self));
	struct report report = { 0 };
	char word;

	CHECK(self);
	self->parent = parent;
	self->number = *(unsigned int *)arg;
	open_rank(self);
	child_say(parent, "r", 1);
	child_hear(parent, &word, 1);
	talk(self, &report);
	add_use(&report);
	child_say(parent, &report, sizeof(report));
	while (recv(parent->sock, &word, 1, MSG_DONTWAIT) != 1)
		EQUAL(poll_once(self), 0);
	node_close(&self->node);
	free(self);
}

static void all_go(struct child *children)
{
	unsigned int i;

	for (i = 0; i < ranks; i++)
		child_say(&children[i], "g", 1);
}

/* The parent waits for the slowest rank. */
static void measure(struct child *children)
{
	struct report report, sum = { 0 };
	unsigned int i;

	all_go(children);
	for (i = 0; i < ranks; i++) {
		child_hear(&children[i], &report, sizeof(report));
		sum.ms = report.ms > sum.ms ? report.ms : sum.ms;
		sum.again += report.again;
		sum.cpu_ms += report.cpu_ms;
		sum.switches += report.switches;
	}
	printf("%u processes: %.1f s; %.1f s of processors, %" PRIu64 " switches, %" PRIu64
	       " repeated calls\n",
	       ranks, (double)sum.ms / 1000, (double)sum.cpu_ms / 1000, sum.switches, sum.again);
	EQUAL(sum.again, 0);
	all_go(children);
}

static void test(void)
{
	struct child children[MOST];
	struct node_name names[MOST];
	unsigned int i;
	char word;

	for (i = 0; i < ranks; i++)
		children[i] = child_start(run, &i);
	for (i = 0; i < ranks; i++)
		child_hear(&children[i], &names[i], sizeof(names[i]));
	for (i = 0; i < ranks; i++)
		child_say(&children[i], names, ranks * sizeof(names[0]));
	for (i = 0; i < ranks; i++)
		child_hear(&children[i], &word, 1);
	measure(children);
	for (i = 0; i < ranks; i++)
		child_end(&children[i]);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		ranks = (unsigned int)atoi(argv[1]);
	CHECK(ranks > 1 && ranks <= MOST);
	need_env("WEFT_DEVICE");
	return run_test(test);
}
