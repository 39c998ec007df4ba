/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A datagram endpoint of an fi_info without a source address chooses one that fi_getinfo offers. */
#include "steps.h"

static void test(struct pair *pair)
{
	struct end *end = &pair->client;
	struct fi_info info = *end->info;
	struct sockaddr_in name;
	struct fid_ep *ep;

	info.src_addr = NULL;
	info.src_addrlen = 0;
	OK(fi_endpoint(end->domain, &info, &ep, NULL));
	bind_dgram(end, ep);
	OK(fi_enable(ep));
	name = reach_dgram(end, ep);
	CHECK(name.sin_addr.s_addr && name.sin_port);
	OK(fi_close(&ep->fid));
}

int main(int argc, char **argv)
{
	const struct setup setup = { .type = FI_EP_DGRAM, .addr_format = FI_SOCKADDR_IN };

	return run_pair(argc, argv, &setup, test);
}
