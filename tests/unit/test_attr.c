/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Each hint that cannot be met is reported with the requested and the available value; a match is
 * narrowed to the request.
 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include "prov/base/attr.h"
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#define V1_4  FI_VERSION(1, 4)
#define V1_17 FI_VERSION(1, 17)

#define CAPS                                                                         \
	(FI_MSG | FI_RMA | FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | \
	 FI_REMOTE_WRITE | FI_LOCAL_COMM | FI_REMOTE_COMM)

static struct fi_info *have, *hints;
static struct ofi_miss miss;

static int setup(void **state)
{
	(void)state;
	have = fi_allocinfo();
	hints = fi_allocinfo();
	if (!have || !hints)
		return -1;
	have->caps = CAPS;
	have->tx_attr->caps = CAPS & ~(FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE);
	have->rx_attr->caps = CAPS & ~(FI_SEND | FI_READ | FI_WRITE);
	have->addr_format = FI_SOCKADDR_IN;
	have->tx_attr->op_flags = FI_INJECT | FI_COMPLETION;
	have->tx_attr->msg_order = FI_ORDER_SAS | FI_ORDER_WAW;
	have->tx_attr->comp_order = FI_ORDER_STRICT;
	have->tx_attr->size = 100;
	have->tx_attr->inject_size = 64;
	have->rx_attr->size = 200;
	have->rx_attr->iov_limit = 4;
	have->ep_attr->type = FI_EP_MSG;
	have->ep_attr->protocol = FI_PROTO_RDMA_CM_IB_RC;
	have->ep_attr->protocol_version = 1;
	have->ep_attr->max_msg_size = 1 << 20;
	have->ep_attr->tx_ctx_cnt = have->ep_attr->rx_ctx_cnt = 1;
	have->domain_attr->name = strdup("rxe0");
	have->domain_attr->threading = FI_THREAD_SAFE;
	have->domain_attr->control_progress = FI_PROGRESS_AUTO;
	have->domain_attr->data_progress = FI_PROGRESS_AUTO;
	have->domain_attr->resource_mgmt = FI_RM_ENABLED;
	have->domain_attr->mr_mode =
		FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	have->domain_attr->mr_key_size = 4;
	have->domain_attr->max_ep_tx_ctx = have->domain_attr->max_ep_rx_ctx = 1;
	have->domain_attr->caps = FI_LOCAL_COMM | FI_REMOTE_COMM;
	have->fabric_attr->name = strdup("IB-0x0");
	hints->domain_attr->mr_mode = have->domain_attr->mr_mode;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fi_freeinfo(have);
	fi_freeinfo(hints);
	return 0;
}

static void expect(uint32_t version, const char *attr, const char *asked, const char *has)
{
	memset(&miss, 0, sizeof(miss));
	assert_int_equal(ofi_attr_misses(version, have, hints, &miss), 1);
	assert_string_equal(miss.attr, attr);
	assert_string_equal(miss.asked, asked);
	assert_string_equal(miss.has, has);
}

static void expect_match(uint32_t version)
{
	miss.attr = "nothing";
	if (ofi_attr_misses(version, have, hints, &miss))
		fail_msg("%s: asked %s, has %s", miss.attr, miss.asked, miss.has);
}

static const char *first_miss(void)
{
	assert_int_equal(ofi_attr_misses(V1_17, have, hints, &miss), 1);
	return miss.attr;
}

static void test_nothing_asked(void **state)
{
	(void)state;
	expect_match(V1_17);
	assert_int_equal(ofi_attr_misses(V1_17, have, NULL, &miss), 0);
}

static void test_names(void **state)
{
	(void)state;
	hints->fabric_attr->name = strdup("IB-0xfe80");
	expect(V1_17, "fabric_attr->name", "IB-0xfe80", "IB-0x0");
	free(hints->fabric_attr->name);
	hints->fabric_attr->name = strdup("IB-0x0");
	hints->domain_attr->name = strdup("mlx5_0");
	expect(V1_17, "domain_attr->name", "mlx5_0", "rxe0");
}

