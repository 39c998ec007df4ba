/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connections by letter, between queue pairs with names: who is asked, how often, until when. */
#include "unit.h"

#include <string.h>
#include <rdma/fi_errno.h>
#include "prov/verbs/cm/cm_wire.h"
#include "ud_net.h"

enum { MANY = 1100 };

/* The last event that an endpoint was told of, and how many there were. */
struct told {
	unsigned int count;
	struct rdma_cm_event event;
	uint8_t wire[UINT8_MAX];
};

static struct told asked, answered;
static bool no_memory;
static struct ud_conn *active, *passive;
static const uint8_t stranger_gid[16] = { [10] = 0xff, 0xff, 10, [15] = UD_STRANGER };

static void keep(struct told *told, const struct rdma_cm_event *event)
{
	told->count++;
	told->event = *event;
	if (event->param.ud.private_data_len)
		memcpy(told->wire, event->param.ud.private_data, event->param.ud.private_data_len);
	told->event.param.ud.private_data = told->wire;
}

static bool take_request(struct ofi_rdm_ep *ep, const struct rdma_cm_event *event)
{
	assert_ptr_equal(ep, &ud_nodes[1].rc.rdm);
	keep(&asked, event);
	return !no_memory;
}

static bool take_answer(struct vrb_rc_conn *conn, const struct rdma_cm_event *event)
{
	assert_ptr_equal(conn, &active->rc);
	keep(&answered, event);
	return !no_memory;
}

static const struct ud_net_params calm = { .asked = take_request, .answered = take_answer };

/* It has had a name since it was opened, whose key is its Q_Key. */
static void has_name(unsigned int at)
{
	struct vrb_ud *all = ud_nodes[at].rc.ud;
	union ibv_gid gid = all->port.gid;

	assert_true(all->key && all->key <= INT32_MAX);
	memset(&all->port.gid, 0, sizeof(all->port.gid));
	assert_int_equal(vrb_ud_set_name(all), -FI_EADDRNOTAVAIL);
	all->port.gid = gid;
	assert_int_equal(vrb_ud_set_name(all), 0);
}

/* The GID is the IPv4 address 10.0.0.at. */
static void set_ip(unsigned int at)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(5000) };
	struct vrb_ud *all = ud_nodes[at].rc.ud;
	struct ofi_rdm_addr_hint hint;

	in.sin_addr.s_addr = htonl(0x0a000000 + at);
	assert_true(ofi_rdm_addr_set(&ud_nodes[at].rc.rdm.self, (struct sockaddr *)&in));
	assert_int_equal(vrb_ud_set_name(all), 0);
	assert_int_equal(all->key, 0);
	assert_false(ofi_rdm_addr_hint(&ud_nodes[at].rc.rdm.self, &hint));
	all->port.gid_type = IBV_GID_TYPE_ROCE_V2;
	all->port.gid.raw[10] = all->port.gid.raw[11] = 0xff;
	memcpy(&all->port.gid.raw[12], &in.sin_addr, 4);
	assert_int_equal(vrb_ud_set_name(all), 0);
	assert_true(ofi_rdm_addr_hint(&ud_nodes[at].rc.rdm.self, &hint));
	assert_int_equal(hint.qpn, all->qp->qp_num);
	assert_int_equal(hint.key, all->key);
}

/* The connection manager of one node has been at the other's host. */
static void know_host(unsigned int at, unsigned int other)
{
	ud_net_meet_host(at, ud_nodes[other].rc.ud->port.gid.raw);
}

static int begin_with(const struct ud_net_params *params)
{
	unsigned int i;

	asked = answered = (struct told){ 0 };
	ud_net_begin(3, params);
	for (i = 0; i < UD_NODES; i++)
		(params->srd ? has_name : set_ip)(i);
	active = ud_net_conn(0);
	ud_nodes[0].peer.rdm.addr = ud_nodes[1].rc.rdm.self;
	ud_nodes[1].peer.rdm.addr = ud_nodes[0].rc.rdm.self;
	if (!params->srd)
		know_host(0, 1);
	return 0;
}

static int begin(void **state)
{
	(void)state;
	return begin_with(&calm);
}

static int begin_srd(void **state)
{
	struct ud_net_params srd = calm;

	(void)state;
	srd.srd = srd.named = true;
	return begin_with(&srd);
}

static int end(void **state)
{
	(void)state;
	ud_net_end();
	return 0;
}

