/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Peers by address: what is remembered about them, and that the names of strangers are forgotten.
 */
#include "unit.h"
#include <stdlib.h>
#include <string.h>
#include "prov/rdm/peer.h"

/* What the file calls of the address vector. */
#define ofi_rdm_av_find fake_av_find
#include "prov/verbs/rdm/peer.c"
#include "prov/verbs/rdm/conn_int.h"

enum { NAMES = 5000, CONTEXT_BITS = 4 };

static struct vrb_rc_ep rc;
static const struct ofi_rdm_xport_ops xport = {
	.peer_new = vrb_rc_peer_new,
	.peer_free = vrb_rc_peer_free,
	.peer_init = vrb_rc_peer_init,
	.peer_met = vrb_rc_peer_met,
	.peer_is_gone = vrb_rc_peer_is_gone,
};

static bool has_all;

fi_addr_t ofi_rdm_av_find(struct ofi_rdm_av *av, const struct ofi_rdm_addr *addr)
{
	(void)av;
	(void)addr;
	return has_all ? 0 : FI_ADDR_NOTAVAIL;
}

static struct ofi_rdm_addr addr_of(unsigned int port)
{
	struct ofi_rdm_addr addr = { .in.sin_family = AF_INET };

	addr.in.sin_addr.s_addr = htonl(0x0a000001);
	addr.in.sin_port = htons((uint16_t)port);
	return addr;
}

static struct ofi_rdm_peer *context_at(struct ofi_rdm_ep *ep, unsigned int port, uint8_t context)
{
	struct ofi_rdm_addr addr = addr_of(port);
	struct ofi_rdm_peer *peer = ofi_rdm_peer_at(ep, &addr, context);

	assert_non_null(peer);
	assert_int_equal(peer->addr.in.sin_port, htons((uint16_t)port));
	return peer;
}

static struct ofi_rdm_peer *at_of(struct ofi_rdm_ep *ep, unsigned int port)
{
	return context_at(ep, port, 0);
}

static struct ofi_rdm_peer *at(unsigned int port)
{
	return at_of(&rc.rdm, port);
}

static int begin(void **state)
{
	(void)state;
	memset(&rc, 0, sizeof(rc));
	rc.rdm.proto.xport.ops = &xport;
	return 0;
}

static int end(void **state)
{
	(void)state;
	ofi_rdm_peers_fini(&rc.rdm);
	return 0;
}

static void names_of_the_gone_are_not_kept(void **state)
{
	struct ofi_rdm_peer *peer;
	unsigned int i;

	(void)state;
	for (i = 1; i <= NAMES; i++) {
		peer = at(i);
		assert_false(peer->unused);
		assert_ptr_equal(rc.rdm.peers[peer->proto.src], peer);
		ofi_rdm_peer_leave(peer);
		assert_true(peer->unused);
	}
	assert_int_equal(rc.rdm.peer_count, 1);
	peer = at(1);
	peer->addrs = true;
	assert_ptr_not_equal(at(2), peer);
	assert_int_equal(rc.rdm.peer_count, 2);
}

/* Who has left a message stays until it is taken, and goes with a later one's coming. */
static void what_is_left_keeps_the_name(void **state)
{
	struct ofi_rdm_peer *peer = at(1);
	struct ofi_rdm_proto_in in = { .peer = &peer->proto };
	unsigned int i;

	(void)state;
	TAILQ_INSERT_TAIL(&peer->proto.ins, &in, link);
	ofi_rdm_peer_leave(peer);
	assert_ptr_equal(at(1), peer);
	for (i = 2; i < 100; i++)
		ofi_rdm_peer_leave(at(i));
	assert_ptr_equal(at(1), peer);
	TAILQ_REMOVE(&peer->proto.ins, &in, link);
	for (i = 2; i < 100 && !peer->unused; i++)
		ofi_rdm_peer_leave(at(i));
	assert_int_equal(rc.rdm.peer_count, 2);
	peer = at(200);
	vrb_rc_peer(peer)->conns = 1;
	ofi_rdm_peer_leave(peer);
	assert_ptr_equal(at(200), peer);
	vrb_rc_peer(peer)->conns = 0;
	peer->addrs = true;
	ofi_rdm_peer_leave(peer);
	assert_ptr_equal(at(200), peer);
}

