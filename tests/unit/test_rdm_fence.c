/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Operations that wait for all before them: what the marker holds, when it opens, and how it fails.
 */
#include "unit.h"
#include <string.h>
#include <rdma/fi_errno.h>
#include "prov/rdm/objects.h"
#include "prov/rdm/peer.h"
#include "prov/rdm/fence.h"
#include "prov/rdm/complete.h"
#include "prov/rdm/order.h"

enum { ITEMS = 4 };

static struct ofi_rdm_ep ep;
static struct ofi_rdm_peer peer;
static struct ofi_rdm_op marker, ops[ITEMS];
static struct ofi_rdm_out outs[ITEMS];
static bool no_gate, fenced;
static unsigned int pumps, waits, gates_back;
static uint32_t posted, completed; /* to the peer */
static const void *sent[ITEMS], *failed[ITEMS];
static unsigned int sends, failures;

void ofi_rdm_proto_send(struct ofi_rdm_proto_peer *to, struct ofi_rdm_proto_out *out)
{
	assert_ptr_equal(to, &peer.proto);
	TAILQ_INSERT_TAIL(&to->outs, out, link);
	sent[sends++] = out;
}

void ofi_rdm_proto_peer_fence(struct ofi_rdm_proto_peer *of, bool fence)
{
	assert_ptr_equal(of, &peer.proto);
	fenced = fence;
}

int ofi_rdm_proto_load(void *to, const struct iovec *iov, size_t count, bool device)
{
	uint8_t *bytes = to;

	assert_int_equal(device, ep.hmem);
	if (device)
		return -FI_EIO;
	for (; count--; iov++) {
		memcpy(bytes, iov->iov_base, iov->iov_len);
		bytes += iov->iov_len;
	}
	return 0;
}

void ofi_rdm_ops_pump(struct ofi_rdm_peer *of)
{
	assert_ptr_equal(of, &peer);
	pumps++;
}

struct ofi_rdm_op *ofi_rdm_op_get(struct ofi_rdm_ep *of)
{
	assert_ptr_equal(of, &ep);
	return no_gate ? NULL : &marker;
}

void ofi_rdm_op_end(struct ofi_rdm_op *op, int err)
{
	assert_int_equal(err, FI_EIO);
	failed[failures++] = op;
}

void ofi_rdm_op_put(struct ofi_rdm_op *op)
{
	assert_ptr_equal(op, &marker);
	assert_ptr_equal(op->peer, &peer);
	gates_back++;
}

void ofi_rdm_complete_tx(struct ofi_rdm_ep *of, void *context, uint64_t flags, int err,
			 int wc_status)
{
	assert_ptr_equal(of, &ep);
	assert_int_equal(flags, FI_MSG | FI_SEND);
	assert_int_equal(err, FI_ECONNRESET);
	assert_int_equal(wc_status, 0);
	failed[failures++] = context;
}

void ofi_rdm_out_put(struct ofi_rdm_ep *of, struct ofi_rdm_out *out)
{
	assert_ptr_equal(of, &ep);
	assert_ptr_equal(out, failed[failures - 1]);
}

/* The transport. It asks for another look while the mark is not passed. */
static bool quiet(const struct ofi_rdm_proto_peer *of)
{
	assert_ptr_equal(of, &peer.proto);
	return posted == completed;
}

static uint32_t mark(const struct ofi_rdm_proto_peer *of)
{
	assert_ptr_equal(of, &peer.proto);
	return posted;
}

static bool passed(struct ofi_rdm_proto_peer *of, uint32_t at)
{
	assert_ptr_equal(of, &peer.proto);
	waits += (int32_t)(completed - at) < 0;
	return (int32_t)(completed - at) >= 0;
}

static const struct ofi_rdm_xport_ops xport = { .quiet = quiet, .mark = mark, .passed = passed };

