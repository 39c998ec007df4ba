/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Addresses of reliable-datagram endpoints: both kinds, their order, their names and texts. */
#include "unit.h"

#include <arpa/inet.h>
#include <string.h>
#include <ofi/addr.h>
#include "prov/rdm/addr.h"

static const uint8_t gid[16] = { 0xfe, 0x80, [15] = 7 };

static struct ofi_rdm_addr ip(const char *host, uint16_t port)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct ofi_rdm_addr addr;

	inet_pton(AF_INET, host, &in.sin_addr);
	assert_true(ofi_rdm_addr_set(&addr, (struct sockaddr *)&in));
	return addr;
}

static struct ofi_rdm_addr qp(uint32_t qpn, uint32_t key)
{
	struct ofi_rdm_addr addr;

	assert_true(ofi_rdm_addr_set_qp(&addr, gid, qpn, key));
	return addr;
}

static void test_set(void **state)
{
	static const uint8_t zero[16];
	struct sockaddr_in in = { .sin_family = AF_INET };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(1) };
	struct ofi_rdm_addr addr;

	(void)state;
	assert_false(ofi_rdm_addr_set(&addr, (struct sockaddr *)&in));
	in.sin_port = htons(1);
	assert_false(ofi_rdm_addr_set(&addr, (struct sockaddr *)&in));
	assert_false(ofi_rdm_addr_set(&addr, (struct sockaddr *)&in6));
	in6.sin6_addr = in6addr_loopback;
	assert_true(ofi_rdm_addr_set(&addr, (struct sockaddr *)&in6));
	assert_false(ofi_rdm_addr_is_qp(&addr));
	/* An application cannot pass the family of names as a socket address. */
	in6.sin6_family = OFI_AF_QP;
	assert_false(ofi_rdm_addr_set(&addr, (struct sockaddr *)&in6));
	assert_false(ofi_rdm_addr_set_qp(&addr, gid, 1, 0));
	assert_false(ofi_rdm_addr_set_qp(&addr, zero, 1, 1));
	assert_true(ofi_rdm_addr_set_qp(&addr, gid, 0, 1));
	assert_true(ofi_rdm_addr_is_qp(&addr));
}

static void test_compare(void **state)
{
	struct ofi_rdm_addr a = ip("10.0.0.1", 5), b = ip("10.0.0.1", 6), c = qp(5, 1);
	struct ofi_rdm_addr d = qp(5, 2), e = qp(6, 1), f = qp(5, 1);

	(void)state;
	assert_int_equal(ofi_rdm_addr_compare(&a, &a), 0);
	assert_int_not_equal(ofi_rdm_addr_compare(&a, &b), 0);
	assert_int_not_equal(ofi_rdm_addr_compare(&a, &c), 0);
	/* An earlier endpoint had the same queue pair number and another key. */
	assert_int_not_equal(ofi_rdm_addr_compare(&c, &d), 0);
	assert_int_not_equal(ofi_rdm_addr_compare(&c, &e), 0);
	assert_int_equal(ofi_rdm_addr_compare(&c, &f), 0);
}

static void test_shift(void **state)
{
	struct ofi_rdm_addr a = ip("10.0.0.1", 65534), q = qp(5, 1), same = q;

	(void)state;
	assert_true(ofi_rdm_addr_shift(&a, 1));
	assert_int_equal(ofi_addr_port(&a.sa), 65535);
	assert_false(ofi_rdm_addr_shift(&a, 1));
	assert_true(ofi_rdm_addr_shift(&q, 0));
	assert_false(ofi_rdm_addr_shift(&q, 1));
	assert_int_equal(ofi_rdm_addr_compare(&q, &same), 0);
}

static void test_name(void **state)
{
	uint8_t name[1 + OFI_RDM_ADDR_NAME];
	struct ofi_rdm_addr q = qp(0x123456, 0x89abcdef), back;
	size_t i;

	(void)state;
	/* Applications may store it at any alignment. */
	memset(name, 0xff, sizeof(name));
	ofi_rdm_addr_name(&q, name + 1);
	assert_memory_equal(name + 1, gid, sizeof(gid));
	assert_int_equal(name[18], 0x12);
	assert_int_equal(name[21], 0x89);
	for (i = 25; i < sizeof(name); i++)
		assert_int_equal(name[i], 0);
	assert_true(ofi_rdm_addr_from_name(&back, name + 1));
	assert_int_equal(ofi_rdm_addr_compare(&q, &back), 0);
	memset(name, 0, sizeof(name));
	assert_false(ofi_rdm_addr_from_name(&back, name + 1));
}

