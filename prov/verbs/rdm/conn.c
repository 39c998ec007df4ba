/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connections to peers: carries out the decisions of the connection policy. */
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "conn_int.h"
#include "prov/rdm/reply.h"
#include "progress.h"
#include "proof.h"
#include "shm.h"
#include "prov/rdm/upcall.h"
#include "prov/verbs/provider/prov.h"

#define CROWD_MS 20 /* interval for checking again for room or memory */
#define LATE_MS	 50 /* a timer that is handled so late shows that the processors are busy */
#define WATCH_MS 2000
#define WATCHED	 512 /* peers that conn_watch() checks at once */
/*
 * Limit of the packets kept from a new connection while the old one is flushed, which lasts until
 * the completions of the old one are read.
 */
#define EARLY_MAX (4 * OFI_RDM_WIRE_WINDOW)

void vrb_rdm_conn_entered(const struct ofi_rdm_conn *conn, enum ofi_rdm_conn_state from,
			  enum ofi_rdm_conn_event cause)
{
	struct ofi_rdm_peer *peer = vrb_rdm_conn_peer((struct ofi_rdm_conn *)(uintptr_t)conn);
	char text[OFI_ADDR_STRLEN];

	ofi_stats_peer_enter(&peer->stats, ofi_rdm_conn_state_name(conn->state),
			     ofi_rdm_conn_cause_name(cause), ofi_rdm_conn_state_waits(conn->state),
			     conn->since);
	FI_LOG(&vrb_prov, FI_LOG_DEBUG, FI_LOG_EP_CTRL, "peer %s: %s, was %s: %s\n",
	       vrb_rdm_conn_name(peer, text), ofi_rdm_conn_state_name(conn->state),
	       ofi_rdm_conn_state_name(from), ofi_rdm_conn_cause_name(cause));
}

/* Returns the time when the event thread can free a connection, at most `next`. */
static uint64_t first_deferred_free(const struct ofi_rdm_ep *ep, uint64_t next)
{
	const struct vrb_rc_conn *conn;

	SLIST_FOREACH (conn, &vrb_rc(ep)->conns.dead_conns, dead_entry) {
		if (vrb_rc_conn_freeable(conn, vrb_rc(ep)->conns.set.now))
			return 0;
		if (conn->linger < next)
			next = conn->linger;
	}
	return next;
}

/* Returns true if first packets may arrive, which are processed even if nobody polls. */
static bool is_proving(const struct ofi_rdm_ep *ep)
{
	return vrb_rc(ep)->conns.secret && ofi_rdm_due_first(&vrb_rc(ep)->conns.set.due);
}

/* Sets the timer for the next time when something is due. */
static void schedule_tick(struct ofi_rdm_ep *ep)
{
	struct vrb_rdm_conns *conns = &vrb_rc(ep)->conns;
	uint64_t now = conns->set.now, next = ofi_rdm_conn_next(&conns->set), due = vrb_ud_due(ep);

	if ((is_proving(ep) || conns->crowded || conns->rx_short ||
	     !TAILQ_EMPTY(&conns->starved)) &&
	    next > now + CROWD_MS)
		next = now + CROWD_MS;
	if (conns->set.open && next > conns->watch)
		next = conns->watch;
	next = first_deferred_free(ep, next);
	if (due != UINT64_MAX && now + due < next)
		next = now + due;
	if (next < now)
		next = now;
	if (next != UINT64_MAX)
		vrb_rdm_conn_wake(ep, next - now);
}

static void poll_soon(struct ofi_rdm_ep *ep, uint64_t ms)
{
	if (!ep->closing)
		vrb_rdm_conn_wake(ep, ms);
}

static const struct vrb_shm_calls shm_calls = {
	.damaged = vrb_rdm_conn_damaged,
	.failed = vrb_rdm_conn_wake_failed,
	.starved = vrb_rdm_conn_retry_receives,
	.pending = poll_soon,
};

