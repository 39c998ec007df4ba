/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Rows of FI_EP_RDM for a program that keeps a window of messages in flight: WINDOW messages are
 * posted, the device completes them, then the completions are read one entry a call. Also whole
 * transfers: a long message, from both posts to both completions.
 */
#include <string.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include "instructions.h"
#include "instructions_rdm.h"

#define WINDOW	 32
#define WINDOWS	 (REPEAT / WINDOW)
#define RNDV	 (256 << 10)
#define SEGMENTS (64 << 10)
#define LONG	 32 /* transfers */

static void post_recvs(struct pair *pair, int count)
{
	while (count--)
		rdm_post_recv(pair, TAG);
}

static void post_sends_of(struct pair *pair, int count)
{
	while (count--)
		rdm_post_send(pair, TAG);
}

/* Completions of one CQ alone. */
static void take(struct pair *pair, struct fid_cq *cq, int count)
{
	struct fi_cq_tagged_entry entry;
	ssize_t n;

	while (count > 0) {
		n = fi_cq_read(cq, &entry, 1);
		if (n != -FI_EAGAIN)
			count -= (int)bench_check(pair->lib, n, "fi_cq_read");
	}
}

/* The completions of a window, one a call; this alone is counted. */
static bool read_window(struct fid_cq *cq)
{
	struct fi_cq_tagged_entry entry;
	bool ok = true;
	int i;

	settle();
	CALLGRIND_TOGGLE_COLLECT;
	for (i = 0; i < WINDOW; i++)
		ok &= fi_cq_read(cq, &entry, 1) == 1;
	CALLGRIND_TOGGLE_COLLECT;
	return ok;
}

static bool send_window(struct pair *pair, bool rx)
{
	post_recvs(pair, WINDOW);
	post_sends_of(pair, WINDOW);
	take(pair, rx ? pair->a.tx : pair->b.rx, WINDOW);
	return read_window(rx ? pair->b.rx : pair->a.tx);
}

static bool repeat(struct pair *pair, bool (*window)(struct pair *pair))
{
	bool ok = true;
	int i;

	CALLGRIND_TOGGLE_COLLECT;
	for (i = 0; i < WINDOWS && ok; i++)
		ok = window(pair);
	CALLGRIND_TOGGLE_COLLECT;
	return ok;
}

static bool sent_window(struct pair *pair)
{
	return send_window(pair, false);
}

static bool received_window(struct pair *pair)
{
	return send_window(pair, true);
}

static void rma(struct pair *pair, bool read)
{
	struct side *a = &pair->a;
	uint64_t to = (uintptr_t)pair->b.buf, key = pair->b.key;
	ssize_t ret = read ? fi_read(a->ep, a->buf, SIZE, a->desc, a->to, to, key, NULL)
			   : fi_write(a->ep, a->buf, SIZE, a->desc, a->to, to, key, NULL);

	bench_check(pair->lib, ret, "fi_read or fi_write");
}

static void rma_window(struct pair *pair, bool read)
{
	int i;

	for (i = 0; i < WINDOW; i++)
		rma(pair, read);
}

static bool written_window(struct pair *pair)
{
	rma_window(pair, false);
	return read_window(pair->a.tx);
}

static bool read_rma_window(struct pair *pair)
{
	rma_window(pair, true);
	return read_window(pair->a.tx);
}

/* Unexpected messages, which the receiver's CQ has been read for. */
static bool arrive_window(struct pair *pair)
{
	struct fi_cq_tagged_entry entry;
	bool ok = true;
	int i;

	post_sends_of(pair, WINDOW);
	take(pair, pair->a.tx, WINDOW);
	for (i = 0; i < WINDOW; i++)
		ok &= fi_cq_read(pair->b.rx, &entry, 1) == -FI_EAGAIN;
	return ok;
}

static bool find_window(struct pair *pair)
{
	bool ok = arrive_window(pair);

	CALLGRIND_TOGGLE_COLLECT;
	post_recvs(pair, WINDOW);
	CALLGRIND_TOGGLE_COLLECT;
	take(pair, pair->b.rx, WINDOW);
	return ok;
}

static bool found_window(struct pair *pair)
{
	bool ok = arrive_window(pair);

	post_recvs(pair, WINDOW);
	return read_window(pair->b.rx) && ok;
}

