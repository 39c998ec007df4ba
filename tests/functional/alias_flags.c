/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An alias posts to the endpoint with other default flags, so that it gets entries where the
 * endpoint is silent. It serves every other call, too, and keeps the endpoint and its connection if
 * the endpoint is closed first.
 */
#include "steps.h"

static void post(struct pair *pair, uint64_t context)
{
	struct part part = { .len = 64, .seed = (unsigned int)context, .context = context };

	at(&pair->server, post_recv, &part, sizeof(part));
	fill_part(&pair->client, &part);
}

static void arrived(struct pair *pair, uint64_t context)
{
	struct part part = { .len = 64, .seed = (unsigned int)context, .context = context };

	at(&pair->server, reap_recv, &part, sizeof(part));
}

static ssize_t send_by(struct end *end, struct fid_ep *ep, uint64_t context)
{
	return fi_send(ep, end->buf, 64, end->desc, 0, (void *)(uintptr_t)context);
}

static void test(struct pair *pair)
{
	struct end *end = &pair->client;
	struct fid_ep *alias = NULL, *silent = NULL;
	char addr[64];
	size_t len = sizeof(addr);

	RETURNS(fi_ep_alias(end->ep, &alias, 0), -FI_EINVAL);
	RETURNS(fi_ep_alias(end->ep, &alias, FI_TRANSMIT | FI_RECV), -FI_EINVAL);
	OK(fi_ep_alias(end->ep, &alias, FI_TRANSMIT | FI_COMPLETION));
	OK(fi_ep_alias(alias, &silent, FI_TRANSMIT));
	post(pair, 1);
	OK(send_by(end, end->ep, 1));
	arrived(pair, 1);
	post(pair, 2);
	OK(send_by(end, alias, 2));
	arrived(pair, 2);
	wait_context(end->cq, (void *)2);
	post(pair, 3);
	OK(send_by(end, silent, 3));
	arrived(pair, 3);
	no_comp(end->cq, 20);
	OK(fi_getpeer(alias, addr, &len));
	EQUAL(fi_tx_size_left(alias), fi_tx_size_left(end->ep));
	RETURNS(fi_connect(alias, end->info->dest_addr, NULL, 0), -FI_EISCONN);
	OK(fi_close(&silent->fid));
	/* The endpoint's own fid is closed first. */
	OK(fi_close(&end->ep->fid));
	end->ep = NULL;
	RETURNS(fi_close(&end->cq->fid), -FI_EBUSY);
	post(pair, 4);
	OK(send_by(end, alias, 4));
	arrived(pair, 4);
	wait_context(end->cq, (void *)4);
	OK(fi_close(&alias->fid));
}

int main(int argc, char **argv)
{
	static const struct setup setup = { .tx_bind = FI_SELECTIVE_COMPLETION };

	return run_pair(argc, argv, &setup, test);
}
