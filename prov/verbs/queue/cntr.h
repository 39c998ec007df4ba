/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Counters of connected endpoints: what they are bound for, and the completion queues that feed
 * them.
 */
#ifndef VRB_CNTR_H
#define VRB_CNTR_H

#include <stdbool.h>
#include <stdint.h>
#include "prov/verbs/msg/ep.h"

struct fi_cntr_attr;
struct fid_cntr;
struct fid_domain;
struct ofi_cntr;

int vrb_cntr_open(struct fid_domain *domain, struct fi_cntr_attr *attr, struct fid_cntr **cntr,
		  void *context);
int vrb_cntr_bind(struct vrb_ep *ep, struct ofi_cntr *cntr, uint64_t flags);
/*
 * Where there are counters: a completion queue where none is bound, counting queues, and sources
 * for the counters. What is done stays when it fails, and is not done again.
 */
int vrb_cntr_enable(struct vrb_ep *ep);
/*
 * Lets a counter find what deferred work of the endpoint completes, until it closes. 0 or -FI_E*.
 */
int vrb_cntr_watch_work(struct vrb_ep *ep, struct ofi_cntr *cntr, bool recv);
/* Lets go of the counters; the queues are detached, the completion queues are not yet let go of. */
void vrb_cntr_unbind(struct vrb_ep *ep);

/* Counters of what is transmitted. */
static inline bool vrb_cntr_tx(const struct vrb_ep *ep)
{
	return ep->cntrs[VRB_COUNT_SEND] || ep->cntrs[VRB_COUNT_READ] || ep->cntrs[VRB_COUNT_WRITE];
}

static inline bool vrb_cntr_any(const struct vrb_ep *ep)
{
	return vrb_cntr_tx(ep) || ep->cntrs[VRB_COUNT_RECV];
}

#endif
