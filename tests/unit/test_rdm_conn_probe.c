/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Probes of hosts that do not answer: one serves all peers of a host. */
#include "unit.h"
#include <stdlib.h>
#include <string.h>

/* What the file calls of the connection manager, and of the endpoint. */
#define rdma_resolve_addr  fake_resolve_addr
#define rdma_resolve_route fake_resolve_route
#define rdma_connect	   fake_connect
#define rdma_destroy_id	   fake_destroy_id
#define vrb_cm_create_id   fake_create_id
#define vrb_rdm_conn_step  fake_step
#define vrb_rdm_conn_defer fake_defer
#define vrb_rdm_conn_event fake_event
#define ofi_now_ms	   fake_now_ms
#include "prov/verbs/rdm/conn_probe.c"

enum { PEERS = 40, TIMEOUT = 8000, SHORT = TIMEOUT / 8 };

static struct vrb_rc_ep rc;
static struct vrb_domain domain;
static struct vrb_rc_peer peers[PEERS];
static uint64_t now;
static unsigned int created, probed[PEERS], answered[PEERS];
static struct rdma_cm_id *ids[PEERS];

uint64_t ofi_now_ms(void)
{
	return now;
}

int rdma_resolve_addr(struct rdma_cm_id *id, struct sockaddr *src, struct sockaddr *dst, int ms)
{
	(void)id;
	(void)src;
	(void)dst;
	(void)ms;
	return 0;
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

/* All have the same number; the last one is on another host. */
static int begin(void **state)
{
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
	rc.rdm.domain = &domain.base;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(one_serves_all, begin, end),
		cmocka_unit_test_setup_teardown(it_is_repeated, begin, end),
		cmocka_unit_test_setup_teardown(each_probe_counts_for_all, begin, end),
		cmocka_unit_test_setup_teardown(hosts_do_not_answer_for_each_other, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
