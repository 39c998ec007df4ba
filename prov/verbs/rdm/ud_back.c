/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Giving reliable queue pairs back (FI_VERBS_RDM_TRANSPORT=auto). There may be fewer queue pairs
 * than busy connections. If a busy connection finds no room, the peer of the least used connection
 * is asked, with VRB_UD_BACK, to give its queue pair back. The peer agrees unless it uses the
 * connection more: this end does not see reads and writes that its device carries out.
 *
 * Either end may leave a queue pair, and the other end then leaves it, too. An end that leaves
 * posts a last work request, which transfers nothing, and holds back what is posted afterward. When
 * the last work request is complete, so are all others, including silent ones. The end then tells
 * the peer how many messages it sent through the queue pair, and goes on with datagrams. The peer
 * handles these once it has taken that many messages, so nothing is overtaken. The connection may
 * get another queue pair later.
 *
 * A dishonest peer may send only a part of a message before it leaves. The device then holds a
 * receive of the SRQ, which other connections may need. A queue pair that both ends have left
 * therefore goes to the error state, and is destroyed only after the device has returned that
 * receive, or has failed to do so in time. Such a peer gets no other queue pair.
 */
#include <stdlib.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include <ofi/addr.h>
#include "prov/verbs/provider/prov.h"
#include "ud_int.h"
#include "ud_rc.h"

#define HALF_US	  250000  /* what was posted counts half after this time */
#define LOOK_US	  10000	  /* between searches for a less used connection */
#define ASK_US	  100000  /* the same if one was found */
#define REST_US	  100000  /* before a new one: peers cannot have them created all the time */
#define ROOM_US	  2000000 /* how long room is reserved for the connection it was made for */
#define LATE_US	  1000000 /* messages still missing then were never sent */
#define LOOKS	  64	  /* connections examined in one search */
#define SOON_MS	  1	  /* in which a device usually lets go of a queue pair */
#define WAIT_MS	  10	  /* until the next check if it has not */
#define LINGER_US 50000	  /* after which the device is not waited for any more */

/* A timer checks the queue pairs that were given back, so the event wakes nobody. */
static void old_event(struct vrb_owner *owner, enum ibv_event_type type)
{
	struct vrb_ud_rc *rc = ofi_container(owner, struct vrb_ud_rc, owner);

	if (type == IBV_EVENT_QP_LAST_WQE_REACHED)
		__atomic_store_n(&rc->let_go, true, __ATOMIC_RELEASE);
}

static const struct vrb_owner_ops old_ops = { .qp_event = old_event };

static const char *const states[] = {
	[VRB_UD_RC_KEPT] = "kept",
	[VRB_UD_RC_DRAINING] = "draining",
	[VRB_UD_RC_DRAINED] = "drained",
	[VRB_UD_RC_LEFT] = "left",
};

static void enter(struct vrb_ud_conn *ud, enum vrb_ud_rc_state state, const char *cause)
{
	struct ofi_rdm_peer *peer = ud->conn->peer;
	char text[OFI_ADDR_STRLEN];

	FI_LOG(&vrb_prov, FI_LOG_DEBUG, FI_LOG_EP_CTRL, "peer %s: queue pair %u: %s, was %s: %s\n",
	       ofi_rdm_addr_str(&peer->addr, text, sizeof(text)), ud->rc->number, states[state],
	       states[ud->rc->state], cause);
	ud->rc->state = state;
}

static uint64_t score_of(struct vrb_ud_conn *ud)
{
	uint64_t halves = (vrb_ud_of(ud)->now - ud->scored) / HALF_US;

	ud->score = halves < 64 ? ud->score >> halves : 0;
	ud->scored += halves * HALF_US;
	return ud->score;
}

void vrb_ud_back_score(struct vrb_ud_conn *ud, uint32_t worth)
{
	ud->score = score_of(ud) + worth;
}

/* A stranger takes only the place of another stranger. */
static bool may_ask(const struct vrb_ud_rc *rc, const struct vrb_ud_conn *wants)
{
	const struct vrb_ud_conn *ud = rc->ud;

	return vrb_ud_rc_is_open(ud) && ud->rc_peer.gives && !rc->asked &&
	       vrb_ud_of(ud)->now >= rc->kept_until &&
	       (!vrb_rc_peer(wants->conn->peer)->policy.stranger ||
		vrb_rc_peer(ud->conn->peer)->policy.stranger);
}

/* Examines LOOKS of them; the next call goes on with the others. */
static struct vrb_ud_rc *find_least(struct vrb_ud *all, const struct vrb_ud_conn *wants,
				    uint64_t bound)
{
	struct vrb_ud_rc *rc, *least = NULL;
	uint32_t i;

	for (i = 0; i < LOOKS && i < all->rcs.count && (rc = TAILQ_FIRST(&all->rcs.turns)); i++) {
		TAILQ_REMOVE(&all->rcs.turns, rc, turn);
		TAILQ_INSERT_TAIL(&all->rcs.turns, rc, turn);
		if (!may_ask(rc, wants) || score_of(rc->ud) >= bound)
			continue;
		least = rc;
		bound = score_of(rc->ud);
	}
	return least;
}

