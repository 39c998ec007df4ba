/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A dma-buf of device memory that is registered at addresses where it is not mapped: the device
 * transfers it by RMA, and what would copy it is refused.
 */
#include <unistd.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_trigger.h>
#include "hmem_rdm.h"

enum { LONG = 1 << 20 };

static uint8_t *const base = (uint8_t *)0x10000;
static struct fid_mr *mr;
static void *desc;

static void no_key_hints(struct fi_info *hints)
{
	hints->caps = FI_MSG | FI_RMA | FI_HMEM;
}

static void trigger_hints(struct fi_info *hints)
{
	hmem_hints(hints);
	hints->caps |= FI_TRIGGER;
}

static void reg(struct fid_domain *domain, void *buf, void *at)
{
	struct fi_mr_dmabuf dmabuf = { .fd = gpu->export(buf, HMEM_SIZE),
				       .len = HMEM_SIZE,
				       .base_addr = at };
	struct fi_mr_attr attr = {
		.dmabuf = &dmabuf,
		.iov_count = 1,
		.access = FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE,
		.iface = gpu->iface(),
	};

	OK(fi_mr_regattr(domain, &attr, FI_MR_DMABUF, &mr));
	close(dmabuf.fd);
	desc = fi_mr_desc(mr);
}

static void test_rma(struct hmem_pair *h, size_t len)
{
	struct rdm_side *side = &h->pair.side[0];
	uint64_t to = (uintptr_t)h->buf[1], key = fi_mr_key(h->mr[1]);

	fill(h->buf[0], len, 3);
	OK(fi_write(side->ep, base, len, desc, side->peer, to, key, NULL));
	rdm_wait(&h->pair, 0);
	CHECK_FILLED(h->buf[1], len, 3);
	fill(h->buf[1], len, 4);
	OK(fi_read(side->ep, base, len, desc, side->peer, to, key, NULL));
	rdm_wait(&h->pair, 0);
	CHECK_FILLED(h->buf[0], len, 4);
}

static void test_messages(struct hmem_pair *h)
{
	struct rdm_side *side = &h->pair.side[0];
	struct fid_ep *ep = side->ep;
	uint8_t host[8];
	void *descs[2] = { NULL, desc };
	struct iovec iov[2] = { { host, 8 }, { base, 8 } };
	struct fi_msg msg = { .msg_iov = iov, .desc = descs, .iov_count = 2, .addr = side->peer };

	RETURNS(fi_send(ep, base, 8, desc, side->peer, NULL), -FI_EOPNOTSUPP);
	RETURNS(fi_tsend(ep, base, LONG, desc, side->peer, 1, NULL), -FI_EOPNOTSUPP);
	RETURNS(fi_sendmsg(ep, &msg, FI_INJECT), -FI_EOPNOTSUPP);
	RETURNS(fi_recv(ep, base, 8, desc, FI_ADDR_UNSPEC, NULL), -FI_EOPNOTSUPP);
	RETURNS(fi_trecv(ep, base, LONG, desc, FI_ADDR_UNSPEC, 1, 0, NULL), -FI_EOPNOTSUPP);
	RETURNS(fi_recvmsg(ep, &msg, 0), -FI_EOPNOTSUPP);
	OK(fi_send(ep, base, 0, desc, side->peer, NULL));
	OK(fi_recv(h->pair.side[1].ep, base, 0, desc, FI_ADDR_UNSPEC, NULL));
	rdm_wait(&h->pair, 1);
	rdm_wait(&h->pair, 0);
}

static void test_claimed(struct hmem_pair *h)
{
	struct rdm_side *from = &h->pair.side[0], *to = &h->pair.side[1];
	char context, host[8] = { 0 };
	struct iovec iov = { base, 8 };
	struct fi_msg_tagged msg = { .msg_iov = &iov,
				     .desc = &desc,
				     .iov_count = 1,
				     .addr = FI_ADDR_UNSPEC,
				     .tag = 5,
				     .context = &context };

	OK(fi_tsend(from->ep, host, 8, NULL, from->peer, 5, NULL));
	rdm_wait(&h->pair, 0);
	OK(fi_trecvmsg(to->ep, &msg, FI_PEEK | FI_CLAIM));
	rdm_wait(&h->pair, 1);
	RETURNS(fi_trecvmsg(to->ep, &msg, FI_CLAIM), -FI_EOPNOTSUPP);
	OK(fi_trecvmsg(to->ep, &msg, FI_CLAIM | FI_DISCARD));
	rdm_wait(&h->pair, 1);
}

static void test_bounced(struct hmem_pair *h)
{
	struct rdm_side *side = &h->pair.side[0];
	struct iovec iov = { base, 8 };
	struct fi_rma_iov remote = { (uintptr_t)h->buf[1], 8, fi_mr_key(h->mr[1]) };
	struct fi_msg_rma msg = { .msg_iov = &iov,
				  .desc = &desc,
				  .iov_count = 1,
				  .addr = side->peer,
				  .rma_iov = &remote,
				  .rma_iov_count = 1 };

	RETURNS(fi_writemsg(side->ep, &msg, FI_INJECT), -FI_EOPNOTSUPP);
}

