/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The number of operations that a reliable-datagram endpoint reports, and accepts. */
#include "unit.h"
#include <stdlib.h>
#include <rdma/fi_errno.h>
#include "prov/rdm/msg.h"
#include "prov/rdm/objects.h"
#include "prov/rdm/op.h"
#include "prov/rdm/peer.h"

enum { TX = 3 * OFI_RDM_OBJECTS, RX = 10, MANY = 8 * OFI_RDM_OBJECTS };

static struct fi_tx_attr tx_attr = { .size = TX };
static struct fi_rx_attr rx_attr = { .size = RX };
static struct fi_info info = { .tx_attr = &tx_attr, .rx_attr = &rx_attr };
static struct ofi_rdm_ep ep;
static size_t bounces;

static size_t bounces_left(struct ofi_rdm_ep *of)
{
	assert_ptr_equal(of, &ep);
	return bounces;
}

static const struct ofi_rdm_xport_ops xport = { .bounces_left = bounces_left };

static int begin(void **state)
{
	(void)state;
	ep = (struct ofi_rdm_ep){ .endpoint = &ep, .info = &info, .enabled = OFI_RDM_BOTH };
	ep.proto.xport.ops = &xport;
	ofi_lock_init(&ep.lock);
	info.caps = FI_MSG;
	bounces = MANY;
	return 0;
}

static int end(void **state)
{
	(void)state;
	ofi_rdm_objects_fini(&ep);
	return 0;
}

static void nothing_is_left_before_it_is_enabled(void **state)
{
	(void)state;
	ep.enabled = false;
	assert_int_equal(ofi_rdm_tx_left(&ep.fid), -FI_EOPBADSTATE);
	assert_int_equal(ofi_rdm_rx_left(&ep.fid), -FI_EOPBADSTATE);
}

static void messages_are_counted(void **state)
{
	struct ofi_rdm_out *outs[TX];
	size_t i;

	(void)state;
	for (i = 0; i < TX; i++) {
		assert_int_equal(ofi_rdm_tx_left(&ep.fid), TX - i);
		outs[i] = ofi_rdm_out_get(&ep);
		assert_non_null(outs[i]);
	}
	assert_int_equal(ofi_rdm_tx_left(&ep.fid), 0);
	assert_null(ofi_rdm_out_get(&ep));
	while (i--)
		ofi_rdm_out_put(&ep, outs[i]);
	assert_int_equal(ofi_rdm_tx_left(&ep.fid), TX);
}

/* They come in chunks, and there may be more of them than the size says. */
static void a_size_is_no_multiple_of_a_chunk(void **state)
{
	struct ofi_rdm_out *out;
	int n;

	(void)state;
	tx_attr.size = 3;
	for (n = 0; (out = ofi_rdm_out_get(&ep)); n++)
		assert_int_equal(ofi_rdm_tx_left(&ep.fid), n < 2 ? 2 - n : 0);
	assert_int_equal(n, OFI_RDM_OBJECTS);
	tx_attr.size = TX;
}

/* The other kind of operation may be the one of which fewer are left. */
static void rma_is_counted(void **state)
{
	struct ofi_rdm_peer peer = { .ep = &ep };
	struct ofi_rdm_op *ops[TX];
	size_t i;

	(void)state;
	info.caps |= FI_RMA;
	for (i = 0; i < TX; i++) {
		assert_int_equal(ofi_rdm_tx_left(&ep.fid), TX - i);
		ops[i] = ofi_rdm_op_get(&ep);
		assert_non_null(ops[i]);
		ops[i]->peer = &peer;
	}
	assert_null(ofi_rdm_op_get(&ep));
	while (i--)
		ofi_rdm_op_put(ops[i]);
	assert_int_equal(ofi_rdm_tx_left(&ep.fid), TX);
	bounces = 5;
	assert_int_equal(ofi_rdm_tx_left(&ep.fid), 5);
	info.caps &= ~FI_RMA;
	assert_int_equal(ofi_rdm_tx_left(&ep.fid), TX);
}

static void objects_are_found_by_index(void **state)
{
	struct ofi_rdm_out *out;
	struct ofi_rdm_op *op;
	uint32_t i;

	(void)state;
	for (i = 0; i < TX; i++) {
		out = ofi_rdm_out_get(&ep);
		assert_ptr_equal(
			ofi_rdm_chunks_at(&ep.objects.outs, out->proto.index, sizeof(*out)), out);
		op = ofi_rdm_op_get(&ep);
		op->context = &ep;
		assert_null(ofi_rdm_op_at(&ep, op->id));
		op->waiting = true;
		assert_ptr_equal(ofi_rdm_op_at(&ep, op->id), op);
	}
	assert_null(ofi_rdm_chunks_at(&ep.objects.outs, TX, sizeof(*out)));
	assert_null(ofi_rdm_op_at(&ep, TX));
	assert_true(ofi_rdm_op_has(&ep, &ep));
	assert_false(ofi_rdm_op_has(&ep, &info));
}

static void receives_are_counted(void **state)
{
	struct ofi_rdm_recv *recvs[RX + 1];
	int i;

	(void)state;
	for (i = 0; i <= RX; i++) {
		assert_int_equal(ofi_rdm_rx_left(&ep.fid), RX - i);
		recvs[i] = ofi_rdm_recv_get(&ep, i % 2);
	}
	assert_int_equal(ofi_rdm_rx_left(&ep.fid), 0);
	ofi_rdm_recv_put(&ep, recvs[--i]);
	assert_int_equal(ofi_rdm_rx_left(&ep.fid), 0);
	while (i--)
		ofi_rdm_recv_put(&ep, recvs[i]);
	assert_int_equal(ofi_rdm_rx_left(&ep.fid), RX);
}

/* The fast path of fi_trecv would take a free one and check nothing. */
static void none_is_free_once_the_device_is_lost(void **state)
{
	struct ofi_rdm_recv *tagged = ofi_rdm_recv_get(&ep, true);
	struct ofi_rdm_recv *untagged = ofi_rdm_recv_get(&ep, false);

	(void)state;
	ofi_rdm_recvs_lost(&ep, FI_ENODEV);
	ofi_rdm_recv_put(&ep, tagged);
	ofi_rdm_recv_put(&ep, untagged);
	assert_true(SLIST_EMPTY(&ep.free_recvs[true]));
	assert_true(SLIST_EMPTY(&ep.free_recvs[false]));
	assert_null(ofi_rdm_recv_get(&ep, true));
	assert_null(ofi_rdm_recv_get(&ep, false));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nothing_is_left_before_it_is_enabled, begin, end),
		cmocka_unit_test_setup_teardown(messages_are_counted, begin, end),
		cmocka_unit_test_setup_teardown(a_size_is_no_multiple_of_a_chunk, begin, end),
		cmocka_unit_test_setup_teardown(rma_is_counted, begin, end),
		cmocka_unit_test_setup_teardown(objects_are_found_by_index, begin, end),
		cmocka_unit_test_setup_teardown(receives_are_counted, begin, end),
		cmocka_unit_test_setup_teardown(none_is_free_once_the_device_is_lost, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