static void test_ep(void **state)
{
	(void)state;
	hints->ep_attr->type = FI_EP_RDM;
	expect(V1_17, "ep_attr->type", "FI_EP_RDM", "FI_EP_MSG");
	hints->ep_attr->type = FI_EP_MSG;
	hints->ep_attr->protocol = FI_PROTO_RXM;
	expect(V1_17, "ep_attr->protocol", "FI_PROTO_RXM", "FI_PROTO_RDMA_CM_IB_RC");
	hints->ep_attr->protocol = FI_PROTO_RDMA_CM_IB_RC;
	hints->ep_attr->max_msg_size = (1 << 20) + 1;
	expect(V1_17, "ep_attr->max_msg_size", "1048577", "at most 1048576");
	hints->ep_attr->max_msg_size = 0;
	hints->ep_attr->tx_ctx_cnt = 2;
	expect(V1_17, "ep_attr->tx_ctx_cnt", "2", "at most 1");
	hints->ep_attr->tx_ctx_cnt = 0;
	hints->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
	expect(V1_17, "ep_attr->rx_ctx_cnt", "FI_SHARED_CONTEXT", "at most 1, not shared");
	have->domain_attr->max_ep_srx_ctx = 8;
	expect_match(V1_17);
	hints->ep_attr->auth_key_size = 16;
	expect(V1_17, "ep_attr->auth_key_size", "16", "at most 0");
}

/*
 * Any layout with the same number of bits is accepted and returned; without FI_TAGGED it is
 * ignored.
 */
static void test_tag_format(void **state)
{
	(void)state;
	have->caps |= FI_TAGGED;
	have->ep_attr->mem_tag_format = 0xaaaaaa;
	hints->ep_attr->mem_tag_format = 0x1000000;
	expect_match(V1_17);
	hints->caps = FI_TAGGED;
	expect(V1_17, "ep_attr->mem_tag_format", "0x0000000001000000",
	       "at most 0x0000000000ffffff");
	hints->ep_attr->mem_tag_format = 0xf0f355;
	expect_match(V1_17);
	ofi_attr_narrow(V1_17, have, hints);
	assert_int_equal(have->ep_attr->mem_tag_format, 0xf0f355);
}

static void test_caps_and_mode(void **state)
{
	(void)state;
	hints->caps = FI_MSG | FI_TAGGED;
	memset(&miss, 0, sizeof(miss));
	assert_int_equal(ofi_attr_misses(V1_17, have, hints, &miss), 1);
	assert_string_equal(miss.attr, "caps");
	assert_non_null(strstr(miss.asked, "FI_TAGGED"));
	assert_null(strstr(miss.asked, "FI_MSG"));
	assert_non_null(strstr(miss.has, "FI_RMA"));

	hints->caps = FI_MSG | FI_SEND | FI_LOCAL_COMM;
	expect_match(V1_17);
	have->mode = FI_CONTEXT;
	memset(&miss, 0, sizeof(miss));
	assert_int_equal(ofi_attr_misses(V1_17, have, hints, &miss), 1);
	assert_string_equal(miss.attr, "mode");
	assert_non_null(strstr(miss.has, "requires"));
	assert_non_null(strstr(miss.has, "FI_CONTEXT"));
	hints->mode = FI_CONTEXT;
	have->tx_attr->mode = FI_CONTEXT;
	expect_match(V1_17);
	hints->tx_attr->mode = FI_CONTEXT2;
	assert_int_equal(ofi_attr_misses(V1_17, have, hints, &miss), 1);
	assert_string_equal(miss.attr, "tx_attr->mode");
}

