/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An alias of a datagram endpoint sends with other default flags, receives, and keeps the endpoint
 * if the endpoint is closed first.
 */
#include "steps.h"

enum { LEN = 64 };

static const struct setup setup = { .type = FI_EP_DGRAM, .tx_bind = FI_SELECTIVE_COMPLETION };

/*
 * Sends from one fid of the endpoint to another; the sender gets an entry if its flags request one.
 */
static void ping(struct end *end, struct fid_ep *from, struct fid_ep *to, fi_addr_t addr,
		 bool entry)
{
	struct fi_cq_tagged_entry found;
	static int sent, received;
	uint8_t *in = end->buf + 4096;

	fill(end->buf, LEN, 7);
	fill(in, LEN, 8);
	OK(fi_recv(to, in, 1024, end->desc, FI_ADDR_UNSPEC, &received));
	OK(fi_send(from, end->buf, LEN, end->desc, addr, &sent));
	wait_comp(end->rxcq, &found);
	CHECK(found.op_context == &received);
	CHECK_FILLED(in, LEN, 7);
	if (entry) {
		wait_comp(end->cq, &found);
		CHECK(found.op_context == &sent);
	} else {
		no_comp(end->cq, 20);
	}
}

static fi_addr_t own_addr(struct end *end, struct fid_ep *ep)
{
	uint8_t name[64];
	size_t len = sizeof(name);
	fi_addr_t addr;

	OK(fi_getname(&ep->fid, name, &len));
	EQUAL(fi_av_insert(end->av, name, 1, &addr, 0, NULL), 1);
	return addr;
}

/* The alias was created before the endpoint was enabled, and bound and enabled it. */
static void early(struct end *end)
{
	struct fid_ep *ep, *alias = NULL;
	fi_addr_t addr;

	OK(fi_endpoint(end->domain, end->info, &ep, NULL));
	OK(fi_ep_alias(ep, &alias, FI_TRANSMIT | FI_COMPLETION));
	RETURNS(fi_send(alias, end->buf, LEN, end->desc, 0, NULL), -FI_EOPBADSTATE);
	OK(fi_ep_bind(alias, &end->av->fid, 0));
	OK(fi_ep_bind(alias, &end->cq->fid, FI_TRANSMIT | FI_SELECTIVE_COMPLETION));
	OK(fi_ep_bind(alias, &end->rxcq->fid, FI_RECV));
	OK(fi_enable(alias));
	addr = own_addr(end, alias);
	ping(end, alias, alias, addr, true);
	ping(end, ep, alias, addr, false);
	OK(fi_close(&alias->fid));
	ping(end, ep, ep, addr, false);
	OK(fi_close(&ep->fid));
}

static void test(struct pair *pair)
{
	struct end *end = &pair->client;
	struct fid_ep *alias = NULL, *silent = NULL;
	fi_addr_t addr = own_addr(end, end->ep);

	RETURNS(fi_ep_alias(end->ep, &alias, 0), -FI_EINVAL);
	OK(fi_ep_alias(end->ep, &alias, FI_TRANSMIT | FI_COMPLETION));
	OK(fi_ep_alias(alias, &silent, FI_TRANSMIT));
	EQUAL(own_addr(end, alias) != FI_ADDR_NOTAVAIL, true);
	ping(end, end->ep, end->ep, addr, false);
	ping(end, alias, end->ep, addr, true);
	ping(end, silent, alias, addr, false);
	ping(end, end->ep, alias, addr, false);
	EQUAL(fi_tx_size_left(alias), fi_tx_size_left(end->ep));
	OK(fi_close(&silent->fid));
	early(end);
	/* The endpoint's own fid is closed first. */
	OK(fi_close(&end->ep->fid));
	end->ep = NULL;
	RETURNS(fi_close(&end->cq->fid), -FI_EBUSY);
	ping(end, alias, alias, addr, true);
	OK(fi_close(&alias->fid));
}

int main(int argc, char **argv)
{
	return run_pair(argc, argv, &setup, test);
}
