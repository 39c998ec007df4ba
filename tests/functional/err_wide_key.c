/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A key of more than 32 bits is never truncated to a valid one: the call returns -FI_EKEYREJECTED
 * at once, and the endpoint continues to work.
 */
#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>
#include "steps.h"

static void test(struct pair *pair)
{
	struct end *end = &pair->client;
	uint64_t addr = end->peer.addr, key = end->peer.key | 1ULL << 32;

	RETURNS(fi_write(end->ep, end->buf, 8, end->desc, 0, addr, key, NULL), -FI_EKEYREJECTED);
	RETURNS(fi_read(end->ep, end->buf, 8, end->desc, 0, addr, key, NULL), -FI_EKEYREJECTED);
	RETURNS(fi_inject_write(end->ep, end->buf, 8, 0, addr, key), -FI_EKEYREJECTED);
	RETURNS(fi_atomic(end->ep, end->buf, 1, end->desc, 0, addr, key, FI_UINT64, FI_SUM, NULL),
		-FI_EKEYREJECTED);

	OK(fi_write(end->ep, end->buf, 8, end->desc, 0, addr, end->peer.key, end));
	wait_context(end->cq, end);
}

int main(int argc, char **argv)
{
	static const struct setup setup = { 0 };

	return run_pair(argc, argv, &setup, test);
}
