/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reliable queue pairs below connections on unreliable datagrams (FI_VERBS_RDM_TRANSPORT=auto): a
 * busy connection gets one. Each end announces its queue pair in VRB_UD_QP, a numbered packet, and
 * connects it when the peer's VRB_UD_QP arrives. Either end may begin; an end that gets no queue
 * pair says so.
 *
 * An end posts to its queue pair once the completions of all its work requests are reported and the
 * peer has handled whatever this end has sent, including VRB_UD_QP: then nothing can be overtaken.
 * A packet that has arrived may still wait for a receive, so each acknowledgment states how many
 * do. The two directions switch independently.
 *
 * ud_back.c gives queue pairs back; ud_srq.c has the receives that they use.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include <ofi/addr.h>
#include "proof.h"
#include "prov/verbs/provider/prov.h"
#include "prov/verbs/queue/qp.h"
#include "shm.h"
#include "ud_rc.h"

#define WORTH	    (256u << 10) /* traffic that earns a queue pair */
#define WORTH_SEND  4096u	 /* what a message counts besides its length */
#define WORTH_RDMA  65536u	 /* the same of a read or a write */
#define RETRY_US    10000	 /* first delay until a queue pair is tried again */
#define RETRIES	    5		 /* doublings of that delay */
#define WAITS	    64u		 /* posting fails after so many, until all others complete */
#define LEAST	    64u		 /* receives of which half is still enough */
#define READS_MAX   255u
#define ACK_TIMEOUT 17 /* 537 ms: with retries, a network may fail over meanwhile */
#define NUMBER_MAX  0xffffffu

/* Packets of the queue pair are no longer than datagrams. */
static enum ibv_mtu path_mtu(const struct vrb_ud_conn *ud)
{
	uint32_t bytes = (uint32_t)ud->payload + VRB_UD_HEAD_MAX;
	enum ibv_mtu mtu = IBV_MTU_256;

	while (mtu < IBV_MTU_4096 && 256u << (mtu + 1 - IBV_MTU_256) <= bytes)
		mtu++;
	return mtu;
}

/*
 * Returns the CQ entries for the ring, the end of the connection, the end of giving back, and
 * packets that only wake the peer.
 */
static uint32_t room_for(const struct vrb_ud *all, uint32_t size)
{
	return size + 2 + (vrb_rc_shares(all->ep) ? VRB_SHM_WAKES : 0);
}

void vrb_ud_rc_init(struct vrb_ud *all)
{
	const struct vrb_domain *domain = vrb_rc_domain(all->ep);
	uint32_t fixed = all->sq_depth + all->rq_depth, depth = vrb_rc(all->ep)->rx.depth;
	uint32_t max = (uint32_t)domain->attr.max_cqe;

	TAILQ_INIT(&all->rcs.turns);
	SLIST_INIT(&all->rcs.old);
	SLIST_INIT(&all->rcs.gone);
	if (!domain->grows || depth < LEAST || domain->attr.max_srq <= 0 ||
	    domain->attr.max_qp_rd_atom <= 0 || domain->attr.max_qp_init_rd_atom <= 0)
		return;
	all->rcs.wanted = true;
	all->rcs.share = depth / 2;
	all->rcs.most = (uint32_t)(vrb_params.max_conn ? vrb_params.max_conn : domain->attr.max_qp);
	/* The largest CQ has room for so many. */
	max = max > fixed + depth ? (max - fixed - depth) / room_for(all, OFI_RDM_WIRE_WINDOW) : 0;
	all->rcs.most = ofi_min(all->rcs.most, max);
	all->rcs.cq_size = (uint32_t)vrb_rc(all->ep)->cq->cqe;
	all->rcs.room = all->rcs.cq_size > fixed ? all->rcs.cq_size - fixed : 0;
}

static void rc_free(struct vrb_ud_rc *rc)
{
	if (rc && rc->qp)
		ibv_destroy_qp(rc->qp);
	free(rc);
}

static void free_all(struct vrb_ud_rcs *list)
{
	struct vrb_ud_rc *rc;

	while ((rc = SLIST_FIRST(list))) {
		SLIST_REMOVE_HEAD(list, list);
		rc_free(rc);
	}
}

