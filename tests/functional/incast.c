/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Many endpoints that send to one. */
#include "incast.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	TAG = 9,
	WINDOW = 64,   /* messages of a sender that are not complete */
	RECEIVES = 64, /* of the receiver */
	ENTRIES = 16,
	LIMIT_S = 600,
};

struct head {
	uint32_t sender, number;
};

static uint64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static unsigned int seed_of(struct head head)
{
	return head.sender * 64 + head.number;
}

/* Packets that the device has sent; 0 if it does not tell. */
static uint64_t packets(void)
{
	unsigned long long count = 0;
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1/hw_counters/sent_pkts",
		 need_env("WEFT_DEVICE"));
	file = fopen(path, "r");
	if (file && fscanf(file, "%llu", &count) != 1)
		count = 0;
	if (file)
		fclose(file);
	return count;
}

/* The senders of a process. */

struct source {
	struct fid_ep *ep;
	struct head next; /* message */
	unsigned int done;
};

struct sources {
	const struct incast *incast;
	struct node node;
	struct source *all;
	unsigned int count, complete;
	uint8_t *bytes; /* of each source, a buffer for each message of the window */
	fi_addr_t to;
	struct incast_report report;
};

static unsigned int window_of(const struct incast *incast)
{
	return incast->each < WINDOW ? incast->each : WINDOW;
}

static void open_sources(struct sources *s, unsigned int from)
{
	struct node *node = &s->node;
	unsigned int i;

	node_open(node, NULL);
	CHECK(s->all = calloc(s->count, sizeof(*s->all)));
	CHECK(s->bytes = malloc(s->incast->len * window_of(s->incast) * s->count));
	for (i = 0; i < s->count; i++) {
		s->all[i].next.sender = from + i;
		if (!i) {
			s->all[i].ep = node->ep;
			continue;
		}
		OK(fi_endpoint(node->domain, node->info, &s->all[i].ep, NULL));
		OK(fi_ep_bind(s->all[i].ep, &node->cq->fid, FI_TRANSMIT | FI_RECV));
		OK(fi_ep_bind(s->all[i].ep, &node->av->fid, 0));
		OK(fi_enable(s->all[i].ep));
	}
}

/* Returns false if the endpoint has no room for the message now. */
static bool post(struct sources *s, struct source *source)
{
	unsigned int window = window_of(s->incast);
	size_t len = s->incast->len,
	       at = (size_t)(source - s->all) * window + source->next.number % window;
	uint8_t *buf = s->bytes + at * len;
	ssize_t ret;

	memcpy(buf, &source->next, sizeof(source->next));
	fill(buf + sizeof(source->next), len - sizeof(source->next), seed_of(source->next));
	ret = fi_tsend(source->ep, buf, len, NULL, s->to, TAG, source);
	if (ret == -FI_EAGAIN) {
		s->report.again++;
		return false;
	}
	OK(ret);
	source->next.number++;
	return true;
}

static void fill_window(struct sources *s, struct source *source, unsigned int most)
{
	while (source->next.number < most &&
	       source->next.number - source->done < window_of(s->incast))
		if (!post(s, source))
			return;
}

static void reap(struct sources *s, unsigned int most)
{
	struct fi_cq_tagged_entry entries[ENTRIES];
	struct source *source;
	ssize_t i, n = fi_cq_read(s->node.cq, entries, ENTRIES);

	if (n == -FI_EAGAIN) {
		sched_yield();
		return;
	}
	CHECK(n > 0);
	for (i = 0; i < n; i++) {
		source = entries[i].op_context;
		source->done++;
		s->complete++;
		fill_window(s, source, most);
	}
}

/* Sends until each source has sent that many. */
static void send_up_to(struct sources *s, unsigned int most)
{
	unsigned int i;

	for (i = 0; i < s->count; i++) {
		fill_window(s, &s->all[i], most);
		reap(s, most);
	}
	while (s->complete < s->count * most) {
		reap(s, most);
		for (i = 0; i < s->count; i++)
			if (s->all[i].done == s->all[i].next.number)
				fill_window(s, &s->all[i], most);
	}
}

