/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Credits, the reserve for control packets, STOP and GO. */
#include "unit.h"

#include "prov/verbs/rdm/flow.h"

static void test_credits(void **state)
{
	struct vrb_flow flow;
	struct vrb_flow_node node;

	(void)state;
	vrb_flow_init(&flow, 3, 1);
	assert_true(vrb_flow_clear(&flow));
	vrb_flow_take(&flow);
	vrb_flow_take(&flow);
	assert_false(vrb_flow_clear(&flow));
	assert_false(vrb_flow_has_data_credit(&flow));
	assert_true(vrb_flow_has_control_credit(&flow));
	vrb_flow_take(&flow);
	assert_false(vrb_flow_has_control_credit(&flow));
	vrb_flow_give(&flow, 2);
	assert_true(vrb_flow_clear(&flow));
	STAILQ_INSERT_TAIL(&flow.data, &node, link);
	assert_false(vrb_flow_clear(&flow));
	assert_true(vrb_flow_has_data_credit(&flow));
}

static void test_budget(void **state)
{
	struct vrb_flow_budget budget;
	struct vrb_flow a, b;

	(void)state;
	vrb_flow_budget_init(&budget, 100);
	vrb_flow_init(&a, 4, 1);
	vrb_flow_init(&b, 4, 1);
	assert_false(vrb_flow_charge(&budget, &a, 100));
	assert_true(vrb_flow_charge(&budget, &a, 1));
	assert_false(vrb_flow_charge(&budget, &a, 50));
	assert_int_equal(vrb_flow_settle(&a), VRB_FLOW_STOP);
	assert_int_equal(vrb_flow_settle(&a), VRB_FLOW_NOTHING);
	assert_true(vrb_flow_charge(&budget, &b, 1));
	assert_false(vrb_flow_refund(&budget, 101));
	assert_null(vrb_flow_resume(&budget));
	assert_true(vrb_flow_refund(&budget, 1));
	/* b was not told yet: nothing to take back. */
	assert_ptr_equal(vrb_flow_resume(&budget), &b);
	assert_int_equal(vrb_flow_settle(&b), VRB_FLOW_NOTHING);
	assert_ptr_equal(vrb_flow_resume(&budget), &a);
	/* a is stopped again before it hears of GO: it stays stopped. */
	assert_false(vrb_flow_charge(&budget, &a, 90));
	assert_true(a.told);
	assert_int_equal(vrb_flow_settle(&a), VRB_FLOW_NOTHING);
	assert_true(vrb_flow_refund(&budget, 90));
	assert_ptr_equal(vrb_flow_resume(&budget), &a);
	assert_int_equal(vrb_flow_settle(&a), VRB_FLOW_GO);
	assert_null(vrb_flow_resume(&budget));
}

static void test_reset(void **state)
{
	struct vrb_flow_budget budget;
	struct vrb_flow a;

	(void)state;
	vrb_flow_budget_init(&budget, 10);
	vrb_flow_init(&a, 4, 1);
	a.stopped = true;
	vrb_flow_charge(&budget, &a, 11);
	vrb_flow_take(&a);
	vrb_flow_reset(&a, 8, 2);
	assert_false(a.told || a.stopped);
	assert_int_equal(a.owed, VRB_FLOW_NOTHING);
	assert_int_equal(a.credits, 8);
	assert_false(vrb_flow_refund(&budget, 11));
	assert_null(vrb_flow_resume(&budget));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_credits),
		cmocka_unit_test(test_budget),
		cmocka_unit_test(test_reset),
	};

	return cmocka_run_group_tests_name("rdm_flow", tests, NULL, NULL);
}
