/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Requests that are refused before the policy sees them, and those that cannot be accepted. */
#include "unit.h"
#include <string.h>

#define ofi_rdm_admit_takes	 fake_admits
#define ofi_rdm_av_knows	 fake_knows
#define ofi_rdm_peer_at		 fake_peer_at
#define ofi_rdm_peer_find	 fake_peer_find
#define ofi_rdm_peer_leave	 fake_leave
#define rdma_reject		 fake_reject
#define vrb_async_lost		 fake_lost
#define vrb_rc_conn_has_room	 fake_has_room
#define vrb_rdm_conn_end	 fake_end
#define vrb_rdm_conn_is_from	 fake_is_from
#define vrb_rdm_conn_parse	 fake_parse
#define vrb_rdm_conn_reject_data fake_reject_data
#define vrb_rdm_conn_step	 fake_step
#define vrb_ud_number_in	 fake_number_in
#define vrb_ud_takes_host	 fake_takes_host
#define vrb_ud_words_check	 fake_words_check
#include "prov/verbs/rdm/conn_request.c"

enum { NUMBER = 7, LIMIT = 1000, MOST = 5000 };

static struct vrb_rc_ep rc;
static struct vrb_rc_peer peer;
static struct vrb_rc_conn next;
static struct ibv_qp qp;
static struct rdma_cm_id id;
static enum ofi_rdm_cmwire_reason refused;
static enum ofi_rdm_wire_error wrong;
static bool is_known, is_probe, takes_host;
static int left;

bool ofi_rdm_admit_takes(struct ofi_rdm_admit *admit, const uint8_t *ip, uint64_t now)
{
	(void)ip;
	(void)now;
	return admit;
}

bool ofi_rdm_av_knows(struct ofi_rdm_av *av, const struct ofi_rdm_addr *addr, uint8_t *context)
{
	(void)av;
	(void)addr;
	(void)context;
	return is_known;
}

struct ofi_rdm_peer *ofi_rdm_peer_at(struct ofi_rdm_ep *ep, const struct ofi_rdm_addr *addr,
				     uint8_t context)
{
	(void)ep;
	(void)addr;
	(void)context;
	return &peer.rdm;
}

struct ofi_rdm_peer *ofi_rdm_peer_find(const struct ofi_rdm_ep *ep, const struct ofi_rdm_addr *addr)
{
	assert_ptr_equal(ep, &rc.rdm);
	assert_int_equal(ofi_addr_port(&addr->sa), 5);
	return is_known ? &peer.rdm : NULL;
}

void ofi_rdm_peer_leave(struct ofi_rdm_peer *of)
{
	assert_ptr_equal(of, &peer.rdm);
	left++;
}

int rdma_reject(struct rdma_cm_id *of, const void *data, uint8_t len)
{
	(void)data;
	(void)len;
	assert_ptr_equal(of, &id);
	return 0;
}

void vrb_async_lost(struct vrb_domain *domain)
{
	assert_null(domain);
}

bool vrb_rc_conn_has_room(const struct ofi_rdm_ep *ep)
{
	return ep;
}

void vrb_rdm_conn_end(struct vrb_rc_conn *conn, int err)
{
	assert_ptr_equal(conn, &next);
	assert_int_equal(err, FI_ENOMEM);
}

bool vrb_rdm_conn_is_from(const struct ofi_rdm_cmwire *cm, const struct ofi_rdm_addr *from)
{
	return cm && from;
}

enum ofi_rdm_wire_error vrb_rdm_conn_parse(const struct rdma_cm_event *event,
					   struct ofi_rdm_cmwire *cm)
{
	(void)event;
	*cm = (struct ofi_rdm_cmwire){ .kind = OFI_RDM_CMWIRE_REQUEST, .port = 5 };
	if (is_probe)
		cm->kind = OFI_RDM_CMWIRE_PROBE;
	cm->addr[10] = cm->addr[11] = 0xff;
	cm->addr[12] = 10;
	return OFI_RDM_WIRE_OK;
}

