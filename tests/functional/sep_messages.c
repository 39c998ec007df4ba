/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Each transmit context of a scalable endpoint reaches each receive context of another, and only
 * that one; messages, writes and atomics, also without messages. The source is the endpoint,
 * whichever its context.
 */
#include <stdio.h>
#include "sep.h"

static uint64_t out[2], in[2], window[2];

static void message(struct sep_pair *pair, int from, int tx, int rx)
{
	struct sep_side *side = &pair->side[from], *peer = &pair->side[!from];
	uint64_t tag = (uint64_t)(tx * SEP_MANY + rx);
	struct fi_cq_tagged_entry entry;
	fi_addr_t source;

	out[0] = 1000 + tag;
	in[0] = 0;
	/* The receive names the endpoint; the message may come from any of its contexts. */
	OK(fi_trecv(peer->rx[rx], in, sizeof(in), NULL, peer->peer, tag, 0, &in));
	OK(fi_tsend(side->tx[tx], out, sizeof(out), NULL, sep_addr(pair, from, rx), tag, &out));
	entry = sep_wait(pair, !from, rx, &source);
	CHECK(entry.op_context == &in);
	EQUAL(source, peer->peer);
	EQUAL(in[0], out[0]);
	entry = sep_wait(pair, from, tx, &source);
	CHECK(entry.op_context == &out);
}

static void remote_memory(struct sep_pair *pair, int tx, int rx)
{
	struct sep_side *side = &pair->side[0];
	fi_addr_t to = sep_addr(pair, 0, rx), source;
	uint64_t key, one = 1, at = (uintptr_t)window;
	struct fid_mr *mr;

	OK(fi_mr_reg(pair->domain, window, sizeof(window), FI_REMOTE_WRITE, 0, 0, 0, &mr, NULL));
	key = fi_mr_key(mr);
	out[0] = 77;
	window[1] = 5;
	OK(fi_write(side->tx[tx], out, sizeof(out[0]), NULL, to, at, key, NULL));
	sep_wait(pair, 0, tx, &source);
	OK(fi_atomic(side->tx[tx], &one, 1, NULL, to, at + 8, key, FI_UINT64, FI_SUM, NULL));
	sep_wait(pair, 0, tx, &source);
	EQUAL(window[0], 77);
	EQUAL(window[1], 6);
	OK(fi_close(&mr->fid));
}

/* As one-sided communication of Open MPI does it. */
static void one_sided(void)
{
	struct sep_pair pair;

	sep_open_caps(&pair, FI_THREAD_SAFE, FI_RMA | FI_ATOMIC | FI_NAMED_RX_CTX);
	remote_memory(&pair, 1, 2);
	remote_memory(&pair, 0, 0);
	sep_close(&pair);
}

static void test(void)
{
	struct sep_pair pair;
	int i;

	sep_open(&pair, FI_THREAD_SAFE);
	for (i = 0; i < SEP_MANY * SEP_MANY; i++) {
		message(&pair, 0, i / SEP_MANY, i % SEP_MANY);
		message(&pair, 1, i % SEP_MANY, i / SEP_MANY);
	}
	remote_memory(&pair, 1, 2);
	/* Without an index the address is that of context 0. */
	OK(fi_recv(pair.side[1].rx[0], in, sizeof(in), NULL, FI_ADDR_UNSPEC, NULL));
	OK(fi_send(pair.side[0].tx[3], out, sizeof(out), NULL, pair.side[0].peer, NULL));
	sep_wait(&pair, 1, 0, &(fi_addr_t){ 0 });
	sep_wait(&pair, 0, 3, &(fi_addr_t){ 0 });
	sep_close(&pair);
	one_sided();
}

int main(void)
{
	return run_test(test);
}
