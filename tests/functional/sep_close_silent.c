/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A transmit context is closed while one of two peers does not make progress: only the connection
 * with that peer ends, and the other one goes on with what it sends.
 */
#include <string.h>
#include "sep.h"
#include "stats.h"

enum { INDEX = 1, LONG = 16 << 20 };

/* Side 0 of `pair` closes its context. Side 1 of `pair` is silent, side 1 of `other` is not. */
static struct sep_pair pair, other;
static struct sep_side *self = &pair.side[0], *silent = &pair.side[1], *healthy = &other.side[1];
static fi_addr_t to_healthy, to_self;
static uint8_t from[LONG], to[LONG];

/* The silent side makes no progress. */
static void wait_for(struct fid_cq *cq)
{
	struct fi_cq_tagged_entry entry;
	uint64_t end = deadline();
	ssize_t ret;

	while ((ret = fi_cq_read(cq, &entry, 1)) == -FI_EAGAIN) {
		fi_cq_read(self->cq[INDEX], &entry, 0);
		fi_cq_read(healthy->cq[INDEX], &entry, 0);
		pause_until(end, "a completion");
	}
	RETURNS(ret, 1);
}

static void send_to_healthy(void)
{
	OK(fi_trecv(healthy->rx[INDEX], to, 8, NULL, FI_ADDR_UNSPEC, 1, 0, NULL));
	OK(fi_tsend(self->tx[INDEX], from, 8, NULL, to_healthy, 1, NULL));
	wait_for(healthy->cq[INDEX]);
	wait_for(self->cq[INDEX]);
}

static void connect_silent(void)
{
	fi_addr_t source;

	OK(fi_trecv(silent->rx[INDEX], to, 8, NULL, FI_ADDR_UNSPEC, 1, 0, NULL));
	OK(fi_tsend(self->tx[INDEX], from, 8, NULL, sep_addr(&pair, 0, INDEX), 1, NULL));
	sep_wait(&pair, 1, INDEX, &source);
	sep_wait(&pair, 0, INDEX, &source);
}

static void test(void)
{
	uint64_t connects;
	int i;

	sep_open(&pair, FI_THREAD_SAFE);
	sep_open(&other, FI_THREAD_SAFE);
	to_healthy = fi_rx_addr(sep_introduce(self->av, healthy->sep), INDEX, SEP_BITS);
	to_self = fi_rx_addr(sep_introduce(healthy->av, self->sep), INDEX, SEP_BITS);
	connect_silent();
	send_to_healthy();
	connects = stats_of(&healthy->rx[INDEX]->fid, "connects");
	OK(fi_tsend(self->tx[INDEX], from, LONG, NULL, sep_addr(&pair, 0, INDEX), 2, NULL));
	memset(from, 7, LONG);
	OK(fi_trecv(self->rx[INDEX], to, LONG, NULL, FI_ADDR_UNSPEC, 3, 0, NULL));
	OK(fi_tsend(healthy->tx[INDEX], from, LONG, NULL, to_self, 3, NULL));
	sep_close_polled(self->tx[INDEX], healthy->cq[INDEX], 0);
	wait_for(healthy->cq[INDEX]);
	wait_for(self->cq[INDEX]);
	for (i = 0; i < LONG; i++)
		EQUAL(to[i], 7);
	sep_open_tx(self, INDEX);
	send_to_healthy();
	EQUAL(stats_of(&healthy->rx[INDEX]->fid, "connects"), connects);
	EQUAL(stats_of(&healthy->rx[INDEX]->fid, "connections"), 1);
	connect_silent();
	sep_close(&other);
	sep_close(&pair);
}

int main(void)
{
	return run_test(test);
}