/* However many could not be forgotten, a few later ones suffice to find all of them. */
static void each_that_was_kept_is_looked_at(void **state)
{
	struct ofi_rdm_peer *kept[10];
	unsigned int i;

	(void)state;
	for (i = 0; i < 10; i++) {
		kept[i] = at(1 + i);
		vrb_rc_peer(kept[i])->conns = 1;
	}
	for (i = 0; i < 10; i++)
		ofi_rdm_peer_leave(kept[i]);
	for (i = 0; i < 10; i++) {
		assert_false(kept[i]->unused);
		vrb_rc_peer(kept[i])->conns = 0;
	}
	for (i = 0; i < 4; i++)
		ofi_rdm_peer_leave(at(100 + i));
	for (i = 0; i < 10; i++)
		assert_true(kept[i]->unused);
}

/* Its request may come again with the message that was delivered. */
static void whose_request_has_delivered_is_kept(void **state)
{
	struct ofi_rdm_peer *peer = at(1);

	(void)state;
	has_all = true;
	vrb_rc_peer(peer)->delivered = 7;
	ofi_rdm_peer_leave(peer);
	assert_false(peer->unused);
	assert_ptr_equal(at(1), peer);
	has_all = false;
	ofi_rdm_peer_leave(peer);
	assert_true(peer->unused);
	peer = at(1);
	assert_int_equal(vrb_rc_peer(peer)->delivered, 0);
}

/* Another process at its address would otherwise pass for the one that was connected. */
static void whose_process_was_connected_is_kept(void **state)
{
	struct ofi_rdm_peer *peer = at(1);
	uint64_t *numbers[] = { &vrb_rc_peer(peer)->policy.known, &vrb_rc_peer(peer)->policy.past };
	int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		assert_ptr_equal(at(1), peer);
		*numbers[i] = 9;
		has_all = true;
		ofi_rdm_peer_leave(peer);
		assert_false(peer->unused);
		has_all = false;
		ofi_rdm_peer_leave(peer);
		assert_true(peer->unused);
	}
	assert_ptr_equal(at(1), peer);
	assert_int_equal(vrb_rc_peer(peer)->policy.past, 0);
}

static void forget(struct ofi_rdm_peer *peer, fi_addr_t fi_addr)
{
	struct ofi_rdm_addr addr = peer->addr;

	ofi_rdm_peer_forget(&rc.rdm, fi_addr, &addr);
}

/* As ofi_rdm_peer_meet() does when there is an address vector. */
static void know(struct ofi_rdm_peer *peer, fi_addr_t fi_addr)
{
	if (!rc.rdm.by_addr)
		assert_non_null(rc.rdm.by_addr = calloc(16, sizeof(struct ofi_rdm_peer *)));
	rc.rdm.by_addr_size = 16;
	rc.rdm.by_addr[fi_addr] = peer;
	peer->fi_addr = fi_addr;
	peer->known = true;
	peer->addrs++;
}

/* With the last of its fi_addrs, or when it is down, whichever is later. */
static void who_is_removed_is_not_kept(void **state)
{
	struct ofi_rdm_peer *peer = at(1);

	(void)state;
	know(peer, 3);
	know(peer, 5);
	forget(peer, 3);
	assert_false(peer->unused);
	assert_ptr_equal(at(1), peer);
	assert_null(rc.rdm.by_addr[3]);
	assert_ptr_equal(rc.rdm.by_addr[5], peer);
	forget(peer, 5);
	assert_true(peer->unused);
	assert_null(rc.rdm.by_addr[5]);
	/* Its place is another one's, which has a connection. */
	assert_ptr_equal(at(2), peer);
	know(peer, 3);
	vrb_rc_peer(peer)->conns = 1;
	forget(peer, 3);
	assert_false(peer->unused);
	vrb_rc_peer(peer)->conns = 0;
	ofi_rdm_peer_leave(peer);
	assert_true(peer->unused);
	assert_int_equal(rc.rdm.peer_count, 1);
}

/* Or messages of who gets its number would match. */
static void who_is_awaited_keeps_its_number(void **state)
{
	struct ofi_rdm_match_node *recvs[16] = { NULL }, *msgs[16] = { NULL };
	struct ofi_rdm_peer *peer = at(1), *other;
	struct ofi_rdm_match_recv receive = { 0 };
	struct ofi_rdm_match *match = &rc.rdm.proto.match[1];

	(void)state;
	rc.rdm.proto.spaces = 2;
	ofi_rdm_match_init(match, recvs, msgs, 4);
	ofi_rdm_match_init(&rc.rdm.proto.match[0], recvs, msgs, 4);
	know(peer, 3);
	other = at(2);
	know(other, 4);
	assert_null(ofi_rdm_match_post_many(match, &receive, peer->proto.src, 7, 0));
	forget(peer, 3);
	forget(other, 4);
	assert_false(peer->unused);
	assert_true(other->unused);
	ofi_rdm_match_remove(match, &receive);
	assert_null(ofi_rdm_match_post_many(match, &receive, OFI_RDM_MATCH_ANY, 7, 0));
	ofi_rdm_peer_leave(peer);
	assert_true(peer->unused);
}

