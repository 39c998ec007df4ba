/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* CQs of reliable datagrams: no signal is lost, and reading nothing makes progress. */
#include <pthread.h>
#include <string.h>
#include "rdm.h"

enum { SIGNALS = 600, LEN = 1 << 20 };

static uint8_t in[LEN], out[LEN];
static unsigned int woken, rounds; /* woken: atomic */

static void *sleeper(void *arg)
{
	struct fid_cq *cq = arg;
	struct fi_cq_tagged_entry entry;
	unsigned int i;

	for (i = 0; i < rounds; i++) {
		RETURNS(fi_cq_sread(cq, &entry, 1, NULL, -1), -FI_EAGAIN);
		__atomic_add_fetch(&woken, 1, __ATOMIC_SEQ_CST);
	}
	return NULL;
}

/* Each arrives while the other thread is about to sleep, or sleeps. */
static void signals(struct fid_cq *cq)
{
	pthread_t thread;
	uint64_t end;
	unsigned int i;

	CHECK(!pthread_create(&thread, NULL, sleeper, cq));
	for (i = 0; i < rounds; i++) {
		end = deadline();
		OK(fi_cq_signal(cq));
		while (__atomic_load_n(&woken, __ATOMIC_SEQ_CST) == i)
			pause_until(end, "the sleeper to be woken");
	}
	pthread_join(thread, NULL);
}

/* Reads nothing from both CQs until the condition holds, which the last byte of a message sets. */
static void read_nothing(struct rdm_pair *pair)
{
	volatile uint8_t *last = &in[LEN - 1];
	uint64_t end = deadline();

	OK(fi_trecv(pair->side[1].ep, in, 1, NULL, FI_ADDR_UNSPEC, 1, 0, out));
	OK(fi_trecv(pair->side[1].ep, in, LEN, NULL, FI_ADDR_UNSPEC, 2, 0, in));
	memset(out, 1, LEN);
	OK(fi_tinject(pair->side[0].ep, out, 1, pair->side[0].peer, 1));
	OK(fi_tsend(pair->side[0].ep, out, LEN, NULL, pair->side[0].peer, 2, NULL));
	while (!*last) {
		RETURNS(fi_cq_read(pair->side[0].cq, NULL, 0), -FI_EAGAIN);
		RETURNS(fi_cq_read(pair->side[1].cq, NULL, 0), -FI_EAGAIN);
		pause_until(end, "a large message behind a completion that is not read");
	}
	RETURNS(fi_cq_read(pair->side[1].cq, NULL, 1), -FI_EINVAL);
	CHECK(rdm_wait(pair, 1).op_context == out);
	CHECK(rdm_wait(pair, 1).op_context == in);
	rdm_wait(pair, 0);
}

static void test(void)
{
	static const enum fi_wait_obj objs[] = { FI_WAIT_FD, FI_WAIT_YIELD };
	struct rdm_pair pair;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(objs); i++) {
		rdm_open_with(&pair, 0, &(struct rdm_change){ .wait = objs[i] });
		memset(in, 0, sizeof(in));
		read_nothing(&pair);
		woken = 0;
		rounds = i ? 20 : SIGNALS;
		signals(pair.side[1].cq);
		rdm_close(&pair);
	}
}

int main(void)
{
	return run_test(test);
}
