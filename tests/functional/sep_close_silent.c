/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A transmit context is closed while one of two peers does not make progress: only the connection
 * with that peer ends, and the other one goes on with what it sends.
 */
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include "sep.h"
#include "stats.h"

enum { INDEX = 1, LONG = 16 << 20 };

/* Side 0 of `pair` closes its context. Side 1 of `pair` is silent, side 1 of `other` is not. */
static struct sep_pair pair, other;
static struct sep_side *self = &pair.side[0], *silent = &pair.side[1], *healthy = &other.side[1];
static fi_addr_t to_healthy, to_self;
static uint8_t from[LONG], to[LONG];
static bool closed; /* atomic */

static fi_addr_t introduced(struct fid_av *av, struct fid_ep *sep)
{
	char name[128];
	size_t len = sizeof(name);
	fi_addr_t addr;

	OK(fi_getname(&sep->fid, name, &len));
	RETURNS(fi_av_insert(av, name, 1, &addr, 0, NULL), 1);
	return fi_rx_addr(addr, INDEX, SEP_BITS);
}

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

static void *poll_healthy(void *unused)
{
	struct fi_cq_tagged_entry entry;

	while (!__atomic_load_n(&closed, __ATOMIC_RELAXED)) {
		fi_cq_read(healthy->cq[INDEX], &entry, 0);
		sched_yield();
	}
	return unused;
}

static void close_tx(void)
{
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, poll_healthy, NULL));
	OK(fi_close(&self->tx[INDEX]->fid));
	__atomic_store_n(&closed, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
}

static void open_tx(void)
{
	OK(fi_tx_context(self->sep, INDEX, NULL, &self->tx[INDEX], NULL));
	OK(fi_ep_bind(self->tx[INDEX], &self->cq[INDEX]->fid, FI_TRANSMIT));
	OK(fi_enable(self->tx[INDEX]));
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
	to_healthy = introduced(self->av, healthy->sep);
	to_self = introduced(healthy->av, self->sep);
	connect_silent();
	send_to_healthy();
	connects = stats_of(&healthy->rx[INDEX]->fid, "connects");
	OK(fi_tsend(self->tx[INDEX], from, LONG, NULL, sep_addr(&pair, 0, INDEX), 2, NULL));
	memset(from, 7, LONG);
	OK(fi_trecv(self->rx[INDEX], to, LONG, NULL, FI_ADDR_UNSPEC, 3, 0, NULL));
	OK(fi_tsend(healthy->tx[INDEX], from, LONG, NULL, to_self, 3, NULL));
	close_tx();
	wait_for(healthy->cq[INDEX]);
	wait_for(self->cq[INDEX]);
	for (i = 0; i < LONG; i++)
		EQUAL(to[i], 7);
	open_tx();
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