/* Makes peer->next, which is up, the connection for sending. No other one is being flushed. */
static void install_conn(struct ofi_rdm_peer *peer)
{
	struct vrb_rc_conn *conn = vrb_rc_peer(peer)->next;
	bool shared = vrb_shm_is_near(conn);
	/* Packets of the transport's own may still occupy slots of the ring. */
	uint32_t credits = conn->size - !!conn->proof - (shared ? VRB_SHM_SLOTS : 0) -
			   (conn->ud ? VRB_UD_SLOTS : 0);
	struct vrb_rdm_rx *rx;

	vrb_rc_peer(peer)->next = NULL;
	vrb_rc_peer(peer)->conn = conn;
	vrb_rc_peer(peer)->seen = 0;
	conn->live = true;
	peer->rma_events = conn->rma_events;
	peer->direct = peer->ep->prov_keys && !peer->rma_events && !peer->ep->ordered;
	ofi_stats_add(&peer->ep->stats, OFI_STATS_CONNECTS, 1);
	__atomic_store_n(&peer->stats.most, credits, __ATOMIC_RELAXED);
	if (shared)
		vrb_shm_offer(conn, &shm_calls);
	ofi_rdm_up(peer, credits, conn->eager, vrb_rc_peer(peer)->policy.state > OFI_RDM_CONN_UP);
	while ((rx = STAILQ_FIRST(&conn->early))) {
		STAILQ_REMOVE_HEAD(&conn->early, early);
		vrb_rdm_take_packet(conn, rx, rx->len);
	}
}

/* Revokes the peer's rights to memory, and makes its next packet take the slow path. */
static void peer_drop_rights(struct ofi_rdm_peer *peer)
{
	vrb_rc(peer->ep)->recent_qp = VRB_RDM_NO_QP;
	if (vrb_rc_peer(peer)->conn)
		vrb_rc_conn_drop_rights(vrb_rc_peer(peer)->conn);
}

/* Fails the peer's operations with err. */
static void peer_down(struct ofi_rdm_peer *peer, int err)
{
	peer_drop_rights(peer);
	ofi_rdm_down(peer, err);
}

static void peer_give_up(struct ofi_rdm_peer *peer, int err)
{
	char text[OFI_ADDR_STRLEN];

	ofi_stats_add(&peer->ep->stats, OFI_STATS_CONNECTS_FAILED, 1);
	if (err == FI_ETIMEDOUT && ofi_rdm_has_waiting(peer))
		FI_WARN(&vrb_prov, FI_LOG_EP_CTRL,
			"peer %s: no answer from it or its host for %d ms (FI_VERBS_RDM_CONNECT_TIMEOUT), operations to it fail%s\n",
			vrb_rdm_conn_name(peer, text), vrb_params.rdm_connect_timeout,
			ofi_rdm_addr_is_qp(&peer->addr)
				? "; the security group must allow all traffic among its members, in and out"
				: "");
	else if (err != FI_ECANCELED && ofi_rdm_has_waiting(peer))
		FI_WARN(&vrb_prov, FI_LOG_EP_CTRL,
			"cannot connect to peer %s, operations to it fail: %s\n",
			vrb_rdm_conn_name(peer, text), fi_strerror(err));
	peer_down(peer, err);
}

/*
 * Memory of another process than before may have the same key. Messages fail with RMA operations,
 * because they may announce what these write, except one that the request has delivered.
 */
static void peer_renewed(struct ofi_rdm_peer *peer)
{
	char text[OFI_ADDR_STRLEN];

	if (STAILQ_EMPTY(&peer->ops))
		return;
	FI_WARN(&vrb_prov, FI_LOG_EP_CTRL,
		"peer %s: another process has its address now, operations that waited for the one before fail\n",
		vrb_rdm_conn_name(peer, text));
	peer_down(peer, FI_ECONNRESET);
}

/* Operations that waited for another process fail after the first message is known to be there. */
static void peer_up(struct ofi_rdm_peer *peer, bool is_another)
{
	vrb_rc_peer(peer)->next->state = VRB_RC_CONN_UP;
	vrb_rdm_first_end(vrb_rc_peer(peer)->next);
	if (is_another)
		peer_renewed(peer);
	if (!vrb_rc_peer(peer)->conn)
		install_conn(peer);
}

static void drop_early(struct vrb_rc_conn *conn)
{
	struct vrb_rdm_rx *rx;

	while ((rx = STAILQ_FIRST(&conn->early))) {
		STAILQ_REMOVE_HEAD(&conn->early, early);
		vrb_rdm_rx_put(rx->ring, rx);
	}
}

