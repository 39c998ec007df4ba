/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Orders between kinds of operations: which operations start behind a fence. */
#include "unit.h"
#include <string.h>
#include "prov/rdm/op.h"
#include "prov/rdm/order.h"

static struct ofi_rdm_ep ep;
static struct ofi_rdm_peer peer;
static struct ofi_rdm_op waiting;
static struct ofi_rdm_flow_node queued;

static void ask(uint64_t caps, uint64_t order)
{
	struct fi_tx_attr tx = { .msg_order = order };
	struct fi_info info = { .caps = caps, .tx_attr = &tx };

	memset(&ep, 0, sizeof(ep));
	memset(&peer, 0, sizeof(peer));
	peer.ep = &ep;
	STAILQ_INIT(&peer.ops);
	STAILQ_INIT(&peer.fenced);
	STAILQ_INIT(&peer.proto.flow.data);
	ofi_rdm_order_init(&ep, &info);
}

static bool fences(enum ofi_rdm_order_kind kind)
{
	struct ofi_rdm_fenced item = { .fence = false };

	ofi_rdm_order_begin(&peer, &item, kind);
	ofi_rdm_order_fenced(&peer, &item);
	return item.fence;
}

/* Whether an order alone fences the second of two kinds. */
static bool fences_after(uint64_t order, enum ofi_rdm_order_kind first,
			 enum ofi_rdm_order_kind second)
{
	ask(FI_MSG | FI_RMA | FI_ATOMIC, order);
	fences(first);
	return fences(second);
}

static void test_each_order(void **state)
{
	(void)state;
	assert_true(fences_after(FI_ORDER_RAW, OFI_RDM_ORDER_ATOMIC, OFI_RDM_ORDER_READ));
	assert_true(fences_after(FI_ORDER_RAR, OFI_RDM_ORDER_ATOMIC, OFI_RDM_ORDER_READ));
	assert_true(fences_after(FI_ORDER_RAR, OFI_RDM_ORDER_READ, OFI_RDM_ORDER_ATOMIC));
	assert_true(fences_after(FI_ORDER_WAW, OFI_RDM_ORDER_ATOMIC, OFI_RDM_ORDER_WRITE));
	assert_true(fences_after(FI_ORDER_WAR, OFI_RDM_ORDER_READ, OFI_RDM_ORDER_WRITE));
	assert_true(fences_after(FI_ORDER_RMA_WAR, OFI_RDM_ORDER_READ, OFI_RDM_ORDER_WRITE));
	assert_true(fences_after(FI_ORDER_WAR, OFI_RDM_ORDER_READ, OFI_RDM_ORDER_ATOMIC));
	assert_true(fences_after(FI_ORDER_SAR, OFI_RDM_ORDER_READ, OFI_RDM_ORDER_SEND));
	/* A connection keeps these. */
	assert_false(fences_after(FI_ORDER_RAW, OFI_RDM_ORDER_WRITE, OFI_RDM_ORDER_READ));
	assert_false(fences_after(FI_ORDER_WAW, OFI_RDM_ORDER_WRITE, OFI_RDM_ORDER_ATOMIC));
	assert_false(fences_after(FI_ORDER_SAW, OFI_RDM_ORDER_WRITE, OFI_RDM_ORDER_SEND));
	assert_false(fences_after(FI_ORDER_WAS, OFI_RDM_ORDER_SEND, OFI_RDM_ORDER_WRITE));
	/* Not asked for. */
	assert_false(fences_after(FI_ORDER_WAR, OFI_RDM_ORDER_ATOMIC, OFI_RDM_ORDER_READ));
	assert_false(fences_after(FI_ORDER_SAS, OFI_RDM_ORDER_READ, OFI_RDM_ORDER_SEND));
}

/* What waits to be posted may be overtaken by what takes another queue. */
static void test_waiting(void **state)
{
	(void)state;
	ask(FI_MSG | FI_RMA, FI_ORDER_SAW | FI_ORDER_WAS);
	fences(OFI_RDM_ORDER_WRITE);
	STAILQ_INSERT_TAIL(&peer.ops, &waiting, link);
	assert_true(fences(OFI_RDM_ORDER_SEND));
	STAILQ_INIT(&peer.ops);
	STAILQ_INSERT_TAIL(&peer.proto.flow.data, &queued, link);
	assert_true(fences(OFI_RDM_ORDER_WRITE));
}

/* A send that waits behind a fence may still be queued when the fence has passed. */
static void test_behind_a_fence(void **state)
{
	struct ofi_rdm_fenced send = { .is_out = true };

	(void)state;
	ask(FI_MSG | FI_RMA, FI_ORDER_WAS);
	ofi_rdm_order_begin(&peer, &send, OFI_RDM_ORDER_SEND);
	STAILQ_INSERT_TAIL(&peer.fenced, &send, link);
	assert_true(fences(OFI_RDM_ORDER_WRITE));
}

/* An order names what is waited for, and may leave messages queued; FI_FENCE waits for all. */
static void test_what_is_late(void **state)
{
	struct ofi_rdm_fenced write = { .fence = false }, fenced = { .fence = true };

	(void)state;
	ask(FI_MSG | FI_RMA, FI_ORDER_WAR | FI_ORDER_RAS);
	fences(OFI_RDM_ORDER_SEND);
	STAILQ_INSERT_TAIL(&peer.proto.flow.data, &queued, link);
	assert_true(fences(OFI_RDM_ORDER_READ));
	ofi_rdm_order_begin(&peer, &write, OFI_RDM_ORDER_WRITE);
	ofi_rdm_order_fenced(&peer, &write);
	assert_true(write.fence);
	assert_int_equal(write.late, 1u << OFI_RDM_ORDER_READ);
	assert_true(fences(OFI_RDM_ORDER_READ));
	ofi_rdm_order_begin(&peer, &fenced, OFI_RDM_ORDER_WRITE);
	ofi_rdm_order_fenced(&peer, &fenced);
	assert_int_equal(fenced.late, 0);
	assert_int_equal(peer.issued, 1u << OFI_RDM_ORDER_WRITE);
}

/* A fence ends what was before it; runs of one kind need none. */
static void test_runs(void **state)
{
	(void)state;
	ask(FI_MSG | FI_RMA | FI_ATOMIC, FI_ORDER_WAR);
	assert_false(fences(OFI_RDM_ORDER_READ));
	assert_false(fences(OFI_RDM_ORDER_READ));
	assert_true(fences(OFI_RDM_ORDER_WRITE));
	assert_false(fences(OFI_RDM_ORDER_WRITE));
	assert_false(fences(OFI_RDM_ORDER_READ));
	assert_true(fences(OFI_RDM_ORDER_ATOMIC));
	assert_int_equal(peer.issued, 1 << OFI_RDM_ORDER_ATOMIC);
}

/* Without atomics, reads and writes keep these orders by themselves. */
static void test_kept_anyway(void **state)
{
	(void)state;
	ask(FI_MSG | FI_RMA, FI_ORDER_RAR | FI_ORDER_RAW | FI_ORDER_WAW | FI_ORDER_SAS);
	assert_false(ep.ordered);
	ask(FI_MSG | FI_ATOMIC, FI_ORDER_WAR | FI_ORDER_RAW);
	assert_false(ep.ordered);
	assert_false(fences(OFI_RDM_ORDER_ATOMIC));
	assert_int_equal(peer.issued, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_order),   cmocka_unit_test(test_waiting),
		cmocka_unit_test(test_what_is_late), cmocka_unit_test(test_behind_a_fence),
		cmocka_unit_test(test_runs),	     cmocka_unit_test(test_kept_anyway),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
