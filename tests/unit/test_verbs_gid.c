/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The choice of a GID in a table. */
#include "unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include "mock_device.h"
#include "prov/verbs/discovery/gid.h"

static struct mock_device *device;
static struct ibv_context *ctx;
static struct vrb_gid_table table;

static int setup(void **state)
{
	(void)state;
	mock_reset();
	device = mock_add_device("rxe0");
	ctx = ibv_open_device(&device->dev);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	vrb_gid_table_free(&table);
	ibv_close_device(ctx);
	return 0;
}

static int chosen(uint32_t port, int pinned)
{
	const struct ibv_gid_entry *entry;

	vrb_gid_table_free(&table);
	assert_int_equal(vrb_gid_table_read(ctx, MOCK_GIDS, &table), 0);
	entry = vrb_gid_choose(&table, port, pinned);
	return entry ? (int)entry->gid_index : -1;
}

static void test_empty(void **state)
{
	(void)state;
	assert_int_equal(vrb_gid_table_read(ctx, 0, &table), 0);
	assert_int_equal(table.count, 0);
	assert_int_equal(chosen(1, -1), -1);
}

static void test_zero_is_none(void **state)
{
	(void)state;
	mock_add_gid(device, 1, 0, IBV_GID_TYPE_ROCE_V2, "::", 2);
	assert_int_equal(chosen(1, -1), -1);
	assert_int_equal(chosen(1, 0), -1);
}

/* The order in which the kernel fills the table of a RoCE port */
static void test_roce(void **state)
{
	(void)state;
	mock_add_gid(device, 1, 0, IBV_GID_TYPE_ROCE_V1, "fe80::5054:ff:fe12:3456", 2);
	assert_int_equal(chosen(1, -1), 0);
	mock_add_gid(device, 1, 1, IBV_GID_TYPE_ROCE_V2, "fe80::5054:ff:fe12:3456", 2);
	assert_int_equal(chosen(1, -1), 1);
	mock_add_gid(device, 1, 2, IBV_GID_TYPE_ROCE_V1, "::ffff:10.0.0.1", 2);
	assert_int_equal(chosen(1, -1), 1);
	mock_add_gid(device, 1, 3, IBV_GID_TYPE_ROCE_V2, "2001:db8::1", 2);
	assert_int_equal(chosen(1, -1), 3);
	mock_add_gid(device, 1, 4, IBV_GID_TYPE_ROCE_V2, "::ffff:10.0.0.1", 2);
	assert_int_equal(chosen(1, -1), 4);
	mock_add_gid(device, 1, 5, IBV_GID_TYPE_ROCE_V2, "::ffff:10.0.1.1", 3);
	assert_int_equal(chosen(1, -1), 4);
}

static void test_reach(void **state)
{
	(void)state;
	mock_add_gid(device, 1, 0, IBV_GID_TYPE_ROCE_V2, "::ffff:127.0.0.1", 1);
	mock_add_gid(device, 1, 1, IBV_GID_TYPE_ROCE_V2, "::ffff:169.254.7.7", 2);
	assert_int_equal(chosen(1, -1), 1);
	mock_add_gid(device, 1, 2, IBV_GID_TYPE_ROCE_V2, "fd00::1", 2);
	assert_int_equal(chosen(1, -1), 2);
}

static void test_infiniband(void **state)
{
	(void)state;
	mock_add_gid(device, 1, 1, IBV_GID_TYPE_IB, "fec0::2:c903:1", 0);
	mock_add_gid(device, 1, 0, IBV_GID_TYPE_IB, "fe80::2:c903:1", 0);
	assert_int_equal(chosen(1, -1), 0);
}

static void test_ports(void **state)
{
	(void)state;
	mock_add_gid(device, 2, 0, IBV_GID_TYPE_ROCE_V2, "::ffff:10.0.2.1", 3);
	mock_add_gid(device, 1, 7, IBV_GID_TYPE_ROCE_V1, "fe80::1", 2);
	assert_int_equal(chosen(1, -1), 7);
	assert_int_equal(chosen(2, -1), 0);
}

static void test_pinned(void **state)
{
	(void)state;
	mock_add_gid(device, 1, 0, IBV_GID_TYPE_ROCE_V1, "fe80::1", 2);
	mock_add_gid(device, 1, 1, IBV_GID_TYPE_ROCE_V2, "::ffff:10.0.0.1", 2);
	assert_int_equal(chosen(1, 0), 0);
	assert_int_equal(chosen(1, 1), 1);
	assert_int_equal(chosen(1, 2), -1);
}

static void test_failure(void **state)
{
	(void)state;
	mock_fail("ibv_query_gid_table", EIO);
	assert_int_equal(vrb_gid_table_read(ctx, MOCK_GIDS, &table), EIO);
	assert_null(table.entries);
}

static void test_addr(void **state)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };
	union ibv_gid gid;
	char text[64];

	(void)state;
	inet_pton(AF_INET6, "::ffff:10.0.0.1", gid.raw);
	assert_string_equal(vrb_gid_str(&gid, text, sizeof(text)), "::ffff:10.0.0.1");
	inet_pton(AF_INET, "10.0.0.1", &in.sin_addr);
	assert_true(vrb_gid_is_addr(&gid, (struct sockaddr *)&in));
	inet_pton(AF_INET, "10.0.0.2", &in.sin_addr);
	assert_false(vrb_gid_is_addr(&gid, (struct sockaddr *)&in));
	inet_pton(AF_INET6, "fd00::1", &in6.sin6_addr);
	assert_false(vrb_gid_is_addr(&gid, (struct sockaddr *)&in6));
	inet_pton(AF_INET6, "fd00::1", gid.raw);
	assert_true(vrb_gid_is_addr(&gid, (struct sockaddr *)&in6));
	assert_false(vrb_gid_is_addr(&gid, (struct sockaddr *)&in));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_empty),  TEST(test_zero_is_none), TEST(test_roce),
		TEST(test_reach),  TEST(test_infiniband),   TEST(test_ports),
		TEST(test_pinned), TEST(test_failure),	    TEST(test_addr),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