static void lose_all(void)
{
	struct ud_net_params lossy = calm;

	lossy.loss = 1000;
	ud_net_set(&lossy);
}

/* The device reports that of all packets. */
static void report(enum ibv_wc_status status)
{
	struct ud_net_params failing = calm;

	failing.error = status;
	ud_net_set(&failing);
}

/* Returns the number of successful completions. */
static unsigned int watch(uint64_t ms)
{
	unsigned int counts[IBV_WC_GENERAL_ERR] = { 0 };

	ud_net_watch(1000 * ms, counts);
	return counts[IBV_WC_SUCCESS];
}

static uint8_t words_of(const struct ud_conn *conn, uint8_t *wire)
{
	return vrb_ud_say(&conn->rc, wire, vrb_cm_pack(wire, "a", 1));
}

static void ask(void)
{
	uint8_t wire[UINT8_MAX];

	assert_int_equal(vrb_ud_ask(&active->rc, wire, words_of(active, wire), NULL), 0);
}

/* The passive side accepts the request that has arrived. */
static void accept_it(void)
{
	uint8_t wire[UINT8_MAX];

	assert_false(vrb_ud_was_asked(&ud_nodes[1].rc.rdm, &asked.event));
	passive = ud_net_conn(1);
	vrb_ud_sender(&ud_nodes[1].rc.rdm, &asked.event, &ud_nodes[1].peer.rdm.addr);
	assert_int_equal(vrb_ud_hear(&passive->rc, &asked.event), 0);
	assert_int_equal(vrb_ud_answer(&passive->rc, &asked.event, wire, words_of(passive, wire)),
			 0);
}

static void a_request_is_answered(void **state)
{
	static uint8_t bytes[10];
	struct ofi_rdm_addr from;

	(void)state;
	ud_nodes[0].rc.rdm.info->tx_attr->tclass = fi_tc_dscp_set(33);
	ask();
	assert_int_equal(active->rc.ud->path->attr.grh.traffic_class, 33 << 2);
	watch(1);
	assert_int_equal(asked.count, 1);
	vrb_ud_sender(&ud_nodes[1].rc.rdm, &asked.event, &from);
	if (ud_nodes[0].rc.ud->unordered)
		assert_int_equal(ofi_rdm_addr_compare(&from, &ud_nodes[0].rc.rdm.self), 0);
	else
		assert_true(ofi_addr_same_host(&from.sa, &ud_nodes[0].rc.rdm.self.sa));
	accept_it();
	watch(1);
	assert_int_equal(answered.count, 1);
	assert_int_equal(vrb_ud_event(&answered.event), RDMA_CM_EVENT_CONNECT_RESPONSE);
	assert_int_equal(vrb_ud_hear(&active->rc, &answered.event), 0);
	assert_int_equal(active->rc.ud->path->attr.grh.traffic_class, 33 << 2);
	assert_int_equal(ud_net_post(active, IBV_WR_SEND, bytes, sizeof(bytes), 0, 0, 8), 0);
	assert_int_equal(watch(3), 2);
	watch(5000);
	assert_int_equal(asked.count, 1);
	assert_int_equal(answered.count, 1);
}

static void expect_refused(void)
{
	assert_int_equal(answered.count, 1);
	assert_int_equal(vrb_ud_event(&answered.event), RDMA_CM_EVENT_REJECTED);
	watch(5000);
	assert_int_equal(answered.count, 1);
}

/* After 0.1, 0.2, 0.4, 0.8 s, then each 1.6 s; all but the first are shorter by up to a half. */
static void a_request_without_an_answer_is_repeated(void **state)
{
	(void)state;
	ask();
	watch(98);
	assert_int_equal(asked.count, 1);
	watch(100);
	assert_int_equal(asked.count, 2);
	watch(112);
	assert_int_equal(asked.count, 3);
	watch(400);
	assert_int_equal(asked.count, 4);
	watch(800);
	assert_int_equal(asked.count, 5);
	watch(1600);
	assert_in_range(asked.count, 6, 7);
	watch(10000);
	assert_in_range(asked.count, 12, 20);
	assert_int_equal(answered.count, 0);
}

/* Many may ask one endpoint at the same time, which has no time for most of them. */
static void requests_are_not_repeated_together(void **state)
{
	uint32_t ms[2] = { 0 }, waited;

	(void)state;
	ask();
	active = ud_net_conn(0);
	ask();
	watch(110);
	assert_int_equal(asked.count, 4);
	for (waited = 0; waited < 200; waited++) {
		watch(1);
		if (asked.count > 4 && !ms[asked.count - 5])
			ms[asked.count - 5] = waited;
	}
	assert_int_equal(asked.count, 6);
	assert_true(ms[0] && ms[1] > ms[0] + 3);
}

