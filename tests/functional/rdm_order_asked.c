/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Orders between kinds of operations, for an endpoint that requests them: the target's processor
 * performs atomics, its device performs reads and writes, and none overtakes another.
 */
#include <string.h>
#include "rdm.h"

enum { ROUNDS = 40 };

#define ASKED                                                                                      \
	(FI_ORDER_RAR | FI_ORDER_RAW | FI_ORDER_RAS | FI_ORDER_WAR | FI_ORDER_WAW | FI_ORDER_WAS | \
	 FI_ORDER_SAR | FI_ORDER_SAW | FI_ORDER_SAS)

static uint64_t target, values[3], old[2], words[2];
static struct rdm_pair pair;
static uint64_t key;

static void ask(struct fi_info *hints)
{
	hints->tx_attr->msg_order = hints->rx_attr->msg_order = ASKED;
}

static void set_atomic(uint64_t *value)
{
	OK(fi_atomic(pair.side[0].ep, value, 1, NULL, pair.side[0].peer, (uintptr_t)&target, key,
		     FI_UINT64, FI_ATOMIC_WRITE, NULL));
}

static void get_atomic(uint64_t *value)
{
	OK(fi_fetch_atomic(pair.side[0].ep, NULL, 1, NULL, value, NULL, pair.side[0].peer,
			   (uintptr_t)&target, key, FI_UINT64, FI_ATOMIC_READ, NULL));
}

static void set(uint64_t *value)
{
	OK(fi_write(pair.side[0].ep, value, 8, NULL, pair.side[0].peer, (uintptr_t)&target, key,
		    NULL));
}

static void get(uint64_t *value)
{
	OK(fi_read(pair.side[0].ep, value, 8, NULL, pair.side[0].peer, (uintptr_t)&target, key,
		   NULL));
}

static void finish(int count)
{
	while (count--)
		rdm_wait(&pair, 0);
}

static void read_after_atomic(uint64_t i)
{
	values[0] = i;
	set_atomic(&values[0]);
	get(&old[0]);
	finish(2);
	EQUAL(old[0], i);
}

static void write_after_atomic(uint64_t i)
{
	values[0] = i;
	values[1] = i + 1;
	set_atomic(&values[0]);
	set(&values[1]);
	finish(2);
	EQUAL(target, i + 1);
}

static void write_after_read(uint64_t i)
{
	target = i;
	values[0] = i + 1;
	values[1] = i + 2;
	get_atomic(&old[0]);
	set(&values[0]);
	get(&old[1]);
	set_atomic(&values[1]);
	finish(4);
	EQUAL(old[0], i);
	EQUAL(old[1], i + 1);
	EQUAL(target, i + 2);
}

/* A message shows that the operations before it are complete, including injected ones. */
static void send_after(uint64_t i, bool inject)
{
	struct rdm_side *side = pair.side;
	uint64_t end = deadline();
	struct fi_cq_tagged_entry entry;
	int left = inject ? 2 : 3;
	bool told = false;

	values[0] = i;
	words[0] = i;
	OK(fi_trecv(side[1].ep, &words[1], 8, NULL, FI_ADDR_UNSPEC, 1, 0, NULL));
	get(&old[0]);
	set(&values[0]);
	if (inject)
		OK(fi_tinject(side[0].ep, &words[0], 8, side[0].peer, 1));
	else
		OK(fi_tsend(side[0].ep, &words[0], 8, NULL, side[0].peer, 1, NULL));
	while (left || !told) {
		left -= fi_cq_read(side[0].cq, &entry, 1) == 1;
		if (fi_cq_read(side[1].cq, &entry, 1) == 1) {
			told = true;
			EQUAL(target, i);
			EQUAL(words[1], i);
		}
		pause_until(end, "a message");
	}
}

static void atomic_after_send(uint64_t i)
{
	words[0] = i;
	values[0] = i;
	OK(fi_trecv(pair.side[1].ep, &words[1], 8, NULL, FI_ADDR_UNSPEC, 1, 0, NULL));
	OK(fi_tinject(pair.side[0].ep, &words[0], 8, pair.side[0].peer, 1));
	set_atomic(&values[0]);
	rdm_wait(&pair, 1);
	finish(1);
	EQUAL(words[1], i);
	EQUAL(target, i);
}

static void test(void)
{
	const struct rdm_change change = { .hints = ask };
	struct fid_mr *mr;
	uint64_t i;

	rdm_open_with(&pair, RDM_PROV_KEYS, &change);
	EQUAL(pair.info->tx_attr->msg_order & ASKED, ASKED);
	EQUAL(pair.info->rx_attr->msg_order & ASKED, ASKED);
	EQUAL(pair.info->ep_attr->max_order_war_size, pair.info->ep_attr->max_order_waw_size);
	OK(fi_mr_reg(pair.domain, &target, sizeof(target), FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 0,
		     0, &mr, NULL));
	key = fi_mr_key(mr);
	for (i = 1; i < ROUNDS; i++) {
		read_after_atomic(10 * i);
		write_after_atomic(10 * i + 1);
		write_after_read(10 * i + 2);
		send_after(10 * i + 5, false);
		send_after(10 * i + 6, true);
		atomic_after_send(10 * i + 7);
	}
	OK(fi_close(&mr->fid));
	rdm_close(&pair);
}

int main(void)
{
	return run_test(test);
}
