/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Turns the device's completions into protocol steps and completions of operations. */
#ifndef VRB_RDM_PROGRESS_H
#define VRB_RDM_PROGRESS_H

#include "prov/rdm/complete.h"
#include "rc.h"

/* Creates the device's CQ for the endpoint's channel. Returns 0, or -1 with errno set. */
int vrb_rdm_create_cq(struct ofi_rdm_ep *ep, int size);
/* These implement functions of ofi_rdm_xport_ops. */
bool vrb_rdm_poll(struct ofi_rdm_proto *proto);
void vrb_rdm_progress(struct ofi_rdm_proto *proto);
int vrb_rdm_arm(struct ofi_rdm_proto *proto);
/*
 * Processes n > 0 completions that were polled into ep->wc under the lock. Those for ep->direct.cq
 * are written directly to the reader's array; what does not fit goes to the rings.
 */
void vrb_rdm_polled(struct ofi_rdm_ep *ep, int n);
/* Fills the receive queue, which is below its level; if that fails, the timer tries again. */
void vrb_rdm_refill(struct ofi_rdm_ep *ep);

/*
 * Completes everything posted on the connection, with err if it has not succeeded. No more
 * completions arrive for it.
 */
void vrb_rdm_flush(struct vrb_rc_conn *conn, int err);
/* Processes everything that has arrived by now, in the device's CQ and in shared memory. */
void vrb_rdm_poll_all(struct ofi_rdm_ep *ep);
/* Processes a packet of a live connection that does not take the fast path. */
void vrb_rdm_take_packet(struct vrb_rc_conn *conn, struct vrb_rdm_rx *rx, size_t len);

#endif
