/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Invalid posts: no buffer, too many vectors, not enabled, not connected. Nothing is sent. */
#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include "steps.h"

static void test_null(struct end *end)
{
	uint64_t at = end->peer.addr, key = end->peer.key;
	struct iovec none = { NULL, 8 };
	struct fi_msg msg = { .msg_iov = &none, .iov_count = 1 };
	struct fid_ep *ep = end->ep;

	RETURNS(fi_send(ep, NULL, 8, NULL, 0, NULL), -FI_EINVAL);
	RETURNS(fi_inject(ep, NULL, 8, 0), -FI_EINVAL);
	RETURNS(fi_write(ep, NULL, 8, NULL, 0, at, key, NULL), -FI_EINVAL);
	RETURNS(fi_read(ep, NULL, 8, NULL, 0, at, key, NULL), -FI_EINVAL);
	RETURNS(fi_inject_write(ep, NULL, 8, 0, at, key), -FI_EINVAL);
	RETURNS(fi_sendmsg(ep, NULL, 0), -FI_EINVAL);
	RETURNS(fi_recvmsg(ep, NULL, 0), -FI_EINVAL);
	RETURNS(fi_writemsg(ep, NULL, 0), -FI_EINVAL);
	RETURNS(fi_readmsg(ep, NULL, 0), -FI_EINVAL);
	RETURNS(fi_atomicmsg(ep, NULL, 0), -FI_EINVAL);
	CHECK(fi_sendmsg(ep, &msg, 0) < 0);
	CHECK(fi_sendv(ep, NULL, NULL, 1, 0, NULL) < 0);
	CHECK(fi_recvv(ep, NULL, NULL, 1, 0, NULL) < 0);
	CHECK(fi_writev(ep, NULL, NULL, 1, 0, at, key, NULL) < 0);
	CHECK(fi_readv(ep, NULL, NULL, 1, 0, at, key, NULL) < 0);
	CHECK(fi_tsend(ep, end->buf, 8, end->desc, 0, 1, NULL) < 0);
	CHECK(fi_trecv(ep, end->buf, 8, end->desc, 0, 1, 0, NULL) < 0);
}

static void test_counts(struct end *end)
{
	size_t tx = end->info->tx_attr->iov_limit, rx = end->info->rx_attr->iov_limit, i;
	struct fi_rma_iov targets[2] = { { end->peer.addr, 8, end->peer.key },
					 { end->peer.addr, 8, end->peer.key } };
	struct iovec iov[256];
	void *desc[256];
	struct fi_msg_rma msg = {
		.msg_iov = iov, .desc = desc, .iov_count = 1, .rma_iov = targets, .rma_iov_count = 2
	};

	CHECK(tx < 256 && rx < 256);
	for (i = 0; i < 256; i++) {
		iov[i] = (struct iovec){ end->buf, 1 };
		desc[i] = end->desc;
	}
	RETURNS(fi_sendv(end->ep, iov, desc, tx + 1, 0, NULL), -FI_EINVAL);
	RETURNS(fi_recvv(end->ep, iov, desc, rx + 1, 0, NULL), -FI_EINVAL);
	RETURNS(fi_writev(end->ep, iov, desc, tx + 1, 0, end->peer.addr, end->peer.key, NULL),
		-FI_EINVAL);
	RETURNS(fi_readv(end->ep, iov, desc, tx + 1, 0, end->peer.addr, end->peer.key, NULL),
		-FI_EINVAL);
	RETURNS(fi_sendv(end->ep, iov, desc, SIZE_MAX, 0, NULL), -FI_EINVAL);
	/* One remote range, as long as the local data. */
	RETURNS(fi_writemsg(end->ep, &msg, 0), -FI_EINVAL);
	msg.rma_iov_count = 0;
	RETURNS(fi_writemsg(end->ep, &msg, 0), -FI_EINVAL);
	msg.rma_iov_count = 1;
	RETURNS(fi_writemsg(end->ep, &msg, 0), -FI_EINVAL);
	RETURNS(fi_readmsg(end->ep, &msg, 0), -FI_EINVAL);
}

static void posts_refused(struct fid_ep *ep, struct end *end)
{
	uint64_t at = end->peer.addr, key = end->peer.key;

	RETURNS(fi_send(ep, end->buf, 8, end->desc, 0, NULL), -FI_EOPBADSTATE);
	RETURNS(fi_inject(ep, end->buf, 8, 0), -FI_EOPBADSTATE);
	RETURNS(fi_write(ep, end->buf, 8, end->desc, 0, at, key, NULL), -FI_EOPBADSTATE);
	RETURNS(fi_read(ep, end->buf, 8, end->desc, 0, at, key, NULL), -FI_EOPBADSTATE);
	RETURNS(fi_atomic(ep, end->buf, 1, end->desc, 0, at, key, FI_UINT64, FI_SUM, NULL),
		-FI_EOPBADSTATE);
}

static void test_early(struct end *end)
{
	struct fid_ep *ep;

	OK(fi_endpoint(end->domain, end->info, &ep, NULL));
	posts_refused(ep, end);
	RETURNS(fi_recv(ep, end->buf, 8, end->desc, 0, NULL), -FI_EOPBADSTATE);
	RETURNS(fi_tx_size_left(ep), -FI_EOPBADSTATE);
	OK(fi_ep_bind(ep, &end->eq->fid, 0));
	OK(fi_ep_bind(ep, &end->cq->fid, FI_TRANSMIT | FI_RECV));
	OK(fi_enable(ep));
	posts_refused(ep, end);
	OK(fi_recv(ep, end->buf, 8, end->desc, 0, NULL));
	OK(fi_close(&ep->fid));
	/* Closing an endpoint discards its receives. */
	no_comp(end->cq, 20);
}

static void test(struct pair *pair)
{
	struct part part = { .len = 64, .seed = 7, .context = 7 };
	struct end *end = &pair->client;
	size_t left = (size_t)fi_tx_size_left(end->ep);

	test_null(end);
	test_counts(end);
	test_early(end);
	EQUAL(fi_tx_size_left(end->ep), left);
	no_comp(end->cq, 20);
	at(&pair->server, post_recv, &part, sizeof(part));
	fill_part(end, &part);
	post_send(end, &part);
	at(&pair->server, reap_recv, &part, sizeof(part));
}

int main(int argc, char **argv)
{
	static const struct setup setup = { 0 };

	return run_pair(argc, argv, &setup, test);
}