/* Programs request the capabilities of the endpoint of both contexts. */
static void test_caps_of_contexts(void **state)
{
	(void)state;
	hints->caps = FI_MSG | FI_SEND | FI_RECV | FI_RMA | FI_READ | FI_REMOTE_WRITE;
	hints->tx_attr->caps = hints->rx_attr->caps = hints->caps;
	expect_match(V1_17);
	ofi_attr_narrow(V1_17, have, hints);
	assert_int_equal(have->tx_attr->caps,
			 FI_MSG | FI_SEND | FI_RMA | FI_READ | FI_LOCAL_COMM | FI_REMOTE_COMM);
	assert_int_equal(have->rx_attr->caps, FI_MSG | FI_RECV | FI_RMA | FI_REMOTE_WRITE |
						      FI_LOCAL_COMM | FI_REMOTE_COMM);
}

static void test_caps_of_other_direction(void **state)
{
	(void)state;
	hints->tx_attr->caps = FI_MSG | FI_RECV;
	hints->rx_attr->caps = FI_RMA | FI_WRITE;
	expect_match(V1_17);
	ofi_attr_narrow(V1_17, have, hints);
	assert_int_equal(have->tx_attr->caps, FI_MSG | FI_LOCAL_COMM | FI_REMOTE_COMM);
	assert_int_equal(have->rx_attr->caps, FI_RMA | FI_LOCAL_COMM | FI_REMOTE_COMM);
	hints->rx_attr->caps = FI_TAGGED | FI_WRITE;
	assert_string_equal(first_miss(), "rx_attr->caps");
	hints->rx_attr->caps = 0;
	hints->tx_attr->caps = FI_TAGGED | FI_RECV;
	assert_string_equal(first_miss(), "tx_attr->caps");
}

static void test_contexts(void **state)
{
	(void)state;
	hints->tx_attr->size = 101;
	expect(V1_17, "tx_attr->size", "101", "at most 100");
	hints->tx_attr->size = 100;
	hints->tx_attr->inject_size = 65;
	expect(V1_17, "tx_attr->inject_size", "65", "at most 64");
	hints->tx_attr->inject_size = 0;
	hints->rx_attr->iov_limit = 5;
	expect(V1_17, "rx_attr->iov_limit", "5", "at most 4");
	hints->rx_attr->iov_limit = 0;
	hints->rx_attr->total_buffered_recv = 1 << 20; /* a wish, never a miss */
	expect_match(V1_17);
}

/* Any class that exists is a hint, and is what the endpoint then has. */
static void test_traffic_class(void **state)
{
	static const uint32_t bad[] = { 1, 0xff, 0x140, 0x1ff, 0x206, 0x300, 0x10100 };
	struct fi_info *info = fi_dupinfo(have);
	uint32_t class;
	size_t i;

	(void)state;
	for (class = FI_TC_BEST_EFFORT; class <= FI_TC_NETWORK_CTRL; class ++) {
		hints->tx_attr->tclass = hints->domain_attr->tclass = class;
		expect_match(V1_17);
	}
	for (class = 0; class < 64; class ++) {
		hints->tx_attr->tclass = fi_tc_dscp_set((uint8_t) class);
		expect_match(V1_17);
	}
	ofi_attr_narrow(V1_17, info, hints);
	assert_int_equal(info->tx_attr->tclass, fi_tc_dscp_set(63));
	assert_int_equal(info->domain_attr->tclass, FI_TC_NETWORK_CTRL);
	fi_freeinfo(info);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		hints->tx_attr->tclass = bad[i];
		assert_int_equal(ofi_attr_misses(V1_17, have, hints, &miss), 1);
		assert_string_equal(miss.has, "FI_TC_* or fi_tc_dscp_set(0 to 63)");
	}
}