static int begin(void **state)
{
	int i;

	(void)state;
	memset(&ep, 0, sizeof(ep));
	memset(&peer, 0, sizeof(peer));
	memset(&marker, 0, sizeof(marker));
	memset(ops, 0, sizeof(ops));
	memset(outs, 0, sizeof(outs));
	TAILQ_INIT(&peer.proto.outs);
	TAILQ_INIT(&peer.answers);
	STAILQ_INIT(&peer.ops);
	STAILQ_INIT(&peer.fenced);
	STAILQ_INIT(&peer.proto.flow.data);
	peer.ep = &ep;
	peer.proto.proto = &ep.proto;
	ep.proto.xport.ops = &xport;
	for (i = 0; i < ITEMS; i++) {
		ops[i].peer = &peer;
		outs[i].flags = FI_MSG | FI_SEND;
		outs[i].fenced.is_out = true;
		outs[i].proto.context = &outs[i];
	}
	no_gate = fenced = false;
	pumps = waits = gates_back = sends = failures = 0;
	posted = completed = 0;
	return 0;
}

static int fence(struct ofi_rdm_op *op)
{
	op->fenced.fence = true;
	return ofi_rdm_fence_add(&peer, &op->fenced);
}

/* What was posted, and is not complete. */
static void be_busy(void)
{
	posted++;
}

static struct ofi_rdm_op *take_op(void)
{
	struct ofi_rdm_op *op = STAILQ_FIRST(&peer.ops);

	assert_non_null(op);
	STAILQ_REMOVE_HEAD(&peer.ops, link);
	return op;
}

static void nothing_is_waited_for_when_all_is_quiet(void **state)
{
	(void)state;
	assert_int_equal(fence(&ops[0]), 0);
	assert_null(peer.marker);
	assert_ptr_equal(take_op(), &ops[0]);
	assert_int_equal(pumps, 1);
	outs[0].fenced.fence = true;
	assert_int_equal(ofi_rdm_fence_add(&peer, &outs[0].fenced), 0);
	assert_null(peer.marker);
	assert_ptr_equal(sent[0], &outs[0]);
	assert_false(fenced);
	assert_int_equal(ep.stats.value[OFI_STATS_FENCED], 0);
}

/* The peer may receive it only after what comes behind the operation. */
static void an_order_does_not_wait_for_a_message_that_was_sent(void **state)
{
	(void)state;
	TAILQ_INSERT_TAIL(&peer.proto.outs, &outs[0].proto, link);
	ops[0].fenced.late = ops[1].fenced.late = 1u << OFI_RDM_ORDER_READ;
	assert_int_equal(fence(&ops[0]), 0);
	assert_null(peer.marker);
	assert_ptr_equal(take_op(), &ops[0]);
	be_busy();
	assert_int_equal(fence(&ops[1]), 0);
	assert_false(ofi_rdm_fence_lift(&peer));
	completed = posted;
	assert_true(ofi_rdm_fence_lift(&peer));
	assert_ptr_equal(take_op(), &ops[1]);
	/* FI_FENCE does. */
	assert_int_equal(fence(&ops[2]), 0);
	assert_false(ofi_rdm_fence_lift(&peer));
	TAILQ_REMOVE(&peer.proto.outs, &outs[0].proto, link);
	assert_true(ofi_rdm_fence_lift(&peer));
}

static void an_order_behind_messages_waits_until_they_are_sent(void **state)
{
	struct ofi_rdm_flow_node queued;

	(void)state;
	STAILQ_INSERT_TAIL(&peer.proto.flow.data, &queued, link);
	ops[0].fenced.late = 1u << OFI_RDM_ORDER_SEND;
	assert_int_equal(fence(&ops[0]), 0);
	assert_false(ofi_rdm_fence_lift(&peer));
	STAILQ_INIT(&peer.proto.flow.data);
	assert_true(ofi_rdm_fence_lift(&peer));
	assert_ptr_equal(take_op(), &ops[0]);
}

/* Of device memory; nothing goes to the peer. */
static void data_that_cannot_be_copied_is_an_error(void **state)
{
	struct iovec late = { &late, sizeof(late) };

	(void)state;
	ep.hmem = true;
	ops[0].late = &late;
	ops[0].late_count = 1;
	assert_int_equal(fence(&ops[0]), 0);
	assert_true(STAILQ_EMPTY(&peer.ops));
	assert_int_equal(failures, 1);
	assert_ptr_equal(failed[0], &ops[0]);
}

