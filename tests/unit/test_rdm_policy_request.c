/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Decisions about requests with a job secret, before and after the sender has proved itself. */
#include "unit.h"

#include <rdma/fi_errno.h>
#include "policy_rig.h"

/* With a job secret: who was accepted and proves nothing goes, though its host may answer. */
static void test_proof(void **state)
{
	const struct ofi_rdm_conn_input ask = { .event = OFI_RDM_CONN_REQUEST,
						.incarnation = 5,
						.serial = 1 };
	struct ofi_rdm_conn *conn = conn_in(OFI_RDM_CONN_IDLE, 1);
	struct ofi_rdm_conn_action action;

	(void)state;
	the_set.params.prove = 500;
	after(conn, ask);
	step_event(conn, OFI_RDM_CONN_WANT);
	assert_true(ofi_rdm_conn_next(&the_set) <= 500);
	the_set.now += 500;
	assert_ptr_equal(ofi_rdm_conn_poll(&the_set, &action), conn);
	assert_int_equal(action.what, OFI_RDM_CONN_DO_ABANDON);
	assert_int_equal(conn->state, OFI_RDM_CONN_WAITING);
	assert_int_equal(conn->err, FI_EKEYREJECTED);
}

static struct ofi_rdm_conn_action request(struct ofi_rdm_conn *conn, uint64_t incarnation,
					  uint32_t serial)
{
	return after(conn, (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_REQUEST,
							.incarnation = incarnation,
							.serial = serial });
}

/* Another process on the peer's host asks under the peer's name, and can't prove anything. */
static void test_unproved(void **state)
{
	struct ofi_rdm_conn *conn = conn_in(OFI_RDM_CONN_IDLE, 1);

	(void)state;
	the_set.params.prove = 500;
	the_set.now = 1000;
	request(conn, 5, 7);
	step_event(conn, OFI_RDM_CONN_ESTABLISHED);
	step_event(conn, OFI_RDM_CONN_FAILED);
	assert_int_equal(conn->state, OFI_RDM_CONN_IDLE);
	/* What came before is late, whatever was said without a proof. */
	assert_int_equal(request(conn, 5, 7).reason, OFI_RDM_CMWIRE_STALE);
	assert_int_equal(request(conn, 5, 1 << 30).what, OFI_RDM_CONN_DO_ACCEPT);
	step_event(conn, OFI_RDM_CONN_FAILED);
	assert_int_equal(request(conn, 5, 8).what, OFI_RDM_CONN_DO_ACCEPT);
	step_event(conn, OFI_RDM_CONN_FAILED);
	assert_int_equal(request(conn, 9, 1 << 30).what, OFI_RDM_CONN_DO_ACCEPT);
	step_event(conn, OFI_RDM_CONN_FAILED);
	assert_int_equal(request(conn, 5, 7).reason, OFI_RDM_CMWIRE_STALE);
}

/* It does not put off our own request, nor take its place, nor keep the peer's for long. */
static void test_unproved_in_the_way(void **state)
{
	struct ofi_rdm_conn *conn = conn_in(OFI_RDM_CONN_IDLE, 1);
	int i;

	(void)state;
	the_set.params.prove = 50000;
	for (i = 0; i < 20; i++) {
		assert_int_equal(request(conn, 5, 7).what, OFI_RDM_CONN_DO_ACCEPT);
		step_event(conn, OFI_RDM_CONN_WANT);
		step_event(conn, OFI_RDM_CONN_FAILED);
		assert_int_equal(conn->state, OFI_RDM_CONN_WAITING);
		assert_true(conn->timer <= the_set.now + the_set.params.backoff);
	}
	request(conn, 5, 7);
	the_set.now += ATTEMPT;
	assert_int_equal(request(conn, 9, 1).what,
			 OFI_RDM_CONN_DO_ABANDON | OFI_RDM_CONN_DO_ACCEPT);
	conn = conn_in(OFI_RDM_CONN_CONNECTING, 1);
	the_set.params.prove = 500;
	assert_int_equal(request(conn, 5, 7).what, OFI_RDM_CONN_DO_REJECT);
	assert_int_equal(conn->state, OFI_RDM_CONN_CONNECTING);
	after(conn, (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_REJECTED,
						 .reason = OFI_RDM_CMWIRE_CROSSING,
						 .incarnation = 9 });
	assert_int_equal(request(conn, 5, 7).what, OFI_RDM_CONN_DO_REJECT);
	assert_int_equal(request(conn, 9, 1).what, OFI_RDM_CONN_DO_ACCEPT);
}

/* A request that is delivered late must not end the connection that a newer one has made. */
static void test_newest_counts(void **state)
{
	struct ofi_rdm_conn *conn = conn_in(OFI_RDM_CONN_IDLE, 1);

	(void)state;
	assert_int_equal(request(conn, 5, 7).what, OFI_RDM_CONN_DO_ACCEPT);
	step_event(conn, OFI_RDM_CONN_FAILED);
	assert_int_equal(request(conn, 5, 9).what, OFI_RDM_CONN_DO_ACCEPT);
	step_event(conn, OFI_RDM_CONN_FAILED);
	assert_int_equal(request(conn, 5, 8).reason, OFI_RDM_CMWIRE_STALE);
	/* The numbers of another incarnation begin anew. */
	assert_int_equal(request(conn, 6, 2).what, OFI_RDM_CONN_DO_ACCEPT);
	step_event(conn, OFI_RDM_CONN_FAILED);
	assert_int_equal(request(conn, 6, 1).reason, OFI_RDM_CMWIRE_STALE);
	assert_int_equal(request(conn, 6, 3).what, OFI_RDM_CONN_DO_ACCEPT);
}

/* The process that is known refuses a request that came late: it is not a former one. */
static void test_own_request_late(void **state)
{
	const struct ofi_rdm_conn_input stale = { .event = OFI_RDM_CONN_REJECTED,
						  .reason = OFI_RDM_CMWIRE_STALE,
						  .incarnation = 5 };
	struct ofi_rdm_conn_action action;
	struct ofi_rdm_conn *conn;
	int answered;

	(void)state;
	for (answered = 1; answered >= 0; answered--) {
		conn = conn_in(OFI_RDM_CONN_UP, 1);
		step_event(conn, OFI_RDM_CONN_FAILED);
		step_event(conn, OFI_RDM_CONN_WANT);
		assert_int_equal(after(conn, stale).what, 0);
		if (answered) {
			the_set.now = conn->timer;
			ofi_rdm_conn_poll(&the_set, &action);
			step_event(conn, OFI_RDM_CONN_ESTABLISHED);
			assert_int_equal(conn->state, OFI_RDM_CONN_UP);
			step_event(conn, OFI_RDM_CONN_FAILED);
		}
		assert_int_equal(request(conn, 5, 7).what, OFI_RDM_CONN_DO_ACCEPT);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_proof),
		cmocka_unit_test(test_unproved),
		cmocka_unit_test(test_unproved_in_the_way),
		cmocka_unit_test(test_newest_counts),
		cmocka_unit_test(test_own_request_late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
