/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* How much of the time a bounded wait counts. */
#include "unit.h"

#include "src/ds/patience.h"

uint64_t __wrap_ofi_now_ms(void);

static uint64_t now = 1000;

uint64_t __wrap_ofi_now_ms(void)
{
	return now;
}

static bool over_after(struct ofi_patience *patience, uint64_t ms)
{
	now += ms;
	return ofi_patience_over(patience);
}

/* A wait that is polled often lasts as long as it says. */
static void test_polled(void **state)
{
	struct ofi_patience patience = { .ms = 2000 };
	int ms;

	(void)state;
	assert_false(ofi_patience_over(&patience));
	for (ms = 10; ms < 2000; ms += 10)
		assert_false(over_after(&patience, 10));
	assert_true(over_after(&patience, 10));
	assert_true(over_after(&patience, 0));
}

/* A pause of the process leaves most of the time, however long it lasts. */
static void test_pause(void **state)
{
	struct ofi_patience patience = { .ms = 2000 };
	int looks;

	(void)state;
	assert_false(ofi_patience_over(&patience));
	for (looks = 1; looks < 40; looks++)
		assert_false(over_after(&patience, UINT32_MAX + 1ull));
	assert_true(over_after(&patience, 50));
}

/* So does one in a wait that is shorter than a pause. */
static void test_short(void **state)
{
	struct ofi_patience patience = { .ms = 10 };

	(void)state;
	assert_false(ofi_patience_over(&patience));
	assert_false(over_after(&patience, 60000));
	for (int looks = 2; looks < 10; looks++)
		assert_false(over_after(&patience, 1));
	assert_true(over_after(&patience, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_polled),
		cmocka_unit_test(test_pause),
		cmocka_unit_test(test_short),
	};

	return cmocka_run_group_tests_name("patience", tests, NULL, NULL);
}