static void test_operands(struct hmem_pair *h)
{
	struct rdm_side *side = &h->pair.side[0];
	struct fid_ep *ep = side->ep;
	uint64_t at = (uintptr_t)h->buf[1], key = fi_mr_key(h->mr[1]), host[3] = { 0 };

	RETURNS(fi_atomic(ep, base, 1, desc, side->peer, at, key, FI_UINT64, FI_SUM, NULL),
		-FI_EOPNOTSUPP);
	RETURNS(fi_fetch_atomic(ep, NULL, 1, NULL, base, desc, side->peer, at, key, FI_UINT64,
				FI_ATOMIC_READ, NULL),
		-FI_EOPNOTSUPP);
	RETURNS(fi_compare_atomic(ep, host, 1, NULL, base, desc, host + 2, NULL, side->peer, at,
				  key, FI_UINT64, FI_CSWAP, NULL),
		-FI_EOPNOTSUPP);
	RETURNS(fi_broadcast(ep, base, 1, desc, 0, 0, FI_UINT64, 0, NULL), -FI_EOPNOTSUPP);
}

static void test_unmapped(void)
{
	struct hmem_pair h;

	hmem_open(&h);
	reg(h.pair.domain, h.buf[0], base);
	test_rma(&h, 8);
	test_rma(&h, LONG);
	test_messages(&h);
	test_claimed(&h);
	test_bounced(&h);
	test_operands(&h);
	OK(fi_close(&mr->fid));
	hmem_close(&h);
}

/* Without FI_MR_PROV_KEY, short transfers travel in packets, into which they would be copied. */
static void test_user_keys(void)
{
	const struct rdm_change change = { .hints = no_key_hints };
	struct rdm_pair pair;
	struct rdm_side *side = &pair.side[0];
	uint8_t *buf = gpu->alloc(HMEM_SIZE);

	rdm_open_with(&pair, FI_MR_HMEM, &change);
	reg(pair.domain, buf, base);
	RETURNS(fi_write(side->ep, base, 8, desc, side->peer, LONG, fi_mr_key(mr), NULL),
		-FI_EOPNOTSUPP);
	fill(buf, LONG, 6);
	OK(fi_write(side->ep, base, LONG, desc, side->peer, LONG, fi_mr_key(mr), NULL));
	rdm_wait(&pair, 0);
	CHECK_FILLED(buf + LONG, LONG, 6);
	OK(fi_close(&mr->fid));
	gpu->free(buf);
	rdm_close(&pair);
}

/* A dma-buf that is mapped is copied when the work is queued, and is not looked at again. */
static void test_injected_work(void)
{
	const struct rdm_change change = { .hints = trigger_hints };
	struct fi_cntr_attr attr = { .wait_obj = FI_WAIT_UNSPEC };
	struct fi_triggered_context at = { .event_type = FI_TRIGGER_THRESHOLD };
	struct fi_ioc operand, compare, result;
	struct fi_rma_ioc target;
	struct fi_msg_atomic msg = { .msg_iov = &operand,
				     .desc = &desc,
				     .iov_count = 1,
				     .rma_iov = &target,
				     .rma_iov_count = 1,
				     .datatype = FI_UINT64,
				     .op = FI_CSWAP,
				     .context = &at };
	struct hmem_pair h;
	uint64_t words[2] = { 7, 5 }, got = 0;

	hmem_open_with(&h, &change);
	reg(h.pair.domain, h.buf[0], h.buf[0]);
	OK(fi_cntr_open(h.pair.domain, &attr, &at.trigger.threshold.cntr, NULL));
	at.trigger.threshold.threshold = 1;
	mem_put(h.buf[0], words, sizeof(words));
	mem_put(h.buf[1], &words[1], 8);
	operand = (struct fi_ioc){ h.buf[0], 1 };
	compare = (struct fi_ioc){ h.buf[0] + 8, 1 };
	result = (struct fi_ioc){ h.buf[0] + 16, 1 };
	target = (struct fi_rma_ioc){ (uintptr_t)h.buf[1], 1, fi_mr_key(h.mr[1]) };
	msg.addr = h.pair.side[0].peer;
	OK(fi_compare_atomicmsg(h.pair.side[0].ep, &msg, &compare, &desc, 1, &result, &desc, 1,
				FI_TRIGGER | FI_INJECT));
	mem_set(h.buf[0], 0, 16);
	OK(fi_cntr_add(at.trigger.threshold.cntr, 1));
	rdm_wait(&h.pair, 0);
	mem_get(&got, h.buf[1], 8);
	EQUAL(got, 7);
	mem_get(&got, h.buf[0] + 16, 8);
	EQUAL(got, 5);
	OK(fi_close(&mr->fid));
	OK(fi_close(&at.trigger.threshold.cntr->fid));
	hmem_close(&h);
}

static void test(void)
{
	test_unmapped();
	test_user_keys();
	test_injected_work();
}

int main(void)
{
	return run_test(test);
}
