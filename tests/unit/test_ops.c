/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The defaults of each type of ops table leave no slot empty that a program can call. */
#include "unit.h"
#include <rdma/fi_errno.h>
#include <prov/base/ops.h>

typedef ssize_t slot_fn(void);

static size_t empty(const void *table)
{
	size_t i, n = *(const size_t *)table / sizeof(slot_fn *) - 1, count = 0;
	slot_fn *const *slots = (slot_fn *const *)((const size_t *)table + 1);

	for (i = 0; i < n; i++) {
		if (slots[i])
			assert_int_equal(slots[i](), -FI_ENOSYS);
		else
			count++;
	}
	return count;
}

#define CHECK(kind, DEFAULTS, texts)                                   \
	do {                                                           \
		static const struct kind table = { .size = DEFAULTS }; \
		assert_int_equal(table.size, sizeof(table));           \
		assert_int_equal(empty(&table), texts);                \
	} while (0)

static void test_no_slot_is_empty(void **state)
{
	(void)state;
	CHECK(fi_ops, OFI_FID_DEFAULTS, 0);
	CHECK(fi_ops_atomic, OFI_ATOMIC_DEFAULTS, 0);
	CHECK(fi_ops_av_set, OFI_AV_SET_DEFAULTS, 0);
	CHECK(fi_ops_cm, OFI_CM_DEFAULTS, 0);
	CHECK(fi_ops_cntr, OFI_CNTR_DEFAULTS, 0);
	CHECK(fi_ops_collective, OFI_COLLECTIVE_DEFAULTS, 0);
	CHECK(fi_ops_domain, OFI_DOMAIN_DEFAULTS, 0);
	CHECK(fi_ops_ep, OFI_EP_DEFAULTS, 0);
	CHECK(fi_ops_fabric, OFI_FABRIC_DEFAULTS, 0);
	CHECK(fi_ops_mr, OFI_MR_DEFAULTS, 0);
	CHECK(fi_ops_msg, OFI_MSG_DEFAULTS, 0);
	CHECK(fi_ops_poll, OFI_POLL_DEFAULTS, 0);
	CHECK(fi_ops_rma, OFI_RMA_DEFAULTS, 0);
	CHECK(fi_ops_tagged, OFI_TAGGED_DEFAULTS, 0);
	CHECK(fi_ops_wait, OFI_WAIT_DEFAULTS, 0);
}

/* straddr and strerror return text; a table that is used names them. */
static void test_only_texts_are_left(void **state)
{
	(void)state;
	CHECK(fi_ops_av, OFI_AV_DEFAULTS, 1);
	CHECK(fi_ops_cq, OFI_CQ_DEFAULTS, 1);
	CHECK(fi_ops_eq, OFI_EQ_DEFAULTS, 1);
}

static void test_what_was_not_asked_for(void **state)
{
	(void)state;
	assert_int_equal(empty(&ofi_no_cm_ops), 0);
	assert_int_equal(empty(&ofi_no_msg_ops), 0);
	assert_int_equal(empty(&ofi_no_rma_ops), 0);
	assert_int_equal(empty(&ofi_no_tagged_ops), 0);
	assert_int_equal(empty(&ofi_no_atomic_ops), 0);
	assert_int_equal(empty(&ofi_no_collective_ops), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_slot_is_empty),
		cmocka_unit_test(test_only_texts_are_left),
		cmocka_unit_test(test_what_was_not_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