static void test_flags(void **state)
{
	(void)state;
	hints->tx_attr->op_flags = FI_INJECT | FI_COMMIT_COMPLETE;
	assert_string_equal(first_miss(), "tx_attr->op_flags");
	assert_non_null(strstr(miss.asked, "FI_COMMIT_COMPLETE"));
	assert_null(strstr(miss.asked, "FI_INJECT"));
	hints->tx_attr->op_flags = FI_INJECT;
	hints->tx_attr->msg_order = FI_ORDER_SAS | FI_ORDER_WAR;
	assert_string_equal(first_miss(), "tx_attr->msg_order");
	assert_non_null(strstr(miss.asked, "FI_ORDER_WAR"));
	hints->tx_attr->msg_order = FI_ORDER_SAS;
	hints->rx_attr->comp_order = FI_ORDER_DATA;
	assert_string_equal(first_miss(), "rx_attr->comp_order");
}

static void test_models(void **state)
{
	static const enum fi_threading weaker[] = { FI_THREAD_UNSPEC,	  FI_THREAD_SAFE,
						    FI_THREAD_FID,	  FI_THREAD_ENDPOINT,
						    FI_THREAD_COMPLETION, FI_THREAD_DOMAIN };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(weaker) / sizeof(weaker[0]); i++) {
		hints->domain_attr->threading = weaker[i];
		expect_match(V1_17);
	}
	have->domain_attr->threading = FI_THREAD_DOMAIN;
	hints->domain_attr->threading = FI_THREAD_SAFE;
	expect(V1_17, "domain_attr->threading", "FI_THREAD_SAFE", "FI_THREAD_DOMAIN");
	hints->domain_attr->threading = 99;
	assert_string_equal(first_miss(), "domain_attr->threading");
	hints->domain_attr->threading = 0;

	hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
	hints->domain_attr->control_progress = FI_PROGRESS_CONTROL_UNIFIED;
	expect_match(V1_17);
	have->domain_attr->data_progress = FI_PROGRESS_MANUAL;
	hints->domain_attr->data_progress = FI_PROGRESS_AUTO;
	expect(V1_17, "domain_attr->data_progress", "FI_PROGRESS_AUTO", "FI_PROGRESS_MANUAL");
	hints->domain_attr->data_progress = 0;

	hints->domain_attr->resource_mgmt = FI_RM_DISABLED;
	expect_match(V1_17);
	have->domain_attr->resource_mgmt = FI_RM_DISABLED;
	hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
	expect(V1_17, "domain_attr->resource_mgmt", "FI_RM_ENABLED", "FI_RM_DISABLED");
	hints->domain_attr->resource_mgmt = 0;

	hints->domain_attr->av_type = FI_AV_TABLE;
	expect_match(V1_17);
	hints->domain_attr->av_type = FI_AV_TABLE + 1;
	assert_string_equal(first_miss(), "domain_attr->av_type");
	hints->domain_attr->av_type = FI_AV_TABLE;
	have->domain_attr->av_type = FI_AV_MAP;
	expect(V1_17, "domain_attr->av_type", "FI_AV_TABLE", "FI_AV_MAP");
}

static void test_addr_format(void **state)
{
	(void)state;
	hints->addr_format = FI_SOCKADDR;
	expect_match(V1_17);
	hints->addr_format = FI_SOCKADDR_IP;
	expect_match(V1_17);
	hints->addr_format = FI_ADDR_STR;
	expect_match(V1_17);
	hints->addr_format = FI_SOCKADDR_IN6;
	expect(V1_17, "addr_format", "FI_SOCKADDR_IN6", "FI_SOCKADDR_IN");
	have->addr_format = FI_FORMAT_UNSPEC;
	expect_match(V1_17);
}

static void test_mr_mode(void **state)
{
	(void)state;
	hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED;
	assert_string_equal(first_miss(), "domain_attr->mr_mode");
	assert_non_null(strstr(miss.has, "FI_MR_PROV_KEY"));
	hints->domain_attr->mr_mode |= FI_MR_PROV_KEY | FI_MR_ENDPOINT;
	expect_match(V1_17);
	hints->domain_attr->mr_mode = FI_MR_LOCAL; /* who is no target needs no more */
	hints->caps = FI_MSG;
	expect_match(V1_17);
	hints->domain_attr->mr_mode = 0;
	assert_string_equal(first_miss(), "domain_attr->mr_mode");
}

