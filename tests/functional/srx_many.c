/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Eight endpoints take the receives of one shared context, on two completion queues: each message
 * arrives once, in the order of its sender, and each receive completes once each time it is posted.
 */
#include <string.h>
#include "links.h"

#define LINKS 8
#define EACH  200
#define SLOTS 32
#define LEN   64

static struct setup setup = { .buf_size = 16384, .srx_size = SLOTS };
static bool posted[SLOTS];
static uint32_t next_of[LINKS]; /* the next expected number */

static void post(struct end *end, size_t slot)
{
	struct iovec iov = { end->buf + slot * LEN, LEN };
	void *context = (void *)slot;

	CHECK(!posted[slot]);
	posted[slot] = true;
	if (slot % 2)
		OK(fi_recv(end->srx, iov.iov_base, LEN, end->desc, 0, context));
	else
		OK(fi_recvv(end->srx, &iov, &end->desc, 1, 0, context));
}

static size_t take(struct end *end, struct fid_cq *cq)
{
	struct fi_cq_tagged_entry entries[5];
	ssize_t i, n = fi_cq_read(cq, entries, ARRAY_SIZE(entries));
	size_t slot, taken = 0;
	uint32_t message[2];

	if (n == -FI_EAGAIN)
		return 0;
	CHECK(n > 0);
	for (i = 0; i < n; i++) {
		if (entries[i].flags & FI_SEND)
			continue;
		slot = (size_t)entries[i].op_context;
		CHECK(slot < SLOTS && posted[slot]);
		posted[slot] = false;
		EQUAL(entries[i].len, sizeof(message));
		memcpy(message, end->buf + slot * LEN, sizeof(message));
		CHECK(message[0] < LINKS);
		EQUAL(message[1], next_of[message[0]]++);
		post(end, slot);
		taken++;
	}
	return taken;
}

static void test(void)
{
	struct end end = { .setup = &setup, .sock = -1 };
	struct link links[LINKS];
	uint64_t limit;
	struct fid_cq *cqs[2];
	struct place place;
	size_t i, arrived = 0;
	uint32_t message[2], sent[LINKS] = { 0 };

	end_listen(&end, local_addr(), &place);
	cqs[0] = end.rxcq;
	cqs[1] = end_cq(&end, &(struct fi_cq_attr){ .format = FI_CQ_FORMAT_TAGGED });
	for (i = 0; i < LINKS; i++) {
		end.rxcq = cqs[i % 2];
		link_open(&end, &place, &links[i], NULL, NULL);
	}
	EQUAL(fi_rx_size_left(end.srx), SLOTS);
	for (i = 0; i < SLOTS; i++)
		post(&end, i);
	EQUAL(fi_rx_size_left(end.srx), 0);
	RETURNS(fi_recv(end.srx, end.buf, LEN, end.desc, 0, NULL), -FI_EAGAIN);
	for (limit = deadline(); arrived < LINKS * EACH; pause_until(limit, "all messages")) {
		for (i = 0; i < LINKS; i++) {
			message[0] = (uint32_t)i;
			message[1] = sent[i];
			if (sent[i] < EACH &&
			    !fi_inject(links[i].from, message, sizeof(message), 0))
				sent[i]++;
		}
		arrived += take(&end, cqs[0]) + take(&end, cqs[1]);
	}
	no_comp(cqs[0], 10);
	no_comp(cqs[1], 10);
	for (i = 0; i < LINKS; i++)
		link_close(&links[i]);
	OK(fi_close(&cqs[1]->fid));
	end.rxcq = cqs[0];
	end_close(&end);
}

int main(void)
{
	setup.format = FI_CQ_FORMAT_TAGGED;
	return run_test(test);
}