/*
 * A link-local address refers to the interface on which the endpoint listens, whatever its number
 * is at the peer.
 */
static void who_asks_is_on_the_same_link(void **state)
{
	struct ofi_rdm_cmwire cm = { .port = 7471, .addr = { 0xfe, 0x80, [15] = 9 } };
	struct ofi_rdm_addr addr, other;
	struct ofi_rdm_peer *peer;

	(void)state;
	rc.conns.scope = 5;
	assert_true(vrb_rdm_conn_addr(&rc.rdm, &cm, &addr));
	assert_int_equal(addr.in6.sin6_family, AF_INET6);
	assert_int_equal(addr.in6.sin6_scope_id, 5);
	assert_int_equal(addr.in6.sin6_port, htons(7471));
	assert_memory_equal(&addr.in6.sin6_addr, cm.addr, 16);
	/* It is the same peer as one that the application inserted without a scope. */
	other = addr;
	other.in6.sin6_scope_id = 0;
	peer = ofi_rdm_peer_at(&rc.rdm, &addr, 0);
	assert_int_equal(peer->addr.in6.sin6_scope_id, 5);
	assert_ptr_equal(ofi_rdm_peer_at(&rc.rdm, &other, 0), peer);
	/* Other addresses have none. */
	cm.addr[0] = 0xfd;
	assert_true(vrb_rdm_conn_addr(&rc.rdm, &cm, &addr));
	assert_int_equal(addr.in6.sin6_scope_id, 0);
}

/* Gives the endpoint an address vector with one address. Returns its fi_addr. */
static fi_addr_t open_av(struct ofi_rdm_av *av, unsigned int port)
{
	struct ofi_rdm_addr addr = addr_of(port);
	size_t index;

	ofi_table_init(&av->base.table, sizeof(addr));
	index = ofi_table_take(&av->base.table, 0);
	memcpy(ofi_table_at(&av->base.table, index), &addr, sizeof(addr));
	av->context_bits = CONTEXT_BITS;
	rc.rdm.av = av;
	return index;
}

/* Who connected as a stranger is none any more when the application sends to it. */
static void who_is_met_is_no_stranger(void **state)
{
	struct ofi_rdm_av av = { 0 };
	struct ofi_rdm_peer *peer = at(1);
	int err;

	(void)state;
	ofi_rdm_conn_mark(&rc.conns.set, &vrb_rc_peer(peer)->policy, true);
	assert_ptr_equal(ofi_rdm_peer_meet(&rc.rdm, open_av(&av, 1), &err), peer);
	assert_false(vrb_rc_peer(peer)->policy.stranger);
	ofi_table_fini(&av.base.table);
}

static struct ofi_rdm_peer *meet_context(fi_addr_t fi_addr)
{
	int err;

	return ofi_rdm_peer_meet(&rc.rdm, fi_rx_addr(fi_addr, 2, CONTEXT_BITS), &err);
}

/* A peer that is no longer connected becomes the context that the application names. */
static void who_is_met_as_a_context_is_one(void **state)
{
	struct ofi_rdm_av av = { 0 };
	fi_addr_t fi_addr = open_av(&av, 100);
	struct ofi_rdm_peer *peer = at(102);

	(void)state;
	vrb_rc_peer(peer)->conns = 1;
	assert_ptr_equal(meet_context(fi_addr), peer);
	assert_int_equal(peer->context, 0);
	vrb_rc_peer(peer)->conns = 0;
	peer = meet_context(fi_addr);
	assert_int_equal(peer->addr.in.sin_port, htons(102));
	assert_int_equal(peer->context, 2);
	assert_int_equal(peer->proto.src, at(100)->proto.src);
	assert_ptr_equal(meet_context(fi_addr), peer);
	ofi_table_fini(&av.base.table);
}

/* A peer to which another fi_addr refers becomes one, too. */
static void who_has_an_address_becomes_a_context(void **state)
{
	struct ofi_rdm_av av = { 0 };
	fi_addr_t fi_addr = open_av(&av, 100);
	struct ofi_rdm_peer *peer = at(102);

	(void)state;
	know(peer, 3);
	assert_ptr_equal(meet_context(fi_addr), peer);
	assert_int_equal(peer->context, 2);
	ofi_table_fini(&av.base.table);
}

