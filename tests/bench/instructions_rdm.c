/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The rows of FI_EP_RDM. Completions are read one by one, each after the device has finished it, as
 * in a ping-pong; code between two reads is not collected.
 */
#include <string.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include "instructions.h"
#include "instructions_rdm.h"

#define DEEP 8 /* messages measured at each depth */

static struct fi_context contexts[REPEAT];
static int seen[4]; /* completions of a.tx, a.rx, b.tx, b.rx that were read early */
static uint64_t next_tag = TAG;

static void look(struct pair *pair, struct fid_cq *cq, int *count)
{
	struct fi_cq_tagged_entry entries[BATCH];
	ssize_t n = fi_cq_read(cq, entries, BATCH);

	if (n != -FI_EAGAIN)
		*count += (int)bench_check(pair->lib, n, "fi_cq_read");
}

static void look_at_all(struct pair *pair)
{
	look(pair, pair->a.tx, &seen[A_TX]);
	look(pair, pair->a.rx, &seen[A_RX]);
	look(pair, pair->b.tx, &seen[B_TX]);
	look(pair, pair->b.rx, &seen[B_RX]);
}

void rdm_wait_for(struct pair *pair, int which, int count)
{
	while (seen[which] < count)
		look_at_all(pair);
	seen[which] -= count;
}

void rdm_post_recv(struct pair *pair, uint64_t tag)
{
	struct side *b = &pair->b;

	bench_check(pair->lib, fi_trecv(b->ep, b->buf, 64, b->desc, b->to, tag, 0, &contexts[0]),
		    "fi_trecv");
}

/* The first finds no connection. */
void rdm_post_send(struct pair *pair, uint64_t tag)
{
	struct side *a = &pair->a;
	ssize_t ret;

	while ((ret = fi_tsend(a->ep, a->buf, SIZE, a->desc, a->to, tag, &contexts[0])) ==
	       -FI_EAGAIN)
		look_at_all(pair);
	bench_check(pair->lib, ret, "fi_tsend");
}

/* One message with nothing counted: they are connected. */
void rdm_connect_both(struct pair *pair)
{
	if (pair->used)
		return;
	pair->used = true;
	memset(seen, 0, sizeof(seen));
	rdm_post_recv(pair, TAG);
	rdm_post_send(pair, TAG);
	rdm_wait_for(pair, B_RX, 1);
	rdm_wait_for(pair, A_TX, 1);
}

static void prepare_recvs(struct pair *pair)
{
	int i;

	rdm_connect_both(pair);
	for (i = 0; i < REPEAT; i++)
		rdm_post_recv(pair, TAG);
}

static void prepare_msg_recvs(struct pair *pair)
{
	struct side *b = &pair->b;
	int i;

	rdm_connect_both(pair);
	for (i = 0; i < REPEAT; i++)
		bench_check(pair->lib, fi_recv(b->ep, b->buf, 64, b->desc, b->to, &contexts[i]),
			    "fi_recv");
}

static bool post_tsends(struct pair *pair)
{
	struct side *a = &pair->a;
	ssize_t ret = 0;
	int i;

	for (i = 0; i < REPEAT; i++)
		ret |= fi_tsend(a->ep, a->buf, SIZE, a->desc, a->to, TAG, &contexts[i]);
	bench_check(pair->lib, ret, "fi_tsend");
	return true;
}

static bool post_tinjects(struct pair *pair)
{
	struct side *a = &pair->a;
	ssize_t ret = 0;
	int i;

	for (i = 0; i < REPEAT; i++)
		ret |= fi_tinject(a->ep, a->buf, SIZE, a->to, TAG);
	bench_check(pair->lib, ret, "fi_tinject");
	return true;
}

static bool post_trecvs(struct pair *pair)
{
	struct side *b = &pair->b;
	ssize_t ret = 0;
	int i;

	for (i = 0; i < REPEAT; i++)
		ret |= fi_trecv(b->ep, b->buf, 64, b->desc, b->to, TAG, 0, &contexts[i]);
	bench_check(pair->lib, ret, "fi_trecv");
	return true;
}

static bool post_writes(struct pair *pair)
{
	struct side *a = &pair->a, *b = &pair->b;
	ssize_t ret = 0;
	int i;

	for (i = 0; i < REPEAT; i++)
		ret |= fi_write(a->ep, a->buf, SIZE, a->desc, a->to, (uintptr_t)b->buf, b->key,
				&contexts[i]);
	bench_check(pair->lib, ret, "fi_write");
	return true;
}

static bool post_fetch_adds(struct pair *pair)
{
	struct side *a = &pair->a, *b = &pair->b;
	ssize_t ret = 0;
	int i;

	for (i = 0; i < REPEAT; i++)
		ret |= fi_fetch_atomic(a->ep, a->buf, 1, a->desc, a->buf + 64, a->desc, a->to,
				       (uintptr_t)b->buf, b->key, FI_UINT64, FI_SUM, &contexts[i]);
	bench_check(pair->lib, ret, "fi_fetch_atomic");
	return true;
}