void incast_send(struct child *parent, const struct incast *incast, unsigned int from,
		 unsigned int to, const void *name)
{
	struct sources s = { .incast = incast, .count = to - from };
	unsigned int i;
	char byte;

	alarm(LIMIT_S);
	open_sources(&s, from);
	s.to = node_know(&s.node, name);
	child_say(parent, "o", 1);
	child_hear(parent, &byte, 1);
	send_up_to(&s, 1);
	child_say(parent, "m", 1);
	child_hear(parent, &byte, 1);
	send_up_to(&s, incast->each);
	child_say(parent, &s.report, sizeof(s.report));
	child_hear(parent, &byte, 1);
	for (i = 1; i < s.count; i++)
		OK(fi_close(&s.all[i].ep->fid));
	node_close(&s.node);
	free(s.all);
	free(s.bytes);
}

/* The receiver. */

static uint8_t *bytes; /* of receives that stay posted until the endpoint is closed */

struct sink {
	const struct incast *incast;
	struct node *node;
	uint32_t *next; /* of each sender */
	unsigned int done;
	struct incast_times times;
	uint64_t start;
};

static void receive(struct sink *sink, uint8_t *buf)
{
	node_trecv(sink->node, buf, sink->incast->len, TAG, buf);
}

static void check(struct sink *sink, const struct fi_cq_tagged_entry *entry)
{
	const struct incast *incast = sink->incast;
	const uint8_t *buf = entry->op_context;
	struct head head;

	EQUAL(entry->len, incast->len);
	memcpy(&head, buf, sizeof(head));
	CHECK(head.sender < incast->senders);
	EQUAL(head.number, sink->next[head.sender]);
	CHECK_FILLED(buf + sizeof(head), incast->len - sizeof(head), seed_of(head));
	if (++sink->next[head.sender] < incast->each)
		return;
	sink->times.last = now_us() - sink->start;
	if (!sink->done++)
		sink->times.first = sink->times.last;
}

static void take(struct sink *sink, unsigned int count)
{
	struct fi_cq_tagged_entry entries[ENTRIES];
	unsigned int got = 0;
	ssize_t i, n;

	while (got < count) {
		n = fi_cq_read(sink->node->cq, entries, ENTRIES);
		if (n == -FI_EAGAIN) {
			sched_yield();
			continue;
		}
		CHECK(n > 0);
		got += (unsigned int)n;
		for (i = 0; i < n; i++) {
			check(sink, &entries[i]);
			receive(sink, entries[i].op_context);
		}
	}
}

struct incast_times incast_receive(struct node *node, const struct incast *incast,
				   void (*begin)(void *arg), void *arg)
{
	struct sink sink = { .incast = incast, .node = node };
	unsigned int i;
	uint64_t before;

	alarm(LIMIT_S);
	CHECK(incast->len >= sizeof(struct head) && incast->each > 1);
	CHECK(bytes = malloc(incast->len * RECEIVES));
	CHECK(sink.next = calloc(incast->senders, sizeof(*sink.next)));
	for (i = 0; i < RECEIVES; i++)
		receive(&sink, bytes + i * incast->len);
	begin(arg);
	sink.start = now_us();
	take(&sink, incast->senders);
	sink.times.met = now_us() - sink.start;
	begin(arg);
	before = packets();
	sink.times.begun = now_us() - sink.start;
	take(&sink, incast->senders * (incast->each - 1));
	sink.times.packets = packets() - before;
	free(sink.next);
	EQUAL(sink.done, incast->senders);
	return sink.times;
}

double incast_print(const struct incast *incast, const struct incast_times *times)
{
	double us = (double)(times->last - times->begun);
	double messages = (double)incast->senders * (incast->each - 1);

	printf("%u senders of %u messages of %zu B: the first arrive in %.0f ms, the others in "
	       "%.0f ms with %.2f packets each; a sender is done after %.0f ms; %.1f MB/s\n",
	       incast->senders, incast->each, incast->len, (double)times->met / 1000, us / 1000,
	       (double)times->packets / messages, (double)(times->first - times->begun) / 1000,
	       messages * (double)incast->len / us);
	fflush(stdout);
	return us / messages;
}
