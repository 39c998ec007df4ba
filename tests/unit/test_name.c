/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Addresses of which the application specifies only the port. */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_host_the_old_one_stays),
		cmocka_unit_test(a_host_is_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
