/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Shared receive contexts of reliable datagrams. A context is an endpoint object without transport:
 * it has the posted receives, the matchers, the budget for unexpected messages and the lock of all
 * endpoints that are bound to it. Their peers belong to its protocol; each of the endpoints keeps
 * its connections, buffers, queues and counters.
 */
#ifndef OFI_RDM_SRX_H
#define OFI_RDM_SRX_H

#include "rdm.h"

/* Implements fi_srx_context(). If attr is NULL, the domain's fi_info has the attributes. */
int ofi_rdm_srx_open(struct ofi_domain *domain, const struct fi_rx_attr *limit,
		     const struct fi_rx_attr *attr, const struct ofi_rdm_xport *xport,
		     const struct ofi_rdm_proto_config *config, struct fid_ep **srx, void *context);
/* Implements fi_ep_bind() of an endpoint that is not enabled. */
int ofi_rdm_srx_bind(struct ofi_rdm_ep *ep, struct fid *fid, uint64_t flags);
/*
 * Adds an endpoint that is about to be enabled. From then on its lock is the context's. Returns 0
 * or -FI_E*.
 */
int ofi_rdm_srx_join(struct ofi_rdm_ep *ep);
/* Removes an endpoint that closes and receives nothing any more. */
void ofi_rdm_srx_leave(struct ofi_rdm_ep *ep);

/*
 * Returns the endpoint whose queue gets a report that no message belongs to: one endpoint of a
 * context, with a queue if there is one, or NULL if it has none. The caller holds the lock.
 */
static inline struct ofi_rdm_ep *ofi_rdm_srx_reporter(struct ofi_rdm_ep *ep)
{
	struct ofi_rdm_ep *member;

	if (ofi_likely(!ep->is_srx))
		return ep;
	LIST_FOREACH (member, &ep->members, srx_link)
		if (member->rx_cq && !member->closing)
			return member;
	return LIST_FIRST(&ep->members);
}

#endif