static void check_kept(struct ofi_rdm_op *first)
{
	assert_int_equal(fence(&ops[0]), 0);
	assert_ptr_equal(peer.marker, &marker);
	assert_int_equal(marker.kind, OFI_RDM_OP_MARKER);
	assert_true(fenced);
	assert_ptr_equal(STAILQ_FIRST(&peer.fenced), &ops[0].fenced);
	assert_ptr_equal(STAILQ_FIRST(&peer.ops), first);
	/* There is something to look at only where the marker is the next. */
	assert_int_equal(pumps, first == &marker);
	assert_int_equal(ep.stats.value[OFI_STATS_FENCED], 1);
}

static void each_that_is_not_complete_is_waited_for(void **state)
{
	be_busy();
	check_kept(&marker);
	begin(state);
	TAILQ_INSERT_TAIL(&peer.proto.outs, &outs[0].proto, link);
	check_kept(&marker);
	begin(state);
	TAILQ_INSERT_TAIL(&peer.answers, &ops[1], wait);
	check_kept(&marker);
	begin(state);
	STAILQ_INSERT_TAIL(&peer.ops, &ops[1], link);
	check_kept(&ops[1]);
}

/* It may not be passed by what has no fence either. */
static void what_comes_behind_stays_behind(void **state)
{
	(void)state;
	be_busy();
	assert_int_equal(fence(&ops[0]), 0);
	assert_int_equal(ofi_rdm_fence_add(&peer, &outs[0].fenced), 0);
	assert_int_equal(ofi_rdm_fence_add(&peer, &ops[1].fenced), 0);
	assert_int_equal(sends, 0);
	assert_int_equal(ep.stats.value[OFI_STATS_FENCED], 3);
	/* Nor when all before it is complete, but the marker is not yet looked at. */
	completed = posted;
	assert_int_equal(ofi_rdm_fence_add(&peer, &outs[1].fenced), 0);
	assert_int_equal(sends, 0);
	assert_true(ofi_rdm_fence_lift(&peer));
	assert_ptr_equal(take_op(), &ops[0]);
	assert_ptr_equal(take_op(), &ops[1]);
	assert_true(STAILQ_EMPTY(&peer.ops));
	assert_ptr_equal(sent[0], &outs[0]);
	assert_ptr_equal(sent[1], &outs[1]);
	assert_null(peer.marker);
	assert_false(fenced);
	assert_int_equal(gates_back, 1);
}

static void it_opens_when_the_earlier_is_complete(void **state)
{
	(void)state;
	posted = completed = UINT32_MAX; /* the counts go round */
	be_busy();
	be_busy();
	TAILQ_INSERT_TAIL(&peer.proto.outs, &outs[0].proto, link);
	TAILQ_INSERT_TAIL(&peer.answers, &ops[1], wait);
	assert_int_equal(fence(&ops[0]), 0);
	assert_false(ofi_rdm_fence_lift(&peer));
	TAILQ_REMOVE(&peer.proto.outs, &outs[0].proto, link);
	assert_false(ofi_rdm_fence_lift(&peer));
	TAILQ_REMOVE(&peer.answers, &ops[1], wait);
	assert_int_equal(waits, 0);
	assert_false(ofi_rdm_fence_lift(&peer));
	assert_int_equal(waits, 1);
	completed++;
	be_busy(); /* which the marker was not made for */
	assert_false(ofi_rdm_fence_lift(&peer));
	completed++;
	assert_true(ofi_rdm_fence_lift(&peer));
	assert_ptr_equal(take_op(), &ops[0]);
	assert_null(peer.marker);
}

static void one_fence_waits_for_another(void **state)
{
	(void)state;
	be_busy();
	assert_int_equal(fence(&ops[0]), 0);
	assert_int_equal(ofi_rdm_fence_add(&peer, &ops[1].fenced), 0);
	assert_int_equal(fence(&ops[2]), 0);
	assert_int_equal(ofi_rdm_fence_add(&peer, &ops[3].fenced), 0);
	completed++;
	assert_true(ofi_rdm_fence_lift(&peer));
	assert_ptr_equal(take_op(), &ops[0]);
	assert_ptr_equal(take_op(), &ops[1]);
	assert_ptr_equal(STAILQ_FIRST(&peer.ops), &marker);
	assert_true(fenced);
	assert_ptr_equal(STAILQ_FIRST(&peer.fenced), &ops[2].fenced);
	be_busy(); /* with those two */
	assert_false(ofi_rdm_fence_lift(&peer));
	completed++;
	assert_true(ofi_rdm_fence_lift(&peer));
	assert_ptr_equal(take_op(), &ops[2]);
	assert_ptr_equal(take_op(), &ops[3]);
	assert_null(peer.marker);
	assert_int_equal(gates_back, 1);
}

