/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reliable datagrams of a program of API 1.2, which knows no fi_trywait(): it sleeps on the
 * descriptor of FI_GETWAIT after a read that found nothing, or before its first one.
 */
#include "rdm.h"

enum { COUNT = 100 };

static void of_api_1_2(struct fi_info *info)
{
	info->fabric_attr->api_version = FI_VERSION(1, 2);
}

static void test(void)
{
	struct rdm_change change = { .info = of_api_1_2, .wait = FI_WAIT_FD };
	struct fi_cq_tagged_entry entry;
	char out[8] = "message", in[8];
	struct rdm_side *side;
	struct rdm_pair pair;
	fi_addr_t from;
	int i;

	rdm_open_with(&pair, 0, &change);
	for (i = 0; i < COUNT; i++) {
		side = pair.side;
		OK(fi_trecv(side[1].ep, in, 8, NULL, FI_ADDR_UNSPEC, 1, 0, NULL));
		OK(fi_tsend(side[0].ep, out, 8, NULL, side[0].peer, 1, NULL));
		do
			sleep_on_fd(&side[0].cq->fid);
		while (fi_cq_read(side[0].cq, &entry, 1) == -FI_EAGAIN);
		while (fi_cq_readfrom(side[1].cq, &entry, 1, &from) == -FI_EAGAIN)
			sleep_on_fd(&side[1].cq->fid);
	}
	rdm_close(&pair);
}

int main(void)
{
	return run_test(test);
}
