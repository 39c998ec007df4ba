/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Probes of hosts that do not answer: one serves all peers of a host. */
#include "unit.h"
#include <stdlib.h>
#include <string.h>
#include "capture.h"

/* What the file calls of the connection manager, and of the endpoint. */
#define rdma_resolve_addr  fake_resolve_addr
#define rdma_resolve_route fake_resolve_route
#define rdma_connect	   fake_connect
#define rdma_destroy_id	   fake_destroy_id
#define vrb_cm_create_id   fake_create_id
#define vrb_rdm_conn_step  fake_step
#define vrb_rdm_conn_defer fake_defer
#define vrb_rdm_conn_event fake_event
#define vrb_rdm_conn_data  fake_data
#define vrb_rdm_conn_parse fake_parse
#define vrb_ud_conn_lost   fake_lost
#define vrb_ud_conn_heard  fake_heard
#define vrb_tclass_set_id  fake_tclass_set_id
#define ofi_now_ms	   fake_now_ms
#include "prov/verbs/rdm/conn_probe.c"
#include "prov/verbs/rdm/conn_resolve.c"

enum { PEERS = 40, TIMEOUT = 8000, SHORT = TIMEOUT / 8 };

static struct vrb_rc_ep rc;
static struct vrb_domain domain;
static struct vrb_rc_peer peers[PEERS];
static uint64_t now;
static unsigned int created, probed[PEERS], answered[PEERS];
static struct rdma_cm_id *ids[PEERS];
static struct ofi_rdm_addr from, to; /* of the last probe */
static uint8_t tos;
static int resolve_errno;

uint64_t ofi_now_ms(void)
{
	return now;
}

int rdma_resolve_addr(struct rdma_cm_id *id, struct sockaddr *src, struct sockaddr *dst, int ms)
{
	(void)id;
	(void)ms;
	memcpy(&from, src, sizeof(from));
	memcpy(&to, dst, sizeof(to));
	errno = resolve_errno;
	return resolve_errno ? -1 : 0;
}

void vrb_tclass_set_id(struct vrb_tclass tclass, struct rdma_cm_id *id)
{
	(void)id;
	tos = tclass.tos;
}

int rdma_resolve_route(struct rdma_cm_id *id, int ms)
{
	(void)id;
	(void)ms;
	return 0;
}

int rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	(void)id;
	(void)param;
	return 0;
}

int rdma_destroy_id(struct rdma_cm_id *id)
{
	free(id);
	return 0;
}

int vrb_cm_create_id(struct vrb_cm *cm, const char *call, struct vrb_owner *owner, bool ud,
		     struct rdma_cm_id **id)
{
	(void)ud;
	(void)cm;
	(void)call;
	*id = calloc(1, sizeof(**id));
	assert_non_null(*id);
	(*id)->context = owner;
	assert_true(created < PEERS);
	ids[created++] = *id;
	return 0;
}

struct ofi_rdm_conn_action vrb_rdm_conn_step(struct ofi_rdm_peer *peer,
					     struct ofi_rdm_conn_input input)
{
	size_t i = (size_t)(vrb_rc_peer(peer) - peers);

	probed[i] += input.event == OFI_RDM_CONN_PROBED;
	answered[i] += input.event == OFI_RDM_CONN_ANSWERED;
	return (struct ofi_rdm_conn_action){ 0 };
}

void vrb_rdm_conn_defer(struct ofi_rdm_ep *ep, struct vrb_rdm_deferred *deferred)
{
	SLIST_INSERT_HEAD(&vrb_rc(ep)->conns.deferred, deferred, link);
}

void vrb_rdm_conn_event(struct ofi_rdm_ep *ep, vrb_rdm_cm_event_fn *handle, struct vrb_owner *owner,
			const struct rdma_cm_event *event, struct vrb_cm_left *left)
{
	(void)ep;
	(void)left;
	assert_null(handle(owner, event));
}

/* A connection on datagrams whose peer is silent, and the answer of the peer's port. */
static struct vrb_rc_conn silent;
static struct ofi_rdm_cmwire answer;
static enum ofi_rdm_wire_error answer_error;
static int answer_status;
static unsigned int lost, heard;

uint8_t vrb_rdm_conn_data(const struct ofi_rdm_peer *peer, enum ofi_rdm_cmwire_kind kind,
			  uint8_t *wire)
{
	assert_ptr_equal(peer, silent.peer);
	assert_int_equal(kind, OFI_RDM_CMWIRE_PROBE);
	*wire = 0;
	return 1;
}

enum ofi_rdm_wire_error vrb_rdm_conn_parse(const struct rdma_cm_event *event,
					   struct ofi_rdm_cmwire *cm)
{
	(void)event;
	*cm = answer;
	return answer_error;
}

void vrb_ud_conn_lost(struct vrb_rc_conn *conn)
{
	lost += conn == &silent;
}

void vrb_ud_conn_heard(struct vrb_rc_conn *conn)
{
	heard += conn == &silent;
}

