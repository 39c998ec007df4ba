/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory windows: which rights a peer gets to which bytes, when they end, and failures of the
 * device.
 */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_errno.h>
#include "prov/verbs/provider/prov.h"
#include "prov/verbs/rdm/domain.h"
#include "prov/verbs/rdm/conn.h"
#include "prov/verbs/rdm/rc_conn.h"
#include "prov/rdm/peer.h"
#include "fake_verbs.h"

enum { LEN = 100000, MAX_WR = 16 };

static struct vrb_domain domain;
static struct vrb_rc_ep rc;
static struct vrb_rc_peer rc_peer;
static struct vrb_rc_conn *conn;
static struct ofi_rdm_proto_item item;
static uint8_t bytes[LEN];

static struct iovec part(size_t from, size_t len)
{
	return (struct iovec){ bytes + from, len };
}

static void connect_conn(void)
{
	struct ibv_qp_init_attr init = {
		.send_cq = rc.cq,
		.recv_cq = rc.cq,
		.qp_type = IBV_QPT_RC,
		.cap = { MAX_WR, 1, 1, 1, 0 },
	};

	conn = vrb_rc_conn_new(&rc.rdm);
	assert_non_null(conn);
	conn->qp = conn->sq = ibv_create_qp(domain.pd, &init);
	assert_non_null(conn->qp);
	conn->state = VRB_RC_CONN_UP;
	conn->live = true;
	conn->peer = &rc_peer.rdm;
	rc_peer.conn = conn;
	rc_peer.conns = 1;
}

static void disconnect_conn(void)
{
	vrb_rdm_windows_drop(conn);
	ibv_destroy_qp(conn->qp);
	vrb_rc_conn_free(conn);
	rc_peer.conn = NULL;
}

static int begin(void **state)
{
	(void)state;
	fake_reset();
	memset(&domain, 0, sizeof(domain));
	memset(&rc, 0, sizeof(rc));
	memset(&rc_peer, 0, sizeof(rc_peer));
	vrb_params.rdm_use_windows = -1;
	/* Only a parameter that is defined is read. */
	fi_param_define(NULL, "mr_cache_monitor", FI_PARAM_STRING, "%s", "");
	setenv("FI_MR_CACHE_MONITOR", "disabled", 1);
	fake.attr.device_cap_flags = IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2B;
	domain.ctx = &fake.ctx;
	domain.attr = fake.attr;
	domain.pd = ibv_alloc_pd(&fake.ctx);
	vrb_rdm_windows_open(&domain);
	assert_int_equal(vrb_rdm_cache_open(&domain, &domain.base.cache), 0);
	rc.rdm.domain = &domain.base;
	rc.cq = ibv_create_cq(&fake.ctx, 1024, NULL, NULL, 0);
	rc.room.size = rc.room.left = 1024;
	rc.conns.timer.fd = -1;
	TAILQ_INIT(&rc.conns.starved);
	rc_peer.rdm.ep = &rc.rdm;
	rc_peer.policy.order = 1;
	connect_conn();
	return 0;
}

static int end(void **state)
{
	(void)state;
	fake.dealloc_mw_err = 0;
	if (rc_peer.conn)
		disconnect_conn();
	vrb_rdm_mem_fini(&rc.rdm);
	vrb_rdm_cache_close(domain.base.cache);
	ibv_destroy_cq(rc.cq);
	ibv_dealloc_pd(domain.pd);
	fake_all_closed();
	return 0;
}

static void reg(size_t from, size_t len, enum ofi_rdm_proto_access access,
		struct ofi_rdm_proto_mr *mr)
{
	struct iovec iov = part(from, len);

	assert_int_equal(vrb_rdm_mem_reg(&rc_peer.rdm.proto, &iov, access, mr), 0);
}

static void reg_window(size_t from, size_t len, enum ofi_rdm_proto_access access,
		       struct ofi_rdm_proto_mr *mr)
{
	reg(from, len, access, mr);
	assert_true(mr->window);
}

static const struct ibv_send_wr *posted(void)
{
	return &fake_qp(conn->qp)->sends.last.wr;
}

static void bind_it(struct ofi_rdm_proto_mr *mr)
{
	assert_int_equal(vrb_rdm_mem_bind(&rc_peer.rdm.proto, mr), 0);
}

static void revoke_it(struct ofi_rdm_proto_mr *mr)
{
	assert_int_equal(vrb_rdm_mem_revoke(&rc_peer.rdm.proto, mr, &item), 0);
}

