/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reliable queue pairs of connections on unreliable datagrams, private to ud*.c. */
#ifndef VRB_RDM_UD_RC_H
#define VRB_RDM_UD_RC_H

#include "ud_int.h"

/* Reliable queue pairs (ud_rc.c). */
void vrb_ud_rc_init(struct vrb_ud *all);
void vrb_ud_rc_fini(struct vrb_ud *all);
/*
 * Called for each work request that is posted, if such queue pairs are wanted. Returns true with
 * the result of posting it, or with an error; false if it goes by datagrams.
 */
bool vrb_ud_rc_post(struct vrb_ud_conn *ud, struct ibv_send_wr *wr, struct ibv_send_wr **bad,
		    int *err);
/* Fills in VRB_UD_QP, which is sent now. */
void vrb_ud_rc_describe(struct vrb_ud_conn *ud, struct vrb_ud_packet *packet);
/*
 * Handles that of the peer. Returns -FI_EPROTO if no peer sends it, or -FI_EIO if the connection
 * cannot go on, because the peer may rely on a queue pair that cannot be connected.
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
/* Gives a receive back that the transport has posted. */
void vrb_ud_srq_give(struct vrb_ud *all, struct vrb_rdm_rx *rx);
/* Takes a completion of such a queue pair. Returns 1 if it is to be reported as *out, else 0. */
int vrb_ud_rc_take(struct vrb_ud *all, const struct ibv_wc *wc, struct ibv_wc *out);
/* Everything posted to it completes with errors. Returns false if that may not happen. */
bool vrb_ud_rc_flush(struct vrb_ud_conn *ud);
/* Answers the peer's VRB_UD_QP if that has not been possible yet. */
void vrb_ud_rc_answer(struct vrb_ud_conn *ud);
/* Frees what the connection has of it. */
void vrb_ud_rc_close(struct vrb_ud_conn *ud);

/* Returns what a packet of the peer is worth, in terms of what is posted. */
uint32_t vrb_ud_rc_worth_in(const struct vrb_ud_packet *packet);
/* Takes the connection's queue pair away. It is not destroyed. */
struct vrb_ud_rc *vrb_ud_rc_remove(struct vrb_ud_conn *ud);

/* Giving reliable queue pairs back (ud_back.c). */
/* Either end has posted what is worth that. */
void vrb_ud_back_score(struct vrb_ud_conn *ud, uint32_t worth);
/* Returns false if room was made for another connection, which is used more. */
bool vrb_ud_back_may(struct vrb_ud_conn *ud);
/* Asks the peer of a connection that is used less to give its queue pair back. */
void vrb_ud_back_look(struct vrb_ud_conn *ud);
/* Returns true if VRB_UD_BACK is to be sent. */
bool vrb_ud_back_is_due(const struct vrb_ud_conn *ud);
/* Fills in VRB_UD_BACK, which is sent now. */
void vrb_ud_back_describe(struct vrb_ud_conn *ud, struct vrb_ud_packet *packet);
/* VRB_UD_BACK is sent. */
void vrb_ud_back_sent(struct vrb_ud_conn *ud);
/* Handles the peer's VRB_UD_BACK. Returns 0, or -FI_EPROTO if no peer sends it. */
int vrb_ud_back_met(struct vrb_ud_conn *ud, const struct vrb_ud_packet *packet);
/* Returns true if packet has to wait for messages that the peer has sent by its queue pair. */
bool vrb_ud_back_waits(struct vrb_ud_conn *ud, const struct vrb_ud_packet *packet);
/* The device has returned a receive that a queue pair with that number has held. */
void vrb_ud_back_returned(struct vrb_ud *all, uint32_t number);
/* The work request that follows all others is complete, or has failed. */
void vrb_ud_back_drained(struct vrb_ud_conn *ud, enum ibv_wc_status status);

/* Returns true while work requests posted to a queue pair hold others back. */
static inline bool vrb_ud_back_drains(const struct vrb_ud_conn *ud)
{
	return ud->rc && ud->rc->state == VRB_UD_RC_DRAINING;
}

/* Returns true while datagrams may not be sent, as the peer has to know that they follow. */
static inline bool vrb_ud_back_holds(const struct vrb_ud_conn *ud)
{
	return ud->rc &&
	       (ud->rc->state == VRB_UD_RC_DRAINING || ud->rc->state == VRB_UD_RC_DRAINED);
}

/* Returns true for a completion of such a queue pair. */
static inline bool vrb_ud_rc_is(const struct vrb_ud *all, const struct ibv_wc *wc)
{
	return all->rcs.srq && wc->qp_num != all->qp->qp_num;
}

#endif
