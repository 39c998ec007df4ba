/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the device has completed becomes steps of the protocol, and completions. */
#ifndef VRB_RDM_PROGRESS_H
#define VRB_RDM_PROGRESS_H

#include "prov/rdm/complete.h"
#include "rc.h"

/* Takes the endpoint's lock. */
void vrb_rdm_progress(struct ofi_rdm_ep *ep);
/* With the lock held. True when there was something. */
bool vrb_rdm_poll(struct ofi_rdm_ep *ep);
/*
 * What was polled into ep->wc under the lock; n > 0. Completions of ep->direct.cq go directly to
 * the entries of its reader; what has no room there goes to the rings.
 */
void vrb_rdm_polled(struct ofi_rdm_ep *ep, int n);
/*
 * The receive queue has less than it should: it is filled, and the timer tries again if it can't
 * be.
 */
void vrb_rdm_refill(struct ofi_rdm_ep *ep);
/*
 * 0: nothing to do, and what comes from now on makes the endpoint's channel readable. -FI_EAGAIN:
 * something was done. Takes the endpoint's lock.
 */
int vrb_rdm_arm(struct ofi_rdm_ep *ep);

/* Nothing more comes of what was posted to the link: it is done, or failed with err. */
void vrb_rdm_flush(struct vrb_rdm_link *link, int err);
/* Takes what is in the device's CQ now. */
void vrb_rdm_poll_all(struct ofi_rdm_ep *ep);
/* A packet of a live link. False: the buffer is free again. */
bool vrb_rdm_take_packet(struct vrb_rdm_link *link, struct vrb_rdm_rx *rx, size_t len);

#endif