/* Comparisons ignore it, it is for one port only, and what applications leave there is none. */
static void test_gid(void **state)
{
	static const uint8_t mapped_ip[16] = { [10] = 0xff, 0xff, 10, 0, 0, 1 };
	struct ofi_rdm_addr a = ip("10.0.0.1", 5), q = qp(5, 1), six;
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6,
				    .sin6_port = htons(1),
				    .sin6_addr = in6addr_loopback };
	uint8_t bytes[16];

	(void)state;
	ofi_rdm_addr_gid(&a, bytes);
	assert_memory_equal(bytes, mapped_ip, sizeof(bytes));
	ofi_rdm_addr_gid(&q, bytes);
	assert_memory_equal(bytes, gid, sizeof(bytes));
	assert_true(ofi_rdm_addr_set(&six, (struct sockaddr *)&in6));
	ofi_rdm_addr_gid(&six, bytes);
	assert_memory_equal(bytes, &in6addr_loopback, sizeof(bytes));
}

static void test_hint(void **state)
{
	struct ofi_rdm_addr a = ip("10.0.0.1", 5), same = a, q = qp(5, 1), copy;
	struct ofi_rdm_addr_hint hint, none = { 0 };
	struct sockaddr_in garbage = a.in;

	(void)state;
	assert_false(ofi_rdm_addr_hint(&a, &hint));
	ofi_rdm_addr_set_hint(&a, (struct ofi_rdm_addr_hint){ 0x123456, 0x89abcdef });
	assert_int_equal(ofi_rdm_addr_compare(&a, &same), 0);
	assert_true(ofi_rdm_addr_set(&copy, &a.sa));
	assert_true(ofi_rdm_addr_hint(&copy, &hint));
	assert_int_equal(hint.qpn, 0x123456);
	assert_int_equal(hint.key, 0x89abcdef);
	assert_true(ofi_rdm_addr_shift(&copy, 0));
	assert_true(ofi_rdm_addr_hint(&copy, &hint));
	assert_true(ofi_rdm_addr_shift(&copy, 1));
	assert_false(ofi_rdm_addr_hint(&copy, &hint));
	copy = a;
	copy.in.sin_addr.s_addr ^= htonl(1);
	assert_false(ofi_rdm_addr_hint(&copy, &hint));
	ofi_rdm_addr_set_hint(&a, none);
	assert_memory_equal(&a, &same, sizeof(a));
	memset(garbage.sin_zero, 0x5a, sizeof(garbage.sin_zero));
	assert_true(ofi_rdm_addr_set(&copy, (struct sockaddr *)&garbage));
	assert_false(ofi_rdm_addr_hint(&copy, &hint));
	copy = q;
	ofi_rdm_addr_set_hint(&q, (struct ofi_rdm_addr_hint){ 5, 1 });
	assert_memory_equal(&q, &copy, sizeof(q));
	assert_false(ofi_rdm_addr_hint(&q, &hint));
}

static void test_text(void **state)
{
	struct ofi_rdm_addr a = ip("10.0.0.1", 5), q = qp(18, 4000000000u);
	char text[OFI_ADDR_STRLEN], cut[10];

	(void)state;
	assert_string_equal(ofi_rdm_addr_str(&a, text, sizeof(text)),
			    "fi_sockaddr_in://10.0.0.1:5");
	assert_string_equal(ofi_rdm_addr_str(&q, text, sizeof(text)),
			    "fi_addr_efa://[fe80::7]:18:4000000000");
	assert_string_equal(ofi_rdm_addr_str(&q, cut, sizeof(cut)), "fi_addr_e");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_set),   cmocka_unit_test(test_compare),
		cmocka_unit_test(test_shift), cmocka_unit_test(test_name),
		cmocka_unit_test(test_gid),   cmocka_unit_test(test_hint),
		cmocka_unit_test(test_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
