/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The lines of fi_stat, and the table of its live view. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "util/stat_print.h"

typedef void print_fn(FILE *out, const struct fi_stats_object *object,
		      const struct fi_stats_object *before, double seconds, bool all);

static struct fi_stats_object object(uint64_t sends)
{
	struct fi_stats_object object = { .id = 9,
					  .group = 4,
					  .cq = 2,
					  .fclass = FI_CLASS_TX_CTX,
					  .name = "rxe0 qp 52",
					  .count = 3 };

	object.items[0] = (struct fi_stats_item){ .name = "sends", .value = sends };
	object.items[1] = (struct fi_stats_item){ .name = "tx_errors" };
	object.items[2] =
		(struct fi_stats_item){ .name = "tx_outstanding", .value = 6, .level = 1 };
	return object;
}

static void expect(print_fn *print, const struct fi_stats_object *now,
		   const struct fi_stats_object *before, bool all, const char *want)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	print(out, now, before, 2, all);
	fclose(out);
	assert_string_equal(text, want);
	free(text);
}

static void test_text(void **state)
{
	struct fi_stats_object now = object(390), before = object(190);

	(void)state;
	expect(stat_print_text, &now, NULL, false,
	       "ep-tx  4 rxe0 qp 52 cq 2: sends 390 tx_outstanding 6\n");
	expect(stat_print_text, &now, &before, true,
	       "ep-tx  4 rxe0 qp 52 cq 2: sends 390 (100/s) tx_errors 0 (0/s) tx_outstanding 6\n");
}

/* Levels have no rate, and the object is named once. */
static void test_table(void **state)
{
	struct fi_stats_object now = object(390), before = object(190);

	(void)state;
	expect(stat_print_table, &now, &before, false,
	       "ep-tx 4 rxe0 qp 52 cq 2         sends                         390           100\n"
	       "                                tx_outstanding                  6\n");
	expect(stat_print_table, &now, NULL, true,
	       "ep-tx 4 rxe0 qp 52 cq 2         sends                         390\n"
	       "                                tx_errors                       0\n"
	       "                                tx_outstanding                  6\n");
	now.count = 0;
	expect(stat_print_table, &now, NULL, true, "");
}

/* The name comes from another process: nothing in it reaches the terminal as a command. */
static void test_name(void **state)
{
	struct fi_stats_object now = object(1);

	(void)state;
	now.count = 1;
	strcpy(now.name, "\033[2J\n\"0123456789012345678901");
	expect(stat_print_table, &now, NULL, false,
	       "ep-tx 4 ?[2J??01234567890123456 sends                           1\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_name),
	};

	return cmocka_run_group_tests_name("util_stat_print", tests, NULL, NULL);
}
