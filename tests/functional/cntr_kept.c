/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Counting takes completions from the device before they are read; all are read later, in order and
 * once.
 */
#include "steps.h"

enum { COUNT = 40 };

static void step_recvs(struct end *end, void *arg)
{
	uintptr_t i;

	(void)arg;
	for (i = 0; i < COUNT; i++)
		OK(fi_recv(end->ep, end->buf + 8 * i, 8, end->desc, 0, (void *)i));
}

static void check_entries(struct fid_cq *cq, uintptr_t first)
{
	struct fi_cq_tagged_entry entry;
	uintptr_t i;

	for (i = 0; i < COUNT; i++) {
		wait_comp(cq, &entry);
		EQUAL((uintptr_t)entry.op_context, first + i);
	}
	no_comp(cq, 10);
}

static void step_check(struct end *end, void *arg)
{
	RETURNS(fi_cntr_wait(end->cntr[CNTR_RECV], *(uint64_t *)arg, WAIT_MS), 0);
	check_entries(end->rxcq, 0);
}

static void test(struct pair *pair)
{
	struct end *end = &pair->client;
	uint64_t total, round;
	uintptr_t i;

	for (round = 1; round <= 3; round++) {
		total = round * COUNT;
		at(&pair->server, step_recvs, NULL, 0);
		for (i = 0; i < COUNT; i++) {
			OK(fi_send(end->ep, end->buf, 8, end->desc, 0, (void *)(1000 + i)));
			if (i % 5 == round)
				RETURNS(fi_cntr_wait(end->cntr[CNTR_SEND], total - COUNT + i + 1,
						     WAIT_MS),
					0);
		}
		RETURNS(fi_cntr_wait(end->cntr[CNTR_SEND], total, WAIT_MS), 0);
		at(&pair->server, step_check, &total, sizeof(total));
		check_entries(end->cq, 1000);
		EQUAL(fi_cntr_read(end->cntr[CNTR_SEND]), total);
	}
}

int main(int argc, char **argv)
{
	static const struct setup setup = {
		.tx_size = COUNT,
		.rx_size = COUNT,
		.cq_size = 1,
		.wait_obj = FI_WAIT_FD,
		.cntrs = FI_SEND | FI_RECV,
		.cntr_obj = FI_WAIT_FD,
	};

	return run_pair(argc, argv, &setup, test);
}
