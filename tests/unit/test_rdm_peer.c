/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Peers by address: what they are remembered for, and that the names of strangers are not. */
#include "unit.h"
#include <stdlib.h>
#include <string.h>
#include "prov/verbs/rdm/av.h"
#include "prov/verbs/rdm/conn_data.h"
#include "prov/verbs/rdm/peer.h"

enum { NAMES = 5000 };

static struct vrb_rdm ep;

static struct vrb_rdm_peer *at(unsigned int port)
{
	struct vrb_rdm_addr addr = { .in.sin_family = AF_INET };
	struct vrb_rdm_peer *peer;

	addr.in.sin_addr.s_addr = htonl(0x0a000001);
	addr.in.sin_port = htons((uint16_t)port);
	peer = vrb_rdm_peer_at(&ep, &addr);
	assert_non_null(peer);
	assert_int_equal(peer->addr.in.sin_port, htons((uint16_t)port));
	return peer;
}

static int begin(void **state)
{
	(void)state;
	memset(&ep, 0, sizeof(ep));
	LIST_INIT(&ep.known.vacant);
	return 0;
}

static int end(void **state)
{
	(void)state;
	vrb_rdm_peers_fini(&ep);
	return 0;
}

static void names_of_the_gone_are_not_kept(void **state)
{
	struct vrb_rdm_peer *peer;
	unsigned int i;

	(void)state;
	for (i = 1; i <= NAMES; i++) {
		peer = at(i);
		assert_false(peer->vacant);
		assert_ptr_equal(ep.peers[peer->proto.src], peer);
		vrb_rdm_peer_leave(peer);
		assert_true(peer->vacant);
	}
	assert_int_equal(ep.peer_count, 1);
	peer = at(1);
	peer->met = true;
	assert_ptr_not_equal(at(2), peer);
	assert_int_equal(ep.peer_count, 2);
}

/* Who has left a message stays until it is taken, and goes with a later one's coming. */
static void what_is_left_keeps_the_name(void **state)
{
	struct vrb_rdm_peer *peer = at(1);
	struct ofi_rdm_proto_in in = { .peer = &peer->proto };
	unsigned int i;

	(void)state;
	TAILQ_INSERT_TAIL(&peer->proto.ins, &in, link);
	vrb_rdm_peer_leave(peer);
	assert_ptr_equal(at(1), peer);
	for (i = 2; i < 100; i++)
		vrb_rdm_peer_leave(at(i));
	assert_ptr_equal(at(1), peer);
	TAILQ_REMOVE(&peer->proto.ins, &in, link);
	for (i = 2; i < 100 && !peer->vacant; i++)
		vrb_rdm_peer_leave(at(i));
	assert_int_equal(ep.peer_count, 2);
	peer = at(200);
	peer->links = 1;
	vrb_rdm_peer_leave(peer);
	assert_ptr_equal(at(200), peer);
	peer->links = 0;
	peer->met = true;
	vrb_rdm_peer_leave(peer);
	assert_ptr_equal(at(200), peer);
}

static void forget(struct vrb_rdm_peer *peer, fi_addr_t fi_addr)
{
	struct vrb_rdm_addr addr = peer->addr;

	vrb_rdm_peer_forget(&ep, fi_addr, &addr);
}

/* As vrb_rdm_peer_meet() does when there is an address vector. */
static void know(struct vrb_rdm_peer *peer, fi_addr_t fi_addr)
{
	if (!ep.by_addr)
		assert_non_null(ep.by_addr = calloc(16, sizeof(struct vrb_rdm_peer *)));
	ep.by_addr_size = 16;
	ep.by_addr[fi_addr] = peer;
	peer->fi_addr = fi_addr;
	peer->known = true;
	peer->met++;
}

/* With the last of its fi_addrs, or when it is down, whichever is later. */
static void who_is_removed_is_not_kept(void **state)
{
	struct vrb_rdm_peer *peer = at(1);

	(void)state;
	know(peer, 3);
	know(peer, 5);
	forget(peer, 3);
	assert_false(peer->vacant);
	assert_ptr_equal(at(1), peer);
	assert_null(ep.by_addr[3]);
	assert_ptr_equal(ep.by_addr[5], peer);
	forget(peer, 5);
	assert_true(peer->vacant);
	assert_null(ep.by_addr[5]);
	/* Its place is another one's, which has a connection. */
	assert_ptr_equal(at(2), peer);
	know(peer, 3);
	peer->links = 1;
	forget(peer, 3);
	assert_false(peer->vacant);
	peer->links = 0;
	vrb_rdm_peer_leave(peer);
	assert_true(peer->vacant);
	assert_int_equal(ep.peer_count, 1);
}

