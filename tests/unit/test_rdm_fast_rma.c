/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* When reads and writes are posted past the engine, and when they are not. */
#include "unit.h"
#include <string.h>
#include <rdma/fi_errno.h>
#include "prov/base/desc.h"
#include "prov/rdm/op.h"
#include "prov/verbs/rdm/rc.h"
#include "prov/verbs/rdm/rc_conn.h"

static unsigned int posted;

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	(void)qp;
	(void)wr;
	(void)bad;
	posted++;
	return 0;
}

static struct ibv_context device = { .ops.post_send = post_send };
static struct ibv_qp qp = { .context = &device };
static struct vrb_rdm_slot slots[16];
static struct vrb_rc_conn conn;
static struct vrb_rc_peer peer;
static struct ofi_rdm_peer *by_addr = &peer.rdm;
static struct vrb_rc_ep rc;
static char bytes[2]; /* the first one is a region */

/* The engine refuses what reaches it, because the endpoint is not enabled. */
static int begin(void **state)
{
	(void)state;
	posted = 0;
	memset(&rc, 0, sizeof(rc));
	peer = (struct vrb_rc_peer){ .rdm.ep = &rc.rdm, .conn = &conn };
	conn = (struct vrb_rc_conn){ .slots = slots, .mask = 15, .sq = &qp };
	rc.rdm.endpoint = &rc.rdm;
	rc.rdm.region[true].desc = ofi_desc(5, FI_HMEM_SYSTEM, true);
	rc.rdm.region[true].start = (uintptr_t)bytes;
	rc.rdm.region[true].end = (uintptr_t)bytes + 1;
	rc.rdm.by_addr = &by_addr;
	rc.rdm.by_addr_size = 1;
	rc.write.end = rc.inline_max = rc.read.registered_end = rc.rdm.inject_size = 8;
	STAILQ_INIT(&peer.rdm.ops);
	peer.rdm.direct = true;
	ofi_rdm_proto_peer_init(&rc.rdm.proto, &peer.rdm.proto, 0);
	ofi_rdm_proto_peer_up(&peer.rdm.proto, 10, 2, 100);
	return 0;
}

/* Each of the three calls returns `ret`. */
static void check_all(int ret)
{
	struct fid_ep *ep = (struct fid_ep *)&rc.rdm;
	void *desc = ofi_desc(5, FI_HMEM_SYSTEM, true);

	assert_int_equal(vrb_rc_rma_nolock_ops.write(ep, bytes, 1, NULL, 0, 64, 7, NULL), ret);
	assert_int_equal(vrb_rc_rma_nolock_ops.inject(ep, bytes, 1, 0, 64, 7), ret);
	assert_int_equal(vrb_rc_rma_nolock_ops.read(ep, bytes, 1, desc, 0, 64, 7, NULL), ret);
}

/* A read ignores what is no descriptor, and one of memory that the device may not write to. */
static void a_read_needs_a_descriptor(void **state)
{
	struct fid_ep *ep = (struct fid_ep *)&rc.rdm;
	void *const descs[] = { NULL, bytes, (void *)-1, ofi_desc(5, FI_HMEM_SYSTEM, false) };
	size_t i;

	(void)state;
	for (i = 0; i < 4; i++)
		assert_int_equal(vrb_rc_rma_nolock_ops.read(ep, bytes, 1, descs[i], 0, 64, 7, NULL),
				 -FI_EOPBADSTATE);
	assert_int_equal(posted, 0);
}

/* The descriptor of a region that has not all of the memory is ignored. */
static void a_read_needs_the_region(void **state)
{
	struct fid_ep *ep = (struct fid_ep *)&rc.rdm;
	const struct fi_ops_rma *ops = &vrb_rc_rma_nolock_ops;
	void *desc = ofi_desc(5, FI_HMEM_SYSTEM, true), *other = ofi_desc(6, FI_HMEM_SYSTEM, true);

	(void)state;
	assert_int_equal(ops->read(ep, bytes, 1, desc, 0, 64, 7, NULL), 0);
	assert_int_equal(ops->read(ep, bytes, 1, desc, 0, 64, 7, NULL), 0);
	assert_int_equal(posted, 2);
	assert_int_equal(ops->read(ep, bytes, 1, other, 0, 64, 7, NULL), -FI_EOPBADSTATE);
	assert_int_equal(ops->read(ep, bytes, 2, desc, 0, 64, 7, NULL), -FI_EOPBADSTATE);
	assert_int_equal(ops->read(ep, bytes + 1, 1, desc, 0, 64, 7, NULL), -FI_EOPBADSTATE);
	assert_int_equal(ops->read(ep, (void *)1, 1, desc, 0, 64, 7, NULL), -FI_EOPBADSTATE);
	assert_int_equal(posted, 2);
}

/* While a connection drains, and once the peer may end it, nothing new is posted to it. */
static void a_held_peer_gets_nothing(void **state)
{
	(void)state;
	check_all(0);
	assert_int_equal(posted, 3);
	ofi_rdm_proto_peer_hold(&peer.rdm.proto, true);
	check_all(-FI_EOPBADSTATE);
	assert_int_equal(posted, 3);
	ofi_rdm_proto_peer_hold(&peer.rdm.proto, false);
	check_all(0);
	assert_int_equal(posted, 6);
	assert_int_equal(conn.head, 6);
}

static void others_come_first(void **state)
{
	struct ofi_rdm_op op = { 0 };

	(void)state;
	STAILQ_INSERT_TAIL(&peer.rdm.ops, &op, link);
	check_all(-FI_EOPBADSTATE);
	STAILQ_INIT(&peer.rdm.ops);
	peer.rdm.proto.flow.credits = peer.rdm.proto.flow.reserve;
	check_all(-FI_EOPBADSTATE);
	ofi_rdm_proto_peer_down(&peer.rdm.proto, FI_ECONNRESET);
	check_all(-FI_EOPBADSTATE);
	assert_int_equal(posted, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_held_peer_gets_nothing, begin),
		cmocka_unit_test_setup(others_come_first, begin),
		cmocka_unit_test_setup(a_read_needs_a_descriptor, begin),
		cmocka_unit_test_setup(a_read_needs_the_region, begin),
	};

	return cmocka_run_group_tests_name("rdm_fast_rma", tests, NULL, NULL);
}
