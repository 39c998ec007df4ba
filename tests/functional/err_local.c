/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A buffer without a descriptor, or with one of another region, gives FI_EFAULT. */
#include "steps.h"

static void one(struct pair *pair, bool other_region)
{
	static uint8_t other[8192];
	struct end *client = &pair->client;
	struct fi_cq_err_entry error;
	struct part part = { .len = 4096 };
	struct fid_mr *mr = NULL;
	void *desc = NULL;

	if (other_region) {
		end_reg(client, other, sizeof(other), FI_SEND, &mr);
		desc = fi_mr_desc(mr);
	}
	at(&pair->server, post_recv, &part, sizeof(part));
	OK(fi_send(client->ep, client->buf, 4096, desc, FI_ADDR_UNSPEC, client));
	wait_error(client->cq, &error);
	/* Soft-RoCE reports a QP operation error for each send whose buffer it cannot read. */
	if (error.err != FI_EINVAL || !on_soft_roce(client))
		EQUAL(error.err, FI_EFAULT);
	EQUAL(error.op_context, client);
	if (mr)
		OK(fi_close(&mr->fid));
}

static void test(struct pair *pair)
{
	pair_open(pair);
	one(pair, false);
	pair_close(pair);
	pair_open(pair);
	one(pair, true);
	pair_close(pair);
}

int main(int argc, char **argv)
{
	static const struct setup setup = { 0 };

	return run_unconnected(argc, argv, &setup, test);
}
