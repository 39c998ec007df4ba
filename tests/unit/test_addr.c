/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Addresses: conversion to text and back, ports, comparison, and invalid text. */
#include "unit.h"

#include <netinet/in.h>
#include <string.h>
#include <ofi/addr.h>
#include <rdma/fabric.h>
#include <rdma/fi_errno.h>

static struct sockaddr_storage ss;
static struct sockaddr *const sa = (struct sockaddr *)&ss;

static const char *round_trip(const char *text)
{
	static char buf[OFI_ADDR_STRLEN];

	assert_int_equal(ofi_addr_parse(text, &ss), 0);
	return ofi_addr_str(sa, buf, sizeof(buf));
}

static void test_ipv4(void **state)
{
	(void)state;
	assert_string_equal(round_trip("fi_sockaddr_in://10.0.0.1:7471"),
			    "fi_sockaddr_in://10.0.0.1:7471");
	assert_int_equal(ofi_addr_size(sa), sizeof(struct sockaddr_in));
	assert_int_equal(ofi_addr_format(sa), FI_SOCKADDR_IN);
	assert_int_equal(ofi_addr_port(sa), 7471);
	assert_false(ofi_addr_is_any(sa));
	assert_string_equal(round_trip("10.0.0.1"), "fi_sockaddr_in://10.0.0.1:0");
	assert_string_equal(round_trip("fi_sockaddr://10.0.0.1:1"), "fi_sockaddr_in://10.0.0.1:1");
	assert_string_equal(round_trip("fi_sockaddr_in://:5"), "fi_sockaddr_in://0.0.0.0:5");
	assert_true(ofi_addr_is_any(sa));
}

static void test_ipv6(void **state)
{
	(void)state;
	assert_string_equal(round_trip("fi_sockaddr_in6://[fe80::1]:7471"),
			    "fi_sockaddr_in6://[fe80::1]:7471");
	assert_int_equal(ofi_addr_format(sa), FI_SOCKADDR_IN6);
	assert_string_equal(round_trip("fe80::6:12"), "fi_sockaddr_in6://[fe80::6:12]:0");
	assert_string_equal(round_trip("[::]:9"), "fi_sockaddr_in6://[::]:9");
	assert_true(ofi_addr_is_any(sa));
	assert_string_equal(round_trip("[fe80::1%4711]:9"), "fi_sockaddr_in6://[fe80::1%4711]:9");
}

static void test_ib(void **state)
{
	const char *text = "fi_sockaddr_ib://[fe80::2:c903:a:b]:0xffff/0x1061234/0x3";

	(void)state;
	assert_string_equal(round_trip(text), text);
	assert_int_equal(ofi_addr_format(sa), FI_SOCKADDR_IB);
	assert_int_equal(ofi_addr_size(sa), 48);
	assert_int_equal(ofi_addr_port(sa), 0x1234);
	ofi_addr_set_port(sa, 0x4321);
	assert_int_equal(ofi_addr_port(sa), 0x4321);
}

static void test_ports_and_hosts(void **state)
{
	struct sockaddr_storage other;

	(void)state;
	assert_int_equal(ofi_addr_parse("10.0.0.1:1", &ss), 0);
	assert_int_equal(ofi_addr_parse("10.0.0.1:2", &other), 0);
	assert_true(ofi_addr_same_host(sa, (struct sockaddr *)&other));
	ofi_addr_set_port(sa, 2);
	assert_memory_equal(&ss, &other, sizeof(struct sockaddr_in));
	assert_int_equal(ofi_addr_parse("10.0.0.2:2", &other), 0);
	assert_false(ofi_addr_same_host(sa, (struct sockaddr *)&other));
	assert_int_equal(ofi_addr_parse("[::1]:2", &other), 0);
	assert_false(ofi_addr_same_host(sa, (struct sockaddr *)&other));
	assert_int_equal(ofi_addr_parse("[fe80::1%3]:2", &ss), 0);
	assert_int_equal(ofi_addr_parse("[fe80::1]:2", &other), 0);
	assert_true(ofi_addr_same_host(sa, (struct sockaddr *)&other));
	assert_int_equal(ofi_addr_parse("[fe80::1%4]:2", &other), 0);
	assert_false(ofi_addr_same_host(sa, (struct sockaddr *)&other));
	ofi_addr_set_port((struct sockaddr *)&other, 3);
	assert_int_equal(ofi_addr_port((struct sockaddr *)&other), 3);
}

