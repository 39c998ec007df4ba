/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Shared receive contexts with invalid arguments: each gives an error without a crash, and outputs
 * stay unchanged.
 */
#include "links.h"

static struct setup setup = { .buf_size = 4096, .srx_size = 8 };

static int open_with(struct end *end, size_t size, size_t iov_limit, uint64_t caps)
{
	struct fi_rx_attr attr = { .size = size, .iov_limit = iov_limit, .caps = caps };
	struct fid_ep *srx = NULL;
	int ret = fi_srx_context(end->domain, &attr, &srx, NULL);

	CHECK(!srx == !!ret);
	if (srx)
		OK(fi_close(&srx->fid));
	return ret;
}

static void test_open(struct end *end)
{
	OK(open_with(end, 0, 0, 0));
	OK(open_with(end, 1, 1, FI_MSG | FI_RECV));
	RETURNS(open_with(end, SIZE_MAX, 1, 0), -FI_EINVAL);
	RETURNS(open_with(end, 1, SIZE_MAX, 0), -FI_EINVAL);
	RETURNS(open_with(end, 1, 1, FI_TAGGED), -FI_EINVAL);
	RETURNS(fi_srx_context(end->domain, NULL, NULL, NULL), -FI_EINVAL);
}

static void test_info(const struct end *end)
{
	struct fi_info *hints = hints_for(&setup), *info = NULL;

	OK(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info));
	EQUAL(info->ep_attr->rx_ctx_cnt, FI_SHARED_CONTEXT);
	CHECK(info->domain_attr->max_ep_srx_ctx > 1);
	fi_freeinfo(info);
	info = NULL;
	hints->rx_attr->iov_limit = 1000;
	RETURNS(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info), -FI_ENODATA);
	CHECK(!info);
	fi_freeinfo(hints);
	(void)end;
}

static void test_bind(struct end *end)
{
	struct fid_ep *ep;

	RETURNS(fi_ep_bind(end->srx, &end->cq->fid, FI_RECV), -FI_EINVAL);
	RETURNS(fi_ep_bind(end->srx, NULL, 0), -FI_EINVAL);
	OK(fi_endpoint(end->domain, end->info, &ep, NULL));
	OK(fi_ep_bind(ep, &end->eq->fid, 0));
	OK(fi_ep_bind(ep, &end->cq->fid, FI_TRANSMIT | FI_RECV));
	RETURNS(fi_enable(ep), -FI_EOPBADSTATE);
	CHECK(fi_ep_bind(ep, &end->srx->fid, 1ULL << 60) == -FI_EBADFLAGS);
	OK(fi_ep_bind(ep, &end->srx->fid, 0));
	RETURNS(fi_ep_bind(ep, &end->srx->fid, 0), -FI_EBUSY);
	OK(fi_enable(ep));
	RETURNS(fi_recv(ep, end->buf, 8, end->desc, 0, NULL), -FI_EOPNOTSUPP);
	EQUAL(fi_rx_size_left(ep), 0);
	OK(fi_close(&ep->fid));
}

static void test_posts(struct end *end)
{
	struct iovec iov[65] = { { end->buf, 8 } };
	void *desc[65] = { end->desc };
	struct fi_msg msg = { .msg_iov = iov, .desc = desc, .iov_count = 65 };

	RETURNS(fi_recvmsg(end->srx, &msg, 0), -FI_EINVAL);
	RETURNS(fi_recvmsg(end->srx, NULL, 0), -FI_EINVAL);
	msg.iov_count = 1;
	RETURNS(fi_recvmsg(end->srx, &msg, FI_PEEK), -FI_EBADFLAGS);
	OK(fi_recvmsg(end->srx, &msg, FI_MORE | FI_COMPLETION));
	RETURNS(fi_recv(end->srx, end->buf, SIZE_MAX, end->desc, 0, NULL), -FI_EMSGSIZE);
	RETURNS(fi_send(end->srx, end->buf, 8, end->desc, 0, NULL), -FI_ENOSYS);
	RETURNS(fi_shutdown(end->srx, 0), -FI_ENOSYS);
	EQUAL(fi_rx_size_left(end->srx), 7);
}

static void test(void)
{
	struct end end = { .setup = &setup, .sock = -1 };

	end_open(&end, info_for(&setup, local_addr(), NULL, FI_SOURCE));
	test_open(&end);
	test_info(&end);
	test_bind(&end);
	test_posts(&end);
	end_close(&end);
}

int main(void)
{
	setup.format = FI_CQ_FORMAT_TAGGED;
	return run_test(test);
}
