/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Refusals on a device that behaves like an Elastic Fabric Adapter: paths to unknown hosts. */
#include "unit.h"

#include <arpa/inet.h>

#include "prov/verbs/cm/cm_wire.h"
#include "ud_net.h"

enum { HOSTS = 3 * VRB_UD_REFUSED_HOSTS };

static const struct ud_net_params params = { .srd = true, .named = true }, ordered;

static int begin(void **state)
{
	(void)state;
	ud_net_begin(1, &params);
	return 0;
}

static int begin_calm(void **state)
{
	(void)state;
	ud_net_begin(7, &ordered);
	return 0;
}

/* With a name, as an endpoint has it whose GID is an IPv4 address. */
static int begin_ordered(void **state)
{
	(void)state;
	ud_net_begin(1, &ordered);
	ud_nodes[0].rc.ud->key = 1;
	return 0;
}

static int end(void **state)
{
	(void)state;
	ud_net_end();
	return 0;
}

/* Node 0 gets an answer, which names that GID, to a request that it has not sent. */
static void answer_from(uint8_t host)
{
	const struct vrb_ud_packet packet = {
		.kind = VRB_UD_ANSWER, .to = 4711, .key = ud_nodes[0].rc.ud->key, .from = 5
	};
	uint8_t bytes[VRB_UD_HEAD_MAX + 16] __attribute__((aligned(8))) = { 0 };
	unsigned int counts[IBV_WC_GENERAL_ERR] = { 0 };
	size_t len = vrb_ud_build(bytes, &packet);

	bytes[len + 15] = host;
	ud_net_inject(UD_STRANGER, UD_STRANGER_QPN, 0, bytes, len + 16);
	ud_net_watch(1000, counts);
}

static unsigned int refusals(void)
{
	struct vrb_ud_packet last;

	return ud_net_heard(&last);
}

/*
 * To destroy an address handle aborts what is sent with another one for the same GID. So those for
 * refusals stay.
 */
static void they_abort_nothing(void **state)
{
	struct vrb_ud *all = ud_nodes[0].rc.ud;
	struct ibv_ah_attr attr = { .is_global = 1,
				    .port_num = all->port.num,
				    .grh.dgid.raw[15] = UD_STRANGER };
	int before = ud_net_objects;

	(void)state;
	answer_from(UD_STRANGER);
	assert_int_equal(refusals(), 1);
	/* A connection to that host. */
	vrb_ud_path_leave(all, vrb_ud_path_get(all, &attr));
	answer_from(UD_STRANGER + 1);
	answer_from(UD_STRANGER);
	assert_int_equal(refusals(), 2);
	assert_int_equal(ud_net_objects, before + 2);
}

/* Whoever knows the name can claim to be many hosts, so they are few a minute. */
static void they_are_for_few_hosts(void **state)
{
	const struct ud_net_params no_paths = { .no_paths = true };
	int before = ud_net_objects;
	uint8_t i;

	(void)state;
	ud_net_set(&no_paths);
	for (i = 1; i < HOSTS; i++)
		answer_from(UD_STRANGER + i);
	ud_net_set(&params);
	for (i = 1; i < HOSTS; i++)
		answer_from(UD_STRANGER + i);
	assert_int_equal(ud_net_objects, before + VRB_UD_REFUSED_HOSTS);
	answer_from(UD_STRANGER);
	assert_int_equal(refusals(), 0);
	ud_net_pass(60000000);
	answer_from(UD_STRANGER);
	assert_int_equal(refusals(), 1);
	/* The next minute is no different from the first. */
	for (i = 1; i < HOSTS; i++)
		answer_from(UD_STRANGER + i);
	assert_int_equal(ud_net_objects, before + 2 * VRB_UD_REFUSED_HOSTS);
}

