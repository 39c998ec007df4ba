/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Which providers are accepted, in which order, and which of two with the same name. */
#include "unit.h"

#include <stdio.h>
#include "fake_prov.h"

/* They outlive the tests: the registry is emptied afterwards. */
static struct fi_provider a, b, c, oldest, older, newer, other, prov;

static const char *order(void)
{
	static char text[256];
	struct ofi_provider *entry;

	text[0] = '\0';
	TAILQ_FOREACH (entry, &fake_registry.list, link)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s %u.%u",
			 *text ? ", " : "", entry->prov->name, FI_MAJOR(entry->prov->version),
			 FI_MINOR(entry->prov->version));
	return text;
}

static int start(void **state)
{
	(void)state;
	fake_cleanups = 0;
	ofi_registry_init(&fake_registry, NULL, false);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	ofi_registry_fini(&fake_registry);
	return !TAILQ_EMPTY(&fake_registry.list);
}

static void test_order(void **state)
{
	a = fake_prov("a", FI_VERSION(1, 0));
	b = fake_prov("b", FI_VERSION(1, 0));
	c = fake_prov("c", FI_VERSION(1, 0));
	assert_int_equal(fake_add(&a, 1000, false), 0);
	assert_int_equal(fake_add(&b, 1, false), 0);
	assert_int_equal(fake_add(&c, 0, true), 0);
	assert_string_equal(order(), "c 1.0, b 1.0, a 1.0");
	ofi_registry_cleanup(&fake_registry);
	assert_int_equal(fake_cleanups, 3);
	assert_string_equal(order(), "c 1.0, b 1.0, a 1.0");
	stop(state);
	assert_int_equal(fake_cleanups, 6);
}

static void test_newest_wins(void **state)
{
	(void)state;
	older = fake_prov("a", FI_VERSION(1, 9));
	newer = fake_prov("A", FI_VERSION(1, 10));
	other = fake_prov("b", FI_VERSION(1, 0));
	assert_int_equal(fake_add(&older, 1, false), 0);
	assert_int_equal(fake_add(&other, 2, false), 0);
	assert_int_equal(fake_add(&newer, 1, false), 0);
	assert_string_equal(order(), "A 1.10, b 1.0");
	assert_int_equal(fake_cleanups, 1);
	oldest = fake_prov("a", FI_VERSION(1, 8));
	assert_int_equal(fake_add(&oldest, 1, false), -FI_EALREADY);
	assert_string_equal(order(), "A 1.10, b 1.0");
	assert_int_equal(fake_cleanups, 2);
}

/* Two files that return one provider: it is listed once, and cleaned up once. */
static void test_same_provider(void **state)
{
	a = fake_prov("a", FI_VERSION(1, 0));
	b = fake_prov("a", FI_VERSION(2, 0));
	assert_int_equal(fake_add(&a, 1, false), 0);
	assert_int_equal(fake_add(&a, 1, false), -FI_EALREADY);
	a.name = "other";
	assert_int_equal(fake_add(&a, 1, false), -FI_EALREADY);
	a.name = "a";
	assert_string_equal(order(), "a 1.0");
	assert_int_equal(fake_cleanups, 0);
	assert_int_equal(fake_add(&b, 1, false), 0);
	assert_int_equal(fake_cleanups, 1);
	assert_int_equal(fake_add(&a, 1, false), -FI_EALREADY);
	assert_int_equal(fake_cleanups, 1);
	stop(state);
	assert_int_equal(fake_cleanups, 2);
}

static void test_preferred_wins(void **state)
{
	(void)state;
	older = fake_prov("a", FI_VERSION(1, 0));
	newer = fake_prov("a", FI_VERSION(2, 0));
	assert_int_equal(fake_add(&newer, 1, false), 0);
	assert_int_equal(fake_add(&older, 0, true), 0);
	assert_string_equal(order(), "a 1.0");
	assert_int_equal(fake_add(&newer, 1, false), -FI_EALREADY);
	assert_string_equal(order(), "a 1.0");
}

static void test_first_wins(void **state)
{
	(void)state;
	older = fake_prov("a", FI_VERSION(1, 0));
	newer = fake_prov("a", FI_VERSION(2, 0));
	ofi_registry_init(&fake_registry, NULL, true);
	assert_int_equal(fake_add(&older, 1, false), 0);
	assert_int_equal(fake_add(&newer, 1, false), -FI_EALREADY);
	assert_string_equal(order(), "a 1.0");
}

static void test_filter(void **state)
{
	(void)state;
	a = fake_prov("a", FI_VERSION(1, 0));
	b = fake_prov("b", FI_VERSION(1, 0));
	ofi_registry_init(&fake_registry, "^a", false);
	assert_int_equal(fake_add(&a, 1, false), 0);
	assert_int_equal(fake_add(&b, 2, false), 0);
	assert_true(TAILQ_FIRST(&fake_registry.list)->excluded);
	assert_false(TAILQ_LAST(&fake_registry.list, ofi_provider_list)->excluded);
}

static void refuse(struct fi_provider offered, int err)
{
	static struct fi_provider refused[5];
	struct fi_provider *each = &refused[fake_cleanups];

	*each = offered;
	assert_int_equal(fake_add(each, 1, false), err);
}

static void test_refused(void **state)
{
	(void)state;
	prov = fake_prov("a", FI_VERSION(1, 0));
	prov.fi_version = FI_VERSION(2, 7);
	refuse(prov, -FI_ENOSYS);
	prov.fi_version = FI_VERSION(1, 3);
	refuse(prov, -FI_ENOSYS);
	refuse(fake_prov(NULL, 0), -FI_EINVAL);
	prov = fake_prov("a", 0);
	prov.getinfo = NULL;
	refuse(prov, -FI_EINVAL);
	refuse(fake_prov("ofi_rxm", FI_VERSION(2, 6)), -FI_ENOSYS);
	assert_string_equal(order(), "");
	assert_int_equal(fake_cleanups, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_order, start, stop),
		cmocka_unit_test_setup_teardown(test_newest_wins, start, stop),
		cmocka_unit_test_setup_teardown(test_same_provider, start, stop),
		cmocka_unit_test_setup_teardown(test_preferred_wins, start, stop),
		cmocka_unit_test_setup_teardown(test_first_wins, start, stop),
		cmocka_unit_test_setup_teardown(test_filter, start, stop),
		cmocka_unit_test_setup_teardown(test_refused, start, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
