/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reliable queue pairs of connections on unreliable datagrams, private to ud*.c. */
#ifndef VRB_RDM_UD_RC_H
#define VRB_RDM_UD_RC_H

#include "ud_int.h"

/* The reliable queue pair of a connection that carries much. */
struct vrb_ud_rc {
	struct ibv_qp *qp; /* NULL: it is destroyed */
	struct vrb_ud_conn *ud;
	SLIST_ENTRY(vrb_ud_rc) list; /* in all->rcs.by_qp, or in old or gone */
	TAILQ_ENTRY(vrb_ud_rc) turn; /* in all->rcs.turns */
	uint32_t number, psn;	     /* our queue pair's number and first PSN */
	bool announced;		     /* the peer was told both */
	bool connected;		     /* it is in RTS */
	bool used;		     /* whatever is posted goes through it */
	uint32_t waits;		     /* work requests by datagrams since it is connected */
	/* How it is given back; see ud_back.c. */
	enum vrb_ud_rc_state {
		VRB_UD_RC_KEPT,
		VRB_UD_RC_DRAINING, /* what was posted to it is not complete */
		VRB_UD_RC_DRAINED,  /* the peer is to be told */
		VRB_UD_RC_LEFT,	    /* the peer was told */
	} state;
	bool asks, asked; /* the peer is to be asked for it, or was */
	bool refuses;	  /* the peer has asked and is to be told that it is used */
	bool peer_left;
	uint32_t sent, taken;	   /* messages posted to it, and taken from it */
	uint64_t bound;		   /* for VRB_UD_BACK_ASK */
	uint64_t kept_until;	   /* in us: until then it is not asked for */
	enum ibv_wc_status failed; /* why what was posted to it cannot be completed */
	uint64_t late;		   /* in us: when messages count as missing, or 0 */
	/* Once it is given back: */
	struct vrb_rdm_deferred deferred;
	struct vrb_owner owner;
	uint32_t was_of; /* its connection's number */
	uint64_t linger; /* in us: when the device is not waited for any more */
	bool let_go;	 /* the device holds no receive for it; atomic */
	bool returned;	 /* the device has returned one */
};

/* Reliable queue pairs (ud_rc.c). */
void vrb_ud_rc_init(struct vrb_ud *all);
void vrb_ud_rc_fini(struct vrb_ud *all);
/*
 * Called for each work request that is posted, if such queue pairs are wanted. Returns true with
 * the result in *err if it was posted to the queue pair, or cannot be posted now; false if it goes
 * in datagrams.
 */
bool vrb_ud_rc_post(struct vrb_ud_conn *ud, struct ibv_send_wr *wr, struct ibv_send_wr **bad,
		    int *err);
/* Fills in VRB_UD_QP, which is sent now. */
void vrb_ud_rc_describe(struct vrb_ud_conn *ud, struct vrb_ud_packet *packet);
/*
 * Handles the peer's VRB_UD_QP. Returns -FI_EPROTO if an honest peer does not send it, or -FI_EIO
 * if the connection cannot go on, because the peer may rely on a queue pair that cannot be
 * connected.
 */
int vrb_ud_rc_met(struct vrb_ud_conn *ud, const struct vrb_ud_packet *packet);
/* Posts receives to the device's SRQ (ud_srq.c), and returns those for which there is no place. */
struct ibv_recv_wr *vrb_ud_rc_post_recvs(struct vrb_ud *all, struct ibv_recv_wr *wr);
/* Logs a failure for a connection's queue pair. Returns -FI_E*. */
int vrb_ud_rc_failed(const char *what, int err);
/* Grows the device's CQ until that many entries are left. Returns false if it cannot. */
bool vrb_ud_rc_make_room(struct vrb_ud *all, uint32_t need);
/* Creates the device's SRQ unless it exists, and fills it. Returns 0 or -FI_E*. */
int vrb_ud_srq_open(struct vrb_ud *all);
/* Posts a receive of the transport again. */
void vrb_ud_srq_give(struct vrb_ud *all, struct vrb_rdm_rx *rx);
/*
 * Takes a completion of a reliable queue pair. Returns 1 if it is to be reported as *out, else 0.
 */