/* A connection has to be used twice as much as the one that makes room for it. */
void vrb_ud_back_look(struct vrb_ud_conn *ud)
{
	struct vrb_ud *all = vrb_ud_of(ud);
	uint64_t bound = score_of(ud) / 2;
	struct vrb_ud_rc *least;

	if (all->now < all->rcs.look)
		return;
	least = find_least(all, ud, bound);
	all->rcs.look = all->now + (least ? ASK_US : LOOK_US);
	if (!least)
		return;
	least->asks = least->asked = true;
	least->bound = all->rcs.score = bound;
	all->rcs.until = all->now + ROOM_US;
	vrb_ud_send_soon(least->ud);
}

bool vrb_ud_back_may(struct vrb_ud_conn *ud)
{
	struct vrb_ud *all = vrb_ud_of(ud);

	return all->now >= all->rcs.until || all->rcs.most - all->rcs.count > 1 ||
	       score_of(ud) >= all->rcs.score;
}

static int post_last(struct vrb_ud_rc *rc)
{
	struct ibv_send_wr *bad, wr = {
		.wr_id = (uintptr_t)rc,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
	};

	return ibv_post_send(rc->qp, &wr, &bad);
}

static void leave(struct vrb_ud_conn *ud, const char *cause)
{
	struct vrb_ud_rc *rc = ud->rc;
	bool used = rc->used;

	rc->asks = rc->refuses = rc->used = false;
	enter(ud, used ? VRB_UD_RC_DRAINING : VRB_UD_RC_DRAINED, cause);
	if (used)
		ud->conn->peer->stats.transport = ofi_stats_text("ud");
	if (used && post_last(rc))
		vrb_ud_back_drained(ud, IBV_WC_GENERAL_ERR);
}

/* The next poll handles the failure, or tells the peer. */
void vrb_ud_back_drained(struct vrb_ud_conn *ud, enum ibv_wc_status status)
{
	enter(ud, VRB_UD_RC_DRAINED, status ? "a failure" : "all is complete");
	ud->rc->failed = ud->broken && !status ? IBV_WC_WR_FLUSH_ERR : status;
	vrb_ud_send_soon(ud);
}

void vrb_ud_back_describe(struct vrb_ud_conn *ud, struct vrb_ud_packet *packet)
{
	struct vrb_ud_rc *rc = ud->rc;

	if (rc->refuses) {
		packet->id = VRB_UD_BACK_NO;
		rc->refuses = false;
	} else if (rc->asks) {
		packet->id = VRB_UD_BACK_ASK;
		packet->addr = rc->bound;
		rc->asks = false;
	} else {
		packet->id = VRB_UD_BACK_LEFT;
		packet->key = rc->sent;
		enter(ud, VRB_UD_RC_LEFT, "the peer is told");
	}
}

/* Has the device give back what it holds for a queue pair that nobody uses. */
static void release(struct vrb_ud *all, struct vrb_ud_rc *rc)
{
	rc->linger = all->now + LINGER_US;
	rc->owner.ops = &old_ops;
	rc->let_go = !rc->qp;
	if (rc->qp) {
		__atomic_store_n(&rc->qp->qp_context, (void *)&rc->owner, __ATOMIC_RELEASE);
		if (vrb_qp_stop(rc->qp))
			rc->linger = all->now;
	}
	SLIST_INSERT_HEAD(&all->rcs.old, rc, list);
	all->calls->wake(all->ep, SOON_MS);
}

/* Gives the queue pair back: both ends have left it, and nothing on it is in flight. */
static void give(struct vrb_ud_conn *ud)
{
	struct vrb_ud *all = vrb_ud_of(ud);
	struct vrb_ud_rc *rc = vrb_ud_rc_remove(ud);
	char text[OFI_ADDR_STRLEN];

	FI_INFO(&vrb_prov, FI_LOG_EP_CTRL,
		"peer %s: the connection goes on with datagrams, queue pair %u is given back\n",
		ofi_rdm_addr_str(&ud->conn->peer->addr, text, sizeof(text)), rc->number);
	ud->conn->takes = false;
	ud->rc_met = false;
	ud->traffic = 0;
	ud->rc_again = ud->rc_rest = all->now + REST_US;
	rc->ud = NULL;
	rc->was_of = ud->conn->qp_num;
	release(all, rc);
}

void vrb_ud_back_sent(struct vrb_ud_conn *ud)
{
	if (ud->rc->state == VRB_UD_RC_LEFT && ud->rc->peer_left)
		give(ud);
}

static void take_ask(struct vrb_ud_conn *ud, uint64_t bound)
{
	if (ud->rc->state)
		return;
	if (score_of(ud) < bound)
		leave(ud, "the peer asks");
	else
		ud->rc->refuses = true;
}

/* Another connection may be asked at once. */
static void take_no(struct vrb_ud_conn *ud)
{
	struct vrb_ud *all = vrb_ud_of(ud);

	if (ud->rc->asked)
		all->rcs.look = 0;
	ud->rc->asked = false;
	ud->rc->kept_until = all->now + VRB_UD_RC_KEEP_US;
}