static void check_choice(unsigned int flags, uint32_t vendor, int param, bool expected)
{
	struct ofi_rdm_proto_mr mr;

	domain.attr.device_cap_flags = flags;
	domain.attr.vendor_id = vendor;
	vrb_params.rdm_use_windows = param;
	vrb_rdm_windows_open(&domain);
	assert_int_equal(domain.windows, expected);
	reg(0, 10, OFI_RDM_PROTO_PEER_READS, &mr);
	assert_int_equal(mr.window, expected);
	vrb_rdm_mem_dereg(&rc_peer.rdm.proto, &mr);
}

static void who_has_windows(void **state)
{
	const unsigned int one = IBV_DEVICE_MEM_WINDOW, both = one | IBV_DEVICE_MEM_WINDOW_TYPE_2B;

	(void)state;
	check_choice(0, 0x2c9, -1, false);
	check_choice(0, 0x2c9, 1, false);
	check_choice(one, 0x2c9, -1, false);
	check_choice(one, 0x2c9, 1, false);
	check_choice(IBV_DEVICE_MEM_WINDOW_TYPE_2A, 0x2c9, -1, true);
	check_choice(both, 0x2c9, -1, true);
	check_choice(both, 0x2c9, 0, false);
	check_choice(both, 0xffffff, -1, false);
	check_choice(both, 0xffffff, 0, false);
	check_choice(both, 0xffffff, 1, true);
}