/* All have the same number; the last one is on another host. */
static int begin(void **state)
{
	static struct fi_tx_attr tx = { .tclass = FI_TC_LOW_LATENCY };
	static struct fi_info info = { .tx_attr = &tx };
	static struct vrb_fabric fabric;
	unsigned int i;

	(void)state;
	memset(&rc, 0, sizeof(rc));
	memset(peers, 0, sizeof(peers));
	memset(probed, 0, sizeof(probed));
	memset(answered, 0, sizeof(answered));
	created = 0;
	now = 1000000;
	domain.fabric = &fabric;
	domain.base.info = rc.rdm.info = &info;
	rc.rdm.domain = &domain.base;
	rc.rdm.self.in = (struct sockaddr_in){ .sin_family = AF_INET,
					       .sin_port = htons(7000),
					       .sin_addr.s_addr = htonl(0x0a000009) };
	vrb_params.tclass_low_latency = 18;
	vrb_params.rdm_connect_timeout = TIMEOUT;
	for (i = 0; i < PEERS; i++) {
		peers[i].rdm.ep = &rc.rdm;
		peers[i].rdm.addr.in.sin_family = AF_INET;
		peers[i].rdm.addr.in.sin_port = htons((uint16_t)(5000 + i));
		peers[i].rdm.addr.in.sin_addr.s_addr = htonl(0x0a000001 + (i == PEERS - 1));
	}
	return 0;
}

static int end(void **state)
{
	struct vrb_rdm_deferred *probe;
	unsigned int i;

	(void)state;
	for (i = 0; i < PEERS; i++)
		vrb_rdm_conn_probes_end(&peers[i].probes);
	while ((probe = SLIST_FIRST(&rc.conns.deferred))) {
		SLIST_REMOVE_HEAD(&rc.conns.deferred, link);
		probe->destroy(probe);
		probe->end.run(&rc.rdm, &probe->end);
	}
	return 0;
}

static void happens(unsigned int probe, enum rdma_cm_event_type type)
{
	struct rdma_cm_event event = { .event = type, .id = ids[probe] };
	struct vrb_cm_left left = { 0 };
	struct vrb_owner *owner = ids[probe]->context;

	owner->ops->event(owner, &event, &left);
}

static void sent(unsigned int probe)
{
	happens(probe, RDMA_CM_EVENT_ADDR_RESOLVED);
	happens(probe, RDMA_CM_EVENT_ROUTE_RESOLVED);
}

/* Every peer of one host is due at the same time. */
static void all_due(void)
{
	unsigned int i;

	for (i = 0; i < PEERS - 1; i++)
		vrb_rdm_conn_probe_host(&peers[i].rdm);
}

static void one_serves_all(void **state)
{
	unsigned int i;

	(void)state;
	all_due();
	assert_int_equal(created, 1);
	/* It does not count before it is sent. */
	for (i = 0; i < PEERS; i++)
		assert_int_equal(probed[i], 0);
	sent(0);
	assert_int_equal(probed[0], 1);
	vrb_rdm_conn_probe_host(&peers[1].rdm);
	assert_int_equal(created, 1);
	assert_int_equal(probed[1], 1);
	happens(0, RDMA_CM_EVENT_REJECTED);
	assert_int_equal(answered[0], 1);
	all_due();
	assert_int_equal(created, 1);
	for (i = 0; i < PEERS - 1; i++)
		assert_int_equal(answered[i], 1 + !i);
}

/* One that is lost, or whose answer is old, is followed by another one. */
static void it_is_repeated(void **state)
{
	(void)state;
	all_due();
	sent(0);
	now += SHORT;
	all_due();
	assert_int_equal(created, 2);
	sent(1);
	happens(1, RDMA_CM_EVENT_REJECTED);
	now += SHORT;
	all_due();
	assert_int_equal(created, 3);
}

/* A host that never answers is given up by all of its peers after the same number of probes. */
static void each_probe_counts_for_all(void **state)
{
	unsigned int i, round;

	(void)state;
	for (round = 0; round < 8; round++) {
		all_due();
		sent(round);
		now += SHORT;
	}
	for (i = 0; i < PEERS - 1; i++)
		assert_true(probed[i] >= 4);
}

/* What one host answers says nothing of another one, which only has the same number. */
static void hosts_do_not_answer_for_each_other(void **state)
{
	(void)state;
	vrb_rdm_conn_heard(&peers[0].rdm);
	vrb_rdm_conn_probe_host(&peers[1].rdm);
	assert_int_equal(created, 0);
	assert_int_equal(answered[1], 1);
	vrb_rdm_conn_probe_host(&peers[PEERS - 1].rdm);
	assert_int_equal(created, 1);
	assert_int_equal(answered[PEERS - 1], 0);
}

