/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Many endpoints on one CQ, together larger than the device's largest CQ, share its entries.
 * Together they never overrun it, and none of them stalls, even if their operations are silent.
 */
#include <stdio.h>
#include <stdlib.h>
#include <rdma/fi_rma.h>
#include "steps.h"

#define EPS	6
#define INJECTS 50000

/* Pairs of connected endpoints of one end. */
struct link {
	struct fid_ep *from, *to;
};

static struct setup setup = { .format = FI_CQ_FORMAT_TAGGED, .buf_size = 4096, .one_cq = true };

static void connect_link(struct end *end, const struct place *place, struct link *link)
{
	struct fi_info *info = info_for(&setup, place->node, place->service, 0), *request;
	struct fid_ep *pending;
	uint32_t event;
	struct fi_eq_cm_entry entry;
	uint64_t limit = deadline();
	int up = 0;

	link->from = end_ep(end, info);
	OK(fi_connect(link->from, info->dest_addr, NULL, 0));
	request = end_request(end, NULL, NULL);
	link->to = pending = end_ep(end, request);
	OK(fi_accept(pending, NULL, 0));
	while (up < 2) {
		pause_until(limit, "the connection");
		if (fi_eq_sread(end->eq, &event, &entry, sizeof(entry), 100, 0) < 0)
			continue;
		EQUAL(event, FI_CONNECTED);
		up++;
	}
	fi_freeinfo(request);
	fi_freeinfo(info);
}

/* Posts receives, then as many sends as fit, on each connection in turn. Returns their number. */
static size_t post_all(struct end *end, struct link *links)
{
	size_t i, posted = 0, before;
	ssize_t ret;

	do {
		before = posted;
		for (i = 0; i < EPS; i++) {
			ret = fi_recv(links[i].to, end->buf, 8, end->desc, 0, NULL);
			if (ret == -FI_EAGAIN)
				continue;
			RETURNS(ret, 0);
			ret = fi_send(links[i].from, end->buf, 8, end->desc, 0, NULL);
			if (ret == -FI_EAGAIN)
				continue;
			RETURNS(ret, 0);
			posted++;
		}
	} while (posted > before);
	printf("%zu sends outstanding\n", posted);
	CHECK(posted);
	return posted;
}

/* Injects writes on each connection in turn, except the first, whose entries are reserved. */
static void inject_all(struct end *end, struct link *links)
{
	uint64_t word = 7, limit = deadline();
	struct fi_cq_tagged_entry entry;
	size_t i, done = 0;
	ssize_t ret;

	while (done < INJECTS) {
		for (i = 1; i < EPS; i++) {
			ret = fi_inject_write(links[i].from, &word, sizeof(word), 0,
					      (uintptr_t)end->buf, fi_mr_key(end->mr));
			if (ret != -FI_EAGAIN)
				RETURNS(ret, 0);
			done += !ret;
		}
		RETURNS(fi_cq_read(end->cq, &entry, 1), -FI_EAGAIN);
		pause_until(limit, "room for injected writes");
	}
}

static void test(void)
{
	struct end end = { .setup = &setup, .sock = -1 };
	struct fi_cq_tagged_entry entries[32];
	size_t i, round, sent, recvs = 0, sends;
	struct link links[EPS];
	struct place place;
	uint64_t limit;
	ssize_t k, n;

	end_listen(&end, local_addr(), &place);
	for (i = 0; i < EPS; i++)
		connect_link(&end, &place, &links[i]);
	for (round = 0; round < 3; round++) {
		sent = post_all(&end, links);
		for (sends = 0, limit = deadline(); sends < sent || recvs < sent;) {
			n = fi_cq_read(end.cq, entries, ARRAY_SIZE(entries));
			if (n == -FI_EAGAIN) {
				pause_until(limit, "completions");
				continue;
			}
			CHECK(n > 0);
			for (k = 0; k < n; k++)
				*(entries[k].flags & FI_SEND ? &sends : &recvs) += 1;
		}
		EQUAL(sends, sent);
		EQUAL(recvs, sent);
		recvs = 0;
	}
	inject_all(&end, links);
	no_event(end.eq, 0);
	for (i = 0; i < EPS; i++) {
		OK(fi_close(&links[i].from->fid));
		OK(fi_close(&links[i].to->fid));
	}
	end_close(&end);
}

int main(void)
{
	/* The queues together request more than the 32767 entries that soft-RoCE allows a CQ. */
	setenv("FI_VERBS_TX_SIZE", "6000", 1);
	setenv("FI_VERBS_RX_SIZE", "6000", 1);
	return run_test(test);
}