/* fi_getinfo(3): address_format[://[node][:[service]][?key=value[&key=value]]] */
static void test_parts_left_out(void **state)
{
	(void)state;
	assert_string_equal(round_trip("fi_sockaddr://10.31.6.12:7471?qos=3"),
			    "fi_sockaddr_in://10.31.6.12:7471");
	assert_string_equal(round_trip("fi_sockaddr_in6://[fe80::1]:7?qos=3&a=b:c/d"),
			    "fi_sockaddr_in6://[fe80::1]:7");
	assert_string_equal(round_trip("fi_sockaddr_in://10.0.0.1?qos=3"),
			    "fi_sockaddr_in://10.0.0.1:0");
	assert_string_equal(round_trip("fi_sockaddr_ib://[fe80::1]:1/2/3?qos=3"),
			    "fi_sockaddr_ib://[fe80::1]:0x1/0x2/0x3");
	assert_string_equal(round_trip("fi_sockaddr_in://10.0.0.1:"),
			    "fi_sockaddr_in://10.0.0.1:0");
	assert_string_equal(round_trip("fi_sockaddr_in6://[fe80::1]:"),
			    "fi_sockaddr_in6://[fe80::1]:0");
	assert_string_equal(round_trip("fi_sockaddr_in://:"), "fi_sockaddr_in://0.0.0.0:0");
}

static void test_not_addresses(void **state)
{
	static const char *const bad[] = {
		"",
		"10.0.0",
		"10.0.0.1:",
		"10.0.0.1:7?qos=3",
		"10.0.0.1:65536",
		"10.0.0.1:x",
		"10.0.0.1:-1",
		"10.0.0.1:7/8",
		"[fe80::1",
		"[fe80::1]x",
		"[fe80::1]:",
		"fi_sockaddr_in://10.0.0.1:x?qos=3",
		"fi_addr_efa://[fe80::1]",
		"fi_sockaddr_in://[fe80::1]:1",
		"fi_sockaddr_in6://10.0.0.1:1",
		"[::1%x]:1",
		"[fe80::1%4294967297]:1",
		"fi_sockaddr_ib://[fe80::1]:0x10000",
		"fi_sockaddr_ib://[fe80::1]:1/2/3/4",
		"host",
	};
	struct sockaddr_storage before;
	char text[300];
	size_t i;

	(void)state;
	memset(&ss, 0x5a, sizeof(ss));
	before = ss;
	for (i = 1; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (!ofi_addr_parse(bad[i], &ss))
			fail_msg("'%s' was taken", bad[i]);
	}
	memset(text, '1', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(ofi_addr_parse(text, &ss), -FI_EINVAL);
	assert_int_equal(ofi_addr_parse(NULL, &ss), -FI_EINVAL);
	assert_memory_equal(&ss, &before, sizeof(ss));
}

static void test_loopback(void **state)
{
	(void)state;
	round_trip("fi_sockaddr_in://127.1.2.3:1");
	assert_true(ofi_addr_is_loopback(sa));
	round_trip("10.0.0.1");
	assert_false(ofi_addr_is_loopback(sa));
	round_trip("[::1]:1");
	assert_true(ofi_addr_is_loopback(sa));
	round_trip("fe80::1");
	assert_false(ofi_addr_is_loopback(sa));
	round_trip("fi_sockaddr_ib://[::1]:0xffff/0x1061234/0x3");
	assert_false(ofi_addr_is_loopback(sa));
}

static void test_unknown_family(void **state)
{
	struct sockaddr unknown = { .sa_family = AF_UNIX };
	char buf[8];

	(void)state;
	assert_int_equal(ofi_addr_size(&unknown), 0);
	assert_int_equal(ofi_addr_size(NULL), 0);
	assert_int_equal(ofi_addr_format(&unknown), FI_FORMAT_UNSPEC);
	assert_int_equal(ofi_addr_port(&unknown), 0);
	assert_false(ofi_addr_is_any(NULL));
	assert_false(ofi_addr_same_host(&unknown, &unknown));
	assert_string_equal(ofi_addr_str(&unknown, buf, sizeof(buf)), "unknown");
	assert_string_equal(ofi_addr_str(NULL, buf, sizeof(buf)), "(null)");
}

/* Names are left to getaddrinfo(). */
static void test_services(void **state)
{
	(void)state;
	assert_true(ofi_addr_is_service(NULL));
	assert_true(ofi_addr_is_service(""));
	assert_true(ofi_addr_is_service("0"));
	assert_true(ofi_addr_is_service("65535"));
	assert_true(ofi_addr_is_service("99999x"));
	assert_true(ofi_addr_is_service("http"));
	assert_false(ofi_addr_is_service("65536"));
	assert_false(ofi_addr_is_service("99999999999999999999"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ipv4),
		cmocka_unit_test(test_ipv6),
		cmocka_unit_test(test_ib),
		cmocka_unit_test(test_ports_and_hosts),
		cmocka_unit_test(test_parts_left_out),
		cmocka_unit_test(test_not_addresses),
		cmocka_unit_test(test_loopback),
		cmocka_unit_test(test_unknown_family),
		cmocka_unit_test(test_services),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