void vrb_rdm_conn_end(struct vrb_rc_conn *conn, int err)
{
	bool posted = !vrb_rc_conn_idle(conn);

	if (conn->state >= VRB_RC_CONN_ENDED)
		return;
	if (conn->ud)
		vrb_ud_conn_end(conn);
	else if (conn->state >= VRB_RC_CONN_ACCEPTED)
		rdma_disconnect(conn->id);
	conn->state = VRB_RC_CONN_ENDED;
	vrb_rc(conn->ep)->conns.set.ending += conn->qp_num != 0;
	conn->live = false;
	vrb_rc_conn_drop_rights(conn);
	vrb_rc(conn->ep)->recent_qp = VRB_RDM_NO_QP;
	conn->err = err;
	if (vrb_rc_peer(conn->peer)->next == conn)
		vrb_rc_peer(conn->peer)->next = NULL;
	drop_early(conn);
	if (!posted)
		vrb_rdm_conn_drained(conn);
	else if (!vrb_rc_conn_break(conn))
		vrb_rdm_conn_free_later(conn);
}

void vrb_rdm_conn_drained(struct vrb_rc_conn *conn)
{
	struct ofi_rdm_peer *peer = conn->peer;

	if (conn->state == VRB_RC_CONN_ENDED)
		vrb_rdm_conn_free_later(conn);
	if (vrb_rc_peer(peer)->conn != conn)
		return;
	vrb_rc_peer(peer)->conn = NULL;
	ofi_stats_add(&peer->ep->stats, OFI_STATS_CONNECTS_ENDED, 1);
	if (vrb_rc_peer(peer)->next && vrb_rc_peer(peer)->next->state == VRB_RC_CONN_UP)
		install_conn(peer);
}

void vrb_rdm_conn_flushed(struct vrb_rc_conn *conn)
{
	vrb_rdm_flush(conn, conn->shm ? conn->err : 0);
	if (conn->state == VRB_RC_CONN_ENDED)
		vrb_rdm_conn_drained(conn);
}

/* Ends the attempt or the connection to which the action applies. */
static void disconnect_peer(struct ofi_rdm_peer *peer, const struct ofi_rdm_conn_action *action)
{
	struct vrb_rc_conn *conn = vrb_rc_peer(peer)->next;

	if (action->what & OFI_RDM_CONN_DO_TEARDOWN)
		peer_down(peer, action->err);
	if (action->what & OFI_RDM_CONN_DO_RELEASE) {
		ofi_stats_add(&peer->ep->stats, OFI_STATS_EVICTIONS, 1);
		peer_drop_rights(peer);
		ofi_rdm_left(peer);
	}
	if (!conn && !(action->what & OFI_RDM_CONN_DO_ABANDON))
		conn = vrb_rc_peer(peer)->conn;
	if (conn)
		vrb_rdm_conn_end(conn, action->err ? action->err : FI_ECONNABORTED);
}

static void send_bye(struct ofi_rdm_peer *peer, enum ofi_rdm_wire_type type, uint32_t status)
{
	const struct ofi_rdm_wire_packet packet = { .type = type, .status = status };

	if (!ofi_rdm_answer(peer, &packet, NULL, 0))
		vrb_rdm_conn_fault(&peer->proto, OFI_RDM_WIRE_E_MEMORY);
}

/* Makes silent work requests complete, so that the next check can find the peer idle. */
static void probe_peer(struct ofi_rdm_peer *peer)
{
	if (vrb_rc_peer(peer)->conn && vrb_rc_peer(peer)->conn->live)
		vrb_rc_conn_probe(vrb_rc_peer(peer)->conn, &peer->proto.flow);
}

/* Checks whether a held peer has drained. */
static void look_at_peer(struct ofi_rdm_peer *peer)
{
	if (vrb_rdm_conn_is_idle(peer))
		vrb_rdm_conn_step(peer,
				  (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_DRAINED });
	else
		probe_peer(peer);
}

/* Probes with a zero-length write, which the peer's device answers without its process. */
static void touch_peer(struct ofi_rdm_peer *peer)
{
	struct vrb_rc_conn *conn = vrb_rc_peer(peer)->conn;

	if (!conn || !conn->live || conn->asked)
		return;
	conn->asked_at = conn->head;
	conn->asked = vrb_rc_conn_touch(conn, &peer->proto.flow);
}