void vrb_ud_rc_fini(struct vrb_ud *all)
{
	free_all(&all->rcs.old);
	free_all(&all->rcs.gone);
	if (all->rcs.srq)
		ibv_destroy_srq(all->rcs.srq);
	all->rcs.srq = NULL;
}

static uint32_t room_of(const struct vrb_ud_conn *ud)
{
	return room_for(vrb_ud_of(ud), ud->conn->size);
}

static int to_init(struct vrb_ud_conn *ud, struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.pkey_index = vrb_ud_of(ud)->port.pkey_index,
		.port_num = vrb_ud_of(ud)->port.num,
		.qp_access_flags =
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE,
	};
	int err = ibv_modify_qp(
		qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);

	return err ? vrb_ud_rc_failed("ibv_modify_qp to INIT", err) : 0;
}

static struct vrb_ud_rcs *bucket(struct vrb_ud *all, uint32_t number)
{
	return &all->rcs.by_qp[number % VRB_UD_RC_BUCKETS];
}

static int rc_new(struct vrb_ud_conn *ud)
{
	struct vrb_ud *all = vrb_ud_of(ud);
	struct vrb_ud_rc *rc = calloc(1, sizeof(*rc));
	int ret = rc ? 0 : -FI_ENOMEM;

	if (!ret && getrandom(&rc->psn, sizeof(rc->psn), 0) != sizeof(rc->psn))
		ret = -FI_EIO;
	if (!ret) {
		rc->qp = vrb_rc_qp_new(all->ep, &ud->conn->owner, all->rcs.srq, room_of(ud));
		ret = rc->qp ? to_init(ud, rc->qp) : vrb_ud_rc_failed("ibv_create_qp", errno);
	}
	if (ret) {
		rc_free(rc);
		return ret;
	}
	rc->ud = ud;
	rc->psn &= NUMBER_MAX;
	rc->number = rc->qp->qp_num;
	SLIST_INSERT_HEAD(bucket(all, rc->number), rc, list);
	ud->rc = rc;
	TAILQ_INSERT_TAIL(&all->rcs.turns, rc, turn);
	all->rcs.room -= room_of(ud);
	all->rcs.count++;
	all->rcs.until = 0;
	return 0;
}

static int open_rc(struct vrb_ud_conn *ud)
{
	struct vrb_ud *all = vrb_ud_of(ud);
	int ret = vrb_ud_srq_open(all);

	if (!ret && !vrb_ud_rc_make_room(all, room_of(ud)))
		ret = vrb_ud_rc_failed("the completion queue is full", ENOMEM);
	return ret ? ret : rc_new(ud);
}

/* Delays the connection's next attempt to get a queue pair, for longer each time. */
static void rc_later(struct vrb_ud_conn *ud)
{
	ud->rc_again = vrb_ud_of(ud)->now + ((uint64_t)RETRY_US << ud->rc_refusals);
	ud->rc_refusals += ud->rc_refusals < RETRIES;
}

/* Strangers cannot use the last quarter. */
static bool may_have(struct vrb_ud_conn *ud)
{
	const struct vrb_ud *all = vrb_ud_of(ud);
	bool stranger = vrb_rc_peer(ud->conn->peer)->policy.stranger;

	return all->rcs.most - all->rcs.count > (stranger ? all->rcs.most / 4 : 0) &&
	       vrb_ud_back_may(ud);
}

/*
 * Creating a queue pair costs a stranger's host as much as a request for a connection, however many
 * connections it has: strangers may give their queue pairs back and ask again all the time.
 */
static bool is_admitted(const struct vrb_ud_conn *ud)
{
	struct ofi_rdm_admit *admit = &vrb_rc(ud->conn->ep)->conns.admit;
	uint8_t host[16];

	if (!vrb_rc_peer(ud->conn->peer)->policy.stranger)
		return true;
	ofi_rdm_addr_gid(&ud->conn->peer->addr, host);
	return ofi_rdm_admit_takes(admit, host, ofi_now_ms());
}

/* Nothing is spent on a peer that is not connected, or has not proved itself. */
static bool is_ready(const struct vrb_ud_conn *ud)
{
	const struct vrb_rc_conn *conn = ud->conn;

	return (conn->state == VRB_RC_CONN_UP || conn->mirror) && conn->live && !ud->over &&
	       !ud->broken && !(conn->proof && conn->proof->shut);
}

