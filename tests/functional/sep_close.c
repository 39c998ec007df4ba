/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Once a context of a scalable endpoint is closed, its operations no longer use the memory of the
 * application, although the other context of the index goes on.
 */
#include <string.h>
#include "sep.h"

enum { INDEX = 1, LONG = 4 << 20, PART = LONG / 2, LATE_MS = 300 };

static struct sep_pair pair;
static uint64_t window = 5, one = 1, old; /* `old` receives the value of `window` */
static uint8_t from[LONG], to[LONG];

static void poll_all(void)
{
	struct fi_cq_tagged_entry entry;
	int i;

	for (i = 0; i < 2 * SEP_MANY; i++)
		fi_cq_read(pair.side[i / SEP_MANY].cq[i % SEP_MANY], &entry, 0);
}

static void exchange(void)
{
	uint64_t out = 3, in = 0;
	fi_addr_t source;

	OK(fi_trecv(pair.side[1].rx[INDEX], &in, sizeof(in), NULL, FI_ADDR_UNSPEC, 1, 0, &in));
	OK(fi_tsend(pair.side[0].tx[INDEX], &out, sizeof(out), NULL, sep_addr(&pair, 0, INDEX), 1,
		    &out));
	sep_wait(&pair, 1, INDEX, &source);
	sep_wait(&pair, 0, INDEX, &source);
	EQUAL(in, out);
}

/* The context waits for answers, although everything that was sent has arrived. */
static void atomic_with_answer(void)
{
	struct fid_mr *mr;

	OK(fi_mr_reg(pair.domain, &window, sizeof(window), FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 0,
		     0, &mr, NULL));
	OK(fi_fetch_atomic(pair.side[0].tx[INDEX], &one, 1, NULL, &old, NULL,
			   sep_addr(&pair, 0, INDEX), (uintptr_t)&window, fi_mr_key(mr), FI_UINT64,
			   FI_SUM, NULL));
	sep_close_polled(pair.side[0].tx[INDEX], pair.side[1].cq[INDEX], LATE_MS);
	EQUAL(old, 5);
	sep_open_tx(&pair.side[0], INDEX);
	CHECK(sep_wait(&pair, 0, INDEX, &(fi_addr_t){ 0 }).flags & FI_ATOMIC);
	OK(fi_close(&mr->fid));
}

/* A message that nobody has received when the context is closed cannot be received later. */
static void long_message(void)
{
	struct fi_cq_err_entry error = { 0 };
	uint64_t end;

	memset(from, 1, LONG);
	memset(to, 0, LONG);
	OK(fi_tsend(pair.side[0].tx[INDEX], from, LONG, NULL, sep_addr(&pair, 0, INDEX), 3, NULL));
	OK(fi_close(&pair.side[0].tx[INDEX]->fid));
	memset(from, 2, LONG);
	OK(fi_trecv(pair.side[1].rx[INDEX], to, LONG, NULL, FI_ADDR_UNSPEC, 3, 0, NULL));
	for (end = now_ms() + 500; now_ms() < end;)
		poll_all();
	EQUAL(to[0], 0);
	/* The receive fails if it is posted before the peer knows. */
	fi_cq_readerr(pair.side[1].cq[INDEX], &error, 0);
	sep_open_tx(&pair.side[0], INDEX);
	exchange();
}

/*
 * A context that is closed while it receives long messages lets go of their buffer. Returns false
 * if they were complete by then.
 */
static bool half_received(void)
{
	struct sep_side *side = &pair.side[1];
	struct fi_cq_tagged_entry entry;
	fi_addr_t source;
	int i, complete = 0;

	memset(from, 1, LONG);
	memset(to, 0, LONG);
	for (i = 0; i < LONG; i += PART)
		OK(fi_tsend(pair.side[0].tx[INDEX], from + i, PART, NULL, sep_addr(&pair, 0, INDEX),
			    2, from));
	exchange(); /* All announcements have arrived, so that each receive starts at once. */
	for (i = 0; i < LONG; i += PART)
		OK(fi_trecv(side->rx[INDEX], to + i, PART, NULL, FI_ADDR_UNSPEC, 2, 0, NULL));
	sep_close_polled(side->rx[INDEX], pair.side[0].cq[INDEX], LATE_MS);
	memset(to, 2, LONG);
	for (i = 0; i < LONG; i += PART)
		sep_wait(&pair, 0, INDEX, &source);
	for (i = 0; i < LONG; i++)
		EQUAL(to[i], 2);
	OK(fi_rx_context(side->sep, INDEX, NULL, &side->rx[INDEX], NULL));
	OK(fi_ep_bind(side->rx[INDEX], &side->cq[INDEX]->fid, FI_RECV));
	OK(fi_enable(side->rx[INDEX]));
	while (fi_cq_read(side->cq[INDEX], &entry, 1) == 1)
		complete++;
	exchange();
	return complete < LONG / PART;
}

static void test(void)
{
	int tries = 10;

	sep_open(&pair, FI_THREAD_SAFE);
	exchange();
	while (!half_received())
		CHECK(--tries);
	atomic_with_answer();
	long_message();
	sep_close(&pair);
}

int main(void)
{
	return run_test(test);
}
