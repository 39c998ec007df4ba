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
	struct fid_ep *ep;

	OK(fi_endpoint(end->domain, end->info, &ep, NULL));
	bind_dgram(end, ep);
	refused(end, ep);
	OK(fi_setname(&ep->fid, &any, sizeof(any)));
	OK(fi_enable(ep));
	name = reach_dgram(end, ep);
	EQUAL(name.sin_port, any.sin_port);
	CHECK(name.sin_addr.s_addr);
	OK(fi_close(&ep->fid));
}

int main(int argc, char **argv)
{
	const struct setup setup = { .type = FI_EP_DGRAM, .addr_format = FI_SOCKADDR_IN };

	return run_pair(argc, argv, &setup, test);
}
