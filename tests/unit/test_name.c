/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Addresses of which the application specifies only the port, or a format without the family. */
#include "unit.h"
#include <string.h>
#include <ofi/addr.h>
#include "prov/base/name.h"

static void keeps(const char *given, const char *old, const char *want)
{
	struct sockaddr_storage ss, had;
	char text[OFI_ADDR_STRLEN];

	assert_int_equal(ofi_addr_parse(given, &ss), 0);
	assert_int_equal(ofi_addr_parse(old, &had), 0);
	ofi_name_keep_host(&ss, (struct sockaddr *)&had);
	assert_string_equal(ofi_addr_str((struct sockaddr *)&ss, text, sizeof(text)), want);
}

static void without_a_host_the_old_one_stays(void **state)
{
	(void)state;
	keeps("fi_sockaddr_in://0.0.0.0:7", "fi_sockaddr_in://10.0.0.1:5",
	      "fi_sockaddr_in://10.0.0.1:7");
	keeps("fi_sockaddr_in://0.0.0.0:0", "fi_sockaddr_in://10.0.0.1:5",
	      "fi_sockaddr_in://10.0.0.1:0");
	keeps("fi_sockaddr_in6://[::]:7", "fi_sockaddr_in6://[fe80::1]:5",
	      "fi_sockaddr_in6://[fe80::1]:7");
}

static void a_host_is_taken(void **state)
{
	(void)state;
	keeps("fi_sockaddr_in://10.0.0.2:7", "fi_sockaddr_in://10.0.0.1:5",
	      "fi_sockaddr_in://10.0.0.2:7");
	keeps("fi_sockaddr_in://0.0.0.0:7", "fi_sockaddr_in6://[fe80::1]:5",
	      "fi_sockaddr_in://0.0.0.0:7");
}

static void format_is(const char *src, const char *dest, uint32_t format, uint32_t want)
{
	struct sockaddr_storage from, to;
	struct fi_info info = { .addr_format = format };

	if (src) {
		assert_int_equal(ofi_addr_parse(src, &from), 0);
		info.src_addr = &from;
	}
	if (dest) {
		assert_int_equal(ofi_addr_parse(dest, &to), 0);
		info.dest_addr = &to;
	}
	assert_int_equal(ofi_name_format(&info), want);
}

static void any_family_is_that_of_the_addresses(void **state)
{
	(void)state;
	format_is("[fd00::1]:7", NULL, FI_SOCKADDR, FI_SOCKADDR_IN6);
	format_is("10.0.0.1:7", "[fd00::1]:7", FI_SOCKADDR, FI_SOCKADDR_IN);
	format_is(NULL, "[fd00::1]:7", FI_SOCKADDR, FI_SOCKADDR_IN6);
	format_is(NULL, NULL, FI_SOCKADDR, FI_SOCKADDR_IN);
	format_is("[fd00::1]:7", NULL, FI_SOCKADDR_IN, FI_SOCKADDR_IN);
	format_is("[fd00::1]:7", NULL, FI_ADDR_STR, FI_ADDR_STR);
	format_is(NULL, NULL, FI_FORMAT_UNSPEC, FI_FORMAT_UNSPEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_host_the_old_one_stays),
		cmocka_unit_test(a_host_is_taken),
		cmocka_unit_test(any_family_is_that_of_the_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