/* Nor do they use up the device's address handles. */
static void refusals_are_for_strangers(void **state)
{
	int before = ud_net_objects;
	uint8_t i;

	(void)state;
	ud_nodes[0].domain.attr.max_ah = 17;
	for (i = 1; i < HOSTS; i++)
		answer_from(UD_STRANGER + i);
	assert_int_equal(ud_net_objects, before + 4);
}

/* Whoever names a host that does not exist does not make the endpoint look for it. */
static void they_go_where_the_answer_comes_from(void **state)
{
	int before = ud_net_objects;

	(void)state;
	answer_from(UD_STRANGER);
	assert_int_equal(refusals(), 0);
	assert_int_equal(ud_net_objects, before);
}

/* Nor does whoever sends packets in the name of such a host. */
static void nobody_is_looked_for(void **state)
{
	const struct vrb_ud_packet packet = { .kind = VRB_UD_NUMBERED, .to = 4711, .from = 5 };
	uint8_t bytes[VRB_UD_HEAD_MAX] __attribute__((aligned(8)));
	unsigned int counts[IBV_WC_GENERAL_ERR] = { 0 };
	size_t len = vrb_ud_build(bytes, &packet);
	int before = ud_net_objects;

	(void)state;
	ud_net_inject(UD_STRANGER, UD_STRANGER_QPN, 0, bytes, len);
	ud_net_watch(1000, counts);
	assert_int_equal(refusals(), 0);
	assert_int_equal(ud_net_objects, before);
}

/* Node 0 gets a packet of a connection that it does not have. Returns the number of refusals. */
static unsigned int refusals_of_packet(uint32_t qpn)
{
	const struct vrb_ud_packet packet = { .kind = VRB_UD_NUMBERED, .to = 4711, .from = 5 };
	uint8_t bytes[VRB_UD_HEAD_MAX] __attribute__((aligned(8)));
	unsigned int counts[IBV_WC_GENERAL_ERR] = { 0 };
	size_t len = vrb_ud_build(bytes, &packet);

	ud_net_inject(UD_STRANGER, qpn, 0, bytes, len);
	ud_net_watch(1000, counts);
	return refusals();
}

/*
 * The device does not tell where the packet comes from. A peer that has missed the end of its
 * connection would otherwise keep it for ever, because the device confirms what it sends.
 */
static void peers_without_connection_are_refused(void **state)
{
	const uint8_t gid[16] = { [15] = UD_STRANGER };
	struct ofi_rdm_peer *peer = &ud_nodes[0].peer.rdm;
	struct ofi_rdm_ep *ep = &ud_nodes[0].rc.rdm;

	(void)state;
	assert_int_equal(refusals_of_packet(UD_STRANGER_QPN), 0);
	assert_true(ofi_rdm_addr_set_qp(&peer->addr, gid, UD_STRANGER_QPN, 7));
	ep->peers = &peer;
	ep->peer_count = 1;
	assert_int_equal(refusals_of_packet(UD_STRANGER_QPN + 1), 0);
	assert_int_equal(refusals_of_packet(UD_STRANGER_QPN), 1);
	peer->proto.up = true;
	assert_int_equal(refusals_of_packet(UD_STRANGER_QPN), 1);
	ep->peers = NULL;
	ep->peer_count = 0;
}

/*
 * Where GIDs are addresses, the way back is the one to the host that asked, whatever host the first
 * packet says that it comes from.
 */
