/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Flags that an operation does not support give -FI_EBADFLAGS, and nothing is posted. */
#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>
#include "steps.h"

/* More data than the 4 bytes that a message carries. */
static void data_is_4_bytes(struct end *end, struct fi_msg *msg, struct fi_msg_rma *rma)
{
	const uint64_t data = 1ULL << 32;

	msg->data = rma->data = data;
	RETURNS(fi_sendmsg(end->ep, msg, FI_REMOTE_CQ_DATA), -FI_EINVAL);
	RETURNS(fi_writemsg(end->ep, rma, FI_REMOTE_CQ_DATA), -FI_EINVAL);
	RETURNS(fi_senddata(end->ep, end->buf, 8, end->desc, data, 0, NULL), -FI_EINVAL);
	RETURNS(fi_injectdata(end->ep, end->buf, 8, data, 0), -FI_EINVAL);
	RETURNS(fi_writedata(end->ep, end->buf, 8, end->desc, data, 0, end->peer.addr,
			     end->peer.key, NULL),
		-FI_EINVAL);
}

static void test(struct pair *pair)
{
	static const uint64_t bad[] = { 1ULL << 63,   FI_PEEK,		 FI_TRIGGER, FI_MULTI_RECV,
					FI_MULTICAST, FI_CLAIM,		 FI_DISCARD, FI_AFFINITY,
					FI_MSG,	      FI_COMMIT_COMPLETE };
	struct end *end = &pair->client;
	struct iovec iov = { end->buf, 8 };
	struct fi_ioc ioc = { end->buf, 1 };
	struct fi_rma_iov target = { end->peer.addr, 8, end->peer.key };
	struct fi_rma_ioc target_ioc = { end->peer.addr, 1, end->peer.key };
	struct fi_msg msg = { .msg_iov = &iov, .desc = &end->desc, .iov_count = 1 };
	struct fi_msg_rma rma = { .msg_iov = &iov,
				  .desc = &end->desc,
				  .iov_count = 1,
				  .rma_iov = &target,
				  .rma_iov_count = 1 };
	struct fi_msg_atomic atomic = { .msg_iov = &ioc,
					.desc = &end->desc,
					.iov_count = 1,
					.rma_iov = &target_ioc,
					.rma_iov_count = 1,
					.datatype = FI_UINT64,
					.op = FI_SUM };
	size_t i, tx = (size_t)fi_tx_size_left(end->ep), rx = (size_t)fi_rx_size_left(end->ep);

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		RETURNS(fi_sendmsg(end->ep, &msg, bad[i]), -FI_EBADFLAGS);
		RETURNS(fi_recvmsg(end->ep, &msg, bad[i]), -FI_EBADFLAGS);
		RETURNS(fi_writemsg(end->ep, &rma, bad[i]), -FI_EBADFLAGS);
		RETURNS(fi_readmsg(end->ep, &rma, bad[i]), -FI_EBADFLAGS);
		RETURNS(fi_atomicmsg(end->ep, &atomic, bad[i]), -FI_EBADFLAGS);
	}
	RETURNS(fi_readmsg(end->ep, &rma, FI_REMOTE_CQ_DATA), -FI_EBADFLAGS);
	EQUAL(fi_tx_size_left(end->ep), tx);
	EQUAL(fi_rx_size_left(end->ep), rx);
	data_is_4_bytes(end, &msg, &rma);
	no_comp(end->cq, 5);
}

int main(int argc, char **argv)
{
	static const struct setup setup = { 0 };

	return run_pair(argc, argv, &setup, test);
}
