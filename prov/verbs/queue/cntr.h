/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Counters of connected endpoints: their bindings, and the completion queues that feed them. */
#ifndef VRB_CNTR_H
#define VRB_CNTR_H

#include <stdbool.h>
#include <stdint.h>
#include "prov/verbs/msg/ep.h"

struct fi_cntr_attr;
struct fid_cntr;
struct fid_domain;
struct ofi_cntr;

OFI_CALL(fi_ops_domain, cntr_open) vrb_cntr_open;
int vrb_cntr_bind(struct vrb_ep *ep, struct ofi_cntr *cntr, uint64_t flags);
/*
 * Prepares an endpoint that has counters: creates a completion queue if none is bound, and sets up
 * counting in the queues and sources for the counters. Steps that succeeded stay in place after a
 * failure and are not repeated.
 */
int vrb_cntr_enable(struct vrb_ep *ep);
/*
 * Makes completions of the endpoint's deferred work visible to a counter until the endpoint closes.
 * Returns 0 or -FI_E*.
 */
int vrb_cntr_watch_work(struct vrb_ep *ep, struct ofi_cntr *cntr, bool recv);
/* Releases the counters. Call with the work queues detached, before the CQs are released. */
void vrb_cntr_unbind(struct vrb_ep *ep);

/* Returns true if there are counters for transmits. */
static inline bool vrb_cntr_tx(const struct vrb_ep *ep)
{
	return ep->cntrs[VRB_COUNT_SEND] || ep->cntrs[VRB_COUNT_READ] || ep->cntrs[VRB_COUNT_WRITE];
}

static inline bool vrb_cntr_any(const struct vrb_ep *ep)
{
	return vrb_cntr_tx(ep) || ep->cntrs[VRB_COUNT_RECV];
}

#endif
