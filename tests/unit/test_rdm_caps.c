/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Limits on what a peer can make an endpoint keep besides messages, and on how often it may send
 * invalid requests; and how long keys of the peer are valid.
 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <rdma/fi_errno.h>
#include "prov/verbs/provider/mr.h"
#include "prov/verbs/rdm/conn.h"
#include "prov/verbs/rdm/rc_conn.h"
#include "prov/rdm/op.h"
#include "prov/rdm/peer.h"
#include "prov/rdm/reply.h"
#include "prov/rdm/upcall.h"
#include "fake_verbs.h"

enum {
	MOST = 20000,
	EARLY = 4 * OFI_RDM_WIRE_WINDOW,
	MISSES = 64,
	FORGOTTEN_MS = 1000,
	PAYLOAD = 100
};

static struct vrb_domain domain;
static struct vrb_rc_ep rc;
static struct vrb_rc_peer rc_peer;
static struct vrb_rc_conn connection;
static struct fi_info info;
static uint64_t now;

uint64_t ofi_now_ms(void)
{
	return now;
}

static int begin(void **state)
{
	const struct ofi_rdm_conn_params params = { .incarnation = 1,
						    .window = 1,
						    .give_up = 1000 };

	(void)state;
	fake_reset();
	now = 12345;
	memset(&domain, 0, sizeof(domain));
	memset(&rc, 0, sizeof(rc));
	memset(&rc_peer, 0, sizeof(rc_peer));
	memset(&connection, 0, sizeof(connection));
	domain.ctx = &fake.ctx;
	domain.base.info = &info;
	domain.base.ops = &vrb_domain_callbacks;
	rc.rdm.domain = &domain.base;
	rc.rdm.info = &info;
	rc.conns.timer.fd = -1;
	rc.rdm.proto.budget.most = MOST;
	rc.recent_qp = VRB_RDM_NO_QP;
	TAILQ_INIT(&rc.conns.starved);
	ofi_rdm_conn_set_init(&rc.conns.set, &params);
	vrb_rdm_rx_init(&rc.rx, &domain, 4096, 64, 0);
	rc_peer.rdm.ep = &rc.rdm;
	rc_peer.rdm.addr.sa.sa_family = AF_INET;
	ofi_rdm_conn_init(&rc_peer.policy, 1);
	ofi_rdm_proto_peer_init(&rc.rdm.proto, &rc_peer.rdm.proto, 0);
	STAILQ_INIT(&rc_peer.rdm.ops);
	TAILQ_INIT(&rc_peer.rdm.answers);
	STAILQ_INIT(&rc_peer.rdm.replies);
	STAILQ_INIT(&rc_peer.rdm.fenced);
	connection.ep = &rc.rdm;
	connection.peer = &rc_peer.rdm;
	connection.state = VRB_RC_CONN_UP;
	STAILQ_INIT(&connection.early);
	LIST_INIT(&connection.windows);
	SLIST_INIT(&connection.spare_windows);
	return 0;
}

static int end(void **state)
{
	(void)state;
	ofi_rdm_ops_fail(&rc_peer.rdm, FI_ECANCELED);
	assert_int_equal(rc_peer.rdm.reply_bytes, 0);
	assert_true(STAILQ_EMPTY(&rc_peer.rdm.replies));
	vrb_rdm_rx_fini(&rc.rx);
	return 0;
}

static bool answer(void)
{
	static const uint8_t payload[PAYLOAD];
	const struct ofi_rdm_wire_packet packet = { .type = OFI_RDM_WIRE_ATOMIC_RSP, .id = 1 };

	return ofi_rdm_answer(&rc_peer.rdm, &packet, payload, sizeof(payload));
}

/* It takes no completions of ours, so that there is no credit to answer it. */
static void answers_that_nobody_takes(void **state)
{
	unsigned int n = 0;

	(void)state;
	rc_peer.rdm.proto.up = true;
	while (answer() && n < MOST)
		n++;
	assert_in_range(n, MOST / 2 / PAYLOAD / 2, MOST / PAYLOAD);
	assert_in_range(rc_peer.rdm.reply_bytes, MOST,
			MOST + 2 * PAYLOAD + OFI_RDM_WIRE_HEADER_MAX);
	/* They are gone with the connection, and what is asked afterwards is not answered. */
	ofi_rdm_ops_fail(&rc_peer.rdm, FI_ECONNABORTED);
	assert_int_equal(rc_peer.rdm.reply_bytes, 0);
	assert_true(answer());
	ofi_rdm_ops_fail(&rc_peer.rdm, FI_ECONNABORTED);
	rc_peer.rdm.proto.up = false;
	assert_true(answer());
	assert_int_equal(rc_peer.rdm.reply_bytes, 0);
}

