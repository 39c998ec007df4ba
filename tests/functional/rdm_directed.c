/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Variants of FI_DIRECTED_RECV and FI_MULTI_RECV: sources only for tagged receives, sources that
 * each receive must specify, and buffers that take several tagged messages.
 */
#include "rdm.h"

#include <string.h>

enum { LEN = 100, ROOM = 1000, LEAST = 700 };

static uint64_t caps;
static struct rdm_pair pair;
static uint8_t out[LEN], in[ROOM], other[LEN];

static void ask(struct fi_info *hints)
{
	hints->caps = FI_MSG | FI_TAGGED | caps;
}

static void open_with(uint64_t variant)
{
	caps = variant;
	rdm_open_with(&pair, 0, &(struct rdm_change){ .hints = ask, .wait = FI_WAIT_NONE });
	CHECK((pair.info->caps & variant) == variant);
}

static void tsend(uint64_t tag, unsigned int seed)
{
	fill(out, LEN, seed);
	OK(fi_tsend(pair.side[0].ep, out, LEN, NULL, pair.side[0].peer, tag, NULL));
	rdm_wait(&pair, 0);
}

/* Side 1 specifies itself, which sends nothing, and the other side. */
static void test_tagged(void)
{
	struct rdm_side *to = &pair.side[1];

	open_with(FI_TAGGED_DIRECTED_RECV);
	OK(fi_trecv(to->ep, other, LEN, NULL, to->self, 1, 0, other));
	OK(fi_trecv(to->ep, in, LEN, NULL, to->peer, 1, 0, in));
	tsend(1, 1);
	CHECK(rdm_wait(&pair, 1).op_context == in);
	CHECK_FILLED(in, LEN, 1);
	OK(fi_cancel(&to->ep->fid, other));
	EQUAL(rdm_wait_error(&pair, 1).err, FI_ECANCELED);
	/* Untagged messages may come from any source. */
	OK(fi_recv(to->ep, in, LEN, NULL, to->self, in));
	OK(fi_send(pair.side[0].ep, out, LEN, NULL, pair.side[0].peer, NULL));
	CHECK(rdm_wait(&pair, 1).op_context == in);
	rdm_wait(&pair, 0);
	rdm_close(&pair);
}

static void test_exact(void)
{
	struct iovec iov = { in, LEN };
	struct fi_msg_tagged msg = { .msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC };
	struct rdm_side *to = &pair.side[1];

	open_with(FI_EXACT_DIRECTED_RECV);
	RETURNS(fi_trecv(to->ep, in, LEN, NULL, FI_ADDR_UNSPEC, 1, 0, in), -FI_EINVAL);
	RETURNS(fi_recv(to->ep, in, LEN, NULL, FI_ADDR_UNSPEC, in), -FI_EINVAL);
	RETURNS(fi_trecvmsg(to->ep, &msg, 0), -FI_EINVAL);
	RETURNS(fi_trecvmsg(to->ep, &msg, FI_PEEK), -FI_EINVAL);
	OK(fi_recv(to->ep, in, LEN, NULL, to->peer, in));
	OK(fi_send(pair.side[0].ep, out, LEN, NULL, pair.side[0].peer, NULL));
	CHECK(rdm_wait(&pair, 1).op_context == in);
	rdm_wait(&pair, 0);
	OK(fi_trecv(to->ep, in, LEN, NULL, to->peer, 1, 0, in));
	tsend(1, 2);
	CHECK(rdm_wait(&pair, 1).op_context == in);
	rdm_close(&pair);
}

/* The buffer takes matching messages until less than LEAST bytes remain. */
static void test_multi(void)
{
	struct iovec iov = { in, ROOM };
	struct fi_msg_tagged msg = { .msg_iov = &iov,
				     .iov_count = 1,
				     .addr = FI_ADDR_UNSPEC,
				     .tag = 0x10,
				     .ignore = 0xf,
				     .context = in };
	struct fi_cq_tagged_entry entry;
	size_t least = LEAST;
	unsigned int i;

	open_with(FI_TAGGED_MULTI_RECV);
	OK(fi_setopt(&pair.side[1].ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least,
		     sizeof(least)));
	tsend(0x11, 1); /* not expected yet */
	OK(fi_trecvmsg(pair.side[1].ep, &msg, FI_MULTI_RECV | FI_COMPLETION));
	OK(fi_trecv(pair.side[1].ep, other, LEN, NULL, FI_ADDR_UNSPEC, 0x21, 0, other));
	tsend(0x21, 9); /* of the other receive */
	for (i = 2; i <= 4; i++)
		tsend(0x10 + i, i);
	for (i = 0; i < 5; i++) {
		entry = rdm_wait(&pair, 1);
		EQUAL(entry.len, LEN);
		if (entry.op_context == other)
			EQUAL(entry.tag, 0x21);
		else
			CHECK_FILLED(entry.buf, LEN, (unsigned int)entry.tag & 0xf);
		EQUAL(!!(entry.flags & FI_MULTI_RECV), entry.tag == 0x14);
	}
	rdm_close(&pair);
	/* Without the capability. */
	open_with(0);
	RETURNS(fi_trecvmsg(pair.side[1].ep, &msg, FI_MULTI_RECV), -FI_EBADFLAGS);
	rdm_close(&pair);
}

/* In API 1.x the bit is FI_VARIABLE_MSG, which nobody offers. */
static void test_before(void)
{
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_TAGGED };
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };
	struct fid_domain *domain;
	struct fi_info *info;
	struct fid_ep *ep, *srx;
	struct fid_cq *cq;
	struct fid_av *av;

	open_with(0);
	info = fi_dupinfo(pair.info);
	info->fabric_attr->api_version = FI_VERSION(1, 17);
	info->caps |= FI_EXACT_DIRECTED_RECV;
	info->rx_attr->caps |= FI_EXACT_DIRECTED_RECV;
	OK(fi_domain(pair.fabric, info, &domain, NULL));
	OK(fi_cq_open(domain, &cq_attr, &cq, NULL));
	OK(fi_av_open(domain, &av_attr, &av, NULL));
	OK(fi_endpoint(domain, info, &ep, NULL));
	OK(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV));
	OK(fi_ep_bind(ep, &av->fid, 0));
	OK(fi_enable(ep));
	OK(fi_recv(ep, in, LEN, NULL, FI_ADDR_UNSPEC, in));
	RETURNS(fi_srx_context(domain, info->rx_attr, &srx, NULL), -FI_EINVAL);
	OK(fi_close(&ep->fid));
	OK(fi_close(&av->fid));
	OK(fi_close(&cq->fid));
	OK(fi_close(&domain->fid));
	fi_freeinfo(info);
	rdm_close(&pair);
}

static void test(void)
{
	test_tagged();
	test_exact();
	test_multi();
	test_before();
}

int main(void)
{
	return run_test(test);
}