/* Performs the actions in the order of policy.h. */
static void peer_perform(struct ofi_rdm_peer *peer, const struct ofi_rdm_conn_action *action)
{
	uint32_t what = action->what;

	if (what & (OFI_RDM_CONN_DO_ABANDON | OFI_RDM_CONN_DO_RELEASE | OFI_RDM_CONN_DO_TEARDOWN))
		disconnect_peer(peer, action);
	if (what & OFI_RDM_CONN_DO_FAIL)
		peer_give_up(peer, action->err);
	if (what & OFI_RDM_CONN_DO_CONNECT)
		vrb_rdm_conn_call(peer);
	if (what & OFI_RDM_CONN_DO_UP)
		peer_up(peer, what & OFI_RDM_CONN_DO_RENEW);
	if (what & OFI_RDM_CONN_DO_HOLD)
		ofi_rdm_proto_peer_hold(&peer->proto, true);
	if (what & OFI_RDM_CONN_DO_BYE)
		send_bye(peer, OFI_RDM_WIRE_BYE, 0);
	if (what & OFI_RDM_CONN_DO_AGREE)
		send_bye(peer, OFI_RDM_WIRE_BYE_RSP, 0);
	if (what & OFI_RDM_CONN_DO_REFUSE)
		send_bye(peer, OFI_RDM_WIRE_BYE_RSP, FI_EBUSY);
	if (what & OFI_RDM_CONN_DO_RESUME)
		ofi_rdm_resume(peer);
	if (what & OFI_RDM_CONN_DO_EVICT)
		vrb_rdm_conn_evict(peer->ep);
	if (action->make_room)
		vrb_rdm_conn_make_room(peer);
	if (what & OFI_RDM_CONN_DO_ASK)
		touch_peer(peer);
	if (what & OFI_RDM_CONN_DO_PROBE)
		vrb_rdm_conn_probe_host(peer);
	if (what & OFI_RDM_CONN_DO_LOOK)
		look_at_peer(peer);
	/*
	 * Queued operations, perhaps from before the peer was held, need another connection, and
	 * receives that wait for the peer must be notified of its end.
	 */
	if (what & OFI_RDM_CONN_DO_RELEASE && ofi_rdm_has_waiting(peer))
		vrb_rdm_conn_want(&peer->proto);
	if (!ofi_rdm_conn_is_out(&vrb_rc_peer(peer)->policy))
		vrb_rdm_conn_probes_end(&vrb_rc_peer(peer)->probes);
}

struct ofi_rdm_conn_action vrb_rdm_conn_step(struct ofi_rdm_peer *peer,
					     struct ofi_rdm_conn_input input)
{
	struct ofi_rdm_conn_set *set = &vrb_rc(peer->ep)->conns.set;
	struct ofi_rdm_conn_action action;

	set->now = ofi_now_ms();
	ofi_rdm_conn_step(set, &vrb_rc_peer(peer)->policy, &input, &action);
	peer_perform(peer, &action);
	schedule_tick(peer->ep);
	return action;
}

void vrb_rdm_conn_step_failed(struct ofi_rdm_peer *peer, int err)
{
	struct ofi_rdm_conn_input input = { .event = OFI_RDM_CONN_FAILED, .err = err };

	/* Datagrams leave nothing that others need. */
	input.own = err == FI_ENOMEM || err == FI_ENOSPC;
	input.full = input.own && !vrb_rc(peer->ep)->ud;
	vrb_rdm_conn_step(peer, input);
}

void vrb_rdm_conn_retry_post(struct ofi_rdm_proto_peer *of)
{
	struct ofi_rdm_peer *peer = vrb_rc_peer_of(of);
	struct ofi_rdm_ep *ep = peer->ep;

	if (vrb_rc_peer(peer)->starved)
		return;
	if (TAILQ_EMPTY(&vrb_rc(ep)->conns.starved) && !ep->closing)
		vrb_rdm_conn_wake(ep, CROWD_MS);
	vrb_rc_peer(peer)->starved = true;
	TAILQ_INSERT_TAIL(&vrb_rc(ep)->conns.starved, vrb_rc_peer(peer), starving);
}

void vrb_rdm_conn_retry_receives(struct ofi_rdm_ep *ep)
{
	if (!vrb_rc(ep)->conns.rx_short && !ep->closing)
		vrb_rdm_conn_wake(ep, CROWD_MS);
	vrb_rc(ep)->conns.rx_short = true;
}