/* The read of the completion of one fi_tsend behind a window of fi_tinject. */
static bool inject_window(struct pair *pair)
{
	struct side *a = &pair->a;
	struct fi_cq_tagged_entry entry;
	ssize_t ret = 0;
	bool ok;
	int i;

	post_recvs(pair, WINDOW + 1);
	for (i = 0; i < WINDOW; i++)
		ret |= fi_tinject(a->ep, a->buf, SIZE, a->to, TAG);
	bench_check(pair->lib, ret, "fi_tinject");
	post_sends_of(pair, 1);
	take(pair, pair->b.rx, WINDOW + 1);
	settle();
	CALLGRIND_TOGGLE_COLLECT;
	ok = fi_cq_read(a->tx, &entry, 1) == 1;
	CALLGRIND_TOGGLE_COLLECT;
	return ok;
}

static bool sent(struct pair *pair)
{
	return repeat(pair, sent_window);
}

static bool received(struct pair *pair)
{
	return repeat(pair, received_window);
}

static bool written(struct pair *pair)
{
	return repeat(pair, written_window);
}

static bool was_read(struct pair *pair)
{
	return repeat(pair, read_rma_window);
}

static bool post_reads(struct pair *pair)
{
	int i;

	for (i = 0; i < WINDOWS; i++) {
		rma_window(pair, true);
		CALLGRIND_TOGGLE_COLLECT;
		take(pair, pair->a.tx, WINDOW);
		CALLGRIND_TOGGLE_COLLECT;
	}
	return true;
}

static bool find(struct pair *pair)
{
	return repeat(pair, find_window);
}

static bool found(struct pair *pair)
{
	return repeat(pair, found_window);
}

static bool injected(struct pair *pair)
{
	return repeat(pair, inject_window);
}

/* One read of a CQ that counts; what it found. */
static int look_once(struct fid_cq *cq)
{
	struct fi_cq_tagged_entry entry;
	ssize_t ret;

	CALLGRIND_TOGGLE_COLLECT;
	ret = fi_cq_read(cq, &entry, 1);
	CALLGRIND_TOGGLE_COLLECT;
	return ret == 1;
}

/* Both posts, and reads of both ends in turn until both have their completions. */
static bool transfer(struct pair *pair, size_t len)
{
	struct side *a = &pair->a, *b = &pair->b;
	int sent = 0, received = 0, tries;
	ssize_t ret;

	CALLGRIND_TOGGLE_COLLECT;
	ret = fi_trecv(b->ep, b->buf, len, b->desc, b->to, TAG, 0, NULL);
	ret |= fi_tsend(a->ep, a->buf, len, a->desc, a->to, TAG, NULL);
	CALLGRIND_TOGGLE_COLLECT;
	bench_check(pair->lib, ret, "fi_trecv or fi_tsend");
	for (tries = 0; tries < 1000 && (!sent || !received); tries++) {
		settle();
		received += received ? 0 : look_once(b->rx);
		settle();
		sent += sent ? 0 : look_once(a->tx);
	}
	return sent && received;
}

static bool transfers(struct pair *pair, size_t len)
{
	bool ok = true;
	int i;

	CALLGRIND_TOGGLE_COLLECT;
	for (i = 0; i < LONG && ok; i++)
		ok = transfer(pair, len);
	CALLGRIND_TOGGLE_COLLECT;
	return ok;
}

static bool rendezvous(struct pair *pair)
{
	return transfers(pair, RNDV);
}

static bool segments(struct pair *pair)
{
	return transfers(pair, SEGMENTS);
}

const struct row rdm_window_rows[] = {
	{ "rdm_window_tx", false, REPEAT, rdm_connect_both, sent, nothing },
	{ "rdm_window_rx", false, REPEAT, rdm_connect_both, received, nothing },
	{ "rdm_window_write", false, REPEAT, rdm_connect_both, written, nothing },
	{ "rdm_window_read", false, REPEAT, rdm_connect_both, was_read, nothing },
	{ "rdm_read", false, REPEAT, rdm_connect_both, post_reads, nothing },
	{ "rdm_window_find", false, REPEAT, rdm_connect_both, find, nothing },
	{ "rdm_window_found", false, REPEAT, rdm_connect_both, found, nothing },
	{ "rdm_window_inject", false, REPEAT, rdm_connect_both, injected, nothing },
	{ "rdm_rendezvous", false, LONG, rdm_connect_both, rendezvous, nothing },
	{ "rdm_segments", false, LONG, rdm_connect_both, segments, nothing },
	{ 0 },
};