/* Moves the queue pair to the next state, with the values of the parameters. */
static int rc_modify(struct vrb_ud_conn *ud, struct ibv_qp_attr *attr, int mask, const char *what)
{
	int err;

	vrb_qp_settle(vrb_rc_domain(ud->conn->ep), ud->conn->ep->info, attr, mask);
	err = ibv_modify_qp(ud->rc->qp, attr, mask);
	return err ? vrb_ud_rc_failed(what, err) : 0;
}

static int to_rtr(struct vrb_ud_conn *ud)
{
	int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		   IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.ah_attr = ud->path->attr,
		.path_mtu = path_mtu(ud),
		.dest_qp_num = ud->rc_peer.number,
		.rq_psn = ud->rc_peer.psn,
		.max_dest_rd_atomic = READS_MAX,
	};

	if (ud->rc_peer.mtu < attr.path_mtu)
		attr.path_mtu = ud->rc_peer.mtu;
	attr.ah_attr.port_num = vrb_ud_of(ud)->port.num;
	return rc_modify(ud, &attr, mask, "ibv_modify_qp to RTR");
}

static int to_rts(struct vrb_ud_conn *ud)
{
	int mask = IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
		   IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = ud->rc->psn,
		.timeout = ACK_TIMEOUT,
		.max_rd_atomic = (uint8_t)ud->rc_peer.reads,
	};

	return rc_modify(ud, &attr, mask, "ibv_modify_qp to RTS");
}

static int rc_connect(struct vrb_ud_conn *ud)
{
	int ret;

	ret = to_rtr(ud);
	if (!ret) {
		ud->conn->takes = true;
		ud->conn->let_go = false;
		ret = to_rts(ud);
	}
	ud->rc->connected = !ret;
	ud->rc->kept_until = vrb_ud_of(ud)->now + VRB_UD_RC_KEEP_US;
	ud->rc_refusals = 0;
	return ret;
}

/* A peer that cannot give queue pairs back does not ask twice. */
static void rc_refuse(struct vrb_ud_conn *ud, bool for_now)
{
	ud->rc_closed = !for_now || !ud->rc_peer.gives;
	ud->rc_due = true;
}

/* Answers the peer. The answer waits until the connection is up and the peer has proved itself. */
void vrb_ud_rc_answer(struct vrb_ud_conn *ud)
{
	if (ud->rc_due)
		return;
	if (!vrb_ud_of(ud)->rcs.wanted || ud->rc_closed) {
		rc_refuse(ud, false);
		return;
	}
	if (!is_ready(ud))
		return;
	if (vrb_ud_of(ud)->now < ud->rc_rest || !is_admitted(ud)) {
		rc_refuse(ud, true);
		return;
	}
	if (!may_have(ud) || open_rc(ud)) {
		vrb_ud_back_look(ud);
		rc_refuse(ud, true);
		return;
	}
	if (rc_connect(ud)) {
		/* Nobody knows its number, so nothing can have arrived. */
		ud->conn->takes = false;
		vrb_ud_rc_close(ud);
		rc_refuse(ud, false);
		return;
	}
	ud->rc_due = true;
}

static bool is_valid(const struct vrb_ud_packet *packet)
{
	return packet->key <= NUMBER_MAX && packet->id <= NUMBER_MAX && packet->asked &&
	       packet->asked <= READS_MAX && packet->addr >= IBV_MTU_256 &&
	       packet->addr <= IBV_MTU_4096;
}

/* The peer has no queue pair, so ours was never connected. */
static void rc_refused(struct vrb_ud_conn *ud, bool for_now)
{
	vrb_ud_rc_close(ud);
	ud->rc_closed |= !for_now;
	if (!for_now)
		return;
	ud->rc_met = false;
	ud->traffic = 0;
	rc_later(ud);
}

