/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A message does not overtake a write that was posted before it while there was no connection,
 * although the endpoint did not ask for FI_ORDER_SAW: programs announce their first write that way.
 */
#include <stdlib.h>
#include "rdm.h"

enum { ROUNDS = 5, COUNT = 32768 };

static uint64_t target[COUNT], values[COUNT];

static void announce(uint64_t value)
{
	struct rdm_pair pair;
	struct rdm_side *side = &pair.side[0];
	struct fi_cq_tagged_entry entry;
	uint64_t end = deadline();
	struct fid_mr *mr;
	uint8_t in;

	rdm_open(&pair, RDM_PROV_KEYS);
	OK(fi_mr_reg(pair.domain, target, sizeof(target), FI_REMOTE_WRITE, 0, 0, 0, &mr, NULL));
	OK(fi_trecv(pair.side[1].ep, &in, 1, NULL, FI_ADDR_UNSPEC, 1, 0, NULL));
	values[COUNT - 1] = value;
	OK(fi_write(side->ep, values, sizeof(values), NULL, side->peer, (uintptr_t)target,
		    fi_mr_key(mr), NULL));
	OK(fi_tinject(side->ep, "a", 1, side->peer, 1));
	while (fi_cq_read(pair.side[1].cq, &entry, 1) != 1) {
		fi_cq_read(side->cq, NULL, 0);
		pause_until(end, "the announcement");
	}
	rdm_order(&pair);
	EQUAL(target[COUNT - 1], value);
	OK(fi_close(&mr->fid));
	rdm_close(&pair);
}

static void test(void)
{
	uint64_t i;

	for (i = 1; i <= ROUNDS; i++)
		announce(i);
}

int main(void)
{
	/* Soft-RoCE processes what is posted to a queue pair so fast that no overtaking shows. */
	setenv("FI_VERBS_RDM_TRANSPORT", "ud", 0);
	return run_test(test);
}