int vrb_ud_rc_take(struct vrb_ud *all, const struct ibv_wc *wc, struct ibv_wc *out);
/* Makes everything posted to it complete with errors. Returns false if that may not happen. */
bool vrb_ud_rc_flush(struct vrb_ud_conn *ud);
/* Answers the peer's VRB_UD_QP if that has not been possible yet. */
void vrb_ud_rc_answer(struct vrb_ud_conn *ud);
/* Frees the connection's queue pair, if it has one. */
void vrb_ud_rc_close(struct vrb_ud_conn *ud);

/* Returns what a packet of the peer is worth, on the scale of what is posted here. */
uint32_t vrb_ud_rc_worth_in(const struct vrb_ud_packet *packet);
/* Removes the queue pair from its connection without destroying it. */
struct vrb_ud_rc *vrb_ud_rc_remove(struct vrb_ud_conn *ud);

/* Giving reliable queue pairs back (ud_back.c). */
/* Counts what either end has posted. */
void vrb_ud_back_score(struct vrb_ud_conn *ud, uint32_t worth);
/* Returns false if room was made for another connection, which is used more. */
bool vrb_ud_back_may(struct vrb_ud_conn *ud);
/* Asks the peer of a connection that is used less to give its queue pair back. */
void vrb_ud_back_look(struct vrb_ud_conn *ud);
/* Returns true if VRB_UD_BACK is to be sent. */
static inline bool vrb_ud_back_is_due(const struct vrb_ud_conn *ud)
{
	const struct vrb_ud_rc *rc = ud->rc;

	return rc && (rc->asks || rc->refuses || rc->state == VRB_UD_RC_DRAINED);
}

/* Fills in VRB_UD_BACK, which is sent now. */
void vrb_ud_back_describe(struct vrb_ud_conn *ud, struct vrb_ud_packet *packet);
/* Called after VRB_UD_BACK was sent. */
void vrb_ud_back_sent(struct vrb_ud_conn *ud);
/* Handles the peer's VRB_UD_BACK. Returns 0, or -FI_EPROTO if an honest peer does not send it. */
int vrb_ud_back_met(struct vrb_ud_conn *ud, const struct vrb_ud_packet *packet);
/* Returns true if the packet has to wait for messages that the peer sent through its queue pair. */
bool vrb_ud_back_waits(struct vrb_ud_conn *ud, const struct vrb_ud_packet *packet);
/* Called when the device has returned a receive that a queue pair with that number held. */
void vrb_ud_back_returned(struct vrb_ud *all, uint32_t number);
/* Called when the last work request of a queue pair that is left has completed or failed. */
void vrb_ud_back_drained(struct vrb_ud_conn *ud, enum ibv_wc_status status);

static inline struct vrb_ud_rc *vrb_ud_rc_find(const struct vrb_ud_rcs *list, uint32_t number)
{
	struct vrb_ud_rc *rc;

	SLIST_FOREACH (rc, list, list)
		if (rc->number == number)
			break;
	return rc;
}

/* Returns true while work requests posted to a queue pair hold others back. */
static inline bool vrb_ud_back_drains(const struct vrb_ud_conn *ud)
{
	return ud->rc && ud->rc->state == VRB_UD_RC_DRAINING;
}

/* Returns true while work requests wait until the peer is told that datagrams follow. */
static inline bool vrb_ud_back_holds(const struct vrb_ud_conn *ud)
{
	return ud->rc &&
	       (ud->rc->state == VRB_UD_RC_DRAINING || ud->rc->state == VRB_UD_RC_DRAINED);
}

/* Returns true if both ends of the connection can use its queue pair. */
static inline bool vrb_ud_rc_is_open(const struct vrb_ud_conn *ud)
{
	return ud->rc->connected && ud->rc->announced && !ud->rc->state && !ud->over && !ud->broken;
}

/* Returns true for a completion of a reliable queue pair. */
static inline bool vrb_ud_rc_is(const struct vrb_ud *all, const struct ibv_wc *wc)
{
	return all->rcs.srq && wc->qp_num != all->qp->qp_num;
}

#endif