int vrb_ud_rc_met(struct vrb_ud_conn *ud, const struct vrb_ud_packet *packet)
{
	if (ud->rc_met || (packet->key && !is_valid(packet)))
		return -FI_EPROTO;
	ud->rc_met = true;
	if (!packet->key) {
		rc_refused(ud, packet->last);
		return 0;
	}
	ud->rc_peer.gives = packet->last;
	ud->rc_peer.number = packet->key;
	ud->rc_peer.psn = packet->id;
	ud->rc_peer.reads = packet->asked;
	ud->rc_peer.mtu = (enum ibv_mtu)packet->addr;
	if (ud->rc)
		return rc_connect(ud) ? -FI_EIO : 0;
	vrb_ud_rc_answer(ud);
	return 0;
}

void vrb_ud_rc_describe(struct vrb_ud_conn *ud, struct vrb_ud_packet *packet)
{
	const struct vrb_domain *domain = vrb_rc_domain(ud->conn->ep);

	ud->rc_due = false;
	packet->last = vrb_ud_of(ud)->rcs.wanted && !ud->rc_closed;
	if (!ud->rc) {
		ud->rc_met = ud->rc_closed;
		return;
	}
	packet->key = ud->rc->number;
	packet->id = ud->rc->psn;
	packet->asked = ofi_min((uint32_t)domain->attr.max_qp_rd_atom, READS_MAX);
	packet->addr = path_mtu(ud);
	ud->rc->announced = true;
}

static uint32_t worth_of(const struct ibv_send_wr *wr)
{
	uint32_t worth = wr->opcode == IBV_WR_SEND ? WORTH_SEND : WORTH_RDMA;
	int i;

	for (i = 0; i < wr->num_sge; i++)
		worth += ofi_min(wr->sg_list[i].length, WORTH);
	return worth;
}

/* Only the last packet counts as a work request. */
uint32_t vrb_ud_rc_worth_in(const struct vrb_ud_packet *packet)
{
	switch (packet->kind) {
	case VRB_UD_SEND:
		return (uint32_t)packet->len + (packet->last ? WORTH_SEND : 0);
	case VRB_UD_WRITE:
		return (uint32_t)packet->len + (packet->last ? WORTH_RDMA : 0);
	case VRB_UD_NOTHING:
	case VRB_UD_READ:
		return WORTH_RDMA + ofi_min(packet->asked, WORTH);
	default:
		return 0;
	}
}

/* Opens a queue pair if the connection has earned one, or the peer has asked for it before. */
static void rc_consider(struct vrb_ud_conn *ud, const struct ibv_send_wr *wr)
{
	if (ud->rc_met) {
		vrb_ud_rc_answer(ud);
		return;
	}
	if (ud->traffic < WORTH)
		ud->traffic += worth_of(wr);
	if (ud->traffic < WORTH || !is_ready(ud))
		return;
	if (vrb_ud_of(ud)->now < ud->rc_again)
		return;
	if (!may_have(ud)) {
		vrb_ud_back_look(ud);
		return;
	}
	if (!open_rc(ud)) {
		ud->rc_due = true;
		return;
	}
	rc_later(ud);
	vrb_ud_back_look(ud);
}

static void rc_switch(struct vrb_ud_conn *ud)
{
	char text[OFI_ADDR_STRLEN];

	ud->rc->used = true;
	ud->conn->peer->stats.transport = ofi_stats_text("rc");
	FI_INFO(&vrb_prov, FI_LOG_EP_CTRL, "peer %s: the connection goes on with queue pair %u\n",
		ofi_rdm_addr_str(&ud->conn->peer->addr, text, sizeof(text)), ud->rc->number);
}

static bool may_switch(const struct vrb_ud_conn *ud)
{
	return vrb_ud_rc_is_open(ud) && STAILQ_EMPTY(&ud->wrs) && vrb_ud_is_handled(ud);
}

/*
 * A busy connection always has something in flight. Posting fails after WAITS work requests, so
 * that the connection can switch to its queue pair; the transport tries again after a completion,
 * or 20 ms later.
 */
static bool must_drain(struct vrb_ud_conn *ud)
{
	return vrb_ud_rc_is_open(ud) && !STAILQ_EMPTY(&ud->wrs) && ++ud->rc->waits > WAITS;
}