static void test_mr_mode_of_initiators(void **state)
{
	const int all = hints->domain_attr->mr_mode;

	(void)state;
	hints->caps = FI_MSG | FI_RMA | FI_READ | FI_WRITE;
	hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_ALLOCATED;
	expect_match(V1_17);
	hints->caps |= FI_REMOTE_WRITE;
	assert_string_equal(first_miss(), "domain_attr->mr_mode");
	hints->caps = FI_MSG | FI_RMA;
	assert_string_equal(first_miss(), "domain_attr->mr_mode");

	hints->caps = FI_RMA | FI_READ;
	hints->domain_attr->mr_mode = all | FI_MR_ENDPOINT;
	ofi_attr_narrow(V1_17, have, hints);
	assert_int_equal(have->domain_attr->mr_mode, all);
	hints->domain_attr->mr_mode = FI_MR_LOCAL;
	ofi_attr_narrow(V1_17, have, hints);
	assert_int_equal(have->domain_attr->mr_mode, FI_MR_LOCAL);
}

static void test_mr_mode_legacy(void **state)
{
	(void)state;
	hints->domain_attr->mr_mode = FI_MR_UNSPEC;
	expect(V1_4, "domain_attr->mr_mode", "FI_MR_UNSPEC without mode FI_LOCAL_MR",
	       "requires mode FI_LOCAL_MR");
	hints->mode = FI_LOCAL_MR;
	expect_match(V1_4);
	hints->domain_attr->mr_mode = FI_MR_BASIC;
	expect_match(V1_4);
	expect_match(V1_17);
	hints->domain_attr->mr_mode = FI_MR_SCALABLE;
	expect(V1_4, "domain_attr->mr_mode", "FI_MR_SCALABLE", "FI_MR_BASIC");
	expect(V1_17, "domain_attr->mr_mode", "FI_MR_SCALABLE", "FI_MR_BASIC");
}

static void test_no_domain_attr(void **state)
{
	struct fi_domain_attr *saved = hints->domain_attr;

	(void)state;
	hints->domain_attr = NULL;
	expect_match(V1_17);
	expect(V1_4, "domain_attr->mr_mode", "FI_MR_UNSPEC without mode FI_LOCAL_MR",
	       "requires mode FI_LOCAL_MR");
	hints->domain_attr = saved;
}

static void test_counts(void **state)
{
	(void)state;
	hints->ep_attr->type = FI_EP_RDM;
	hints->caps = FI_MULTICAST;
	hints->tx_attr->size = 1000;
	assert_int_equal(ofi_attr_misses(V1_17, have, hints, &miss), 3);
	assert_string_equal(miss.attr, "ep_attr->type");
	assert_int_equal(ofi_attr_misses(V1_17, have, hints, NULL), 3);
}

static void test_narrow_all(void **state)
{
	(void)state;
	ofi_attr_narrow(V1_17, have, NULL);
	assert_int_equal(have->caps, CAPS);
	assert_int_equal(have->tx_attr->op_flags, 0);
	assert_int_equal(have->domain_attr->mr_mode,
			 FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY);
	assert_int_equal(have->mode, 0);
}

