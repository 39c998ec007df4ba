/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Scalable endpoints with a secret, under a hook: contexts with the same secret reach each other,
 * and one with another secret is refused.
 */
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_cm.h>
#include "sep.h"

enum { FROM = 1, TO = 2, TAG = 4 };

static struct sep_pair pair;

static void message(int tx, int rx)
{
	uint64_t out = 9, in = 0;

	OK(fi_trecv(pair.side[1].rx[rx], &in, sizeof(in), NULL, pair.side[1].peer, TAG, 0, &in));
	OK(fi_tsend(pair.side[0].tx[tx], &out, sizeof(out), NULL, sep_addr(&pair, 0, rx), TAG,
		    &out));
	sep_wait(&pair, 1, rx, &(fi_addr_t){ 0 });
	sep_wait(&pair, 0, tx, &(fi_addr_t){ 0 });
	EQUAL(in, out);
}

/* A context of a scalable endpoint that has another secret. */
static struct fid_ep *open_other(struct fid_ep **sep)
{
	struct fi_info *info = fi_dupinfo(pair.info);
	struct fid_ep *tx;

	CHECK(info);
	free(info->ep_attr->auth_key);
	info->ep_attr->auth_key = (uint8_t *)strdup("fedcba9876543210");
	info->ep_attr->auth_key_size = 16;
	OK(fi_scalable_ep(pair.domain, info, sep, NULL));
	fi_freeinfo(info);
	OK(fi_scalable_ep_bind(*sep, &pair.side[0].av->fid, 0));
	OK(fi_tx_context(*sep, FROM, NULL, &tx, NULL));
	OK(fi_ep_bind(tx, &pair.side[0].cq[FROM]->fid, FI_TRANSMIT));
	OK(fi_enable(tx));
	return tx;
}

static void refused(void)
{
	struct fi_cq_err_entry error = { 0 };
	struct fi_cq_tagged_entry entry;
	uint64_t end = deadline();
	struct fid_ep *sep, *tx = open_other(&sep);
	ssize_t ret;

	OK(fi_tsend(tx, &end, sizeof(end), NULL, sep_addr(&pair, 0, TO), TAG, NULL));
	while ((ret = fi_cq_read(pair.side[0].cq[FROM], &entry, 1)) == -FI_EAGAIN)
		pause_until(end, "an error");
	EQUAL(ret, -FI_EAVAIL);
	RETURNS(fi_cq_readerr(pair.side[0].cq[FROM], &error, 0), 1);
	EQUAL(error.err, FI_EKEYREJECTED);
	OK(fi_close(&tx->fid));
	OK(fi_close(&sep->fid));
}

static void test(void)
{
	setenv("FI_VERBS_AUTH_KEY", "0123456789abcdef", 1);
	setenv("FI_HOOK", "trace", 1);
	sep_open(&pair, FI_THREAD_SAFE);
	message(FROM, TO);
	message(0, 0);
	refused();
	message(FROM, 0);
	sep_close(&pair);
}

int main(void)
{
	return run_test(test);
}
