/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The queues of an endpoint. */
#ifndef VRB_EP_QUEUES_H
#define VRB_EP_QUEUES_H

struct vrb_ep;

/* Allocates rings of the sizes in its fi_info. Returns 0 or -FI_ENOMEM. */
int vrb_ep_new_queues(struct vrb_ep *ep);
/* Frees the queues. An attached queue outlives the endpoint; the CQ frees it. */
void vrb_ep_free_queues(struct vrb_ep *ep);
/*
 * Reserves room in the CQs for everything that can be outstanding, so that they never overrun. If
 * enabling fails, a queue stays attached until enabling is tried again or the endpoint closes.
 */
int vrb_ep_attach(struct vrb_ep *ep);
/* Initializes the template work requests of the queue pair. */
void vrb_ep_set_templates(struct vrb_ep *ep);

#endif