/* The port of the silent connection's peer answers the question. */
static void port_says(enum ofi_rdm_cmwire_reason reason, uint64_t incarnation)
{
	struct rdma_cm_event event = { .event = RDMA_CM_EVENT_UNREACHABLE,
				       .status = answer_status };
	struct vrb_cm_left left = { 0 };
	struct vrb_owner *owner;
	static uint64_t ud;

	created = lost = heard = 0;
	silent = (struct vrb_rc_conn){ .ep = &rc.rdm,
				       .peer = &peers[0].rdm,
				       .ud = (struct vrb_ud_conn *)&ud,
				       .qp_num = 7,
				       .state = VRB_RC_CONN_UP };
	assert_true(vrb_rc_table_reserve(&rc.by_qp));
	vrb_rc_table_add(&rc.by_qp, &silent);
	answer = (struct ofi_rdm_cmwire){ .kind = OFI_RDM_CMWIRE_REJECT,
					  .reason = reason,
					  .incarnation = incarnation };
	vrb_rdm_conn_ask(&silent);
	assert_int_equal(created, 2);
	owner = ids[0]->context;
	sent(0);
	owner->ops->event(owner, &event, &left);
	vrb_rdm_conn_probes_end(&peers[0].asks);
	vrb_rc_table_remove(&rc.by_qp, &silent);
	free(rc.by_qp.lists);
	rc.by_qp = (struct vrb_rc_table){ 0 };
}

static void port_answers_for_the_connection(void **state)
{
	(void)state;
	peers[0].policy.known = 5;
	answer_status = 2;
	answer_error = OFI_RDM_WIRE_OK;
	port_says(OFI_RDM_CMWIRE_BUSY, 5);
	assert_int_equal(heard, 1);
	assert_int_equal(lost, 0);
	/* The process is another one, or has no such connection any more. */
	port_says(OFI_RDM_CMWIRE_BUSY, 6);
	assert_int_equal(lost, 1);
	port_says(OFI_RDM_CMWIRE_STALE, 5);
	assert_int_equal(lost, 1);
	assert_int_equal(heard, 0);
}

/*
 * A host refuses without the library's private data. If nobody listens, the process is gone; but
 * for a process that is stopped, the host refuses once too many requests wait for it.
 */
static void host_answers_for_the_port(void **state)
{
	(void)state;
	answer_error = OFI_RDM_WIRE_E_SHORT;
	answer_status = 2;
	port_says(OFI_RDM_CMWIRE_NONE, 0);
	assert_int_equal(lost + heard, 0);
	answer_status = 1;
	port_says(OFI_RDM_CMWIRE_NONE, 0);
	assert_int_equal(lost, 1);
}

/* The peer's name has the number that the interface has on the peer's host. */
static void they_leave_from_the_endpoints_address(void **state)
{
	struct sockaddr_in6 local = { .sin6_family = AF_INET6,
				      .sin6_port = htons(7000),
				      .sin6_addr.s6_addr = { 0xfe, 0x80, [15] = 9 },
				      .sin6_scope_id = 2 };
	struct sockaddr_in6 peer = { .sin6_family = AF_INET6,
				     .sin6_port = htons(5000),
				     .sin6_addr.s6_addr = { 0xfe, 0x80, [15] = 1 },
				     .sin6_scope_id = 77 };

	(void)state;
	vrb_rdm_conn_probe_host(&peers[0].rdm);
	assert_int_equal(from.in.sin_addr.s_addr, rc.rdm.self.in.sin_addr.s_addr);
	assert_int_equal(from.in.sin_port, 0);
	assert_int_equal(tos, 18 << 2);
	rc.rdm.self.in6 = local;
	rc.conns.scope = 2;
	peers[1].rdm.addr.in6 = peer;
	vrb_rdm_conn_probe_host(&peers[1].rdm);
	local.sin6_port = peer.sin6_port = 0;
	peer.sin6_scope_id = 2;
	assert_memory_equal(&from.in6, &local, sizeof(local));
	assert_memory_equal(&to.in6, &peer, sizeof(peer));
}

/* The kernel says the same as for a peer's address that is wrong. */
static void the_endpoints_address_is_gone(void **state)
{
	const char *text = "own address fi_sockaddr_in://10.0.0.9:7000 is on no interface", *log;
	int i;

	(void)state;
	resolve_errno = EADDRNOTAVAIL;
	capture_start();
	for (i = 0; i < 3; i++)
		assert_int_equal(vrb_rdm_conn_resolve(&rc.rdm, NULL, peers[i].rdm.addr),
				 -FI_EADDRNOTAVAIL);
	resolve_errno = 0;
	log = strstr(capture_stop(), text);
	assert_non_null(log);
	assert_null(strstr(log + 1, text));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(one_serves_all, begin, end),
		cmocka_unit_test_setup_teardown(it_is_repeated, begin, end),
		cmocka_unit_test_setup_teardown(each_probe_counts_for_all, begin, end),
		cmocka_unit_test_setup_teardown(hosts_do_not_answer_for_each_other, begin, end),
		cmocka_unit_test_setup_teardown(port_answers_for_the_connection, begin, end),
		cmocka_unit_test_setup_teardown(host_answers_for_the_port, begin, end),
		cmocka_unit_test_setup_teardown(they_leave_from_the_endpoints_address, begin, end),
		cmocka_unit_test_setup_teardown(the_endpoints_address_is_gone, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