bool vrb_rdm_conn_take_last(struct vrb_rc_conn *conn)
{
	vrb_rdm_poll_all(conn->ep);
	return conn->state < VRB_RC_CONN_ENDED;
}

/* Returns false if the peer was not tried again because its connection has to end. */
static bool try_starved(struct vrb_rdm_starved *starved, struct vrb_rc_peer *rc)
{
	TAILQ_REMOVE(starved, rc, starving);
	rc->starved = false;
	if (rc->conn && rc->conn->live && rc->conn->fault)
		return false;
	ofi_rdm_try_again(&rc->rdm);
	return true;
}

/* Retries each peer once: one that still lacks something registers itself again. */
static void retry_starved(struct ofi_rdm_ep *ep)
{
	struct vrb_rdm_starved retried = TAILQ_HEAD_INITIALIZER(retried);
	struct vrb_rc_peer *rc;

	if (vrb_rc(ep)->conns.rx_short) {
		vrb_rc(ep)->conns.rx_short = false;
		vrb_rdm_refill(ep);
	}
	TAILQ_CONCAT(&retried, &vrb_rc(ep)->conns.starved, starving);
	while ((rc = TAILQ_FIRST(&retried))) {
		if (try_starved(&retried, rc))
			continue;
		vrb_rc_conn_stop(rc->conn);
		vrb_rdm_conn_broken(rc->conn, rc->conn->fault);
	}
}

void vrb_rdm_conn_feed(struct ofi_rdm_ep *ep)
{
	struct vrb_rdm_starved *starved = &vrb_rc(ep)->conns.starved;
	const struct vrb_rdm_pool *pool = &vrb_rc(ep)->tx_bufs;
	const struct vrb_rdm_buf *next;
	struct vrb_rc_peer *rc;

	do {
		next = SLIST_FIRST(&pool->free);
		rc = TAILQ_FIRST(starved);
		if (!next || !rc)
			return;
		if (!try_starved(starved, rc))
			vrb_rdm_conn_retry_post(&rc->rdm.proto);
	} while (SLIST_FIRST(&pool->free) != next);
}

/*
 * Returns true if the endpoint waits for the peer, or for its answer to BYE, and has nothing in
 * flight that would fail if the peer's host were gone.
 */
static bool is_awaited(const struct ofi_rdm_peer *peer)
{
	const struct vrb_rc_conn *conn = vrb_rc_peer(peer)->conn;

	if (!conn || !conn->live ||
	    (vrb_rc_peer(peer)->policy.state == OFI_RDM_CONN_UP && !ofi_rdm_is_awaited(peer)))
		return false;
	if (conn->ud)
		return vrb_ud_conn_quiet(conn);
	return vrb_rc_conn_is_quiet(conn) || (conn->shm && vrb_shm_is_quiet(conn));
}

/*
 * On datagrams, a peer that has acknowledged the request for a read owes its data, and nothing is
 * in flight.
 */
static void watch_peer(struct ofi_rdm_peer *peer)
{
	struct vrb_rc_conn *conn = vrb_rc_peer(peer)->conn;

	if (conn && conn->live && conn->ud && vrb_ud_conn_is_owed(conn))
		vrb_ud_touch(conn);
	else if (is_awaited(peer) && vrb_rc_conn_touch(conn, &peer->proto.flow) &&
		 vrb_rc_peer(peer)->seen + 1 == conn->head)
		vrb_rc_peer(peer)->seen = conn->head; /* The probe is no use of the connection. */
}

/*
 * Probes the awaited peers. If there are many peers, only some are checked at a time, so that the
 * lock is not held for long; all of them are checked within about WATCH_MS.
 */
static void conn_watch(struct ofi_rdm_ep *ep)
{
	struct vrb_rdm_conns *conns = &vrb_rc(ep)->conns;
	uint32_t i, parts = ep->peer_count / WATCHED + 1;
	struct ofi_rdm_peer *peer;

	if (conns->set.now < conns->watch)
		return;
	conns->watch = conns->set.now + WATCH_MS / parts;
	for (i = 0; i < WATCHED && i < ep->peer_count; i++) {
		conns->watched = conns->watched + 1 < ep->peer_count ? conns->watched + 1 : 0;
		peer = ep->peers[conns->watched];
		if (vrb_rc_peer(peer)->policy.state == OFI_RDM_CONN_UP ||
		    vrb_rc_peer(peer)->policy.state == OFI_RDM_CONN_LEAVING)
			watch_peer(peer);
	}
}

