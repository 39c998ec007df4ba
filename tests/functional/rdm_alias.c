/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An alias of a reliable-datagram endpoint posts with its own default flags, so that it gets
 * entries where the endpoint is silent. It keeps the endpoint if the endpoint is closed first.
 */
#include "rdm.h"

#include <string.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_trigger.h>

enum { LEN = 9000, KEY = 5 };

static struct rdm_pair pair;
static struct fid_ep *alias;
static struct fid_mr *mr;
static uint8_t target[LEN], out[LEN], in[LEN];
static char context;

static void ask(struct fi_info *hints)
{
	hints->caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_TRIGGER;
}

static void no_entry(void)
{
	int i;

	for (i = 0; i < 30; i++) {
		fi_cq_read(pair.side[1].cq, NULL, 0);
		RETURNS(fi_cq_read(pair.side[0].cq, NULL, 0), -FI_EAGAIN);
	}
}

static void entry(void)
{
	CHECK(rdm_wait(&pair, 0).op_context == &context);
}

static void receive(size_t len, uint64_t data, bool tagged)
{
	struct fi_cq_tagged_entry got;
	struct rdm_side *to = &pair.side[1];

	if (tagged)
		OK(fi_trecv(to->ep, in, LEN, NULL, FI_ADDR_UNSPEC, 4, 0, in));
	else
		OK(fi_recv(to->ep, in, LEN, NULL, FI_ADDR_UNSPEC, in));
	got = rdm_wait(&pair, 1);
	CHECK(got.op_context == in);
	EQUAL(got.len, len);
	CHECK(!memcmp(in, out, len));
	if (data)
		EQUAL(got.data, data);
}

static void messages(fi_addr_t peer)
{
	const struct iovec iov[2] = { { out, 10 }, { out + 10, LEN - 10 } };
	struct fi_msg msg = { .msg_iov = iov, .iov_count = 2, .addr = peer, .context = &context };

	fill(out, LEN, 8);
	OK(fi_send(alias, out, 8, NULL, peer, &context));
	entry();
	receive(8, 0, false);
	OK(fi_sendv(alias, iov, NULL, 2, peer, &context));
	entry();
	receive(LEN, 0, false);
	OK(fi_senddata(alias, out, 8, NULL, 77, peer, &context));
	entry();
	receive(8, 77, false);
	OK(fi_tsend(alias, out, LEN, NULL, peer, 4, &context));
	entry();
	receive(LEN, 0, true);
	OK(fi_tsenddata(alias, out, LEN, NULL, 78, peer, 4, &context));
	entry();
	receive(LEN, 78, true);
	OK(fi_sendmsg(alias, &msg, FI_COMPLETION));
	entry();
	receive(LEN, 0, false);
	OK(fi_inject(alias, out, 8, peer));
	OK(fi_tinject(alias, out, 8, peer, 4));
	receive(8, 0, false);
	receive(8, 0, true);
	no_entry();
}

static void memory(fi_addr_t peer)
{
	uint64_t key = fi_mr_key(mr), one = 1, old = 0, compare = 1;

	OK(fi_write(alias, out, LEN, NULL, peer, 0, key, &context));
	entry();
	CHECK(!memcmp(target, out, LEN));
	memset(in, 0, LEN);
	OK(fi_read(alias, in, LEN, NULL, peer, 0, key, &context));
	entry();
	CHECK(!memcmp(in, out, LEN));
	memset(target, 0, 8);
	OK(fi_atomic(alias, &one, 1, NULL, peer, 0, key, FI_UINT64, FI_SUM, &context));
	entry();
	OK(fi_compare_atomic(alias, &old, 1, NULL, &compare, NULL, &old, NULL, peer, 0, key,
			     FI_UINT64, FI_CSWAP, &context));
	entry();
	EQUAL(old, 1);
	OK(fi_fetch_atomic(alias, &one, 1, NULL, &old, NULL, peer, 0, key, FI_UINT64, FI_SUM,
			   &context));
	entry();
	EQUAL(old, 0);
}

