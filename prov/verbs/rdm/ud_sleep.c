/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Connections that have nothing to do sleep: their rings and most of their state are freed, because
 * an endpoint may have very many peers and talk to few at a time. A work request that is posted, or
 * a packet of the peer, wakes a connection.
 *
 * A connection that sleeps has a ring of one slot, and shares the stand-in for its queue pair with
 * all others that sleep, so the code that posts does not check whether it sleeps. Connections fall
 * asleep only when the endpoint is polled or its timer runs: at other times somebody may hold a
 * slot.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "ud_int.h"

#define LOOKS 1024

static const struct ofi_rdm_cwnd_params cwnd_params = VRB_UD_CWND_PARAMS;

/* A connection that sleeps keeps these bytes of its object, followed by a struct vrb_ud_rest. */
static const size_t common = offsetof(struct vrb_ud_conn, qp);

static struct vrb_ud_rest *rest_of(struct vrb_ud_conn *ud)
{
	return (struct vrb_ud_rest *)(void *)((char *)ud + common);
}

/* Wakes the connection. What was posted moves from its slot, conn->last, to the ring. */
static int post_asleep(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	const struct vrb_rdm_slot *from = (const struct vrb_rdm_slot *)(uintptr_t)wr->wr_id;
	struct vrb_rc_conn *conn = from->conn;
	struct vrb_rdm_slot *slot;

	(void)qp;
	*bad = wr;
	if (!vrb_ud_wake(conn->ud))
		return ENOMEM;
	slot = &conn->slots[conn->head & conn->mask];
	*slot = *from;
	wr->wr_id = (uintptr_t)slot;
	return ibv_post_send(conn->sq, wr, bad);
}

void vrb_ud_sleep_init(struct vrb_ud *all)
{
	TAILQ_INIT(&all->awake);
	TAILQ_INIT(&all->spare);
	all->awake_least = VRB_UD_KEPT;
	all->sleeping.ops.post_send = post_asleep;
	all->sleeper.context = &all->sleeping;
}

static void object_free(struct vrb_ud *all, struct vrb_ud_conn *ud)
{
	TAILQ_REMOVE(&all->spare, ud, awake);
	all->spare_count--;
	free(ud);
}

void vrb_ud_sleep_fini(struct vrb_ud *all)
{
	while (!TAILQ_EMPTY(&all->spare))
		object_free(all, TAILQ_FIRST(&all->spare));
}

static void awake_put(struct vrb_ud *all, struct vrb_ud_conn *ud)
{
	ofi_rdm_due_set(&all->due, &ud->due, OFI_RDM_DUE_NEVER);
	TAILQ_REMOVE(&all->awake, ud, awake);
	all->awake_count--;
	TAILQ_INSERT_HEAD(&all->spare, ud, awake);
	if (++all->spare_count > all->awake_least)
		object_free(all, ud);
}

static struct vrb_ud_conn *object_take(struct vrb_ud *all)
{
	struct vrb_ud_conn *ud = TAILQ_FIRST(&all->spare);

	if (!ud)
		return calloc(1, sizeof(*ud));
	TAILQ_REMOVE(&all->spare, ud, awake);
	all->spare_count--;
	memset(ud, 0, offsetof(struct vrb_ud_conn, slots));
	return ud;
}

struct vrb_ud_conn *vrb_ud_awake_new(struct vrb_rc_conn *conn)
{
	struct vrb_ud *all = vrb_rc(conn->ep)->ud;
	struct vrb_ud_conn *ud = object_take(all);
	uint32_t i;

	if (!ud)
		return NULL;
	for (i = 0; i < VRB_UD_RING; i++)
		ud->slots[i].conn = conn;
	ud->conn = conn;
	TAILQ_INSERT_TAIL(&all->awake, ud, awake);
	all->awake_count++;
	all->looks += VRB_UD_LOOKS_WAKING;
	conn->ud = ud;
	conn->qp = &ud->qp;
	if (!conn->shm)
		conn->sq = conn->qp;
	conn->slots = ud->slots;
	conn->mask = VRB_UD_RING - 1;
	return ud;
}

void vrb_ud_conn_begin(struct vrb_ud_conn *ud, uint32_t first)
{
	struct vrb_ud *all = vrb_ud_of(ud);

	ud->qp.context = &all->context;
	ud->chats_needed = VRB_UD_CHATS;
	ud->due.at = OFI_RDM_DUE_NEVER;
	STAILQ_INIT(&ud->wrs);
	STAILQ_INIT(&ud->jobs);
	STAILQ_INIT(&ud->stalled);
	TAILQ_INIT(&ud->not_ready);
	TAILQ_INIT(&ud->reading);
	ofi_rdm_ack_init(&ud->ack, &all->ack_params, first);
	ud->ordered = ud->handled = first;
	ofi_rdm_cwnd_init(&ud->cwnd, &cwnd_params);
}

void vrb_ud_conn_put(struct vrb_ud_conn *ud)
{
	vrb_ud_path_leave(vrb_ud_of(ud), ud->asleep ? rest_of(ud)->path : ud->path);
	if (ud->asleep)
		free(ud);
	else
		awake_put(vrb_ud_of(ud), ud);
}