static void answers_go_to_the_host_that_asked(void **state)
{
	struct vrb_ud_packet first = {
		.kind = VRB_UD_SEND,
		.last = true,
		.payload = (const uint8_t *)"x",
		.len = 1,
	};
	const struct ud_net_params none = { .loss = 1000 };
	unsigned int counts[IBV_WC_GENERAL_ERR] = { 0 };
	uint8_t bytes[VRB_UD_HEAD_MAX + 1] __attribute__((aligned(8)));
	struct ud_conn *active, *passive;
	struct vrb_ud_packet last;
	size_t len;

	(void)state;
	ud_net_join(0, 1, &active, &passive);
	first.to = passive->rc.qp_num;
	first.from = active->rc.qp_num;
	first.number = passive->rc.ud->in.next;
	len = vrb_ud_build(bytes, &first);
	ud_net_set(&none);
	ud_net_send(active);
	ud_net_set(&ordered);
	ud_nodes[1].rc.ud->port.link_layer = IBV_LINK_LAYER_ETHERNET;
	ud_nodes[1].peer.rdm.addr.in.sin_addr.s_addr = htonl(0x0a000000); /* of node 0 */
	vrb_ud_stamp(bytes, first.number, 0, &first.words, 0);
	bytes[len] = 'x';
	ud_net_inject(UD_STRANGER, ud_net_qpn(0), 1, bytes, len + 1);
	ud_net_watch(3000, counts);
	assert_int_equal(counts[IBV_WC_SUCCESS], 2);
	assert_int_equal(ud_net_heard(&last), 0);
	ud_net_send(passive);
	ud_net_watch(3000, counts);
	assert_int_equal(counts[IBV_WC_SUCCESS], 4);
}

static void decline_to(uint8_t host)
{
	unsigned int counts[IBV_WC_GENERAL_ERR] = { 0 };
	uint8_t words[32] = { 0 };
	struct rdma_cm_event event = { .event = RDMA_CM_EVENT_CONNECT_REQUEST };

	event.param.ud.qp_num = UD_STRANGER_QPN;
	event.param.ud.ah_attr = (struct ibv_ah_attr){
		.is_global = 1,
		.port_num = ud_nodes[0].rc.ud->port.num,
		.grh.dgid.raw[15] = host,
	};
	vrb_ud_decline(&ud_nodes[0].rc.rdm, &event, words, sizeof(words));
	ud_net_watch(1000, counts);
}

/* So are the answers to requests that are declined. */
static void requests_of_few_hosts_are_declined(void **state)
{
	int before = ud_net_objects;
	uint8_t i;

	(void)state;
	decline_to(UD_STRANGER);
	for (i = 1; i < HOSTS; i++)
		decline_to(UD_STRANGER + i);
	assert_int_equal(ud_net_objects, before + VRB_UD_REFUSED_HOSTS);
	assert_int_equal(refusals(), 1);
	decline_to(UD_STRANGER);
	assert_int_equal(refusals(), 2);
}

/* Returns false if the host's letter is not taken; else it is accepted, and the connection ends. */
static bool takes_host(uint8_t host, bool accepts)
{
	struct rdma_cm_event event = { .event = RDMA_CM_EVENT_CONNECT_REQUEST };
	const uint8_t gid[16] = { [15] = host };
	struct ud_conn *from = ud_net_conn(1), *conn;
	bool takes = vrb_ud_takes_host(&ud_nodes[0].rc.rdm, gid);
	uint8_t wire[64];

	event.param.ud.ah_attr = (struct ibv_ah_attr){ .is_global = 1, .grh.dgid.raw[15] = host };
	event.param.ud.ah_attr.port_num = ud_nodes[0].rc.ud->port.num;
	event.param.ud.qp_num = ud_net_qpn(1);
	event.param.ud.private_data = wire;
	event.param.ud.private_data_len = vrb_ud_say(&from->rc, wire, vrb_cm_pack(wire, "a", 1));
	if (takes && accepts) {
		conn = ud_net_conn(0);
		assert_int_equal(vrb_ud_hear(&conn->rc, &event), 0);
		ud_net_close(conn);
	}
	ud_net_close(from);
	return takes;
}