static void check_right(enum ofi_rdm_proto_access access, size_t from, size_t len,
			unsigned int expected)
{
	const struct ibv_send_wr *wr = posted();
	struct ofi_rdm_proto_mr mr;
	unsigned long before = fake_qp(conn->qp)->sends.total;

	reg_window(from, len, access, &mr);
	/* Nobody has a right to what is registered, nor to more of it than the window will say. */
	assert_int_equal(fake.mr_access, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	assert_int_equal(fake_qp(conn->qp)->sends.total, before);
	bind_it(&mr);
	assert_int_equal(wr->opcode, IBV_WR_BIND_MW);
	assert_int_equal(wr->bind_mw.rkey, mr.rkey);
	assert_true(wr->bind_mw.bind_info.addr == (uintptr_t)(bytes + from));
	assert_int_equal(wr->bind_mw.bind_info.length, len);
	assert_int_equal(wr->bind_mw.bind_info.mw_access_flags, expected);
	assert_ptr_equal(wr->bind_mw.bind_info.mr, fake.mr);
	assert_int_equal(wr->send_flags & IBV_SEND_FENCE, 0);
	revoke_it(&mr);
	assert_int_equal(wr->opcode, IBV_WR_LOCAL_INV);
	assert_int_equal(wr->invalidate_rkey, mr.rkey);
	assert_true(wr->send_flags & IBV_SEND_SIGNALED);
	vrb_rdm_mem_dereg(&rc_peer.rdm.proto, &mr);
}

static void exactly_the_message(void **state)
{
	(void)state;
	check_right(OFI_RDM_PROTO_PEER_READS, 4097, 5001, IBV_ACCESS_REMOTE_READ);
	check_right(OFI_RDM_PROTO_PEER_WRITES, 20001, 13, IBV_ACCESS_REMOTE_WRITE);
}

/* One window serves one after the other; the key of the one before is of no use. */
static void used_again(void **state)
{
	struct ofi_rdm_proto_mr mr;
	uint64_t first = 0, last = 0;
	int i;

	(void)state;
	for (i = 0; i < 4; i++) {
		reg_window(0, 1000, OFI_RDM_PROTO_PEER_READS, &mr);
		if (i) {
			assert_int_equal(mr.rkey >> 8, first >> 8);
			assert_int_equal((uint8_t)mr.rkey, (uint8_t)(last + 1));
		} else {
			first = mr.rkey;
		}
		last = mr.rkey;
		bind_it(&mr);
		revoke_it(&mr);
		vrb_rdm_mem_dereg(&rc_peer.rdm.proto, &mr);
		assert_int_equal(fake.mws, 1);
	}
}

static void two_at_once(void **state)
{
	struct ofi_rdm_proto_mr a, b;

	(void)state;
	reg_window(0, 1000, OFI_RDM_PROTO_PEER_READS, &a);
	reg_window(0, 1000, OFI_RDM_PROTO_PEER_READS, &b);
	assert_int_equal(fake.mws, 2);
	assert_int_not_equal(a.rkey, b.rkey);
	bind_it(&b);
	bind_it(&a);
	assert_int_equal(posted()->bind_mw.rkey, a.rkey);
	revoke_it(&b);
	assert_int_equal(posted()->invalidate_rkey, b.rkey);
	vrb_rdm_mem_dereg(&rc_peer.rdm.proto, &b);
	revoke_it(&a);
	assert_int_equal(posted()->invalidate_rkey, a.rkey);
	vrb_rdm_mem_dereg(&rc_peer.rdm.proto, &a);
	assert_int_equal(fake.mws, 2);
}

/* A device that has no more of them: the bytes are registered alone, with the least access. */
static void without_a_window(void **state)
{
	struct ofi_rdm_proto_mr mr;

	(void)state;
	fake.fail_at = fake.calls + 1;
	fake.fail_errno = ENOSPC;
	reg(5, 1000, OFI_RDM_PROTO_PEER_READS, &mr);
	assert_string_equal(fake.failed, "ibv_alloc_mw");
	assert_false(mr.window);
	assert_int_equal(fake.mr_access, IBV_ACCESS_REMOTE_READ);
	assert_ptr_equal(fake.mr->addr, bytes + 5);
	assert_int_equal(fake.mr->length, 1000);
	vrb_rdm_mem_dereg(&rc_peer.rdm.proto, &mr);
	fake.fail_at = fake.calls + 2;
	reg(5, 1000, OFI_RDM_PROTO_PEER_WRITES, &mr);
	assert_string_equal(fake.failed, "ibv_reg_mr");
	assert_false(mr.window);
	assert_int_equal(fake.mr_access, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	vrb_rdm_mem_dereg(&rc_peer.rdm.proto, &mr);
	assert_int_equal(fake.mws, 1);
	reg_window(5, 1000, OFI_RDM_PROTO_PEER_READS, &mr);
	assert_int_equal(fake.mws, 1);
	vrb_rdm_mem_dereg(&rc_peer.rdm.proto, &mr);
}

/*
 * A window covers 2 GiB at most; what is longer is registered alone. Other messages still use
 * windows.
 */
static void longer_than_a_window(void **state)
{
	const size_t most = (size_t)1 << 31;
	struct ofi_rdm_proto_mr mr, after;
	int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		reg(0, most + 1, i ? OFI_RDM_PROTO_PEER_READS : OFI_RDM_PROTO_PEER_WRITES, &mr);
		if (mr.window)
			bind_it(&mr);
		assert_int_equal(fake.mr->length, most + 1);
		assert_int_equal(fake.mr_access,
				 i ? IBV_ACCESS_REMOTE_READ
				   : IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
		reg_window(0, most, OFI_RDM_PROTO_PEER_READS, &after);
		bind_it(&after);
		revoke_it(&after);
		vrb_rdm_mem_dereg(&rc_peer.rdm.proto, &after);
		vrb_rdm_mem_dereg(&rc_peer.rdm.proto, &mr);
	}
	assert_true(domain.windows);
}

/*
 * What fails for lack of memory is retried; what the device refuses is not: the next message uses
 * no window.
 */
static void a_bind_is_refused(void **state)
{
	struct ofi_rdm_proto_mr mr;

	(void)state;
	reg_window(0, 1000, OFI_RDM_PROTO_PEER_READS, &mr);
	fake_qp(conn->qp)->post_err = ENOMEM;
	assert_int_equal(vrb_rdm_mem_bind(&rc_peer.rdm.proto, &mr), -FI_EAGAIN);
	assert_true(rc_peer.starved);
	assert_true(domain.windows);
	fake_qp(conn->qp)->post_err = EINVAL;
	assert_int_equal(vrb_rdm_mem_bind(&rc_peer.rdm.proto, &mr), -FI_EINVAL);
	assert_false(domain.windows);
	vrb_rdm_mem_dereg(&rc_peer.rdm.proto, &mr);
	reg(0, 1000, OFI_RDM_PROTO_PEER_READS, &mr);
	assert_false(mr.window);
	assert_int_equal(conn->fault, 0);
	vrb_rdm_mem_dereg(&rc_peer.rdm.proto, &mr);
}

/* A right that can't be taken back otherwise ends with the connection. */
static void an_invalidation_is_refused(void **state)
{
	struct ofi_rdm_proto_mr mr;

	(void)state;
	reg_window(0, 1000, OFI_RDM_PROTO_PEER_READS, &mr);
	bind_it(&mr);
	fake_qp(conn->qp)->post_err = ENOMEM;
	assert_int_equal(vrb_rdm_mem_revoke(&rc_peer.rdm.proto, &mr, &item), -FI_EAGAIN);
	assert_int_equal(conn->fault, 0);
	fake_qp(conn->qp)->post_err = EINVAL;
	assert_int_equal(vrb_rdm_mem_revoke(&rc_peer.rdm.proto, &mr, &item), -FI_EAGAIN);
	assert_int_equal(conn->fault, FI_EINVAL);
	assert_true(rc_peer.starved);
	assert_false(domain.windows);
	disconnect_conn();
	vrb_rdm_mem_dereg(&rc_peer.rdm.proto, &mr);
	assert_int_equal(fake.mws, 0);
}

/* One that is still bound is not used again. */
static void bound_until_the_end(void **state)
{
	struct ofi_rdm_proto_mr mr;

	(void)state;
	reg_window(0, 1000, OFI_RDM_PROTO_PEER_READS, &mr);
	bind_it(&mr);
	vrb_rdm_mem_dereg(&rc_peer.rdm.proto, &mr);
	assert_int_equal(fake.mws, 0);
	assert_int_equal(conn->fault, 0);
	reg_window(0, 1000, OFI_RDM_PROTO_PEER_READS, &mr);
	bind_it(&mr);
	fake.dealloc_mw_err = EBUSY;
	vrb_rdm_mem_dereg(&rc_peer.rdm.proto, &mr);
	assert_int_equal(conn->fault, FI_EBUSY);
	fake.mws--;
	free((void *)fake_qp(conn->qp)->sends.last.wr.bind_mw.mw);
}

/*
 * Bound, pending and spare windows all end with the connection, and their messages release them
 * afterward.
 */
static void the_connection_ends(void **state)
{
	struct ofi_rdm_proto_mr bound, waiting, spare;

	(void)state;
	reg_window(0, 1000, OFI_RDM_PROTO_PEER_READS, &spare);
	reg_window(0, 1000, OFI_RDM_PROTO_PEER_READS, &bound);
	reg_window(0, 1000, OFI_RDM_PROTO_PEER_WRITES, &waiting);
	vrb_rdm_mem_dereg(&rc_peer.rdm.proto, &spare);
	bind_it(&bound);
	assert_int_equal(fake.mws, 3);
	disconnect_conn();
	assert_int_equal(fake.mws, 0);
	assert_int_equal(vrb_rdm_mem_bind(&rc_peer.rdm.proto, &waiting), -FI_ENOTCONN);
	assert_int_equal(vrb_rdm_mem_revoke(&rc_peer.rdm.proto, &bound, &item), -FI_EAGAIN);
	assert_true(domain.windows);
	vrb_rdm_mem_dereg(&rc_peer.rdm.proto, &bound);
	vrb_rdm_mem_dereg(&rc_peer.rdm.proto, &waiting);
	connect_conn();
	reg_window(0, 1000, OFI_RDM_PROTO_PEER_READS, &bound);
	bind_it(&bound);
	revoke_it(&bound);
	vrb_rdm_mem_dereg(&rc_peer.rdm.proto, &bound);
}

/*
 * A device accepts a bind and then fails it: the connection ends, and the next one has no windows.
 */
static void a_bind_fails(void **state)
{
	(void)state;
	vrb_rdm_window_failed(conn, VRB_RDM_BIND, IBV_WC_WR_FLUSH_ERR);
	vrb_rdm_window_failed(conn, VRB_RDM_READ, IBV_WC_REM_ACCESS_ERR);
	vrb_rdm_window_failed(conn, VRB_RDM_PROBE, IBV_WC_RETRY_EXC_ERR);
	assert_true(domain.windows);
	vrb_rdm_window_failed(conn, VRB_RDM_BIND, IBV_WC_MW_BIND_ERR);
	assert_false(domain.windows);
	domain.windows = true;
	vrb_rdm_window_failed(conn, VRB_RDM_REVOKE, IBV_WC_LOC_QP_OP_ERR);
	assert_false(domain.windows);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(who_has_windows),	   CASE(exactly_the_message),
		CASE(used_again),	   CASE(two_at_once),
		CASE(without_a_window),	   CASE(longer_than_a_window),
		CASE(a_bind_is_refused),   CASE(an_invalidation_is_refused),
		CASE(bound_until_the_end), CASE(the_connection_ends),
		CASE(a_bind_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