/* Whatever was sent has arrived, so the newest transmission has, too. */
static void restore(struct vrb_ud_conn *ud, const struct vrb_ud_rest *rest)
{
	vrb_ud_conn_begin(ud, rest->out);
	ud->path = rest->path;
	ud->ack.order = rest->order;
	ud->ack.newest = rest->order - 1;
	ud->ack.echo = rest->echo;
	ud->ack.srtt = rest->srtt;
	ud->ack.rttvar = rest->rttvar;
	ud->ack.doubles = rest->doubles;
	ud->ack.its_doubles = rest->its_doubles;
	ud->ack.reorder = rest->reorder;
	ofi_rdm_seq_begin(&ud->in, rest->in);
	ud->cwnd.window = rest->window;
	ud->cwnd.fresh = rest->fresh;
	ud->chats = rest->chats;
	ud->chats_needed = rest->chats_needed;
	ud->traffic = rest->traffic;
}

struct vrb_ud_conn *vrb_ud_wake(struct vrb_ud_conn *ud)
{
	struct vrb_ud_conn *awake;

	if (!ud->asleep)
		return ud;
	awake = vrb_ud_awake_new(ud->conn);
	if (!awake)
		return NULL;
	memcpy(awake, ud, common);
	awake->asleep = false;
	restore(awake, rest_of(ud));
	free(ud);
	return awake;
}

/* Returns true if whatever was posted has been sent and acknowledged. */
static bool is_quiet(const struct vrb_ud_conn *ud)
{
	return STAILQ_EMPTY(&ud->wrs) && STAILQ_EMPTY(&ud->jobs) && !ud->ack.first && !ud->rc_due &&
	       TAILQ_EMPTY(&ud->not_ready);
}

/* Returns true if nothing that has arrived waits for anything. */
static bool is_settled(const struct vrb_ud_conn *ud)
{
	return !ud->in.first && !ud->part && ud->ack.owes == OFI_RDM_ACK_NEVER && !ud->letter &&
	       !(ud->listed & ~(1u << VRB_UD_BUSY));
}

static bool may_sleep(const struct vrb_ud_conn *ud)
{
	return ud->conn->state == VRB_RC_CONN_UP && !ud->conn->shm && ud->path && ud->used &&
	       ud->heard && !ud->over && !ud->broken && !ud->rc && (!ud->rc_met || ud->rc_closed) &&
	       !ud->is_refused && is_quiet(ud) && is_settled(ud) && vrb_ud_is_handled(ud);
}

static struct vrb_ud_rest rest_now(const struct vrb_ud_conn *ud)
{
	return (struct vrb_ud_rest){
		.path = ud->path,
		.out = ud->ack.next,
		.in = ud->in.next,
		.order = ud->ack.order,
		.echo = ud->ack.echo,
		.srtt = ud->ack.srtt,
		.rttvar = ud->ack.rttvar,
		.window = ud->cwnd.window,
		.traffic = ud->traffic,
		.doubles = ud->ack.doubles,
		.its_doubles = ud->ack.its_doubles,
		.reorder = ud->ack.reorder,
		.chats = ud->chats,
		.chats_needed = ud->chats_needed,
		.fresh = ud->cwnd.fresh,
	};
}

/* Returns false when out of memory. */
static bool sleep_now(struct vrb_ud *all, struct vrb_ud_conn *ud)
{
	struct vrb_ud_conn *asleep = malloc(common + sizeof(struct vrb_ud_rest));
	const struct vrb_ud_rest rest = rest_now(ud);
	struct vrb_rc_conn *conn = ud->conn;

	if (!asleep)
		return false;
	vrb_ud_unlist(all, ud, VRB_UD_BUSY);
	ud->asleep = true;
	ud->path = NULL;
	memcpy(asleep, ud, common);
	*rest_of(asleep) = rest;
	conn->ud = asleep;
	conn->qp = conn->sq = &all->sleeper;
	conn->slots = &conn->last;
	conn->mask = 0;
	awake_put(all, ud);
	return true;
}

/* Returns true for a connection that was used since the last look at it. */
static bool was_used(struct vrb_ud_conn *ud)
{
	bool used = ud->seen_order != ud->ack.order || ud->seen_in != ud->in.next;

	ud->seen_order = ud->ack.order;
	ud->seen_in = ud->in.next;
	return used;
}

/* Returns true if the connection sleeps now. */
static bool look_at(struct vrb_ud *all, struct vrb_ud_conn *ud)
{
	if (was_used(ud) || !may_sleep(ud))
		return false;
	if (vrb_rc_conn_idle(ud->conn))
		return sleep_now(all, ud);
	/* No later work request follows that would report the silent ones. */
	ud->settles = true;
	vrb_ud_list(all, ud, VRB_UD_DONE);
	return false;
}

static bool are_many(const struct vrb_ud *all)
{
	return all->awake_count > all->awake_least + all->conns / VRB_UD_SHARE;
}

static void look(struct vrb_ud *all, uint32_t looks)
{
	struct vrb_ud_conn *ud;

	if (looks > all->awake_count)
		looks = all->awake_count;
	for (; looks && are_many(all); looks--) {
		ud = TAILQ_FIRST(&all->awake);
		if (look_at(all, ud))
			continue;
		TAILQ_REMOVE(&all->awake, ud, awake);
		TAILQ_INSERT_TAIL(&all->awake, ud, awake);
	}
}

void vrb_ud_look(struct vrb_ud *all)
{
	look(all, all->looks);
	all->looks = 0;
}

void vrb_ud_rest(struct ofi_rdm_ep *ep)
{
	if (vrb_rc(ep)->ud)
		look(vrb_rc(ep)->ud, LOOKS);
}