/*
 * Returns true if answers of peers may have arrived unseen: events are unread, or timers are
 * handled late because the processors are busy with other work.
 */
static bool is_behind(struct ofi_rdm_ep *ep)
{
	struct vrb_rdm_conns *conns = &vrb_rc(ep)->conns;
	uint64_t expired = __atomic_load_n(&conns->expired, __ATOMIC_RELAXED);

	if (expired < conns->set.now && conns->set.now - expired > LATE_MS)
		conns->late = conns->set.now + conns->set.params.give_up;
	return conns->set.now < conns->late || vrb_cm_is_behind(vrb_rdm_conn_cm(ep));
}

void vrb_rdm_conn_tick(struct ofi_rdm_ep *ep)
{
	struct ofi_rdm_conn_action action;
	struct ofi_rdm_conn *conn;

	retry_starved(ep);
	vrb_ud_rest(ep);
	vrb_rc(ep)->conns.crowded = false;
	vrb_rc(ep)->conns.set.now = ofi_now_ms();
	vrb_rc(ep)->conns.set.behind = is_behind(ep);
	conn_watch(ep);
	vrb_shm_tick(ep);
	while ((conn = ofi_rdm_conn_poll(&vrb_rc(ep)->conns.set, &action)))
		peer_perform(vrb_rdm_conn_peer(conn), &action);
	if (action.what & OFI_RDM_CONN_DO_EVICT)
		vrb_rdm_conn_evict(ep);
	schedule_tick(ep);
}

int vrb_rdm_conn_want(struct ofi_rdm_proto_peer *of)
{
	struct ofi_rdm_peer *peer = vrb_rc_peer_of(of);
	struct ofi_rdm_ep *ep = peer->ep;

	if (ep->closing || ep->dead)
		return ep->dead ? -ep->dead : -FI_EOPBADSTATE;
	if (!vrb_rc_peer(peer)->policy.wanted && vrb_rc_peer(peer)->policy.state != OFI_RDM_CONN_UP)
		vrb_rdm_conn_step(peer, (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_WANT });
	return 0;
}

/* The last message of the connection manager may arrive after the first packet, or be lost. */
bool vrb_rdm_conn_early(struct vrb_rc_conn *conn, struct vrb_rdm_rx *rx, size_t len)
{
	if (vrb_rdm_proof_waits(conn)) {
		if (conn->state < VRB_RC_CONN_ENDED)
			vrb_rdm_proof_take(conn, (const void *)(uintptr_t)rx->sge.addr, len);
		return false;
	}
	vrb_rdm_conn_established(conn);
	if (conn->live) {
		vrb_rdm_take_packet(conn, rx, len);
		return true;
	}
	if (conn->state != VRB_RC_CONN_UP)
		return false;
	rx = conn->early_count < EARLY_MAX ? vrb_rdm_rx_keep(&vrb_rc(conn->ep)->rx, rx, len) : NULL;
	if (!rx) {
		vrb_rdm_conn_fault(&conn->peer->proto, OFI_RDM_WIRE_E_MEMORY);
		return false;
	}
	conn->early_count++;
	rx->len = (uint32_t)len;
	STAILQ_INSERT_TAIL(&conn->early, rx, early);
	return true;
}

void vrb_rdm_conn_alive(struct vrb_rc_conn *conn)
{
	conn->asked = false;
	if (conn->live && !conn->mirror)
		vrb_rdm_conn_step(conn->peer,
				  (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_ALIVE });
}

void vrb_rdm_conn_bye(struct ofi_rdm_proto_peer *of, const struct ofi_rdm_wire_packet *packet)
{
	struct ofi_rdm_peer *peer = vrb_rc_peer_of(of);
	struct ofi_rdm_conn_input input = { .event = OFI_RDM_CONN_BYE };

	if (packet->type == OFI_RDM_WIRE_BYE)
		input.idle = vrb_rdm_conn_is_idle(peer);
	else
		input.event = packet->status ? OFI_RDM_CONN_REFUSED : OFI_RDM_CONN_AGREED;
	vrb_rdm_conn_step(peer, input);
}
