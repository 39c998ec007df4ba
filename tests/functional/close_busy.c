/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An object that others depend on cannot be closed: fi_close returns -FI_EBUSY, and the object
 * continues to work.
 */
#include "steps.h"

static void test(struct pair *pair)
{
	struct part part = { .len = 8, .seed = 1, .context = 1 };
	struct end *end = &pair->client;
	struct fid_mr *mr;
	struct fid_eq *eq;

	RETURNS(fi_close(&end->fabric->fid), -FI_EBUSY);
	RETURNS(fi_close(&end->domain->fid), -FI_EBUSY);
	RETURNS(fi_close(&end->eq->fid), -FI_EBUSY);
	RETURNS(fi_close(&end->cq->fid), -FI_EBUSY);
	RETURNS(fi_close(&end->rxcq->fid), -FI_EBUSY);

	at(&pair->server, post_recv, &part, sizeof(part));
	fill_part(end, &part);
	post_send(end, &part);
	wait_context(end->cq, (void *)1);
	at(&pair->server, reap_recv, &part, sizeof(part));

	/* One child of each kind suffices. */
	OK(fi_close(&end->ep->fid));
	end->ep = NULL;
	OK(fi_close(&end->rxcq->fid));
	OK(fi_close(&end->cq->fid));
	end->cq = end->rxcq = NULL;
	RETURNS(fi_close(&end->domain->fid), -FI_EBUSY); /* the region */
	mr = end->mr;
	end->mr = NULL;
	OK(fi_close(&mr->fid));
	OK(fi_close(&end->domain->fid));
	end->domain = NULL;
	RETURNS(fi_close(&end->fabric->fid), -FI_EBUSY); /* the event queue */
	eq = end->eq;
	end->eq = NULL;
	OK(fi_close(&eq->fid));
}

int main(int argc, char **argv)
{
	static const struct setup setup = { 0 };

	return run_pair(argc, argv, &setup, test);
}