/* With FI_TRIGGER as a default, each operation of an alias waits for a counter. */
static void triggers(fi_addr_t peer)
{
	struct fi_cntr_attr attr = { .events = FI_CNTR_EVENTS_COMP };
	struct fi_triggered_context when[2];
	struct fid_ep *other = NULL;
	struct fid_cntr *cntr;
	int i;

	OK(fi_cntr_open(pair.domain, &attr, &cntr, NULL));
	OK(fi_ep_alias(alias, &other, FI_TRANSMIT | FI_TRIGGER | FI_COMPLETION));
	for (i = 0; i < 2; i++)
		when[i] = (struct fi_triggered_context){
			.event_type = FI_TRIGGER_THRESHOLD,
			.trigger.threshold = { cntr, (size_t)i + 1 },
		};
	fill(out, 16, 3);
	memset(target, 0, 16);
	OK(fi_write(other, out, 8, NULL, peer, 0, fi_mr_key(mr), &when[0]));
	OK(fi_send(other, out, 16, NULL, peer, &when[1]));
	no_entry();
	OK(fi_cntr_add(cntr, 1));
	CHECK(rdm_wait(&pair, 0).op_context == &when[0]);
	CHECK(!memcmp(target, out, 8));
	no_entry();
	OK(fi_cntr_add(cntr, 1));
	CHECK(rdm_wait(&pair, 0).op_context == &when[1]);
	receive(16, 0, false);
	OK(fi_close(&other->fid));
	OK(fi_close(&cntr->fid));
}

static void flags(void)
{
	struct fid_ep *other = NULL;
	uint64_t found = FI_TRANSMIT;
	char name[64];
	size_t len = sizeof(name);

	RETURNS(fi_ep_alias(alias, &other, 0), -FI_EINVAL);
	RETURNS(fi_ep_alias(alias, &other, FI_TRANSMIT | FI_RECV), -FI_EINVAL);
	RETURNS(fi_ep_alias(alias, &other, FI_TRANSMIT | FI_MULTICAST), -FI_EBADFLAGS);
	OK(fi_control(&alias->fid, FI_GETOPSFLAG, &found));
	EQUAL(found, FI_COMPLETION);
	OK(fi_getname(&alias->fid, name, &len));
	RETURNS(fi_setname(&alias->fid, name, len), -FI_EOPBADSTATE);
	RETURNS(fi_cancel(&alias->fid, &context), -FI_ENOENT);
	RETURNS(fi_barrier(alias, 0, NULL), -FI_ENOSYS);
}

/* The endpoint's own fid is closed first, and then one of two aliases. */
static void close_first(void)
{
	struct rdm_side *side = &pair.side[0];
	struct fid_ep *other = NULL;

	OK(fi_ep_alias(alias, &other, FI_TRANSMIT));
	OK(fi_send(other, out, 8, NULL, side->peer, &context));
	receive(8, 0, false);
	no_entry();
	OK(fi_close(&side->ep->fid));
	side->ep = NULL;
	OK(fi_close(&other->fid));
	RETURNS(fi_close(&side->cq->fid), -FI_EBUSY);
	OK(fi_tsend(alias, out, 8, NULL, side->peer, 4, &context));
	entry();
	receive(8, 0, true);
	OK(fi_close(&alias->fid));
}

static void test(void)
{
	struct rdm_change change = { .hints = ask, .wait = FI_WAIT_NONE };
	struct rdm_side *side = &pair.side[0];
	uint64_t none = FI_TRANSMIT;

	rdm_open_with(&pair, 0, &change);
	rdm_reopen_selective(&pair, 0);
	OK(fi_control(&side->ep->fid, FI_SETOPSFLAG, &none));
	OK(fi_mr_reg(pair.domain, target, LEN, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, KEY, 0, &mr,
		     NULL));
	OK(fi_ep_alias(side->ep, &alias, FI_TRANSMIT | FI_COMPLETION));
	OK(fi_send(side->ep, out, 8, NULL, side->peer, &context));
	receive(8, 0, false);
	no_entry();
	messages(side->peer);
	memory(side->peer);
	triggers(side->peer);
	flags();
	close_first();
	OK(fi_close(&mr->fid));
	rdm_close(&pair);
}

int main(void)
{
	return run_test(test);
}
