/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Joins that fail: no group, unknown flags, an endpoint that is not enabled, has no event queue or
 * was not opened for multicast. An endpoint with a group does not close, and events of a closed
 * group are discarded.
 */
#include <string.h>
#include <netinet/in.h>
#include "mc_steps.h"

static struct fid_mc *mc;

static void bad_arguments(struct end *end)
{
	struct sockaddr_in in = group_addr(GROUP);

	RETURNS(fi_join(end->ep, NULL, 0, &mc, NULL), -FI_EINVAL);
	RETURNS(fi_join(end->ep, &in, 0, NULL, NULL), -FI_EINVAL);
	RETURNS(fi_join(end->ep, &in, FI_READ, &mc, NULL), -FI_EBADFLAGS);
	RETURNS(fi_join(end->ep, &in, FI_COLLECTIVE, &mc, NULL), -FI_ENOSYS);
	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	RETURNS(fi_join(end->ep, &in, 0, &mc, NULL), -FI_EINVAL);
	in.sin_family = AF_INET6;
	RETURNS(fi_join(end->ep, &in, 0, &mc, NULL), -FI_EINVAL);
	in.sin_family = 12345;
	RETURNS(fi_join(end->ep, &in, 0, &mc, NULL), -FI_EINVAL);
	CHECK(!mc);
}

static void not_enabled(struct end *end)
{
	struct sockaddr_in in = group_addr(GROUP);
	struct fid_ep *ep;

	OK(fi_endpoint(end->domain, end->info, &ep, NULL));
	RETURNS(fi_join(ep, &in, 0, &mc, NULL), -FI_ENOEQ);
	OK(fi_ep_bind(ep, &end->eq->fid, 0));
	RETURNS(fi_join(ep, &in, 0, &mc, NULL), -FI_EOPBADSTATE);
	OK(fi_close(&ep->fid));
}

static void without_capability(struct end *end)
{
	struct sockaddr_in in = group_addr(GROUP);
	struct fi_info *info = fi_dupinfo(end->info);
	struct fid_ep *ep;

	CHECK(info);
	info->caps &= ~FI_MULTICAST;
	((struct sockaddr_in *)info->src_addr)->sin_port = 0;
	ep = end_ep(end, info);
	RETURNS(fi_join(ep, &in, 0, &mc, NULL), -FI_EINVAL);
	OK(fi_close(&ep->fid));
	fi_freeinfo(info);
}

static void busy(struct end *end)
{
	struct sockaddr_in in = group_addr(GROUP);
	struct fid_ep *alias = NULL;

	OK(fi_join(end->ep, &in, 0, &mc, NULL));
	CHECK(mc);
	RETURNS(fi_close(&end->ep->fid), -FI_EBUSY);
	OK(fi_ep_alias(end->ep, &alias, FI_TRANSMIT));
	OK(fi_close(&alias->fid));
	RETURNS(fi_close(&end->ep->fid), -FI_EBUSY);
	/* Before the join is complete, or after. */
	OK(fi_close(&mc->fid));
	no_event(end->eq, 300);
	RETURNS(fi_send(end->ep, end->buf, 10, end->desc, (fi_addr_t)1 << 62, NULL), -FI_EINVAL);
}

static void test(void)
{
	struct end end = { .name = "end", .setup = &mc_setup };

	end_open(&end, own_info(&mc_setup));
	end.ep = end_ep(&end, end.info);
	bad_arguments(&end);
	not_enabled(&end);
	without_capability(&end);
	busy(&end);
	end_close(&end);
}

int main(void)
{
	return run_test(test);
}