/* Nor do strangers that are accepted use up the device's address handles. */
static void strangers_are_of_few_hosts(void **state)
{
	uint8_t i;

	(void)state;
	ud_nodes[0].domain.attr.max_ah = 17;
	for (i = 1; i <= 100; i++)
		assert_true(takes_host(UD_STRANGER + i, false));
	for (i = 1; i <= 50; i++)
		assert_true(takes_host(UD_STRANGER + i, true)); /* known peers */
	ud_nodes[0].peer.policy.stranger = true;
	for (i = 51; i <= 54; i++)
		assert_true(takes_host(UD_STRANGER + i, true));
	assert_false(takes_host(UD_STRANGER + i, true));
	assert_true(takes_host(UD_STRANGER + 1, true));
	/* Those that connections have left make room, where destroying them aborts nothing. */
	ud_net_pass(5000000);
	for (; i <= 60; i++)
		assert_int_equal(takes_host(UD_STRANGER + i, true),
				 !ud_nodes[0].domain.unordered && i <= 58);
}

/* A host whose packets come with many traffic classes gets no more, but an answer in one it has. */
static void paths_to_strangers_are_few(void **state)
{
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = ud_nodes[0].rc.ud->port.num };
	struct vrb_ud *all = ud_nodes[0].rc.ud;
	struct ud_conn *conn = ud_net_conn(0);
	int before = ud_net_objects;
	struct vrb_ah *path;

	(void)state;
	ud_nodes[0].domain.attr.max_ah = 9;
	ud_nodes[0].peer.policy.stranger = true;
	for (uint8_t i = 0; i < 20; i++) {
		attr.grh.dgid.raw[15] = UD_STRANGER + i / 5;
		attr.grh.traffic_class = 4 * (i % 5);
		path = vrb_ud_path_of(conn->rc.ud, &attr);
		assert_true(!path == (i >= 5));
		vrb_ud_path_leave(all, path);
	}
	assert_int_equal(ud_net_objects, before + 2);
	ud_nodes[0].peer.policy.stranger = false;
	path = vrb_ud_path_of(conn->rc.ud, &attr);
	assert_non_null(path);
	vrb_ud_path_leave(all, path);
	ud_net_close(conn);
}

/* Within a subnet of InfiniBand, packets name their sender by its LID alone. */
static void test_without_a_gid(void **state)
{
	struct vrb_ud *all = ud_nodes[0].rc.ud;
	struct ibv_ah_attr other = { .dlid = 5, .port_num = all->port.num };
	struct ibv_ah_attr sender = { .dlid = 7, .port_num = all->port.num };
	struct vrb_ah *path;

	(void)state;
	vrb_ud_path_leave(all, vrb_ud_path_get(all, &other));
	assert_null(vrb_ud_refusal_path(all, &sender));
	path = vrb_ud_path_get(all, &sender);
	assert_non_null(path);
	assert_ptr_equal(vrb_ud_refusal_path(all, &sender), path);
	vrb_ud_path_leave(all, path);
	vrb_ud_path_leave(all, path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(they_abort_nothing, begin, end),
		cmocka_unit_test_setup_teardown(they_are_for_few_hosts, begin, end),
		cmocka_unit_test_setup_teardown(refusals_are_for_strangers, begin, end),
		cmocka_unit_test_setup_teardown(requests_of_few_hosts_are_declined, begin, end),
		cmocka_unit_test_setup_teardown(they_go_where_the_answer_comes_from, begin_ordered,
						end),
		cmocka_unit_test_setup_teardown(strangers_are_of_few_hosts, begin, end),
		cmocka_unit_test_setup_teardown(strangers_are_of_few_hosts, begin_ordered, end),
		cmocka_unit_test_setup_teardown(paths_to_strangers_are_few, begin_ordered, end),
		cmocka_unit_test_setup_teardown(peers_without_connection_are_refused, begin, end),
		cmocka_unit_test_setup_teardown(nobody_is_looked_for, begin_ordered, end),
		cmocka_unit_test_setup_teardown(answers_go_to_the_host_that_asked, begin_calm, end),
		cmocka_unit_test_setup_teardown(test_without_a_gid, begin_calm, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
