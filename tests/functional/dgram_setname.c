/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* fi_setname gives a datagram endpoint with an IP address another port, where peers find it. */
#include <string.h>
#include "steps.h"

enum { PORT = 47733 };

static void refused(struct end *end, struct fid_ep *ep)
{
	struct sockaddr_in foreign = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(0xc0000201) };

	RETURNS(fi_setname(&ep->fid, NULL, sizeof(foreign)), -FI_EINVAL);
	RETURNS(fi_setname(&ep->fid, &foreign, 3), -FI_EINVAL);
	RETURNS(fi_setname(&ep->fid, &foreign, sizeof(foreign)), -FI_EADDRNOTAVAIL);
	RETURNS(fi_setname(&end->ep->fid, &foreign, sizeof(foreign)), -FI_EOPBADSTATE);
}

static void test(struct pair *pair)
{
	struct end *end = &pair->client;
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons(PORT) }, name;
	struct fi_cq_tagged_entry entry;
	size_t len = sizeof(name);
	struct fid_ep *ep;
	fi_addr_t addr;

	OK(fi_endpoint(end->domain, end->info, &ep, NULL));
	OK(fi_ep_bind(ep, &end->av->fid, 0));
	OK(fi_ep_bind(ep, &end->cq->fid, FI_TRANSMIT));
	OK(fi_ep_bind(ep, &end->rxcq->fid, FI_RECV));
	refused(end, ep);
	OK(fi_setname(&ep->fid, &any, sizeof(any)));
	OK(fi_enable(ep));
	OK(fi_getname(&ep->fid, &name, &len));
	EQUAL(name.sin_port, any.sin_port);
	CHECK(name.sin_addr.s_addr);
	EQUAL(fi_av_insert(end->av, &name, 1, &addr, 0, NULL), 1);
	OK(fi_recv(ep, end->buf, 1024, end->desc, FI_ADDR_UNSPEC, NULL));
	OK(fi_send(end->ep, end->buf, 8, end->desc, addr, NULL));
	wait_comp(end->rxcq, &entry);
	wait_comp(end->cq, &entry);
	OK(fi_close(&ep->fid));
}

int main(int argc, char **argv)
{
	const struct setup setup = { .type = FI_EP_DGRAM, .addr_format = FI_SOCKADDR_IN };

	return run_pair(argc, argv, &setup, test);
}
