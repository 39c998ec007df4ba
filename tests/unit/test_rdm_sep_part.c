/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The endpoints of a scalable endpoint need as many ports in a row. */
#include "unit.h"
#include <string.h>
#include <ofi/addr.h>
#include <rdma/fi_errno.h>
#include "prov/rdm/ep.h"
#include "prov/rdm/sep_int.h"

enum { PARTS = 2 };

static const struct fi_provider prov = { .name = "test" };
static struct ofi_domain domain = { .prov = &prov };
static struct ofi_rdm_ep eps[PARTS];
static unsigned int opened;

/* Closing one takes a reference that leaves others. */
static int open_one(struct fid_domain *fid, struct fi_info *info, struct fid_ep **ep, void *context)
{
	struct ofi_rdm_ep *one = &eps[opened++];

	(void)fid;
	(void)context;
	memset(one, 0, sizeof(*one));
	one->endpoint = one;
	one->domain = &domain;
	one->fids.children = 9;
	memcpy(&one->self, info->src_addr, info->src_addrlen);
	*ep = &one->fid;
	return 0;
}

static int open_at(uint16_t port)
{
	struct fi_info *info = fi_allocinfo();
	struct ofi_rdm_sep sep = {
		.domain = &domain,
		.open = open_one,
		.info = info,
		.count = { PARTS, PARTS },
		.parts = PARTS,
	};
	struct sockaddr_in *name = (struct sockaddr_in *)&sep.name;
	int ret;

	name->sin_family = AF_INET;
	name->sin_port = htons(port);
	info->addr_format = FI_SOCKADDR_IN;
	opened = 0;
	ret = ofi_rdm_parts_open(&sep);
	fi_freeinfo(info);
	return ret;
}

static void the_last_port_is_one(void **state)
{
	(void)state;
	assert_int_equal(open_at(UINT16_MAX - 1), 0);
	assert_int_equal(opened, 2);
	assert_int_equal(ofi_addr_port(&eps[0].self.sa), UINT16_MAX - 1);
	assert_int_equal(ofi_addr_port(&eps[1].self.sa), UINT16_MAX);
	assert_int_equal(open_at(UINT16_MAX), -FI_EADDRINUSE);
	assert_int_equal(opened, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_port_is_one),
	};

	return cmocka_run_group_tests_name("rdm_sep_part", tests, NULL, NULL);
}
