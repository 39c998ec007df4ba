/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Attributes of scalable endpoints and of their contexts; indexes and contexts are fakes. */
#include "unit.h"
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include "prov/rdm/sep_int.h"

static const struct fi_provider prov = { .name = "test" };
static struct ofi_domain domain = { .prov = &prov };
static struct fid_ep *sep;

int ofi_rdm_part_open(struct ofi_rdm_sep *of, size_t index)
{
	(void)of;
	(void)index;
	return 0;
}

void ofi_rdm_part_close(struct ofi_rdm_part *part)
{
	(void)part;
}

int ofi_rdm_parts_open(struct ofi_rdm_sep *of)
{
	(void)of;
	return 0;
}

void ofi_rdm_parts_close(struct ofi_rdm_sep *of)
{
	(void)of;
}

int ofi_rdm_sep_name(struct ofi_rdm_sep *of, void *addr, size_t *len)
{
	(void)of;
	(void)addr;
	(void)len;
	return 0;
}

int ofi_rdm_context_open(struct ofi_rdm_sep *of, size_t index, bool rx, uint64_t op_flags,
			 void *user, struct fid_ep **fid)
{
	(void)index;
	(void)rx;
	(void)op_flags;
	(void)user;
	*fid = &of->fid;
	return 0;
}

static int open_sep(void **state)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	struct fi_info *info = fi_allocinfo();

	domain.info = info;
	info->addr_format = FI_SOCKADDR_IN;
	info->src_addr = memcpy(malloc(sizeof(sin)), &sin, sizeof(sin));
	info->src_addrlen = sizeof(sin);
	info->tx_attr->size = 64;
	info->tx_attr->rma_iov_limit = 3;
	info->tx_attr->tclass = FI_TC_BULK_DATA;
	*state = info;
	return ofi_rdm_sep_open((struct fid_domain *)&domain, info, NULL, &sep, NULL);
}

static int close_sep(void **state)
{
	int ret = fi_close(&sep->fid);

	fi_freeinfo(*state);
	return ret;
}

static struct fi_tx_attr context_attr(uint32_t version)
{
	struct fi_tx_attr attr = { .op_flags = FI_INJECT, .tclass = FI_TC_SCAVENGER };
	struct fid_ep *context;

	domain.info->fabric_attr->api_version = version;
	assert_int_equal(fi_tx_context(sep, 0, &attr, &context, NULL), 0);
	assert_int_equal(attr.size, 64);
	assert_int_equal(attr.rma_iov_limit, 3);
	assert_int_equal(attr.op_flags, FI_INJECT);
	return attr;
}

/* Programs for API 1.8 and earlier have structures without tclass; those for 1.0 name no API. */
static void nothing_is_written_behind_older_attributes(void **state)
{
	(void)state;
	assert_int_equal(context_attr(0).tclass, FI_TC_SCAVENGER);
	assert_int_equal(context_attr(FI_VERSION(1, 4)).tclass, FI_TC_SCAVENGER);
	assert_int_equal(context_attr(FI_VERSION(1, 8)).tclass, FI_TC_SCAVENGER);
	assert_int_equal(context_attr(FI_VERSION(1, 9)).tclass, FI_TC_BULK_DATA);
	assert_int_equal(context_attr(FI_VERSION(2, 6)).tclass, FI_TC_BULK_DATA);
}

/* fi_endpoint takes an fi_info without domain_attr, too; the threading model is the domain's. */
static void domain_attr_may_be_missing(void **state)
{
	struct fi_info bare = *(struct fi_info *)*state;
	struct fid_ep *other;

	bare.domain_attr = NULL;
	domain.info->domain_attr->threading = FI_THREAD_DOMAIN;
	assert_int_equal(ofi_rdm_sep_open((struct fid_domain *)&domain, &bare, NULL, &other, NULL),
			 0);
	assert_int_equal(ofi_rdm_sep_of(&other->fid)->info->domain_attr->threading,
			 FI_THREAD_DOMAIN);
	assert_int_equal(fi_close(&other->fid), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nothing_is_written_behind_older_attributes,
						open_sep, close_sep),
		cmocka_unit_test_setup_teardown(domain_attr_may_be_missing, open_sep, close_sep),
	};

	return cmocka_run_group_tests_name("rdm_sep", tests, NULL, NULL);
}
