/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The orders that fi_getinfo promises: many atomics, and many transfers, to one address without
 * waiting.
 */
#include "rdm.h"

enum { ROUNDS = 150 };

static uint64_t target[2], values[ROUNDS], old[ROUNDS];

static void wait_all(struct rdm_pair *pair, int count)
{
	while (count--)
		rdm_wait(pair, 0);
}

/* On -FI_EAGAIN there is no room until an operation completes. */
static int retried(struct rdm_pair *pair, ssize_t ret)
{
	struct fi_cq_tagged_entry entry;

	if (ret == -FI_EAGAIN) {
		fi_cq_read(pair->side[1].cq, NULL, 0);
		fi_cq_read(pair->side[0].cq, &entry, 0);
		return 1;
	}
	OK(ret);
	return 0;
}

static void atomics(struct rdm_pair *pair, uint64_t key)
{
	struct rdm_side *side = &pair->side[0];
	uint64_t at = (uintptr_t)&target[0];
	uint64_t i;

	for (i = 0; i < ROUNDS; i++) {
		values[i] = i + 1;
		while (retried(pair, fi_atomic(side->ep, &values[i], 1, NULL, side->peer, at, key,
					       FI_UINT64, FI_ATOMIC_WRITE, NULL)))
			;
		while (retried(pair,
			       fi_fetch_atomic(side->ep, NULL, 1, NULL, &old[i], NULL, side->peer,
					       at, key, FI_UINT64, FI_ATOMIC_READ, NULL)))
			;
	}
	wait_all(pair, 2 * ROUNDS);
	for (i = 0; i < ROUNDS; i++)
		EQUAL(old[i], i + 1);
}

static void transfers(struct rdm_pair *pair, uint64_t key)
{
	struct rdm_side *side = &pair->side[0];
	uint64_t at = (uintptr_t)&target[1];
	uint64_t i;

	for (i = 0; i < ROUNDS; i++) {
		values[i] = i + 100;
		while (retried(pair,
			       fi_write(side->ep, &values[i], 8, NULL, side->peer, at, key, NULL)))
			;
		/*
		 * A later operation may overtake a read, so only the last one may change that
		 * address.
		 */
		if (i == ROUNDS - 1)
			while (retried(pair, fi_read(side->ep, &old[i], 8, NULL, side->peer, at,
						     key, NULL)))
				;
	}
	wait_all(pair, ROUNDS + 1);
	EQUAL(old[ROUNDS - 1], ROUNDS + 99);
}

/*
 * Messages of every protocol in sequence, with one tag, are received in the order in which they
 * were sent.
 */
static void messages(struct rdm_pair *pair, bool expected)
{
	static const size_t lens[] = { 8, 200000, 8, 20000, 4000, 0, 60000, 8, 200 };
	enum { COUNT = ARRAY_SIZE(lens) };
	static uint8_t out[COUNT][200000], in[COUNT][200000];
	struct fi_cq_tagged_entry entry;
	uint64_t end = now_ms() + 20;
	size_t i;

	for (i = 0; i < COUNT; i++)
		fill(out[i], lens[i], (unsigned int)i + expected);
	for (i = 0; i < COUNT && expected; i++)
		OK(fi_trecv(pair->side[1].ep, in[i], sizeof(in[i]), NULL, FI_ADDR_UNSPEC, 1, 0,
			    in[i]));
	for (i = 0; i < COUNT; i++)
		OK(fi_tsend(pair->side[0].ep, out[i], lens[i], NULL, pair->side[0].peer, 1, NULL));
	while (!expected && now_ms() < end)
		fi_cq_read(pair->side[1].cq, NULL, 0);
	for (i = 0; i < COUNT && !expected; i++)
		OK(fi_trecv(pair->side[1].ep, in[i], sizeof(in[i]), NULL, FI_ADDR_UNSPEC, 1, 0,
			    in[i]));
	for (end = deadline(), i = 0; i < 2 * COUNT;) {
		i += fi_cq_read(pair->side[0].cq, &entry, 1) == 1;
		if (fi_cq_read(pair->side[1].cq, &entry, 1) == 1) {
			EQUAL(entry.len,
			      lens[((uint8_t *)entry.op_context - in[0]) / sizeof(in[0])]);
			i++;
		}
		pause_until(end, "messages");
	}
	for (i = 0; i < COUNT; i++)
		CHECK_FILLED(in[i], lens[i], (unsigned int)i + expected);
}

static void test(void)
{
	const uint64_t promised = FI_ORDER_SAS | FI_ORDER_RMA_RAW | FI_ORDER_RMA_WAW |
				  FI_ORDER_ATOMIC_RAR | FI_ORDER_ATOMIC_RAW | FI_ORDER_ATOMIC_WAR |
				  FI_ORDER_ATOMIC_WAW;
	struct rdm_pair pair;
	struct fid_mr *mr;
	size_t size, len = sizeof(size);

	rdm_open(&pair, RDM_PROV_KEYS);
	EQUAL(pair.info->tx_attr->msg_order & promised, promised);
	OK(fi_getopt(&pair.side[0].ep->fid, FI_OPT_ENDPOINT, FI_OPT_MAX_ATOMIC_SIZE, &size, &len));
	EQUAL(size, pair.info->ep_attr->max_order_war_size);
	OK(fi_mr_reg(pair.domain, target, sizeof(target), FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 0, 0,
		     &mr, NULL));
	atomics(&pair, fi_mr_key(mr));
	transfers(&pair, fi_mr_key(mr));
	messages(&pair, true);
	messages(&pair, false);
	OK(fi_close(&mr->fid));
	rdm_close(&pair);
}

int main(void)
{
	return run_test(test);
}
