/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the device has completed becomes steps of the protocol, and completions. */
#ifndef VRB_RDM_PROGRESS_H
#define VRB_RDM_PROGRESS_H

#include "prov/base/cq_ring.h"
#include "rdm.h"

/* Takes the endpoint's lock. */
void vrb_rdm_progress(struct vrb_rdm *ep);
/* With the lock held. True when there was something. */
bool vrb_rdm_poll(struct vrb_rdm *ep);
/*
 * What was polled into ep->wc under the lock; n > 0. Completions of ep->direct.cq go directly to
 * the entries of its reader; what has no room there goes to the rings.
 */
void vrb_rdm_polled(struct vrb_rdm *ep, int n);
/*
 * The receive queue has less than it should: it is filled, and the timer tries again if it can't
 * be.
 */
void vrb_rdm_refill(struct vrb_rdm *ep);
/*
 * 0: nothing to do, and what comes from now on makes the endpoint's channel readable. -FI_EAGAIN:
 * something was done. Takes the endpoint's lock.
 */
int vrb_rdm_arm(struct vrb_rdm *ep);

/* An entry for the CQ, with the lock held. */
void vrb_rdm_put(struct vrb_rdm *ep, struct vrb_rdm_cq *cq, const struct ofi_cq_item *item);
/*
 * With the lock held: entries for the application, and counts. err: FI_E* or 0; wc_status with it.
 */
void vrb_rdm_complete_tx(struct vrb_rdm *ep, void *context, uint64_t flags, int err, int wc_status);
/* item->src is set here; item->olen, of a failure, is the caller's. */
void vrb_rdm_complete_rx(struct vrb_rdm *ep, const struct vrb_rdm_recv *recv,
			 struct ofi_cq_item *item, struct vrb_rdm_peer *from);
/* Whatever is not complete fails, unreported: the endpoint closes. */
void vrb_rdm_release_all(struct vrb_rdm *ep);
/* Nothing more comes of what was posted to the link: it is done, or failed with err. */
void vrb_rdm_flush(struct vrb_rdm_link *link, int err);
/* Takes what is in the device's CQ now. */
void vrb_rdm_poll_all(struct vrb_rdm *ep);
/* A packet of a live link. False: the buffer is free again. */
bool vrb_rdm_take_packet(struct vrb_rdm_link *link, struct vrb_rdm_rx *rx, size_t len);
void vrb_rdm_recv_done(struct ofi_rdm_proto *proto, const struct ofi_rdm_proto_done *done);

#endif
