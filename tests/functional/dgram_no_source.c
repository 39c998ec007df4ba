/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A datagram endpoint of an fi_info without a source address chooses one that fi_getinfo offers. */
#include "steps.h"

static void test(struct pair *pair)
{
	struct end *end = &pair->client;
	struct fi_info info = *end->info;
	struct fi_cq_tagged_entry entry;
	struct sockaddr_in name;
	size_t len = sizeof(name);
	struct fid_ep *ep;
	fi_addr_t addr;

	info.src_addr = NULL;
	info.src_addrlen = 0;
	OK(fi_endpoint(end->domain, &info, &ep, NULL));
	OK(fi_ep_bind(ep, &end->av->fid, 0));
	OK(fi_ep_bind(ep, &end->cq->fid, FI_TRANSMIT));
	OK(fi_ep_bind(ep, &end->rxcq->fid, FI_RECV));
	OK(fi_enable(ep));
	OK(fi_getname(&ep->fid, &name, &len));
	CHECK(name.sin_addr.s_addr && name.sin_port);
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