static void finish_sends(struct pair *pair)
{
	rdm_wait_for(pair, B_RX, REPEAT);
	rdm_wait_for(pair, A_TX, REPEAT);
}

static void finish_injects(struct pair *pair)
{
	rdm_wait_for(pair, B_RX, REPEAT);
	rdm_post_recv(pair, TAG);
	rdm_post_send(pair, TAG);
	rdm_wait_for(pair, B_RX, 1);
	rdm_wait_for(pair, A_TX, 1);
}

static void finish_tx(struct pair *pair)
{
	rdm_wait_for(pair, A_TX, REPEAT);
}

static void finish_recvs(struct pair *pair)
{
	post_tsends(pair);
	finish_sends(pair);
}

/* One read that counts. */
static ssize_t read_one(struct fid_cq *cq)
{
	struct fi_cq_tagged_entry entry;
	ssize_t ret;

	CALLGRIND_TOGGLE_COLLECT;
	ret = fi_cq_read(cq, &entry, 1);
	CALLGRIND_TOGGLE_COLLECT;
	return ret;
}

static bool read_tx(struct pair *pair)
{
	bool ok = true;
	int i;

	CALLGRIND_TOGGLE_COLLECT;
	for (i = 0; i < REPEAT && ok; i++) {
		rdm_post_recv(pair, TAG);
		rdm_post_send(pair, TAG);
		while (!seen[B_RX])
			look(pair, pair->b.rx, &seen[B_RX]);
		seen[B_RX] = 0;
		settle();
		ok = read_one(pair->a.tx) == 1;
	}
	CALLGRIND_TOGGLE_COLLECT;
	return ok;
}

/* Sends one. Its completion says that it has arrived. */
static void send_one(struct pair *pair, uint64_t tag)
{
	rdm_post_send(pair, tag);
	while (!seen[A_TX])
		look(pair, pair->a.tx, &seen[A_TX]);
	seen[A_TX]--;
}

static bool read_rx(struct pair *pair)
{
	bool ok = true;
	int i;

	CALLGRIND_TOGGLE_COLLECT;
	for (i = 0; i < REPEAT && ok; i++) {
		rdm_post_recv(pair, TAG);
		send_one(pair, TAG);
		ok = read_one(pair->b.rx) == 1;
	}
	CALLGRIND_TOGGLE_COLLECT;
	return ok;
}

/* The read that takes an unexpected message; what makes it complete is not counted. */
static bool read_unexpected(struct pair *pair)
{
	struct fi_cq_tagged_entry entry;
	bool ok = true;
	int i;

	CALLGRIND_TOGGLE_COLLECT;
	for (i = 0; i < REPEAT && ok; i++) {
		send_one(pair, TAG);
		ok = read_one(pair->b.rx) == -FI_EAGAIN;
		rdm_post_recv(pair, TAG);
		ok = ok && fi_cq_read(pair->b.rx, &entry, 1) == 1;
	}
	CALLGRIND_TOGGLE_COLLECT;
	return ok;
}

/* The receive that finds the message, and the read of its completion. */
static bool post_late(struct pair *pair)
{
	struct fi_cq_tagged_entry entry;
	bool ok = true;
	int i;

	CALLGRIND_TOGGLE_COLLECT;
	for (i = 0; i < REPEAT && ok; i++) {
		send_one(pair, TAG);
		ok = fi_cq_read(pair->b.rx, &entry, 1) == -FI_EAGAIN;
		CALLGRIND_TOGGLE_COLLECT;
		rdm_post_recv(pair, TAG);
		CALLGRIND_TOGGLE_COLLECT;
		ok = ok && read_one(pair->b.rx) == 1;
	}
	CALLGRIND_TOGGLE_COLLECT;
	return ok;
}

static void prepare_arrived(struct pair *pair)
{
	prepare_recvs(pair);
	post_tsends(pair);
	while (seen[A_TX] < REPEAT)
		look(pair, pair->a.tx, &seen[A_TX]);
	seen[A_TX] -= REPEAT;
}

static bool read_batch(struct pair *pair)
{
	struct fi_cq_tagged_entry entries[BATCH];
	bool ok = true;
	int i;

	for (i = 0; i < REPEAT; i += BATCH)
		ok &= fi_cq_read(pair->b.rx, entries, BATCH) == BATCH;
	return ok;
}

static bool read_empty(struct pair *pair)
{
	struct fi_cq_tagged_entry entry;
	bool ok = true;
	int i;

	for (i = 0; i < REPEAT; i++)
		ok &= fi_cq_read(pair->a.tx, &entry, 1) == -FI_EAGAIN;
	return ok;
}

/* Removes what else a row leaves, so that the next one starts with nothing. */
static void finish_deep(struct pair *pair, int depth)
{
	int i;

	for (i = 0; i < depth; i++) {
		rdm_post_send(pair, i);
		rdm_wait_for(pair, A_TX, 1);
	}
	rdm_wait_for(pair, B_RX, depth);
}

static void post_deep(struct pair *pair, int depth)
{
	int i;

	rdm_connect_both(pair);
	for (i = 0; i < depth; i++)
		rdm_post_recv(pair, i);
}

