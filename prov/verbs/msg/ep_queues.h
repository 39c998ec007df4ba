/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The queues of an endpoint. */
#ifndef VRB_EP_QUEUES_H
#define VRB_EP_QUEUES_H

struct vrb_ep;

/* Rings for what its fi_info asks. 0 or -FI_ENOMEM. */
int vrb_ep_new_queues(struct vrb_ep *ep);
/* They outlive the endpoint where they are attached: the CQ frees them. */
void vrb_ep_free_queues(struct vrb_ep *ep);
/*
 * Room in the CQs for all that can be outstanding, so that they never overrun. A queue stays
 * attached when enabling fails, until it is tried again or the endpoint closes.
 */
int vrb_ep_attach(struct vrb_ep *ep);
/* Work requests of the queue pair. */
void vrb_ep_set_templates(struct vrb_ep *ep);

#endif