bool vrb_ud_rc_post(struct vrb_ud_conn *ud, struct ibv_send_wr *wr, struct ibv_send_wr **bad,
		    int *err)
{
	vrb_ud_back_score(ud, worth_of(wr));
	if (!ud->rc) {
		if (!ud->rc_closed)
			rc_consider(ud, wr);
		return false;
	}
	if (!ud->rc->used && may_switch(ud))
		rc_switch(ud);
	if (ud->rc->used) {
		*err = ibv_post_send(ud->rc->qp, wr, bad);
		ud->rc->sent += !*err && wr->opcode == IBV_WR_SEND;
		return true;
	}
	*bad = wr;
	*err = ENOMEM;
	return must_drain(ud);
}

/* Drops the completions of a queue pair that is gone, but posts its receives again. */
int vrb_ud_rc_take(struct vrb_ud *all, const struct ibv_wc *wc, struct ibv_wc *out)
{
	struct vrb_rdm_rx *rx = vrb_rdm_rx_at_id(wc->wr_id);
	struct vrb_ud_rc *rc = vrb_ud_rc_find(bucket(all, wc->qp_num), wc->qp_num);
	bool received = wc->wr_id & VRB_RDM_RX_BIT;

	if (received && all->rcs.in_srq)
		all->rcs.in_srq--;
	if (received && !rc)
		vrb_ud_back_returned(all, wc->qp_num);
	if (received && (!rc || rc->ud->reason)) {
		vrb_ud_srq_give(all, rx);
		return 0;
	}
	if (!rc)
		return 0;
	if (wc->wr_id == (uintptr_t)rc) {
		vrb_ud_back_drained(rc->ud, wc->status);
		return 0;
	}
	if (received && wc->status == IBV_WC_SUCCESS) {
		rc->taken++;
		vrb_ud_back_score(rc->ud, WORTH_SEND + wc->byte_len);
	}
	/* A message must not overtake those that came as datagrams and are not reported yet. */
	if (received && wc->status == IBV_WC_SUCCESS && all->message_tail != all->message_head) {
		vrb_ud_report(all, rx, wc->byte_len, rc->ud->conn->qp_num);
		return 0;
	}
	*out = *wc;
	out->qp_num = rc->ud->conn->qp_num;
	return 1;
}

bool vrb_ud_rc_flush(struct vrb_ud_conn *ud)
{
	int err = ud->rc && ud->rc->qp ? vrb_qp_stop(ud->rc->qp) : 0;

	return !err || (!ud->rc->used && !vrb_ud_back_drains(ud));
}

static void show_datagrams(struct ofi_rdm_peer *peer)
{
	const struct vrb_rc_conn *conn = vrb_rc_peer(peer)->conn;

	if (!conn || !conn->ud || !conn->ud->rc || !conn->ud->rc->used)
		peer->stats.transport = ofi_stats_text("ud");
}

struct vrb_ud_rc *vrb_ud_rc_remove(struct vrb_ud_conn *ud)
{
	struct vrb_ud *all = vrb_ud_of(ud);
	struct vrb_ud_rc *rc = ud->rc;

	SLIST_REMOVE(bucket(all, rc->number), rc, vrb_ud_rc, list);
	TAILQ_REMOVE(&all->rcs.turns, rc, turn);
	all->rcs.room += room_of(ud);
	ud->rc = NULL;
	if (ud->conn->peer)
		show_datagrams(ud->conn->peer);
	return rc;
}

void vrb_ud_rc_close(struct vrb_ud_conn *ud)
{
	struct vrb_ud *all = vrb_ud_of(ud);

	if (!ud->rc)
		return;
	rc_free(vrb_ud_rc_remove(ud));
	all->rcs.count--;
	/* A device that does not report the last receive may have lost one. */
	if (ud->conn->takes && !ud->conn->let_go && all->rcs.lost < all->rcs.share / 2)
		all->rcs.lost++;
}

struct ibv_qp *vrb_ud_conn_qp(const struct vrb_rc_conn *conn)
{
	return conn->ud->rc ? conn->ud->rc->qp : NULL;
}

int vrb_ud_conn_destroy_qp(struct vrb_rc_conn *conn)
{
	struct ibv_qp *qp = vrb_ud_conn_qp(conn);

	if (!qp)
		return 0;
	conn->ud->rc->qp = NULL;
	return ibv_destroy_qp(qp);
}
