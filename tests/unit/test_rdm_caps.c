/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a peer can make an endpoint keep besides messages, and how often it may ask in vain: each
 * has an end.
 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <rdma/fi_errno.h>
#include "prov/verbs/provider/mr.h"
#include "prov/verbs/rdm/conn.h"
#include "prov/verbs/rdm/link.h"
#include "prov/verbs/rdm/op.h"
#include "prov/verbs/rdm/peer.h"
#include "fake_verbs.h"

enum { MOST = 20000, EARLY = 4 * OFI_RDM_WIRE_WINDOW, MISSES = 64, PAYLOAD = 100 };

static struct vrb_domain domain;
static struct vrb_rdm ep;
static struct vrb_rdm_peer peer;
static struct vrb_rdm_link connection;
static struct fi_info info;

static int begin(void **state)
{
	const struct ofi_rdm_conn_params params = { .incarnation = 1,
						    .window = 1,
						    .give_up = 1000 };

	(void)state;
	fake_reset();
	memset(&domain, 0, sizeof(domain));
	memset(&ep, 0, sizeof(ep));
	memset(&peer, 0, sizeof(peer));
	memset(&connection, 0, sizeof(connection));
	domain.ctx = &fake.ctx;
	domain.base.info = &info;
	domain.base.ops = &vrb_domain_mr_ops;
	ep.domain = &domain;
	ep.info = &info;
	ep.conn.timer.fd = -1;
	ep.proto.budget.most = MOST;
	ep.recent_qp = VRB_RDM_NO_QP;
	TAILQ_INIT(&ep.conn.starved);
	ofi_rdm_conn_set_init(&ep.conn.set, &params);
	vrb_rdm_rx_init(&ep.rx, &domain, 4096, 64);
	peer.ep = &ep;
	peer.addr.sa.sa_family = AF_INET;
	ofi_rdm_conn_init(&peer.conn, 1);
	ofi_rdm_proto_peer_init(&ep.proto, &peer.proto, 0);
	STAILQ_INIT(&peer.ops);
	TAILQ_INIT(&peer.answers);
	STAILQ_INIT(&peer.replies);
	STAILQ_INIT(&peer.fenced);
	connection.ep = &ep;
	connection.peer = &peer;
	connection.state = VRB_RDM_LINK_UP;
	STAILQ_INIT(&connection.early);
	LIST_INIT(&connection.windows);
	SLIST_INIT(&connection.spare_windows);
	return 0;
}

static int end(void **state)
{
	(void)state;
	vrb_rdm_ops_fail(&peer, FI_ECANCELED);
	assert_int_equal(peer.reply_bytes, 0);
	assert_true(STAILQ_EMPTY(&peer.replies));
	vrb_rdm_rx_fini(&ep.rx);
	return 0;
}

static bool answer(void)
{
	static const uint8_t payload[PAYLOAD];
	const struct ofi_rdm_wire_packet packet = { .type = OFI_RDM_WIRE_ATOMIC_RSP, .id = 1 };

	return vrb_rdm_answer(&peer, &packet, payload, sizeof(payload));
}

/* It takes no completions of ours, so that there is no credit to answer it. */
static void answers_that_nobody_takes(void **state)
{
	unsigned int n = 0;

	(void)state;
	peer.proto.up = true;
	while (answer() && n < MOST)
		n++;
	assert_in_range(n, MOST / 2 / PAYLOAD / 2, MOST / PAYLOAD);
	assert_in_range(peer.reply_bytes, MOST, MOST + 2 * PAYLOAD + OFI_RDM_WIRE_HEADER_MAX);
	/* They are gone with the connection, and what is asked afterwards is not answered. */
	vrb_rdm_ops_fail(&peer, FI_ECONNABORTED);
	assert_int_equal(peer.reply_bytes, 0);
	assert_true(answer());
	vrb_rdm_ops_fail(&peer, FI_ECONNABORTED);
	peer.proto.up = false;
	assert_true(answer());
	assert_int_equal(peer.reply_bytes, 0);
}

static bool come_early(void)
{
	struct vrb_rdm_small *small = vrb_rdm_small_get(&ep.rx);

	assert_non_null(small);
	if (vrb_rdm_conn_early(&connection, &small->rx, 40))
		return true;
	vrb_rdm_rx_put(&ep.rx, &small->rx);
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
		vrb_rdm_rx_put(&ep.rx, rx);
	}
}

static enum ofi_rdm_wire_error ask_for_key(void)
{
	const struct ofi_rdm_wire_packet packet = { .type = OFI_RDM_WIRE_KEY_REQ,
						    .id = 1,
						    .key = 12345 };

	return vrb_rdm_key_request(&peer, &packet);
}

/* Keys that are tried one after the other. */
static void guesses(void **state)
{
	enum ofi_rdm_wire_error error = OFI_RDM_WIRE_OK;
	unsigned int n = 0;

	(void)state;
	while (!error && n < 10 * MISSES) {
		error = ask_for_key();
		n++;
	}
	assert_int_equal(error, OFI_RDM_WIRE_E_KEYS);
	assert_int_equal(n, MISSES);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(answers_that_nobody_takes),
		CASE(packets_before_their_time),
		CASE(guesses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
