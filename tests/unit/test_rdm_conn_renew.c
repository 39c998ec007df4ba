/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A connection to another process than before, while operations wait for the one before. */
#include "unit.h"
#include <string.h>
#include "prov/rdm/op.h"

#define ofi_rdm_conn_step fake_step
#define ofi_rdm_down	  fake_down
#define vrb_rdm_first_end fake_first_end
#include "prov/verbs/rdm/conn.c"

static struct vrb_rc_ep rc;
static struct vrb_rc_peer peer;
static struct vrb_rc_conn next, ending;
static struct ofi_rdm_op op;
static int ends, ends_before, downs;

void ofi_rdm_conn_step(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn,
		       const struct ofi_rdm_conn_input *input, struct ofi_rdm_conn_action *action)
{
	assert_ptr_equal(set, &rc.conns.set);
	assert_ptr_equal(conn, &peer.policy);
	assert_int_equal(input->event, OFI_RDM_CONN_ESTABLISHED);
	*action =
		(struct ofi_rdm_conn_action){ .what = OFI_RDM_CONN_DO_RENEW | OFI_RDM_CONN_DO_UP };
}

void ofi_rdm_down(struct ofi_rdm_peer *of, int err)
{
	assert_ptr_equal(of, &peer.rdm);
	assert_int_equal(err, FI_ECONNRESET);
	ends_before = ends;
	downs++;
}

void vrb_rdm_first_end(struct vrb_rc_conn *conn)
{
	assert_ptr_equal(conn, &next);
	ends++;
}

/* The connection before is still being flushed. */
static int begin(void **state)
{
	(void)state;
	memset(&peer, 0, sizeof(peer));
	peer.rdm.ep = &rc.rdm;
	peer.rdm.addr.sa.sa_family = AF_INET;
	STAILQ_INIT(&peer.rdm.ops);
	peer.conn = &ending;
	peer.next = &next;
	ends = downs = 0;
	return 0;
}

static void renew(void)
{
	vrb_rdm_conn_step(&peer.rdm,
			  (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_ESTABLISHED });
	assert_int_equal(next.state, VRB_RC_CONN_UP);
}

/* The answer says whether the request has delivered a message, which then does not fail. */
static void a_delivered_message_does_not_fail(void **state)
{
	(void)state;
	STAILQ_INSERT_TAIL(&peer.rdm.ops, &op, link);
	renew();
	assert_int_equal(downs, 1);
	assert_int_equal(ends_before, 1);
}

static void messages_alone_go_to_the_new_process(void **state)
{
	(void)state;
	renew();
	assert_int_equal(downs, 0);
	assert_true(ends);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_delivered_message_does_not_fail, begin),
		cmocka_unit_test_setup(messages_alone_go_to_the_new_process, begin),
	};

	return cmocka_run_group_tests_name("rdm_conn_renew", tests, NULL, NULL);
}
