/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Two endpoints that connect to each other at the same time exchange messages on one connection. */
#include "rdm.h"
#include "rdm_node.h"

enum { ROUNDS = 3, EACH = 3 };

static void one_connection(unsigned int wanted)
{
	uint64_t end = deadline();

	while (count_qps() != wanted) {
		sleep_ms(20);
		pause_until(end, "one queue pair on each side");
	}
}

static void round_trip(void)
{
	uint64_t outs[2] = { 1, 2 }, ins[2][EACH] = { { 0 } };
	struct rdm_pair pair;
	int i, n;

	rdm_open(&pair, FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY);
	for (i = 0; i < 2; i++)
		for (n = 0; n < EACH; n++)
			OK(fi_trecv(pair.side[i].ep, &ins[i][n], 8, NULL, FI_ADDR_UNSPEC, 1, 0,
				    NULL));
	for (n = 0; n < EACH; n++)
		for (i = 0; i < 2; i++)
			OK(fi_tsend(pair.side[i].ep, &outs[i], 8, NULL, pair.side[i].peer, 1,
				    NULL));
	for (i = 0; i < 2; i++)
		for (n = 0; n < 2 * EACH; n++)
			rdm_wait(&pair, i);
	for (n = 0; n < EACH; n++)
		CHECK(ins[0][n] == 2 && ins[1][n] == 1);
	one_connection(2);
	rdm_close(&pair);
}

static void test(void)
{
	int i;

	EQUAL(count_qps(), 0);
	for (i = 0; i < ROUNDS; i++)
		round_trip();
}

int main(void)
{
	need_vm();
	return run_test(test);
}