/* The application's buffers may be filled by what is waited for. */
static void buffers_are_copied_late(void **state)
{
	char first[] = "ab", second[] = "cd", bounce[5] = "", operands[5] = "";
	const struct iovec late[] = { { first, 2 }, { second, 2 } };

	(void)state;
	be_busy();
	ops[0].kind = OFI_RDM_OP_WRITE;
	ops[0].local[0].addr = (uint8_t *)bounce;
	ops[1].kind = OFI_RDM_OP_ATOMIC;
	ops[1].operands = operands;
	ops[0].late = ops[1].late = late;
	ops[0].late_count = ops[1].late_count = 2;
	assert_int_equal(fence(&ops[0]), 0);
	assert_int_equal(ofi_rdm_fence_add(&peer, &ops[1].fenced), 0);
	assert_string_equal(bounce, "");
	first[0] = 'x';
	completed++;
	assert_true(ofi_rdm_fence_lift(&peer));
	assert_string_equal(bounce, "xbcd");
	assert_string_equal(operands, "xbcd");
	assert_null(ops[0].late);
	assert_null(ops[1].late);
}

static void without_a_gate_it_is_for_another_time(void **state)
{
	(void)state;
	be_busy();
	no_gate = true;
	assert_int_equal(fence(&ops[0]), -FI_EAGAIN);
	assert_int_equal(ofi_rdm_fence_add(&peer, &outs[0].fenced), -FI_EAGAIN);
	assert_true(STAILQ_EMPTY(&peer.fenced));
	assert_true(STAILQ_EMPTY(&peer.ops));
	assert_null(peer.marker);
	assert_false(fenced);
	assert_int_equal(ep.stats.value[OFI_STATS_FENCED], 0);
}

/* Messages fail at once; the other operations join those before the marker, to fail with them. */
static void what_waits_fails(void **state)
{
	(void)state;
	be_busy();
	assert_int_equal(fence(&ops[0]), 0);
	assert_int_equal(ofi_rdm_fence_add(&peer, &outs[0].fenced), 0);
	assert_int_equal(fence(&ops[1]), 0);
	assert_int_equal(ofi_rdm_fence_add(&peer, &outs[1].fenced), 0);
	assert_ptr_equal(take_op(), &marker);
	ofi_rdm_fence_fail(&peer, FI_ECONNRESET);
	assert_int_equal(failures, 2);
	assert_ptr_equal(failed[0], &outs[0]);
	assert_ptr_equal(failed[1], &outs[1]);
	assert_ptr_equal(take_op(), &ops[0]);
	assert_ptr_equal(take_op(), &ops[1]);
	assert_true(STAILQ_EMPTY(&peer.ops));
	assert_true(STAILQ_EMPTY(&peer.fenced));
	assert_null(peer.marker);
	assert_false(fenced);
	assert_int_equal(gates_back, 1);
	assert_int_equal(sends, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(nothing_is_waited_for_when_all_is_quiet, begin),
		cmocka_unit_test_setup(an_order_does_not_wait_for_a_message_that_was_sent, begin),
		cmocka_unit_test_setup(an_order_behind_messages_waits_until_they_are_sent, begin),
		cmocka_unit_test_setup(data_that_cannot_be_copied_is_an_error, begin),
		cmocka_unit_test_setup(each_that_is_not_complete_is_waited_for, begin),
		cmocka_unit_test_setup(what_comes_behind_stays_behind, begin),
		cmocka_unit_test_setup(it_opens_when_the_earlier_is_complete, begin),
		cmocka_unit_test_setup(one_fence_waits_for_another, begin),
		cmocka_unit_test_setup(buffers_are_copied_late, begin),
		cmocka_unit_test_setup(without_a_gate_it_is_for_another_time, begin),
		cmocka_unit_test_setup(what_waits_fails, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