static void test_narrow_caps(void **state)
{
	(void)state;
	hints->caps = FI_MSG;
	ofi_attr_narrow(V1_17, have, hints);
	assert_int_equal(have->caps, FI_MSG | FI_SEND | FI_RECV | FI_LOCAL_COMM | FI_REMOTE_COMM);
	assert_int_equal(have->tx_attr->caps, FI_MSG | FI_SEND | FI_LOCAL_COMM | FI_REMOTE_COMM);
	assert_int_equal(have->rx_attr->caps, FI_MSG | FI_RECV | FI_LOCAL_COMM | FI_REMOTE_COMM);
	assert_int_equal(have->domain_attr->mr_mode, FI_MR_LOCAL | FI_MR_ALLOCATED);
	hints->domain_attr->mr_mode = FI_MR_LOCAL;
	ofi_attr_narrow(V1_17, have, hints);
	assert_int_equal(have->domain_attr->mr_mode, FI_MR_LOCAL);
}

/* Programs ask for the directions of messages and forget FI_MSG. */
static void test_narrow_directions(void **state)
{
	(void)state;
	hints->caps = FI_SEND | FI_RECV;
	ofi_attr_narrow(V1_17, have, hints);
	assert_int_equal(have->caps, FI_MSG | FI_SEND | FI_RECV | FI_LOCAL_COMM | FI_REMOTE_COMM);
	assert_int_equal(have->tx_attr->caps, FI_MSG | FI_SEND | FI_LOCAL_COMM | FI_REMOTE_COMM);
}

static void test_narrow_modifiers(void **state)
{
	(void)state;
	hints->caps = FI_MSG | FI_RMA | FI_WRITE | FI_SEND;
	ofi_attr_narrow(V1_17, have, hints);
	assert_int_equal(have->caps,
			 FI_MSG | FI_RMA | FI_WRITE | FI_SEND | FI_LOCAL_COMM | FI_REMOTE_COMM);
	assert_int_equal(have->rx_attr->caps, FI_MSG | FI_RMA | FI_LOCAL_COMM | FI_REMOTE_COMM);
}

static void test_narrow_models(void **state)
{
	(void)state;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
	hints->domain_attr->av_type = FI_AV_TABLE;
	hints->tx_attr->op_flags = FI_COMPLETION;
	hints->addr_format = FI_SOCKADDR;
	ofi_attr_narrow(V1_17, have, hints);
	assert_int_equal(have->domain_attr->threading, FI_THREAD_DOMAIN);
	assert_int_equal(have->domain_attr->data_progress, FI_PROGRESS_MANUAL);
	assert_int_equal(have->domain_attr->control_progress, FI_PROGRESS_AUTO);
	assert_int_equal(have->domain_attr->av_type, FI_AV_TABLE);
	assert_int_equal(have->tx_attr->op_flags, FI_COMPLETION);
	assert_int_equal(have->addr_format, FI_SOCKADDR_IN);
}

static void test_narrow_legacy(void **state)
{
	(void)state;
	ofi_attr_narrow(V1_4, have, NULL);
	assert_int_equal(have->domain_attr->mr_mode, FI_MR_BASIC);
	assert_int_equal(have->mode, FI_LOCAL_MR);
	have->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR;
	have->mode = 0;
	hints->domain_attr->mr_mode = FI_MR_BASIC;
	ofi_attr_narrow(V1_17, have, hints);
	assert_int_equal(have->domain_attr->mr_mode, FI_MR_BASIC);
	assert_int_equal(have->mode, FI_LOCAL_MR);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_nothing_asked),
		TEST(test_names),
		TEST(test_ep),
		TEST(test_tag_format),
		TEST(test_caps_of_contexts),
		TEST(test_caps_of_other_direction),
		TEST(test_contexts),
		TEST(test_flags),
		TEST(test_caps_and_mode),
		TEST(test_traffic_class),
		TEST(test_models),
		TEST(test_addr_format),
		TEST(test_mr_mode),
		TEST(test_mr_mode_of_initiators),
		TEST(test_mr_mode_legacy),
		TEST(test_no_domain_attr),
		TEST(test_counts),
		TEST(test_narrow_all),
		TEST(test_narrow_caps),
		TEST(test_narrow_directions),
		TEST(test_narrow_modifiers),
		TEST(test_narrow_models),
		TEST(test_narrow_legacy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
