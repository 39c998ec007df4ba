/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Giving reliable queue pairs back (FI_VERBS_RDM_TRANSPORT=auto). There may be fewer than there are
 * connections that carry much. If one of these finds no room, the peer of the connection that is
 * used least is asked with VRB_UD_BACK. It agrees unless it uses the connection more, of which this
 * end may see nothing, as the device carries out reads and writes.
 *
 * Either end may leave a queue pair, which makes the other leave, too. It posts a work request that
 * does nothing. What is posted afterward waits. Once that work request is complete all others are,
 * silent ones as well; the peer is told how many messages it gets, and datagrams follow. The peer
 * handles them when it has taken that many. So nothing is overtaken. The connection may earn
 * another queue pair.
 *
 * A peer may have sent a part of a message before it left. The device holds a receive of the SRQ
 * for that, and others may need it. So a queue pair that both ends have left goes to the error
 * state, and is not destroyed until the device has given that receive back. Such a peer does
 * without a queue pair from then on.
 */
#include <errno.h>
#include <stdlib.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include <ofi/addr.h>
#include "prov/verbs/provider/prov.h"
#include "ud_int.h"
#include "ud_rc.h"

#define HALF_US	  250000  /* after which what was posted counts half */
#define LOOK_US	  10000	  /* between looks for a connection that is used less */
#define ASK_US	  100000  /* the same if one was found */
#define REST_US	  100000  /* so that peers do not make us create queue pairs all the time */
#define ROOM_US	  2000000 /* for which room is kept for whom it was made */
#define LATE_US	  1000000 /* after which the peer has lied about its messages */
#define LOOKS	  64	  /* connections that are looked at */
#define SOON_MS	  1	  /* until the device has let go of a queue pair, as a rule */
#define WAIT_MS	  10	  /* the same after the first look */
#define LINGER_US 50000	  /* for which the device is waited for */

/* Whoever sees to queue pairs that were given back looks soon; the event need not wake it. */
static void old_event(struct vrb_owner *owner, enum ibv_event_type type)
{
	struct vrb_ud_rc *rc = vrb_owner_of(owner, struct vrb_ud_rc, owner);

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

/* Strangers do not make others go. */
static bool may_ask(const struct vrb_ud_rc *rc, const struct vrb_ud_conn *wants)
{
	const struct vrb_ud_conn *ud = rc->ud;

	return rc->connected && rc->announced && ud->rc_peer.gives && !rc->state && !rc->asked &&
	       !ud->over && !ud->broken && vrb_ud_of(ud)->now >= rc->kept_until &&
	       (!vrb_rc_peer(wants->conn->peer)->policy.stranger ||
		vrb_rc_peer(ud->conn->peer)->policy.stranger);
}

/* Of many, others are looked at the next time. */
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

/* The next poll sees to both. */
void vrb_ud_back_drained(struct vrb_ud_conn *ud, enum ibv_wc_status status)
{
	enter(ud, VRB_UD_RC_DRAINED, status ? "a failure" : "all is complete");
	ud->rc->failed = ud->broken && !status ? IBV_WC_WR_FLUSH_ERR : status;
	vrb_ud_send_soon(ud);
}

bool vrb_ud_back_is_due(const struct vrb_ud_conn *ud)
{
	const struct vrb_ud_rc *rc = ud->rc;

	return rc && (rc->asks || rc->refuses || rc->state == VRB_UD_RC_DRAINED);
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
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	rc->linger = all->now + LINGER_US;
	rc->owner.ops = &old_ops;
	rc->let_go = !rc->qp;
	if (rc->qp) {
		__atomic_store_n(&rc->qp->qp_context, (void *)&rc->owner, __ATOMIC_RELEASE);
		if (ibv_modify_qp(rc->qp, &attr, IBV_QP_STATE))
			rc->linger = all->now;
	}
	SLIST_INSERT_HEAD(&all->rcs.old, rc, old);
	all->calls->wake(all->ep, SOON_MS);
}

/* Both ends have left it, and nothing that either waits for is under way. */
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

/* What has waited may be about a queue pair that is destroyed. */
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

static struct vrb_ud_rc *find_in(const struct vrb_ud_rcs *list, uint32_t number)
{
	struct vrb_ud_rc *rc;

	SLIST_FOREACH (rc, list, old)
		if (rc->number == number)
			break;
	return rc;
}

/* No peer that has sent what it says makes the device take a receive that it does not report. */
void vrb_ud_back_returned(struct vrb_ud *all, uint32_t number)
{
	struct vrb_ud_rc *rc = find_in(&all->rcs.old, number);
	struct vrb_rc_conn *conn;

	if (!rc)
		rc = find_in(&all->rcs.gone, number);
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
 * The device may have lost the receive of a queue pair about which it says nothing. There are
 * devices that never say anything.
 */
static bool is_let_go(struct vrb_ud *all, struct vrb_ud_rc *rc, uint64_t now)
{
	if (__atomic_load_n(&rc->let_go, __ATOMIC_ACQUIRE))
		return true;
	if (now < rc->linger)
		return false;
	FI_INFO(&vrb_prov, FI_LOG_EP_CTRL,
		"queue pair %u: the device does not say that it let go\n", rc->number);
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
		SLIST_REMOVE_HEAD(&all->rcs.old, old);
		if (is_let_go(all, rc, now))
			SLIST_INSERT_HEAD(&all->rcs.gone, rc, old);
		else
			SLIST_INSERT_HEAD(&wait, rc, old);
	}
	if (!SLIST_EMPTY(&wait)) {
		all->rcs.old = wait;
		all->calls->wake(ep, WAIT_MS);
	}
	return vrb_ud_has_old(ep);
}

bool vrb_ud_has_old(const struct ofi_rdm_ep *ep)
{
	const struct vrb_ud *all = vrb_rc(ep)->ud;

	return all && !SLIST_EMPTY(&all->rcs.gone);
}

void vrb_ud_take_old(struct ofi_rdm_ep *ep, struct vrb_ud_rcs *to)
{
	struct vrb_ud *all = vrb_rc(ep)->ud;
	struct vrb_ud_rc *rc;

	while (all && (rc = SLIST_FIRST(&all->rcs.gone))) {
		SLIST_REMOVE_HEAD(&all->rcs.gone, old);
		SLIST_INSERT_HEAD(to, rc, old);
	}
}

static void is_destroyed(struct ofi_rdm_ep *ep, struct ofi_rdm_task *end)
{
	struct vrb_ud *all = vrb_rc(ep)->ud;

	all->rcs.count--;
	all->rcs.look = 0;
	free((char *)end - offsetof(struct vrb_ud_rc, end));
}

struct ofi_rdm_task *vrb_ud_destroy_old(struct vrb_ud_rcs *list)
{
	struct vrb_ud_rc *rc = SLIST_FIRST(list);

	if (!rc)
		return NULL;
	SLIST_REMOVE_HEAD(list, old);
	if (rc->qp)
		ibv_destroy_qp(rc->qp);
	rc->end.run = is_destroyed;
	return &rc->end;
}