/* Then the connection manager is asked: another endpoint may have the address. */
static void a_hint_is_tried_twice(void **state)
{
	struct ofi_rdm_peer *peer = &ud_nodes[0].peer.rdm;

	(void)state;
	peer->ep = &ud_nodes[0].rc.rdm;
	lose_all();
	peer->addr = ud_nodes[2].rc.rdm.self;
	assert_false(vrb_ud_has_name(peer));
	peer->addr = ud_nodes[1].rc.rdm.self;
	assert_true(vrb_ud_has_name(peer));
	ask();
	watch(50);
	ud_net_set(&calm);
	watch(100);
	assert_int_equal(asked.count, 1);
	watch(100);
	assert_int_equal(answered.count, 0);
	watch(60);
	assert_int_equal(asked.count, 1);
	expect_refused();
	assert_int_equal(asked.count, 1);
	assert_false(vrb_ud_has_name(peer));
}

/* Its operations may fail before. */
static void a_hint_without_an_answer_is_forgotten(void **state)
{
	struct ofi_rdm_peer *peer = &ud_nodes[0].peer.rdm;

	(void)state;
	peer->ep = &ud_nodes[0].rc.rdm;
	ask();
	watch(1);
	ud_net_close(active);
	assert_false(vrb_ud_has_name(peer));
}

/* The answer says which queue pair the peer has now. */
static void a_hint_comes_with_a_request(void **state)
{
	struct ofi_rdm_peer *peer = &ud_nodes[1].peer.rdm;
	struct ofi_rdm_addr_hint hint;

	(void)state;
	peer->ep = &ud_nodes[1].rc.rdm;
	ask();
	watch(1);
	accept_it();
	assert_true(ofi_rdm_addr_hint(&peer->addr, &hint));
	assert_int_equal(hint.qpn, ud_net_qpn(0));
	assert_int_equal(hint.key, ud_nodes[0].rc.ud->key);
}

/* A request with somebody else's GID. */
static void a_request_names_where_it_comes_from(void **state)
{
	struct vrb_ud_packet packet = { .kind = VRB_UD_ASK, .to = ud_nodes[1].rc.ud->key };
	uint8_t bytes[VRB_UD_HEAD_MAX + 16] __attribute__((aligned(8))) = { 0 };
	size_t len = vrb_ud_build(bytes, &packet);

	(void)state;
	memcpy(bytes + len, ud_nodes[0].rc.ud->port.gid.raw, 16);
	ud_net_inject(2, ud_net_qpn(2), 1, bytes, len + 16);
	watch(1);
	assert_int_equal(asked.count, 0);
	bytes[len + 15] = 2;
	ud_net_inject(2, ud_net_qpn(2), 1, bytes, len + 16);
	watch(1);
	assert_int_equal(asked.count, 1);
	bytes[len + 10] = 0; /* not an IPv4 address */
	ud_net_inject(2, ud_net_qpn(2), 1, bytes, len + 16);
	watch(1);
	assert_int_equal(asked.count, 1);
}

/* The request that is repeated then gets the same answer. */
static void a_lost_answer_is_repeated(void **state)
{
	(void)state;
	ask();
	watch(60);
	lose_all();
	accept_it();
	watch(30);
	ud_net_set(&calm);
	watch(20);
	assert_int_equal(asked.count, 2);
	assert_int_equal(answered.count, 0);
	assert_true(vrb_ud_was_asked(&ud_nodes[1].rc.rdm, &asked.event));
	watch(1);
	assert_int_equal(answered.count, 1);
	assert_int_equal(vrb_ud_number_in(&answered.event), passive->rc.qp_num);
	ud_nodes[1].rc.ud->requests++;
	assert_true(vrb_ud_was_asked(&ud_nodes[1].rc.rdm, &asked.event));
	watch(1);
	assert_int_equal(answered.count, 1);
	assert_int_equal(passive->endings, 0);
}

/* Nobody waits for it any more: it is refused, and sent again if the refusal cannot come. */
static void an_answer_for_nobody_is_refused(void **state)
{
	(void)state;
	ask();
	watch(1);
	ud_net_close(active);
	lose_all();
	accept_it();
	watch(50);
	ud_net_set(&calm);
	assert_int_equal(passive->endings, 0);
	watch(60);
	assert_int_equal(answered.count, 0);
	assert_int_equal(passive->endings, 1);
	assert_int_equal(passive->err, FI_ECONNRESET);
	watch(5000);
	assert_int_equal(passive->endings, 1);
}