static int take_left(struct vrb_ud_conn *ud, uint32_t sent)
{
	if (ud->rc->peer_left || sent != ud->rc->taken)
		return -FI_EPROTO;
	ud->rc->peer_left = true;
	if (!ud->rc->state)
		leave(ud, "the peer has left");
	else if (ud->rc->state == VRB_UD_RC_LEFT)
		give(ud);
	return 0;
}

/* The connection may have ended, and its queue pair with it, while the packet waited. */
int vrb_ud_back_met(struct vrb_ud_conn *ud, const struct vrb_ud_packet *packet)
{
	if (ud->over)
		return 0;
	if (!ud->rc || !ud->rc->connected || !ud->rc_peer.gives)
		return -FI_EPROTO;
	switch (packet->id) {
	case VRB_UD_BACK_ASK:
		take_ask(ud, packet->addr);
		return 0;
	case VRB_UD_BACK_NO:
		take_no(ud);
		return 0;
	case VRB_UD_BACK_LEFT:
		return take_left(ud, packet->key);
	default:
		return -FI_EPROTO;
	}
}

bool vrb_ud_back_waits(struct vrb_ud_conn *ud, const struct vrb_ud_packet *packet)
{
	struct vrb_ud_rc *rc = ud->rc;
	uint64_t now = vrb_ud_of(ud)->now;

	if (!rc || packet->id != VRB_UD_BACK_LEFT || packet->key == rc->taken)
		return false;
	if (!rc->late)
		rc->late = now + LATE_US;
	return now < rc->late;
}

/* An honest peer leaves no message incomplete, so no receive of its queue pair is returned. */
void vrb_ud_back_returned(struct vrb_ud *all, uint32_t number)
{
	struct vrb_ud_rc *rc = vrb_ud_rc_find(&all->rcs.old, number);
	struct vrb_rc_conn *conn;

	if (!rc)
		rc = vrb_ud_rc_find(&all->rcs.gone, number);
	if (!rc)
		return;
	rc->returned = true;
	conn = vrb_rc_conn_find(all->ep, rc->was_of);
	if (!conn || conn->ud->rc || conn->ud->rc_closed)
		return;
	conn->ud->rc_closed = true;
	FI_INFO(&vrb_prov, FI_LOG_EP_CTRL,
		"queue pair %u was given back with a message under way: its peer gets no other\n",
		number);
}

/*
 * If the device does not report that it let go of a queue pair, a receive may be lost. Some devices
 * never report it.
 */
static bool is_let_go(struct vrb_ud *all, struct vrb_ud_rc *rc, uint64_t now)
{
	if (__atomic_load_n(&rc->let_go, __ATOMIC_ACQUIRE))
		return true;
	if (now < rc->linger)
		return false;
	FI_INFO(&vrb_prov, FI_LOG_EP_CTRL,
		"queue pair %u: the device does not report its last receive\n", rc->number);
	if (!rc->returned && all->rcs.lost < all->rcs.share / 2)
		all->rcs.lost++;
	return true;
}

bool vrb_ud_old_due(struct ofi_rdm_ep *ep, uint64_t now)
{
	struct vrb_ud_rcs wait = SLIST_HEAD_INITIALIZER(wait);
	struct vrb_ud *all = vrb_rc(ep)->ud;
	struct vrb_ud_rc *rc;

	while (all && (rc = SLIST_FIRST(&all->rcs.old))) {
		SLIST_REMOVE_HEAD(&all->rcs.old, list);
		if (is_let_go(all, rc, now))
			SLIST_INSERT_HEAD(&all->rcs.gone, rc, list);
		else
			SLIST_INSERT_HEAD(&wait, rc, list);
	}
	if (!SLIST_EMPTY(&wait)) {
		all->rcs.old = wait;
		all->calls->wake(ep, WAIT_MS);
	}
	return all && !SLIST_EMPTY(&all->rcs.gone);
}

/* Called without the lock, because the handler of an event of the queue pair may wait for it. */
static void old_destroy(struct vrb_rdm_deferred *deferred)
{
	struct vrb_ud_rc *rc = ofi_container(deferred, struct vrb_ud_rc, deferred);

	if (rc->qp)
		ibv_destroy_qp(rc->qp);
}

static void old_free(struct ofi_rdm_ep *ep, struct ofi_rdm_task *end)
{
	struct vrb_ud *all = vrb_rc(ep)->ud;

	all->rcs.count--;
	all->rcs.look = 0;
	free(ofi_container(end, struct vrb_ud_rc, deferred.end));
}

void vrb_ud_take_old(struct ofi_rdm_ep *ep, struct vrb_rdm_deferred_list *to)
{
	struct vrb_ud *all = vrb_rc(ep)->ud;
	struct vrb_ud_rc *rc;

	while (all && (rc = SLIST_FIRST(&all->rcs.gone))) {
		SLIST_REMOVE_HEAD(&all->rcs.gone, list);
		rc->deferred.destroy = old_destroy;
		rc->deferred.end.run = old_free;
		SLIST_INSERT_HEAD(to, &rc->deferred, link);
	}
}
