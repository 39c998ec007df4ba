/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A context sends more messages than the receiver buffers before they are expected. The receiver
 * slows down that context, and not context 0 of its scalable endpoint: all messages arrive.
 */
#include <stdlib.h>
#include "sep.h"

enum { FROM = 1, TO = 2, MANY = 300, WORDS = 1000, TAG = 7, OTHER = 8 };

static uint64_t out[MANY][WORDS], in[WORDS], other;

/* Reads a single entry, as the fast path does. */
static bool reap(struct fid_cq *cq)
{
	struct fi_cq_tagged_entry entry;
	ssize_t ret = fi_cq_read(cq, &entry, 1);

	if (ret != -FI_EAGAIN)
		EQUAL(ret, 1);
	return ret == 1;
}

static void expect(struct sep_pair *pair, void *buf, size_t len, uint64_t tag)
{
	struct sep_side *peer = &pair->side[1];

	OK(fi_trecv(peer->rx[TO], buf, len, NULL, peer->peer, tag, 0, NULL));
}

static void send(struct sep_pair *pair, void *buf, size_t len, uint64_t tag)
{
	OK(fi_tsend(pair->side[0].tx[FROM], buf, len, NULL, sep_addr(pair, 0, TO), tag, NULL));
}

/* Waits for a message, and counts the messages that were sent meanwhile. */
static int wait_message(struct sep_pair *pair)
{
	uint64_t end = deadline();
	int sent = 0;

	while (!reap(pair->side[1].cq[TO])) {
		sent += reap(pair->side[0].cq[FROM]);
		pause_until(end, "a message");
	}
	return sent;
}

/* Lets each message arrive alone. Returns the number of those that were sent. */
static int flood(struct sep_pair *pair)
{
	uint64_t end;
	int i, sent = 0;

	for (i = 0; i < MANY; i++) {
		out[i][0] = (uint64_t)i;
		send(pair, out[i], sizeof(out[i]), TAG);
		for (end = now_ms() + 2; now_ms() < end; sent += reap(pair->side[0].cq[FROM]))
			CHECK(!reap(pair->side[1].cq[TO]));
	}
	return sent;
}

static void test(void)
{
	struct sep_pair pair;
	int i, sent = 0;

	setenv("FI_VERBS_RDM_UNEXPECTED_SIZE", "65536", 1);
	setenv("FI_VERBS_RDM_RX_BUFFERS", "16", 1);
	sep_open(&pair, FI_THREAD_SAFE);
	expect(&pair, in, sizeof(in), TAG);
	send(&pair, out[0], sizeof(out[0]), TAG);
	sent = wait_message(&pair) - 1;
	/* A receive for another tag waits meanwhile. */
	expect(&pair, &other, sizeof(other), OTHER);
	sent += flood(&pair);
	CHECK(sent < MANY);
	for (i = 0; i < MANY; i++) {
		expect(&pair, in, sizeof(in), TAG);
		sent += wait_message(&pair);
		EQUAL(in[0], i);
	}
	while (sent < MANY)
		sent += reap(pair.side[0].cq[FROM]);
	sep_close(&pair);
}

int main(void)
{
	return run_test(test);
}