uint8_t vrb_rdm_conn_reject_data(const struct ofi_rdm_ep *ep, enum ofi_rdm_cmwire_reason reason,
				 uint8_t *wire)
{
	(void)ep;
	(void)wire;
	refused = reason;
	return 0;
}

/* The policy's own answer, which is unlike all others. */
struct ofi_rdm_conn_action vrb_rdm_conn_step(struct ofi_rdm_peer *of,
					     struct ofi_rdm_conn_input input)
{
	assert_ptr_equal(of, &peer.rdm);
	assert_int_equal(input.event, OFI_RDM_CONN_REQUEST);
	return (struct ofi_rdm_conn_action){ .what = OFI_RDM_CONN_DO_REJECT,
					     .reason = OFI_RDM_CMWIRE_CLOSING };
}

uint32_t vrb_ud_number_in(const struct rdma_cm_event *event)
{
	(void)event;
	return NUMBER;
}

enum ofi_rdm_wire_error vrb_ud_words_check(const struct rdma_cm_event *event)
{
	assert_ptr_equal(event->id, &id);
	return wrong;
}

bool vrb_ud_takes_host(const struct ofi_rdm_ep *ep, const uint8_t *gid)
{
	assert_ptr_equal(ep, &rc.rdm);
	assert_int_equal(gid[12], 10);
	return takes_host;
}

static enum ofi_rdm_cmwire_reason request(void)
{
	struct rdma_cm_event event = { .event = RDMA_CM_EVENT_CONNECT_REQUEST, .id = &id };

	refused = OFI_RDM_CMWIRE_NONE;
	assert_ptr_equal(vrb_rdm_conn_take_request(&rc.conns.listener.owner, &event), &id);
	return refused;
}

static int begin(void **state)
{
	(void)state;
	memset(&rc, 0, sizeof(rc));
	memset(&peer, 0, sizeof(peer));
	memset(&next, 0, sizeof(next));
	rc.conns.listener.ep = peer.rdm.ep = &rc.rdm;
	rc.rdm.enabled = true;
	rc.rdm.self.sa.sa_family = id.route.addr.dst_addr.sa_family = AF_INET;
	peer.policy.order = 1;
	peer.rdm.proto.proto = &rc.rdm.proto;
	rc.rdm.proto.budget.limit = LIMIT;
	rc.rdm.proto.budget.most = MOST;
	is_known = is_probe = false;
	takes_host = true;
	wrong = OFI_RDM_WIRE_OK;
	left = 0;
	return 0;
}

/* Peers that are gone have left too much: only peers that the endpoint knows come in. */
static void messages_that_remain_keep_strangers_out(void **state)
{
	static struct vrb_rc_peer gone;
	struct ofi_rdm_peer *peers[] = { &gone.rdm };
	struct vrb_rc_conn conn = { 0 };

	(void)state;
	rc.rdm.peers = peers;
	rc.rdm.peer_count = 1;
	rc.rdm.proto.budget.used = gone.rdm.proto.flow.kept = 4 * LIMIT;
	assert_int_equal(request(), OFI_RDM_CMWIRE_CLOSING);
	rc.rdm.proto.budget.used++;
	assert_int_equal(request(), OFI_RDM_CMWIRE_CLOSING);
	gone.rdm.proto.flow.kept++;
	assert_int_equal(request(), OFI_RDM_CMWIRE_BUSY);
	/* A peer that is there is told to stop. */
	gone.conn = &conn;
	assert_int_equal(request(), OFI_RDM_CMWIRE_CLOSING);
	gone.conn = NULL;
	is_known = true;
	assert_int_equal(request(), OFI_RDM_CMWIRE_CLOSING);
	is_known = false;
	peer.policy.wanted = true;
	assert_int_equal(request(), OFI_RDM_CMWIRE_CLOSING);
}

static void nobody_comes_back_to_leave_more(void **state)
{
	(void)state;
	is_known = true;
	peer.rdm.proto.flow.kept = MOST;
	assert_int_equal(request(), OFI_RDM_CMWIRE_CLOSING);
	peer.rdm.proto.flow.kept++;
	assert_int_equal(request(), OFI_RDM_CMWIRE_BUSY);
}