static bool come_early(void)
{
	struct vrb_rdm_small *small = vrb_rdm_small_get(&rc.rx);

	assert_non_null(small);
	if (vrb_rdm_conn_early(&connection, &small->rx, 40))
		return true;
	vrb_rdm_rx_put(&rc.rx, &small->rx);
	return false;
}

/* By a connection that is not used yet, because the one before it flushes. */
static void packets_before_their_time(void **state)
{
	struct vrb_rdm_rx *rx;
	unsigned int n = 0;

	(void)state;
	while (come_early() && n < 10 * EARLY)
		n++;
	assert_int_equal(n, EARLY);
	assert_int_equal(connection.early_count, EARLY);
	while ((rx = STAILQ_FIRST(&connection.early))) {
		STAILQ_REMOVE_HEAD(&connection.early, early);
		vrb_rdm_rx_put(&rc.rx, rx);
	}
}

static enum ofi_rdm_wire_error ask_for_key(uint64_t key)
{
	const struct ofi_rdm_wire_packet packet = { .type = OFI_RDM_WIRE_KEY_REQ,
						    .id = 1,
						    .key = key };

	return ofi_rdm_key_request(&rc_peer.rdm, &packet);
}

/* Keys that are tried one after the other. */
static void guesses(void **state)
{
	enum ofi_rdm_wire_error error = OFI_RDM_WIRE_OK;
	unsigned int n = 0;

	(void)state;
	while (!error && n < 10 * MISSES) {
		error = ask_for_key(n++);
	}
	assert_int_equal(error, OFI_RDM_WIRE_E_KEYS);
	assert_int_equal(n, MISSES);
}

/* Requests that come too late for regions that were closed are not guesses, if they are rare. */
static void misses_are_forgotten(void **state)
{
	unsigned int n;

	(void)state;
	for (n = 1; n < MISSES; n++)
		assert_int_equal(ask_for_key(n), OFI_RDM_WIRE_OK);
	for (; n < 1000; n++) {
		now += FORGOTTEN_MS;
		assert_int_equal(ask_for_key(n), OFI_RDM_WIRE_OK);
	}
	assert_int_equal(ask_for_key(n++), OFI_RDM_WIRE_E_KEYS);
	/* However long it asks for nothing, it has not more than that number. */
	now += 1000 * FORGOTTEN_MS;
	for (; n < 1000 + MISSES; n++)
		assert_int_equal(ask_for_key(n), OFI_RDM_WIRE_OK);
	assert_int_equal(ask_for_key(n), OFI_RDM_WIRE_E_KEYS);
}

/* A program that accesses memory beyond the end of a region, again and again, does not guess. */
static void one_key_again(void **state)
{
	unsigned int n;

	(void)state;
	for (n = 0; n < 2 * MISSES; n++)
		assert_int_equal(ask_for_key(12345), OFI_RDM_WIRE_OK);
	for (n = 1; n < MISSES - 1; n++)
		assert_int_equal(ask_for_key(n), OFI_RDM_WIRE_OK);
	assert_int_equal(ask_for_key(12345), OFI_RDM_WIRE_E_KEYS);
}

/* The next connection to the address may be to another process, whose keys are others. */
static void keys_end_with_the_connection(void **state)
{
	struct ofi_rdm_op op = { .kind = OFI_RDM_OP_WRITE,
				 .peer = &rc_peer.rdm,
				 .remote_count = 1,
				 .remote = { { .key = 7, .rkey = 9, .resolved = true } },
				 .split = calloc(1, sizeof(*op.split)),
				 .split_count = 1 };

	(void)state;
	assert_int_equal(ofi_rdm_keys_resolve(&op), 0);
	STAILQ_INSERT_TAIL(&rc_peer.rdm.ops, &op, link);
	ofi_rdm_left(&rc_peer.rdm);
	assert_int_equal(ofi_rdm_keys_resolve(&op), -FI_EAGAIN);
	assert_true(rc_peer.rdm.asked);
	assert_null(op.split);
	STAILQ_INIT(&rc_peer.rdm.ops);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(answers_that_nobody_takes),
		CASE(packets_before_their_time),
		CASE(guesses),
		CASE(misses_are_forgotten),
		CASE(one_key_again),
		CASE(keys_end_with_the_connection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
