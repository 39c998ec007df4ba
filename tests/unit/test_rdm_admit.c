/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Limits on connection requests of hosts: bursts, the long-term rate, and several hosts. */
#include "unit.h"
#include <string.h>
#include "prov/rdm/admit.h"

enum { RATE = 100 };

static struct ofi_rdm_admit admit;

static uint8_t *ip_of(unsigned int n)
{
	static uint8_t ip[16];

	memset(ip, 0, sizeof(ip));
	ip[14] = (uint8_t)(n >> 8);
	ip[15] = (uint8_t)n;
	return ip;
}

/* How many of `tries` requests of a host are taken, `ms` apart. */
static unsigned int taken(unsigned int host, unsigned int tries, uint64_t from, uint64_t ms)
{
	unsigned int i, count = 0;

	for (i = 0; i < tries; i++)
		count += ofi_rdm_admit_takes(&admit, ip_of(host), from + i * ms);
	return count;
}

static int begin(void **state)
{
	(void)state;
	memset(&admit, 0, sizeof(admit));
	admit.rate = RATE;
	return 0;
}

static void takes_a_burst_and_then_the_rate(void **state)
{
	(void)state;
	assert_int_equal(taken(1, 10000, 1000, 0), RATE * OFI_RDM_ADMIT_BURST);
	/* For ten seconds, each millisecond. */
	assert_in_range(taken(1, 10000, 1000, 1), 10 * RATE - 2, 10 * RATE + 2);
	/* After a pause the burst is back, and no more than that. */
	assert_int_equal(taken(1, 10000, 1000000, 0), RATE * OFI_RDM_ADMIT_BURST);
}

static void keeps_hosts_apart(void **state)
{
	(void)state;
	taken(1, 10000, 1000, 0);
	assert_int_equal(taken(1, 1, 1000, 0), 0);
	assert_int_equal(taken(2, 100, 1000, 0), 100);
	assert_int_equal(taken(1, 1, 1001, 0), 0);
}

static void has_room_for_any_number_of_hosts(void **state)
{
	unsigned int host;

	(void)state;
	for (host = 0; host < 5000; host++)
		assert_int_equal(taken(host, 1, 1000 + host, 0), 1);
}

/* Who has many addresses gets no new burst with each. */
static void has_a_limit_for_all_hosts(void **state)
{
	const unsigned int all = OFI_RDM_ADMIT_HOSTS * RATE * OFI_RDM_ADMIT_BURST;
	unsigned int host, count = 0;

	(void)state;
	for (host = 0; host < 10 * OFI_RDM_ADMIT_HOSTS; host++)
		count += taken(host, RATE * OFI_RDM_ADMIT_BURST, 1000, 0);
	assert_int_equal(count, all);
	assert_int_equal(taken(host, 1, 1000, 0), 0);
	/* Who comes later is served again. */
	assert_int_equal(taken(host, RATE / 2, 2000, 0), RATE / 2);
}

static void has_no_limit_where_none_is_wanted(void **state)
{
	(void)state;
	admit.rate = 0;
	assert_int_equal(taken(1, 100000, 1000, 0), 100000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(takes_a_burst_and_then_the_rate, begin),
		cmocka_unit_test_setup(keeps_hosts_apart, begin),
		cmocka_unit_test_setup(has_room_for_any_number_of_hosts, begin),
		cmocka_unit_test_setup(has_a_limit_for_all_hosts, begin),
		cmocka_unit_test_setup(has_no_limit_where_none_is_wanted, begin),
	};

	return cmocka_run_group_tests_name("rdm_admit", tests, NULL, NULL);
}