/* The connection to the endpoint itself was asked for by letter, so it has no id to compare. */
static void a_letter_is_not_a_request_with_an_id(void **state)
{
	(void)state;
	is_known = true;
	peer.policy.order = 0;
	peer.next = &next;
	next.qp = &qp;
	next.qp_num = NUMBER;
	next.ud = (void *)&qp;
	assert_int_equal(request(), OFI_RDM_CMWIRE_IN_USE);
	next.id = &id;
	assert_int_equal(request(), OFI_RDM_CMWIRE_CLOSING);
}

/* Whoever asks about a connection learns whether this end has one. */
static void probes_tell_of_the_connection(void **state)
{
	(void)state;
	is_probe = true;
	assert_int_equal(request(), OFI_RDM_CMWIRE_STALE);
	is_known = true;
	assert_int_equal(request(), OFI_RDM_CMWIRE_STALE);
	peer.next = &next;
	assert_int_equal(request(), OFI_RDM_CMWIRE_BUSY);
	peer.next = NULL;
	peer.conn = &next;
	assert_int_equal(request(), OFI_RDM_CMWIRE_BUSY);
}

/* The request's id is destroyed after the connection that could not be made. */
static void no_event_goes_to_a_connection_that_failed(void **state)
{
	static struct vrb_fabric fabric;
	static struct vrb_domain domain = { .fabric = &fabric };

	(void)state;
	rc.rdm.domain = &domain.base;
	next.ep = &rc.rdm;
	next.id = &id;
	id.context = &next.owner;
	accept_failed(&next, FI_ENOMEM);
	assert_null(next.id);
	assert_ptr_equal(id.context, &rc.conns.listener.owner);
}

/* Resources are the reason only if this end lacks them. */
static void what_fails_is_the_reason(void **state)
{
	(void)state;
	assert_int_equal(refusal_reason(&peer.rdm, FI_ENOMEM), OFI_RDM_CMWIRE_RESOURCES);
	assert_int_equal(refusal_reason(&peer.rdm, FI_ECONNABORTED), OFI_RDM_CMWIRE_BUSY);
}

/* A request that contradicts itself leaves no trace: neither a peer nor a step of the policy. */
static void what_a_liar_says_is_not_learned(void **state)
{
	(void)state;
	rc.ud = (void *)&qp;
	assert_int_equal(request(), OFI_RDM_CMWIRE_CLOSING);
	wrong = OFI_RDM_WIRE_E_ID;
	assert_int_equal(request(), OFI_RDM_CMWIRE_MALFORMED);
	assert_int_equal(left, 1);
	wrong = OFI_RDM_WIRE_E_VERSION;
	assert_int_equal(request(), OFI_RDM_CMWIRE_VERSION);
	is_probe = true;
	assert_int_equal(request(), OFI_RDM_CMWIRE_STALE);
	assert_int_equal(left, 1);
}

/* Without a path to its host, a stranger would be accepted and end with its first packet. */
static void hosts_that_get_no_path_are_told(void **state)
{
	(void)state;
	takes_host = false;
	assert_int_equal(request(), OFI_RDM_CMWIRE_BUSY);
	is_known = true;
	assert_int_equal(request(), OFI_RDM_CMWIRE_CLOSING);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(messages_that_remain_keep_strangers_out, begin),
		cmocka_unit_test_setup(nobody_comes_back_to_leave_more, begin),
		cmocka_unit_test_setup(a_letter_is_not_a_request_with_an_id, begin),
		cmocka_unit_test_setup(probes_tell_of_the_connection, begin),
		cmocka_unit_test_setup(no_event_goes_to_a_connection_that_failed, begin),
		cmocka_unit_test_setup(what_fails_is_the_reason, begin),
		cmocka_unit_test_setup(hosts_that_get_no_path_are_told, begin),
		cmocka_unit_test_setup(what_a_liar_says_is_not_learned, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
