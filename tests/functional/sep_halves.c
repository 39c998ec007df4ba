/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The two contexts of an index work without each other: either one is enabled first, and either one
 * is closed first and gives its completion queue back at once.
 */
#include "sep.h"

enum { INDEX = 1 };

static struct sep_pair pair;
static uint64_t in, out, late;

static void open_cq(struct fid_cq **cq)
{
	struct fi_cq_attr attr = { .format = FI_CQ_FORMAT_TAGGED };

	OK(fi_cq_open(pair.domain, &attr, cq, NULL));
}

/* Sends from a context of side 0 to one of side 1, which may not receive yet. */
static void post(int tx, int rx, uint64_t word)
{
	out = word;
	OK(fi_tsend(pair.side[0].tx[tx], &out, sizeof(out), NULL, sep_addr(&pair, 0, rx), word,
		    &out));
	CHECK(sep_wait(&pair, 0, tx, &(fi_addr_t){ 0 }).op_context == &out);
}

static void await(struct fid_cq *cq, const void *context)
{
	struct fi_cq_tagged_entry entry;
	uint64_t end = deadline();
	ssize_t ret;

	while ((ret = fi_cq_read(cq, &entry, 1)) == -FI_EAGAIN)
		pause_until(end, "a completion");
	EQUAL(ret, 1);
	CHECK(entry.op_context == context);
}

/* Returns the message that arrives at a receive context with this queue. */
static uint64_t take(struct fid_ep *rx, struct fid_cq *cq, uint64_t tag)
{
	in = 0;
	OK(fi_trecv(rx, &in, sizeof(in), NULL, FI_ADDR_UNSPEC, tag, 0, &in));
	await(cq, &in);
	return in;
}

static void receives_without_sending(struct fid_cq *cq)
{
	struct sep_side *side = &pair.side[1];

	OK(fi_enable(side->rx[INDEX]));
	post(0, INDEX, 5);
	EQUAL(take(side->rx[INDEX], cq, 5), 5);
	RETURNS(fi_tsend(side->tx[INDEX], &out, 1, NULL, side->peer, 0, NULL), -FI_EOPBADSTATE);
	RETURNS(fi_tx_size_left(side->tx[INDEX]), -FI_EOPBADSTATE);
}

static void sends_without_receiving(void)
{
	struct sep_side *side = &pair.side[0];

	OK(fi_enable(side->tx[INDEX]));
	post(INDEX, INDEX, 6);
	RETURNS(fi_trecv(side->rx[INDEX], &in, 1, NULL, FI_ADDR_UNSPEC, 0, 0, NULL),
		-FI_EOPBADSTATE);
	RETURNS(fi_rx_size_left(side->rx[INDEX]), -FI_EOPBADSTATE);
	/* What arrives before the context receives waits for it. */
	OK(fi_enable(pair.side[1].tx[INDEX]));
	late = 7;
	OK(fi_tinject(pair.side[1].tx[INDEX], &late, sizeof(late), sep_addr(&pair, 1, INDEX), 7));
	OK(fi_enable(side->rx[INDEX]));
	EQUAL(take(side->rx[INDEX], side->cq[INDEX], 7), 7);
}

/* The receive context of side 1 ends, and its posted receive with it. */
static void stops_receiving(struct fid_cq **cq)
{
	struct sep_side *side = &pair.side[1];

	EQUAL(take(side->rx[INDEX], *cq, 6), 6);
	OK(fi_trecv(side->rx[INDEX], &in, sizeof(in), NULL, FI_ADDR_UNSPEC, 8, 0, &in));
	RETURNS(fi_close(&(*cq)->fid), -FI_EBUSY);
	OK(fi_close(&side->rx[INDEX]->fid));
	OK(fi_close(&(*cq)->fid));
	in = 0;
	post(0, INDEX, 8);
	OK(fi_tinject(side->tx[INDEX], &late, sizeof(late), sep_addr(&pair, 1, INDEX), 9));
	EQUAL(take(pair.side[0].rx[INDEX], pair.side[0].cq[INDEX], 9), late);
	OK(fi_rx_context(side->sep, INDEX, NULL, &side->rx[INDEX], NULL));
	open_cq(cq);
	OK(fi_ep_bind(side->rx[INDEX], &(*cq)->fid, FI_RECV));
	OK(fi_enable(side->rx[INDEX]));
	EQUAL(in, late); /* not written by the canceled receive */
	EQUAL(take(side->rx[INDEX], *cq, 8), 8);
}

/* The transmit context of side 0 ends; the queue stays attached for receives. */
static void stops_sending(void)
{
	struct sep_side *side = &pair.side[0];
	struct fid_cq *cq;

	OK(fi_close(&side->tx[INDEX]->fid));
	RETURNS(fi_close(&side->cq[INDEX]->fid), -FI_EBUSY);
	OK(fi_tinject(pair.side[1].tx[INDEX], &late, sizeof(late), sep_addr(&pair, 1, INDEX), 10));
	EQUAL(take(side->rx[INDEX], side->cq[INDEX], 10), late);
	OK(fi_tx_context(side->sep, INDEX, NULL, &side->tx[INDEX], NULL));
	open_cq(&cq);
	OK(fi_ep_bind(side->tx[INDEX], &cq->fid, FI_TRANSMIT));
	OK(fi_enable(side->tx[INDEX]));
	OK(fi_tsend(side->tx[INDEX], &late, sizeof(late), NULL, sep_addr(&pair, 0, INDEX), 11,
		    &late));
	await(cq, &late);
	OK(fi_close(&side->tx[INDEX]->fid));
	OK(fi_close(&cq->fid));
	OK(fi_tx_context(side->sep, INDEX, NULL, &side->tx[INDEX], NULL));
}

static void test(void)
{
	struct fid_cq *cq;

	sep_open(&pair, FI_THREAD_SAFE);
	open_cq(&cq);
	sep_contexts(&pair, 0, INDEX, pair.side[0].cq[INDEX], pair.side[0].cq[INDEX]);
	sep_contexts(&pair, 1, INDEX, pair.side[1].cq[INDEX], cq);
	receives_without_sending(cq);
	sends_without_receiving();
	stops_receiving(&cq);
	stops_sending();
	OK(fi_close(&pair.side[1].rx[INDEX]->fid));
	OK(fi_close(&cq->fid));
	OK(fi_rx_context(pair.side[1].sep, INDEX, NULL, &pair.side[1].rx[INDEX], NULL));
	sep_close(&pair);
}

int main(void)
{
	return run_test(test);
}
