/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Credits, the reserve for control packets, STOP and GO. */
#include "unit.h"

#include "prov/rdm/flow.h"

/* Gives bytes of a peer back: whether another may go on. */
static bool refund(struct ofi_rdm_flow_budget *budget, struct ofi_rdm_flow *flow, uint64_t bytes)
{
	ofi_rdm_flow_return(budget, flow, bytes);
	return ofi_rdm_flow_may_resume(budget);
}

static void test_credits(void **state)
{
	struct ofi_rdm_flow flow;
	struct ofi_rdm_flow_node node;

	(void)state;
	ofi_rdm_flow_init(&flow, 3, 1);
	assert_true(ofi_rdm_flow_clear(&flow));
	ofi_rdm_flow_take(&flow);
	ofi_rdm_flow_take(&flow);
	assert_false(ofi_rdm_flow_clear(&flow));
	assert_false(ofi_rdm_flow_has_data_credit(&flow));
	assert_true(ofi_rdm_flow_has_control_credit(&flow));
	ofi_rdm_flow_take(&flow);
	assert_false(ofi_rdm_flow_has_control_credit(&flow));
	ofi_rdm_flow_give(&flow, 2);
	assert_true(ofi_rdm_flow_clear(&flow));
	STAILQ_INSERT_TAIL(&flow.data, &node, link);
	assert_false(ofi_rdm_flow_clear(&flow));
	assert_true(ofi_rdm_flow_has_data_credit(&flow));
}

static void test_budget(void **state)
{
	struct ofi_rdm_flow_budget budget;
	struct ofi_rdm_flow a, b;

	(void)state;
	ofi_rdm_flow_budget_init(&budget, 100);
	ofi_rdm_flow_init(&a, 4, 1);
	ofi_rdm_flow_init(&b, 4, 1);
	assert_false(ofi_rdm_flow_charge(&budget, &a, 100));
	assert_true(ofi_rdm_flow_charge(&budget, &a, 1));
	assert_false(ofi_rdm_flow_charge(&budget, &a, 50));
	assert_int_equal(ofi_rdm_flow_settle(&a), OFI_RDM_FLOW_STOP);
	assert_int_equal(ofi_rdm_flow_settle(&a), OFI_RDM_FLOW_NOTHING);
	assert_true(ofi_rdm_flow_charge(&budget, &b, 1));
	assert_false(refund(&budget, &a, 101));
	assert_null(ofi_rdm_flow_resume(&budget));
	assert_true(refund(&budget, &a, 1));
	/* b was not told yet: nothing to take back. */
	assert_ptr_equal(ofi_rdm_flow_resume(&budget), &b);
	assert_int_equal(ofi_rdm_flow_settle(&b), OFI_RDM_FLOW_NOTHING);
	assert_ptr_equal(ofi_rdm_flow_resume(&budget), &a);
	/* a is stopped again before it hears of GO: it stays stopped. */
	assert_false(ofi_rdm_flow_charge(&budget, &a, 90));
	assert_true(a.level);
	assert_int_equal(ofi_rdm_flow_settle(&a), OFI_RDM_FLOW_NOTHING);
	assert_true(refund(&budget, &a, 90));
	assert_ptr_equal(ofi_rdm_flow_resume(&budget), &a);
	assert_int_equal(ofi_rdm_flow_settle(&a), OFI_RDM_FLOW_GO);
	assert_null(ofi_rdm_flow_resume(&budget));
}

static void test_reset(void **state)
{
	struct ofi_rdm_flow_budget budget;
	struct ofi_rdm_flow a;

	(void)state;
	ofi_rdm_flow_budget_init(&budget, 10);
	ofi_rdm_flow_init(&a, 4, 1);
	a.stopped = true;
	ofi_rdm_flow_charge(&budget, &a, 11);
	ofi_rdm_flow_take(&a);
	ofi_rdm_flow_reset(&a, 8, 2);
	assert_false(a.level || a.stopped);
	assert_int_equal(a.owed, OFI_RDM_FLOW_NOTHING);
	assert_int_equal(a.credits, 8);
	assert_false(refund(&budget, &a, 11));
	assert_null(ofi_rdm_flow_resume(&budget));
}

/* This connection notices its acknowledged HALT, although an earlier one still owed one. */
static void test_halts_of_earlier_connections(void **state)
{
	struct ofi_rdm_flow a;

	(void)state;
	ofi_rdm_flow_init(&a, 4, 1);
	a.owed = OFI_RDM_FLOW_HALT;
	assert_int_equal(ofi_rdm_flow_settle(&a), OFI_RDM_FLOW_HALT);
	ofi_rdm_flow_reset(&a, 4, 1);
	a.owed = OFI_RDM_FLOW_HALT;
	a.level = OFI_RDM_FLOW_NONE;
	assert_int_equal(ofi_rdm_flow_settle(&a), OFI_RDM_FLOW_HALT);
	ofi_rdm_flow_halt_acked(&a);
	assert_true(a.halt_acked);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_credits),
		cmocka_unit_test(test_budget),
		cmocka_unit_test(test_reset),
		cmocka_unit_test(test_halts_of_earlier_connections),
	};

	return cmocka_run_group_tests_name("rdm_flow", tests, NULL, NULL);
}
