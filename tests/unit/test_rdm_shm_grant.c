/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Rights to copy cover what was granted, and nothing once they have ended. */
#include "unit.h"

#include "prov/rdm/shm_grant.h"

enum { KEY = 3, ADDR = 1000, LEN = 100 };

static struct ofi_shm_grant grants[OFI_SHM_GRANTS];

static int give(void **state)
{
	(void)state;
	ofi_shm_grant_give(grants, KEY, ADDR, LEN);
	return 0;
}

static bool covers(uint64_t addr, uint64_t len)
{
	return ofi_shm_grant_covers(grants, KEY, addr, len);
}

static void bounds(void **state)
{
	(void)state;
	assert_true(covers(ADDR, LEN));
	assert_true(covers(ADDR + LEN - 1, 1));
	assert_true(covers(ADDR + LEN, 0));
	assert_false(covers(ADDR - 1, 2));
	assert_false(covers(ADDR, LEN + 1));
	assert_false(covers(ADDR + 1, LEN));
	assert_false(covers(ADDR + LEN + 1, 0));
	assert_false(covers(UINT64_MAX, LEN));
	assert_false(covers(ADDR, UINT64_MAX));
}

/* The owner of the memory may be lied to about the key, which is any number. */
static void keys(void **state)
{
	uint64_t later = (uint64_t)1 << 32 | KEY;

	(void)state;
	assert_false(ofi_shm_grant_covers(grants, KEY + 1, ADDR, LEN));
	assert_false(ofi_shm_grant_covers(grants, KEY + OFI_SHM_GRANTS, ADDR, LEN));
	assert_false(ofi_shm_grant_covers(grants, UINT64_MAX, ADDR, LEN));
	ofi_shm_grant_end(grants, KEY);
	assert_false(covers(ADDR, LEN));
	ofi_shm_grant_give(grants, later, ADDR, LEN);
	assert_false(covers(ADDR, LEN));
	assert_true(ofi_shm_grant_covers(grants, later, ADDR, LEN));
	ofi_shm_grant_end(grants, KEY);
	assert_false(ofi_shm_grant_covers(grants, later, ADDR, LEN));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(bounds, give),
		cmocka_unit_test_setup(keys, give),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