static void answer_as_stranger(uint32_t number, uint32_t key)
{
	const struct vrb_ud_packet packet = {
		.kind = VRB_UD_ANSWER, .to = number, .key = key, .from = 5
	};
	uint8_t bytes[VRB_UD_HEAD_MAX + 16] __attribute__((aligned(8))) = { 0 };
	size_t len = vrb_ud_build(bytes, &packet);

	memcpy(bytes + len, stranger_gid, sizeof(stranger_gid));
	ud_net_inject(UD_STRANGER, UD_STRANGER_QPN, 0, bytes, len + 16);
	watch(1);
}

/* Whoever guesses the number of a connection gets the same answer as others, and needs the key. */
static void answers_of_strangers_tell_nothing(void **state)
{
	uint32_t number = active->rc.qp_num, key = ud_nodes[0].rc.ud->key;
	struct vrb_ud_packet last;

	(void)state;
	ud_net_meet_host(0, stranger_gid);
	ask();
	answer_as_stranger(number, key + 1);
	answer_as_stranger(number + 1, key + 1);
	assert_int_equal(ud_net_heard(&last), 0);
	answer_as_stranger(number, key);
	assert_int_equal(ud_net_heard(&last), 1);
	answer_as_stranger(number + 1, key);
	assert_int_equal(ud_net_heard(&last), 2);
	assert_int_equal(last.kind, VRB_UD_END);
	watch(1);
	accept_it();
	watch(1);
	assert_int_equal(answered.count, 1);
	answer_as_stranger(number, key);
	assert_int_equal(ud_net_heard(&last), 3);
	assert_int_equal(active->endings, 0);
}

/* The device says that whoever asked is gone. */
static void an_asker_that_is_gone_is_not_waited_for(void **state)
{
	(void)state;
	ask();
	watch(1);
	report(IBV_WC_REM_INV_RD_REQ_ERR);
	accept_it();
	watch(1);
	assert_int_equal(passive->endings, 1);
	assert_int_equal(passive->err, FI_ECONNRESET);
}

static void a_request_needs_the_key(void **state)
{
	struct ofi_rdm_addr_hint hint;

	(void)state;
	if (ud_nodes[0].rc.ud->unordered) {
		ud_nodes[0].peer.rdm.addr.qp.key++;
	} else {
		assert_true(ofi_rdm_addr_hint(&ud_nodes[0].peer.rdm.addr, &hint));
		hint.key++;
		ofi_rdm_addr_set_hint(&ud_nodes[0].peer.rdm.addr, hint);
	}
	ask();
	watch(500);
	assert_int_equal(asked.count, 0);
}

/* Neither a request nor an answer is lost when there is no memory for it. */
static void letters_come_again_without_memory(void **state)
{
	(void)state;
	no_memory = true;
	ask();
	watch(1);
	assert_int_equal(asked.count, 1);
	assert_int_equal(ud_nodes[1].rc.ud->requests, 0);
	no_memory = false;
	watch(110);
	assert_int_equal(asked.count, 2);
	no_memory = true;
	accept_it();
	watch(1);
	assert_int_equal(answered.count, 1);
	no_memory = false;
	watch(200);
	assert_true(vrb_ud_was_asked(&ud_nodes[1].rc.rdm, &asked.event));
	watch(1);
	assert_int_equal(answered.count, 2);
}

/* A request is found by the end that sent it, even if a liar names the same end. */
static void an_end_that_two_claim_is_found_once(void **state)
{
	struct ud_conn *other = ud_net_conn(1);

	(void)state;
	ask();
	watch(1);
	accept_it();
	assert_int_equal(vrb_ud_hear(&other->rc, &asked.event), 0);
	assert_int_equal(ud_nodes[1].rc.ud->by_end.used, 1);
	ud_net_close(other);
	ud_nodes[1].rc.ud->requests += 2;
	assert_true(vrb_ud_was_asked(&ud_nodes[1].rc.rdm, &asked.event));
	ud_net_close(passive);
	assert_false(vrb_ud_was_asked(&ud_nodes[1].rc.rdm, &asked.event));
	assert_int_equal(ud_nodes[1].rc.ud->by_end.used, 0);
}

