/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Timers: whatever is set and cleared, in any order, the first one due is found. */
#include "unit.h"

#include "prov/rdm/due.h"

enum { NODES = 64, STEPS = 200000 };

static uint32_t any_of(uint32_t n)
{
	static uint64_t random = 88172645463325252ULL;

	random ^= random << 13;
	random ^= random >> 7;
	random ^= random << 17;
	return (uint32_t)(random >> 20) % n;
}

static uint64_t least(const uint64_t *at)
{
	uint64_t first = OFI_RDM_DUE_NEVER;
	int i;

	for (i = 0; i < NODES; i++)
		first = at[i] < first ? at[i] : first;
	return first;
}

static void test_any_order(void **state)
{
	struct ofi_rdm_due_node nodes[NODES] = { 0 };
	const struct ofi_rdm_due_node *first;
	uint64_t at[NODES];
	struct ofi_rdm_due due = { 0 };
	uint32_t i, step;

	(void)state;
	for (i = 0; i < NODES; i++)
		at[i] = OFI_RDM_DUE_NEVER;
	for (step = 0; step < STEPS; step++) {
		i = any_of(NODES);
		at[i] = any_of(3) ? any_of(100) : OFI_RDM_DUE_NEVER;
		ofi_rdm_due_set(&due, &nodes[i], at[i]);
		first = ofi_rdm_due_first(&due);
		assert_int_equal(first ? first->at : OFI_RDM_DUE_NEVER, least(at));
		if (first)
			assert_int_equal(at[first - nodes], first->at);
	}
	for (i = 0; i < NODES; i++)
		ofi_rdm_due_set(&due, &nodes[i], OFI_RDM_DUE_NEVER);
	assert_null(ofi_rdm_due_first(&due));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_any_order),
	};

	return cmocka_run_group_tests_name("rdm_due", tests, NULL, NULL);
}
