/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reliable-datagram endpoints count their operations, for the application and for other processes.
 */
#include "rdm.h"

#include <string.h>
#include "stats.h"

enum { LEN = 100000, KEY = 3 };

static struct rdm_pair pair;
static uint8_t in[LEN], out[LEN], target[LEN];

static uint64_t of(int side, const char *name)
{
	return stats_of(&pair.side[side].ep->fid, name);
}

/* Small messages, messages of several packets and by rendezvous, expected or not. */
static void messages(void)
{
	static const size_t lens[] = { 0, 8, 5000, 30000, LEN };
	struct rdm_side *from = &pair.side[0], *to = &pair.side[1];
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		OK(fi_trecv(to->ep, in, LEN, NULL, FI_ADDR_UNSPEC, 1, 0, NULL));
		OK(fi_tsend(from->ep, out, lens[i], NULL, from->peer, 1, NULL));
		rdm_wait(&pair, 0);
		rdm_wait(&pair, 1);
		sum += lens[i];
	}
	EQUAL(of(0, "sends"), i);
	EQUAL(of(0, "send_bytes"), sum);
	EQUAL(of(1, "messages"), i);
	EQUAL(of(1, "receive_bytes"), sum);
	EQUAL(of(1, "unexpected"), 0);
	EQUAL(of(0, "messages"), 0);
	OK(fi_inject(from->ep, out, 8, from->peer));
	OK(fi_send(from->ep, out, 5000, NULL, from->peer, NULL));
	rdm_wait(&pair, 0);
	while (of(1, "unexpected") < 2)
		fi_cq_read(to->cq, NULL, 0);
	EQUAL(of(1, "unexpected_bytes"), 5008);
	OK(fi_recv(to->ep, in, 4, NULL, FI_ADDR_UNSPEC, NULL));
	EQUAL(rdm_wait_error(&pair, 1).err, FI_ETRUNC);
	EQUAL(of(1, "rx_errors"), 1);
	OK(fi_recv(to->ep, in, LEN, NULL, FI_ADDR_UNSPEC, NULL));
	rdm_wait(&pair, 1);
	EQUAL(of(1, "messages"), i + 2);
	EQUAL(of(1, "receive_bytes"), sum + 5004);
	OK(fi_injectdata(from->ep, out, 7, 1, from->peer));
	while (of(1, "unexpected") < 3)
		fi_cq_read(to->cq, NULL, 0);
	EQUAL(of(1, "unexpected_bytes"), 5015);
	OK(fi_recv(to->ep, in, LEN, NULL, FI_ADDR_UNSPEC, NULL));
	EQUAL(rdm_wait(&pair, 1).data, 1);
}

static void memory(void)
{
	struct rdm_side *side = &pair.side[0];
	uint64_t key, one = 1, old, base = (uintptr_t)target;
	struct fid_mr *mr;

	OK(fi_mr_reg(pair.domain, target, LEN, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, KEY, 0, &mr,
		     NULL));
	key = fi_mr_key(mr);
	OK(fi_write(side->ep, out, 8, NULL, side->peer, base, key, NULL));
	OK(fi_write(side->ep, out, LEN, NULL, side->peer, base, key, NULL));
	OK(fi_read(side->ep, in, 500, NULL, side->peer, base, key, NULL));
	OK(fi_fetch_atomic(side->ep, &one, 1, NULL, &old, NULL, side->peer, base, key, FI_UINT64,
			   FI_SUM, NULL));
	EQUAL(of(0, "atomics"), 1);
	rdm_wait(&pair, 0);
	rdm_wait(&pair, 0);
	rdm_wait(&pair, 0);
	rdm_wait(&pair, 0);
	EQUAL(of(0, "writes"), 2);
	EQUAL(of(0, "write_bytes"), LEN + 8);
	EQUAL(of(0, "reads"), 1);
	EQUAL(of(0, "read_bytes"), 500);
	EQUAL(of(0, "atomic_bytes"), 8);
	OK(fi_close(&mr->fid));
}

static void connections(void)
{
	struct rdm_side *side = &pair.side[0];
	uint64_t end = deadline();

	EQUAL(of(0, "connects"), 1);
	EQUAL(of(0, "connections"), 1);
	EQUAL(of(0, "tx_errors"), 0);
	OK(fi_read(side->ep, in, 8, NULL, side->peer, 4096, 0x1234567, NULL));
	CHECK(rdm_wait_error(&pair, 0).err);
	EQUAL(of(0, "tx_errors"), 1);
	for (; of(0, "connections"); pause_until(end, "the end of the connection"))
		fi_cq_read(side->cq, NULL, 0);
}

static void test(void)
{
	struct fi_stats_item items[2];
	struct fi_ops_stats *ops;
	struct fid_ep *ep;
	uint64_t mine;
	int count;

	rdm_open(&pair, RDM_PROV_KEYS);
	messages();
	memory();
	mine = of(0, "sends");
	EQUAL(stats_sum(0, FI_CLASS_EP, "sends", &count), mine);
	EQUAL(count, 2);
	connections();
	OK(fi_endpoint(pair.domain, pair.info, &ep, NULL));
	OK(fi_open_ops(&ep->fid, FI_STATS_OPS, 0, (void **)&ops, NULL));
	RETURNS(ops->read(&ep->fid, items, 2), -FI_EOPBADSTATE);
	OK(fi_close(&ep->fid));
	rdm_close(&pair);
}

int main(void)
{
	return run_test(test);
}
