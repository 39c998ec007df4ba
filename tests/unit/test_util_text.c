/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The text that fi_info prints for entries. */
#include "unit.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/fabric.h>

#include "util/info_tclass.h"
#include "util/info_text.h"

static struct fi_info *new_info(const char *host)
{
	struct fi_info *info = fi_allocinfo();
	struct sockaddr_in *addr = calloc(1, sizeof(*addr));

	assert_non_null(info);
	assert_non_null(addr);
	addr->sin_family = AF_INET;
	addr->sin_addr.s_addr = inet_addr(host);
	info->addr_format = FI_SOCKADDR_IN;
	info->src_addr = addr;
	info->src_addrlen = sizeof(*addr);
	return info;
}

static char *shown(const struct fi_info *info)
{
	const struct info_options opts = { .verbose = false };
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	info_text_query(out, &opts, info);
	fclose(out);
	return text;
}

/* Two addresses of one device are two entries, which differ in what is printed. */
static void test_address(void **state)
{
	struct fi_info *one = new_info("10.0.0.1"), *other = new_info("10.0.0.2");
	char *text = shown(one), *other_text = shown(other);

	(void)state;
	assert_non_null(strstr(text, "\n    address: fi_sockaddr_in://10.0.0.1:0\n"));
	assert_string_not_equal(text, other_text);
	free(text);
	free(other_text);
	fi_freeinfo(one);
	fi_freeinfo(other);
}

static char *tclass_of(const struct fi_info *info)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	info_tclass_print(out, info);
	fclose(out);
	return text;
}

/* What the provider makes of it is its parameter's value. */
static void test_tclass(void **state)
{
	struct fi_info *info = fi_allocinfo();
	char *text;

	(void)state;
	text = tclass_of(info);
	assert_string_equal(text, "");
	free(text);
	info->domain_attr->tclass = fi_tc_dscp_set(33);
	text = tclass_of(info);
	assert_string_equal(text, "traffic_class: DSCP 33\n");
	free(text);
	info->fabric_attr->prov_name = strdup("verbs;ofi_rxm");
	info->tx_attr->tclass = FI_TC_LOW_LATENCY;
	text = tclass_of(info);
	assert_string_equal(
		text, "traffic_class: FI_TC_LOW_LATENCY, DSCP 18 by FI_VERBS_TCLASS_LOW_LATENCY\n");
	free(text);
	fi_freeinfo(info);
}

static void test_no_address(void **state)
{
	struct fi_info *info = fi_allocinfo();
	char *text = shown(info);

	(void)state;
	assert_non_null(strstr(text, "provider: "));
	assert_null(strstr(text, "address: "));
	free(text);
	fi_freeinfo(info);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_address),
		cmocka_unit_test(test_tclass),
		cmocka_unit_test(test_no_address),
	};

	return cmocka_run_group_tests_name("util_text", tests, NULL, NULL);
}
