/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Sources: the host's own name, which may have an address of the loopback interface in /etc/hosts,
 * and IPv6 scopes. Destinations and peers with several addresses.
 */
#include "unit.h"

#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <ofi/addr.h>
#include <rdma/fi_errno.h>
#include "mock_device.h"
#include "prov/base/domain.h"
#include "prov/verbs/discovery/resolve.h"

static struct vrb_target target;
static struct ofi_miss why;

int __real_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
		       struct addrinfo **res);
int __wrap_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
		       struct addrinfo **res);

/* The records of one list are allocated separately. */
int __wrap_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
		       struct addrinfo **res)
{
	if (!strcmp(node, "two"))
		return __real_getaddrinfo("10.0.0.5", service, hints, res) ||
		       __real_getaddrinfo("192.168.1.5", service, hints, &(*res)->ai_next);
	if (!strcmp(node, "own"))
		node = "127.0.1.1";
	else if (strstr(node, "host"))
		return __real_getaddrinfo("::1", service, hints, res) ||
		       __real_getaddrinfo("127.0.0.1", service, hints, &(*res)->ai_next);
	return __real_getaddrinfo(node, service, hints, res);
}

static const char *host_name = "Host.example.com";

int __wrap_gethostname(char *name, size_t len);

int __wrap_gethostname(char *name, size_t len)
{
	return snprintf(name, len, "%s", host_name) < 0;
}

static bool starts_at_device(const char *node, struct sockaddr_in *src)
{
	struct vrb_port_addr local;
	struct sockaddr_storage ss;
	bool starts;

	assert_int_equal(ofi_addr_parse("10.0.0.1", &local.addr), 0);
	assert_int_equal(vrb_resolve(node, "7", FI_SOURCE, NULL, &target, &why), 0);
	starts = vrb_resolve_src(&target, &local, &ss, &why);
	memcpy(src, &ss, sizeof(*src));
	return starts;
}

static void test_own_name(void **state)
{
	struct sockaddr_in src;

	(void)state;
	assert_true(starts_at_device("own", &src));
	assert_int_equal(src.sin_addr.s_addr, htonl(0x0a000001));
	assert_int_equal(src.sin_port, htons(7));
	assert_true(starts_at_device("host.example.com", &src));
	assert_int_equal(src.sin_addr.s_addr, htonl(0x0a000001));
	assert_int_equal(src.sin_port, htons(7));
	assert_true(starts_at_device("host", &src));
	assert_int_equal(target.src.addr[0].ss_family, AF_INET6);
	assert_true(ofi_addr_is_any((struct sockaddr *)&target.src.addr[0]));
}

static void test_loopback(void **state)
{
	struct sockaddr_in src;

	(void)state;
	assert_false(starts_at_device("localhost", &src));
	assert_false(starts_at_device("another-host", &src));
	assert_false(starts_at_device("host.example", &src));
	host_name = "localhost";
	assert_false(starts_at_device("localhost", &src));
	host_name = "Host.example.com";
	assert_false(starts_at_device("127.0.0.1", &src));
	assert_false(starts_at_device("127.0.1.1", &src));
}

static bool starts_at(const char *asked, const char *own)
{
	struct vrb_port_addr local;
	struct sockaddr_storage src;

	assert_int_equal(ofi_addr_parse(own, &local.addr), 0);
	assert_int_equal(vrb_resolve(asked, NULL, FI_SOURCE, NULL, &target, &why), 0);
	return vrb_resolve_src(&target, &local, &src, &why);
}

/* Link-local addresses may be the same on several interfaces. */
static void test_scope(void **state)
{
	(void)state;
	assert_true(starts_at("fi_sockaddr_in6://[fe80::1%3]:7", "[fe80::1%3]:0"));
	assert_true(starts_at("fi_sockaddr_in6://[fe80::1]:7", "[fe80::1%3]:0"));
	assert_false(starts_at("fi_sockaddr_in6://[fe80::1%4]:7", "[fe80::1%3]:0"));
}

/* Expects a destination of rail0, whose address is 192.168.1.1. */
static void leads_to(const char *first, const char *second, const char *want, bool preferred)
{
	struct vrb_port_addr local = { .netdev = "rail0" };
	struct sockaddr_storage dest, wanted;
	bool is_preferred;

	assert_int_equal(ofi_addr_parse("192.168.1.1", &local.addr), 0);
	assert_int_equal(ofi_addr_parse(first, &target.dest.addr[0]), 0);
	assert_int_equal(ofi_addr_parse(second, &target.dest.addr[1]), 0);
	assert_int_equal(ofi_addr_parse(want, &wanted), 0);
	target.dest.count = 2;
	assert_int_equal(vrb_resolve_dest(&target, &local, &dest, &is_preferred, &why), 0);
	assert_true(ofi_addr_same_host((struct sockaddr *)&dest, (struct sockaddr *)&wanted));
	assert_int_equal(is_preferred, preferred);
}

/* Linux assumes that any destination is on the link of an interface that a socket is bound to. */
static void test_several_destinations(void **state)
{
	(void)state;
	mock_reset();
	mock_add_route("10.0.0.5", "10.0.0.1", "mgmt");
	mock_add_route("10.0.0.5", "192.168.1.1", "rail0");
	mock_add_route("10.0.0.6", "10.0.0.1", "mgmt");
	mock_add_route("10.0.0.6", "192.168.1.1", "rail0");
	mock_add_route("192.168.1.5", "192.168.1.1", "rail0");
	leads_to("10.0.0.5", "192.168.1.5", "192.168.1.5", true);
	leads_to("192.168.1.5", "10.0.0.5", "192.168.1.5", true);
	leads_to("10.0.0.5", "10.0.0.6", "10.0.0.5", false);
	leads_to("10.0.0.9", "10.0.0.6", "10.0.0.6", false);
	leads_to("10.0.0.5", "10.0.0.9", "10.0.0.5", false);
}

static void peer_is(const char *node, const char *service, struct fi_info *info, const char *want)
{
	const struct fi_provider prov = { .name = "test" };
	struct ofi_domain domain = { .prov = &prov, .info = info };
	char text[OFI_ADDR_STRLEN];
	struct sockaddr_storage ss;

	assert_int_equal(vrb_resolve_peer(&domain, "call", info->addr_format, node, service, &ss),
			 0);
	assert_string_equal(ofi_addr_str((struct sockaddr *)&ss, text, sizeof(text)), want);
}

static void test_peer(void **state)
{
	struct fi_info named = { .addr_format = FI_ADDR_STR,
				 .src_addr = (char[]){ "fi_sockaddr_in://192.168.1.1:99" } };
	struct fi_info of_no_address = { .addr_format = FI_SOCKADDR_IN };

	(void)state;
	mock_reset();
	peer_is("two", "7", &named, "fi_sockaddr_in://10.0.0.5:7");
	mock_add_route("192.168.1.5", "192.168.1.1", "rail0");
	peer_is("two", "7", &named, "fi_sockaddr_in://192.168.1.5:7");
	peer_is("two", "7", &of_no_address, "fi_sockaddr_in://10.0.0.5:7");
	peer_is("own", "7", &named, "fi_sockaddr_in://192.168.1.1:7");
	peer_is("127.0.0.1:8", NULL, &named, "fi_sockaddr_in://192.168.1.1:8");
	peer_is("127.0.0.1", "7", &of_no_address, "fi_sockaddr_in://127.0.0.1:7");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_name), cmocka_unit_test(test_loopback),
		cmocka_unit_test(test_scope),	 cmocka_unit_test(test_several_destinations),
		cmocka_unit_test(test_peer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
