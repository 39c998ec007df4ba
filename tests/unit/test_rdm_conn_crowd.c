/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Requests on datagrams that the kernel of the peer's host rejects, with the connection policy. */
#include "unit.h"
#include <string.h>

#define vrb_rdm_conn_heard	 fake_heard
#define vrb_rdm_conn_step	 fake_step
#define vrb_rdm_conn_step_failed fake_step_failed
#include "prov/verbs/rdm/conn_cm.c"

enum { GIVE_UP = 10000, BACKOFF_MAX = 500, LONG = 6 * GIVE_UP, NOBODY = 1, CROWD = 2 };

static struct vrb_rc_ep rc;
static struct vrb_rc_peer peer;
static struct vrb_rc_conn conn;
static unsigned int heard, probes;
static int failed;

static uint32_t any(void *arg)
{
	return *(uint32_t *)arg += 12345;
}

static void perform(const struct ofi_rdm_conn_action *action)
{
	if (action->what & OFI_RDM_CONN_DO_FAIL)
		failed = action->err;
	probes += !!(action->what & OFI_RDM_CONN_DO_PROBE);
}

struct ofi_rdm_conn_action vrb_rdm_conn_step(struct ofi_rdm_peer *of,
					     struct ofi_rdm_conn_input input)
{
	struct ofi_rdm_conn_action action;

	assert_ptr_equal(of, &peer.rdm);
	ofi_rdm_conn_step(&rc.conns.set, &peer.policy, &input, &action);
	perform(&action);
	return action;
}

void vrb_rdm_conn_step_failed(struct ofi_rdm_peer *of, int err)
{
	vrb_rdm_conn_step(of,
			  (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_FAILED, .err = err });
}

void vrb_rdm_conn_heard(const struct ofi_rdm_peer *of)
{
	assert_ptr_equal(of, &peer.rdm);
	heard++;
}

static int begin(void **state)
{
	static struct vrb_ud_conn *ud;
	static uint32_t seed;
	const struct ofi_rdm_conn_params params = { .incarnation = 7,
						    .window = 32,
						    .cap = 2,
						    .attempt = 1000,
						    .give_up = GIVE_UP,
						    .drain = 100,
						    .backoff = 20,
						    .backoff_max = BACKOFF_MAX,
						    .random = any,
						    .arg = &seed };

	(void)state;
	memset(&rc, 0, sizeof(rc));
	memset(&peer, 0, sizeof(peer));
	ofi_rdm_conn_set_init(&rc.conns.set, &params);
	rc.conns.set.now = 1000;
	ofi_rdm_conn_init(&peer.policy, 1);
	peer.rdm.ep = &rc.rdm;
	conn = (struct vrb_rc_conn){ .ep = &rc.rdm,
				     .peer = &peer.rdm,
				     .ud = (struct vrb_ud_conn *)&ud,
				     .state = VRB_RC_CONN_CALLING };
	conn.owner.ops = &vrb_rc_conn_ops;
	heard = probes = 0;
	failed = 0;
	return 0;
}

/* Answers each request 1 ms later. Returns the number of requests until the peer fails. */
static unsigned int is_rejected(int status)
{
	const uint8_t zeros[136] = { 0 };
	struct rdma_cm_event event = { .event = RDMA_CM_EVENT_UNREACHABLE,
				       .status = status,
				       .param.ud.private_data = zeros,
				       .param.ud.private_data_len = sizeof(zeros) };
	struct ofi_rdm_conn_set *set = &rc.conns.set;
	struct ofi_rdm_conn_action action;
	uint64_t start = set->now;
	unsigned int requests = 0;

	vrb_rdm_conn_step(&peer.rdm, (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_WANT });
	while (!failed && set->now < start + LONG) {
		if (peer.policy.state == OFI_RDM_CONN_CONNECTING) {
			requests++;
			set->now++;
			assert_null(vrb_rdm_conn_take_event(&conn.owner, &event));
			continue;
		}
		if (ofi_rdm_conn_next(set) > set->now)
			set->now = ofi_rdm_conn_next(set);
		if (ofi_rdm_conn_poll(set, &action))
			perform(&action);
	}
	return requests;
}

/* The kernel rejects what is beyond the backlog of a process that is stopped. */
static void a_process_with_a_full_backlog_is_waited_for(void **state)
{
	unsigned int requests;

	(void)state;
	requests = is_rejected(CROWD);
	assert_int_equal(failed, 0);
	assert_int_equal(heard, requests);
	assert_in_range(requests, LONG / BACKOFF_MAX, 2 * LONG / BACKOFF_MAX + 10);
}

static void a_port_where_nobody_listens_fails(void **state)
{
	(void)state;
	is_rejected(NOBODY);
	assert_int_equal(failed, FI_ECONNREFUSED);
	assert_int_equal(heard, 0);
	assert_in_range(rc.conns.set.now, GIVE_UP, GIVE_UP + 2000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_process_with_a_full_backlog_is_waited_for, begin),
		cmocka_unit_test_setup(a_port_where_nobody_listens_fails, begin),
	};

	return cmocka_run_group_tests_name("rdm_conn_crowd", tests, NULL, NULL);
}