/* Or messages of who gets its number would match. */
static void who_is_awaited_keeps_its_number(void **state)
{
	struct ofi_rdm_match_node *recvs[16] = { NULL }, *msgs[16] = { NULL };
	struct vrb_rdm_peer *peer = at(1), *other;
	struct ofi_rdm_match_recv receive = { 0 };
	struct ofi_rdm_match *match = &ep.proto.match[1];

	(void)state;
	ep.proto.spaces = 2;
	ofi_rdm_match_init(match, recvs, msgs, 4);
	ofi_rdm_match_init(&ep.proto.match[0], recvs, msgs, 4);
	know(peer, 3);
	other = at(2);
	know(other, 4);
	assert_null(ofi_rdm_match_post_many(match, &receive, peer->proto.src, 7, 0));
	forget(peer, 3);
	forget(other, 4);
	assert_false(peer->vacant);
	assert_true(other->vacant);
	ofi_rdm_match_remove(match, &receive);
	assert_null(ofi_rdm_match_post_many(match, &receive, OFI_RDM_MATCH_ANY, 7, 0));
	vrb_rdm_peer_leave(peer);
	assert_true(peer->vacant);
}

/*
 * A link-local address is one of the interface that the endpoint listens at, whatever its number is
 * at the peer.
 */
static void who_asks_is_on_the_same_link(void **state)
{
	struct ofi_rdm_cmwire cm = { .port = 7471, .addr = { 0xfe, 0x80, [15] = 9 } };
	struct vrb_rdm_addr addr, other;
	struct vrb_rdm_peer *peer;

	(void)state;
	ep.conn.scope = 5;
	assert_true(vrb_rdm_conn_addr(&ep, &cm, &addr));
	assert_int_equal(addr.in6.sin6_family, AF_INET6);
	assert_int_equal(addr.in6.sin6_scope_id, 5);
	assert_int_equal(addr.in6.sin6_port, htons(7471));
	assert_memory_equal(&addr.in6.sin6_addr, cm.addr, 16);
	/* It is the same peer as one that the application inserted without a scope. */
	other = addr;
	other.in6.sin6_scope_id = 0;
	peer = vrb_rdm_peer_at(&ep, &addr);
	assert_int_equal(peer->addr.in6.sin6_scope_id, 5);
	assert_ptr_equal(vrb_rdm_peer_at(&ep, &other), peer);
	/* Other addresses have none. */
	cm.addr[0] = 0xfd;
	assert_true(vrb_rdm_conn_addr(&ep, &cm, &addr));
	assert_int_equal(addr.in6.sin6_scope_id, 0);
}

/* Who connected as a stranger is none any more when the application sends to it. */
static void who_is_met_is_no_stranger(void **state)
{
	static struct vrb_rdm_av av;
	struct vrb_rdm_peer *peer = at(1);
	size_t index;
	int err;

	(void)state;
	ofi_table_init(&av.base.table, sizeof(struct vrb_rdm_addr));
	index = ofi_table_take(&av.base.table, 0);
	memcpy(ofi_table_at(&av.base.table, index), &peer->addr, sizeof(peer->addr));
	ep.av = &av;
	ofi_rdm_conn_mark(&ep.conn.set, &peer->conn, true);
	assert_ptr_equal(vrb_rdm_peer_meet(&ep, index, &err), peer);
	assert_false(peer->conn.stranger);
	ofi_table_fini(&av.base.table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(names_of_the_gone_are_not_kept, begin, end),
		cmocka_unit_test_setup_teardown(what_is_left_keeps_the_name, begin, end),
		cmocka_unit_test_setup_teardown(who_asks_is_on_the_same_link, begin, end),
		cmocka_unit_test_setup_teardown(who_is_removed_is_not_kept, begin, end),
		cmocka_unit_test_setup_teardown(who_is_awaited_keeps_its_number, begin, end),
		cmocka_unit_test_setup_teardown(who_is_met_is_no_stranger, begin, end),
	};

	return cmocka_run_group_tests_name("rdm_peer", tests, NULL, NULL);
}
