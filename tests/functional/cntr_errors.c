/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Failed and flushed operations add to the error value, which ends a wait, with and without a
 * completion queue.
 */
#include <rdma/fi_rma.h>
#include "steps.h"

static void test(struct pair *pair)
{
	struct end *end = &pair->client;
	struct fid_cntr *write = end->cntr[CNTR_WRITE], *recv = end->cntr[CNTR_RECV];
	uint64_t limit;
	int i;

	for (i = 0; i < 3; i++)
		OK(fi_recv(end->ep, end->buf, 8, end->desc, 0, end));
	OK(fi_inject_write(end->ep, end->buf, 8, 0, end->peer.addr, end->peer.key));
	RETURNS(fi_cntr_wait(write, 1, WAIT_MS), 0);
	OK(fi_inject_write(end->ep, end->buf, 8, 0, end->peer.addr, 0x12345678));
	RETURNS(fi_cntr_wait(write, 2, WAIT_MS), -FI_EAVAIL);
	EQUAL(fi_cntr_readerr(write), 1);
	EQUAL(fi_cntr_read(write), 1);
	/* The queue pair is in error: the receives are flushed. */
	for (limit = deadline(); fi_cntr_readerr(recv) < 3;)
		pause_until(limit, "receives are flushed");
	EQUAL(fi_cntr_read(recv), 0);
	OK(fi_cntr_seterr(write, 0));
	EQUAL(fi_cntr_readerr(write), 0);
}

int main(int argc, char **argv)
{
	struct setup setup = {
		.cntrs = FI_SEND | FI_RECV | FI_READ | FI_WRITE,
		.cntr_obj = FI_WAIT_FD,
	};
	int ret = run_pair(argc, argv, &setup, test);

	if (ret)
		return ret;
	setup.no_cq = true;
	return run_pair(argc, argv, &setup, test);
}