static void requests_that_wait_are_limited(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < MANY; i++) {
		ud_net_close(active);
		active = ud_net_conn(0);
		ud_nodes[0].peer.rdm.addr = ud_nodes[1].rc.rdm.self;
		ask();
		watch(1);
	}
	assert_int_equal(asked.count, 1024);
	assert_int_equal(ud_nodes[1].rc.ud->requests, 1024);
	assert_false(vrb_ud_was_asked(&ud_nodes[1].rc.rdm, &asked.event));
	watch(110);
	assert_int_equal(asked.count, 1025);
}

static void a_request_is_declined(void **state)
{
	uint8_t wire[UINT8_MAX];

	(void)state;
	know_host(1, 0);
	ask();
	watch(1);
	vrb_ud_decline(&ud_nodes[1].rc.rdm, &asked.event, wire, vrb_cm_pack(wire, "no", 2));
	assert_false(vrb_ud_was_asked(&ud_nodes[1].rc.rdm, &asked.event));
	watch(1);
	assert_true(answered.event.param.ud.private_data_len >= 2);
	expect_refused();
	assert_int_equal(asked.count, 1);
}

/* Only the queue pair that was asked answers. */
static void a_stranger_cannot_answer(void **state)
{
	const struct vrb_ud_packet packet = { .kind = VRB_UD_DECLINE, .to = active->rc.qp_num };
	uint8_t bytes[VRB_UD_HEAD_MAX] __attribute__((aligned(8)));
	size_t len = vrb_ud_build(bytes, &packet);

	(void)state;
	ask();
	ud_net_inject(UD_STRANGER, UD_STRANGER_QPN, 0, bytes, len);
	watch(1);
	assert_int_equal(answered.count, 0);
	ud_net_inject(1, ud_net_qpn(1), 0, bytes, len);
	watch(1);
	expect_refused();
}

static void a_device_that_knows_nobody_there_ends_it(void **state)
{
	(void)state;
	report(IBV_WC_RESP_TIMEOUT_ERR);
	ask();
	watch(50);
	assert_int_equal(answered.count, 0);
	report(IBV_WC_REM_INV_RD_REQ_ERR);
	watch(60);
	expect_refused();
}

/* The report comes after the connection has ended. */
static void a_late_report_finds_nobody(void **state)
{
	(void)state;
	report(IBV_WC_REM_ABORT_ERR);
	ask();
	ud_net_close(active);
	watch(500);
	assert_int_equal(answered.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_request_is_answered, begin, end),
		cmocka_unit_test_setup_teardown(a_request_is_answered, begin_srd, end),
		cmocka_unit_test_setup_teardown(a_request_without_an_answer_is_repeated, begin_srd,
						end),
		cmocka_unit_test_setup_teardown(requests_are_not_repeated_together, begin_srd, end),
		cmocka_unit_test_setup_teardown(a_hint_is_tried_twice, begin, end),
		cmocka_unit_test_setup_teardown(a_hint_without_an_answer_is_forgotten, begin, end),
		cmocka_unit_test_setup_teardown(a_hint_comes_with_a_request, begin, end),
		cmocka_unit_test_setup_teardown(a_request_names_where_it_comes_from, begin, end),
		cmocka_unit_test_setup_teardown(a_request_needs_the_key, begin_srd, end),
		cmocka_unit_test_setup_teardown(a_lost_answer_is_repeated, begin, end),
		cmocka_unit_test_setup_teardown(an_answer_for_nobody_is_refused, begin, end),
		cmocka_unit_test_setup_teardown(answers_of_strangers_tell_nothing, begin, end),
		cmocka_unit_test_setup_teardown(an_asker_that_is_gone_is_not_waited_for, begin_srd,
						end),
		cmocka_unit_test_setup_teardown(a_request_needs_the_key, begin, end),
		cmocka_unit_test_setup_teardown(letters_come_again_without_memory, begin, end),
		cmocka_unit_test_setup_teardown(an_end_that_two_claim_is_found_once, begin, end),
		cmocka_unit_test_setup_teardown(requests_that_wait_are_limited, begin, end),
		cmocka_unit_test_setup_teardown(a_request_is_declined, begin, end),
		cmocka_unit_test_setup_teardown(a_stranger_cannot_answer, begin, end),
		cmocka_unit_test_setup_teardown(a_device_that_knows_nobody_there_ends_it, begin_srd,
						end),
		cmocka_unit_test_setup_teardown(a_late_report_finds_nobody, begin_srd, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