static void send_deep(struct pair *pair, int depth)
{
	int i;

	rdm_connect_both(pair);
	for (i = 0; i < depth; i++) {
		rdm_post_send(pair, i);
		rdm_wait_for(pair, A_TX, 1);
	}
	/* The first search makes an index of what has come: it is not counted. */
	send_one(pair, TAG);
	look_at_all(pair);
	rdm_post_recv(pair, TAG);
	rdm_wait_for(pair, B_RX, 1);
}

static void finish_sent(struct pair *pair, int depth)
{
	int i;

	for (i = 0; i < depth; i++)
		rdm_post_recv(pair, i);
	rdm_wait_for(pair, B_RX, depth);
}

/* A receive and its message behind others that are posted: both calls. */
static bool match_posted(struct pair *pair)
{
	uint64_t tag;
	bool ok = true;
	int i;

	CALLGRIND_TOGGLE_COLLECT;
	for (i = 0; i < DEEP && ok; i++) {
		tag = next_tag++;
		CALLGRIND_TOGGLE_COLLECT;
		rdm_post_recv(pair, tag);
		CALLGRIND_TOGGLE_COLLECT;
		send_one(pair, tag);
		ok = read_one(pair->b.rx) == 1;
	}
	CALLGRIND_TOGGLE_COLLECT;
	return ok;
}

/*
 * A message that is unexpected behind others, the receive that finds it, and the read of its
 * completion.
 */
static bool match_unexpected(struct pair *pair)
{
	uint64_t tag;
	bool ok = true;
	int i;

	CALLGRIND_TOGGLE_COLLECT;
	for (i = 0; i < DEEP && ok; i++) {
		tag = next_tag++;
		send_one(pair, tag);
		ok = read_one(pair->b.rx) == -FI_EAGAIN;
		CALLGRIND_TOGGLE_COLLECT;
		rdm_post_recv(pair, tag);
		CALLGRIND_TOGGLE_COLLECT;
		ok = ok && read_one(pair->b.rx) == 1;
	}
	CALLGRIND_TOGGLE_COLLECT;
	return ok;
}

static void post_1(struct pair *pair)
{
	post_deep(pair, 1);
}

static void finish_1(struct pair *pair)
{
	finish_deep(pair, 1);
}

static void post_100(struct pair *pair)
{
	post_deep(pair, 100);
}

static void finish_100(struct pair *pair)
{
	finish_deep(pair, 100);
}

static void post_10000(struct pair *pair)
{
	post_deep(pair, 10000);
}

static void finish_10000(struct pair *pair)
{
	finish_deep(pair, 10000);
}

static void send_1(struct pair *pair)
{
	send_deep(pair, 1);
}

static void finish_sent_1(struct pair *pair)
{
	finish_sent(pair, 1);
}

static void send_100(struct pair *pair)
{
	send_deep(pair, 100);
}

static void finish_sent_100(struct pair *pair)
{
	finish_sent(pair, 100);
}

static void send_10000(struct pair *pair)
{
	send_deep(pair, 10000);
}

static void finish_sent_10000(struct pair *pair)
{
	finish_sent(pair, 10000);
}

const struct row rdm_rows[] = {
	{ "rdm_tsend", false, REPEAT, prepare_recvs, post_tsends, finish_sends },
	{ "rdm_tinject", false, REPEAT, prepare_recvs, post_tinjects, finish_injects },
	{ "rdm_send", false, REPEAT, prepare_msg_recvs, post_sends, finish_sends },
	{ "rdm_trecv", false, REPEAT, rdm_connect_both, post_trecvs, finish_recvs },
	{ "rdm_read_tx", false, REPEAT, rdm_connect_both, read_tx, nothing },
	{ "rdm_read_rx", false, REPEAT, rdm_connect_both, read_rx, nothing },
	{ "rdm_batch_rx", false, REPEAT, prepare_arrived, read_batch, nothing },
	{ "rdm_unexpected", false, REPEAT, rdm_connect_both, read_unexpected, nothing },
	{ "rdm_late", false, REPEAT, rdm_connect_both, post_late, nothing },
	{ "rdm_write", false, REPEAT, rdm_connect_both, post_writes, finish_tx },
	{ "rdm_fetch_add", false, REPEAT, rdm_connect_both, post_fetch_adds, finish_tx },
	{ "rdm_empty", false, REPEAT, rdm_connect_both, read_empty, nothing },
	{ "rdm_posted_1", false, DEEP, post_1, match_posted, finish_1 },
	{ "rdm_posted_100", false, DEEP, post_100, match_posted, finish_100 },
	{ "rdm_posted_10000", false, DEEP, post_10000, match_posted, finish_10000 },
	{ "rdm_unexpected_1", false, DEEP, send_1, match_unexpected, finish_sent_1 },
	{ "rdm_unexpected_100", false, DEEP, send_100, match_unexpected, finish_sent_100 },
	{ "rdm_unexpected_10000", false, DEEP, send_10000, match_unexpected, finish_sent_10000 },
	{ 0 },
};
