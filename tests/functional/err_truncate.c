/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A message that does not fit its receive: FI_ETRUNC at the receiver, an error at the sender, and
 * no byte behind the buffer is written.
 */
#include <string.h>
#include "steps.h"

static void test(struct pair *pair)
{
	struct part receive = { .len = 100, .context = 5 }, send = { .len = 101, .context = 6 };
	struct fi_cq_err_entry error = { 0 };

	at_part(&pair->server, clear_part, 0, 1000, 0);
	at(&pair->server, post_recv, &receive, sizeof(receive));
	fill_part(&pair->client, &send);
	post_send(&pair->client, &send);

	at(&pair->server, next_recv_error, &error, sizeof(error));
	/* Soft-RoCE does not report that its QP operation error is caused by the length. */
	if (error.err != FI_EINVAL || !on_soft_roce(&pair->client))
		EQUAL(error.err, FI_ETRUNC);
	EQUAL(error.op_context, 5);
	EQUAL(error.flags & (FI_MSG | FI_RECV), FI_MSG | FI_RECV);
	at_part(&pair->server, check_zero, 100, 900, 0);

	wait_error(pair->client.cq, &error);
	EQUAL(error.op_context, 6);
	EQUAL(error.err, FI_EREMOTEIO);
}

int main(int argc, char **argv)
{
	static const struct setup setup = { 0 };

	return run_pair(argc, argv, &setup, test);
}