/* Completions would otherwise name the peer after whoever gets the fi_addr next. */
static void who_is_removed_while_connected_has_no_name(void **state)
{
	struct ofi_rdm_av av = { 0 };
	fi_addr_t fi_addr = open_av(&av, 100);
	struct ofi_rdm_peer *peer = at(102);
	struct ofi_rdm_addr addr = addr_of(100);

	(void)state;
	vrb_rc_peer(peer)->conns = 1;
	assert_ptr_equal(meet_context(fi_addr), peer);
	assert_int_equal(peer->fi_addr, fi_addr);
	ofi_rdm_peer_forget(&rc.rdm, fi_addr, &addr);
	assert_int_equal(peer->fi_addr, FI_ADDR_NOTAVAIL);
	addr = addr_of(500);
	memcpy(ofi_table_at(&av.base.table, fi_addr), &addr, sizeof(addr));
	assert_int_equal(meet_context(fi_addr)->addr.in.sin_port, htons(502));
	ofi_table_fini(&av.base.table);
}

/*
 * Peers with one address have one number in the shared receive context of their endpoints, which is
 * forgotten with the last of them: names of strangers are not kept there, either.
 */
static void who_is_shared_has_one_number(void **state)
{
	static struct ofi_rdm_ep srx = { .is_srx = true };
	static struct vrb_rc_ep more;
	struct ofi_rdm_peer *here, *there;
	unsigned int i;

	(void)state;
	more.rdm.proto.xport.ops = &xport;
	rc.rdm.srx = more.rdm.srx = &srx;
	at_of(&more.rdm, 500);
	here = at(1);
	there = at_of(&more.rdm, 1);
	assert_int_equal(here->proto.src, there->proto.src);
	assert_ptr_equal(here->proto.proto, &srx.proto);
	assert_int_not_equal(at(2)->proto.src, there->proto.src);
	ofi_rdm_peer_leave(here);
	assert_true(here->unused);
	assert_false(there->shared->unused);
	ofi_rdm_peer_leave(there);
	assert_true(there->unused);
	for (i = 1; i <= NAMES; i++)
		ofi_rdm_peer_leave(at(i % 2 ? i : 1));
	assert_in_range(srx.peer_count, 1, 4);
	ofi_rdm_peers_fini(&more.rdm);
	ofi_rdm_peers_fini(&srx);
}

/* Whoever claims to be context 1 of one port after the other leaves nothing behind. */
static void claims_form_no_chain(void **state)
{
	struct ofi_rdm_peer *peer, *before = context_at(&rc.rdm, 2, 1);
	unsigned int i;

	(void)state;
	vrb_rc_peer(before)->conns = 1;
	for (i = 3; i <= NAMES; i++) {
		peer = context_at(&rc.rdm, i, 1);
		vrb_rc_peer(peer)->conns = 1;
		vrb_rc_peer(before)->conns = 0;
		ofi_rdm_peer_leave(before);
		assert_true(before->unused);
		before = peer;
	}
	assert_in_range(rc.rdm.peer_count, 1, 4);
	vrb_rc_peer(peer)->conns = 0;
	ofi_rdm_peer_leave(peer);
	assert_true(peer->unused);
	assert_true(rc.rdm.peers[0]->unused);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(names_of_the_gone_are_not_kept, begin, end),
		cmocka_unit_test_setup_teardown(what_is_left_keeps_the_name, begin, end),
		cmocka_unit_test_setup_teardown(each_that_was_kept_is_looked_at, begin, end),
		cmocka_unit_test_setup_teardown(whose_request_has_delivered_is_kept, begin, end),
		cmocka_unit_test_setup_teardown(whose_process_was_connected_is_kept, begin, end),
		cmocka_unit_test_setup_teardown(who_asks_is_on_the_same_link, begin, end),
		cmocka_unit_test_setup_teardown(who_is_removed_is_not_kept, begin, end),
		cmocka_unit_test_setup_teardown(who_is_awaited_keeps_its_number, begin, end),
		cmocka_unit_test_setup_teardown(who_is_met_is_no_stranger, begin, end),
		cmocka_unit_test_setup_teardown(who_is_met_as_a_context_is_one, begin, end),
		cmocka_unit_test_setup_teardown(who_has_an_address_becomes_a_context, begin, end),
		cmocka_unit_test_setup_teardown(who_is_removed_while_connected_has_no_name, begin,
						end),
		cmocka_unit_test_setup_teardown(who_is_shared_has_one_number, begin, end),
		cmocka_unit_test_setup_teardown(claims_form_no_chain, begin, end),
	};

	return cmocka_run_group_tests_name("rdm_peer", tests, NULL, NULL);
}
