/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Two devices on one host: each is offered by its name, its address and its GID, and datagrams pass
 * on either. The test adds the second device, which remains, so it runs last.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "steps.h"

#define SECOND	    "weft9"
#define SECOND_ADDR "10.99.0.1"

static const struct setup setup = {
	.type = FI_EP_DGRAM,
	.buf_size = 64 << 10,
	.format = FI_CQ_FORMAT_TAGGED,
};

static struct fi_info *info_of(const char *device, const char *addr, uint32_t format)
{
	struct fi_info *hints = hints_for(&setup), *info;

	free(hints->domain_attr->name);
	hints->domain_attr->name = device ? strdup(device) : NULL;
	hints->addr_format = format;
	OK(fi_getinfo(FI_VERSION(2, 0), addr, NULL, addr ? FI_SOURCE : 0, hints, &info));
	fi_freeinfo(hints);
	return info;
}

/* To itself and back. */
static void use(struct fi_info *info, const char *domain)
{
	struct end end = { .name = "end", .setup = &setup, .sock = -1 };
	struct name name;

	CHECK(!strcmp(info->domain_attr->name, domain));
	end_open(&end, info);
	end.ep = end_ep(&end, info);
	end_name(&end, &name);
	step_insert(&end, &name);
	at_part(&end, post_recv, 0, 100, 1);
	at_part(&end, fill_part, 4096, 100, 1);
	at_part(&end, post_send, 4096, 100, 1);
	at_part(&end, reap_recv, 0, 100, 1);
	wait_context(end.cq, (void *)1);
	end_close(&end);
}

static void test(void)
{
	const char *first = need_env("WEFT_DEVICE");
	char domain[64];

	need_vm();
	shell("ip link add " SECOND " type dummy && ip addr add " SECOND_ADDR "/24 dev " SECOND
	      " && ip link set " SECOND " up && rdma link add rxe9 type rxe netdev " SECOND);
	snprintf(domain, sizeof(domain), "%s-dgram", first);
	use(info_of(first, NULL, FI_ADDR_IB_UD), domain);
	use(info_of("rxe9", NULL, FI_ADDR_IB_UD), "rxe9-dgram");
	use(info_of("rxe9-dgram", NULL, FI_SOCKADDR_IN), "rxe9-dgram");
	use(info_of(NULL, SECOND_ADDR, FI_FORMAT_UNSPEC), "rxe9-dgram");
	use(info_of(NULL, SECOND_ADDR, FI_ADDR_IB_UD), "rxe9-dgram");
	use(info_of(NULL, local_addr(), FI_FORMAT_UNSPEC), domain);
}

int main(void)
{
	return run_test(test);
}
