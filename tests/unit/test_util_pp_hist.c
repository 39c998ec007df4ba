/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* fi_pingpong's histogram: percentiles against sorted samples, and the ends of its range. */
#include "unit.h"

#include <stdlib.h>

#include "util/pp_hist.h"

static struct pp_hist hist;

static void test_empty(void **state)
{
	(void)state;
	pp_hist_clear(&hist);
	assert_int_equal(pp_hist_percentile(&hist, 500), 0);
	assert_int_equal(pp_hist_between(&hist, 0, UINT64_MAX), 0);
	assert_true(pp_hist_mean(&hist) == 0);
}

/* Below 512 ns each time has a bucket of its own. */
static void test_exact(void **state)
{
	uint64_t ns;

	(void)state;
	pp_hist_clear(&hist);
	for (ns = 500; ns > 0; ns--)
		pp_hist_add(&hist, ns);
	assert_int_equal(hist.count, 500);
	assert_int_equal(hist.min, 1);
	assert_int_equal(hist.max, 500);
	assert_int_equal(pp_hist_percentile(&hist, 500), 250);
	assert_int_equal(pp_hist_percentile(&hist, 900), 450);
	assert_int_equal(pp_hist_percentile(&hist, 990), 495);
	assert_int_equal(pp_hist_between(&hist, 10, 20), 10);
	assert_true(pp_hist_mean(&hist) == 250.5);
}

/* There are too few samples for one to be above a percentile. */
static void test_few(void **state)
{
	int i;

	(void)state;
	pp_hist_clear(&hist);
	for (i = 0; i < 999; i++)
		pp_hist_add(&hist, 100);
	assert_int_equal(pp_hist_percentile(&hist, 990), 100);
	assert_int_equal(pp_hist_percentile(&hist, 999), 0);
	pp_hist_add(&hist, 100);
	assert_int_equal(pp_hist_percentile(&hist, 999), 100);
}

static int compare(const void *one, const void *other)
{
	uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;

	return a < b ? -1 : a > b;
}

/* Any percentile is within the width of a bucket, wherever the times are. */
static void test_random(void **state)
{
	static const unsigned int tenths[] = { 500, 900, 990, 999 };
	static uint64_t samples[5000];
	uint64_t want, got;
	size_t i, count = sizeof(samples) / sizeof(samples[0]);

	(void)state;
	srandom(1);
	pp_hist_clear(&hist);
	for (i = 0; i < count; i++) {
		samples[i] = (uint64_t)random() << random() % 10;
		samples[i] >>= random() % 20;
		pp_hist_add(&hist, samples[i]);
	}
	qsort(samples, count, sizeof(samples[0]), compare);
	for (i = 0; i < 4; i++) {
		want = samples[(count * tenths[i] + 999) / 1000 - 1];
		got = pp_hist_percentile(&hist, tenths[i]);
		assert_true(got >= want - want / 256 && got <= want + want / 256);
	}
	assert_int_equal(hist.min, samples[0]);
	assert_int_equal(hist.max, samples[count - 1]);
}

/* Times that are too long are counted in the last bucket, and the longest is known. */
static void test_long(void **state)
{
	(void)state;
	pp_hist_clear(&hist);
	pp_hist_add(&hist, UINT64_MAX);
	pp_hist_add(&hist, 1ULL << 41);
	pp_hist_add(&hist, (1ULL << 41) - 1);
	assert_int_equal(hist.buckets[PP_HIST_BUCKETS - 1], 3);
	assert_int_equal(hist.max, UINT64_MAX);
	pp_hist_add(&hist, (1ULL << 41) - (1ULL << 33));
	assert_int_equal(hist.buckets[PP_HIST_BUCKETS - 2], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty), cmocka_unit_test(test_exact),
		cmocka_unit_test(test_few),   cmocka_unit_test(test_random),
		cmocka_unit_test(test_long),
	};

	return cmocka_run_group_tests_name("util_pp_hist", tests, NULL, NULL);
}
