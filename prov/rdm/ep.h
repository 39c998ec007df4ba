/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Opening, binding, enabling and closing reliable-datagram endpoints. */
#ifndef OFI_RDM_EP_H
#define OFI_RDM_EP_H

#include "rdm.h"

/* Checks the arguments of fi_endpoint. Returns 0 or -FI_E*. */
int ofi_rdm_ep_check(const struct ofi_domain *domain, const struct fi_info *info,
		     struct fid_ep **ep);
/*
 * Opens an endpoint in zeroed memory that the transport has allocated. The transport frees the
 * memory through its ops, even if opening fails.
 */
int ofi_rdm_ep_open(struct ofi_rdm_ep *ep, struct ofi_domain *domain, const struct fi_info *info,
		    const struct ofi_rdm_xport *xport, const struct ofi_rdm_proto_config *config,
		    struct fid_ep **ep_fid, void *context);
/* Opens the protocol of an endpoint or of a shared receive context. Returns 0 or -FI_E*. */
int ofi_rdm_proto_open(struct ofi_rdm_ep *ep, const struct ofi_rdm_xport *xport,
		       const struct ofi_rdm_proto_config *config);
/* Returns true if the fid is a reliable-datagram endpoint, an alias, or a context. */
bool ofi_rdm_is_ep(const struct fid *fid);
int ofi_rdm_bind(struct fid *fid, struct fid *bfid, uint64_t flags);
/* Binds a completion queue, also when the endpoint is at work in the other direction. */
int ofi_rdm_bind_cq(struct ofi_rdm_ep *ep, struct fid *cq, uint64_t flags);
/* Unbinds the counters of these flags. */
void ofi_rdm_release_cntrs(struct ofi_rdm_ep *ep, uint64_t flags);
/* Releases everything bound to the endpoint. */
void ofi_rdm_unbind(struct ofi_rdm_ep *ep);
/* Enables these directions of the endpoint. Returns 0 or -FI_E*. */
int ofi_rdm_enable(struct ofi_rdm_ep *ep, uint8_t halves);
/*
 * Ends one direction while the endpoint stays open: drops what is posted, and unbinds its queue and
 * the counters of these flags.
 */
void ofi_rdm_stop(struct ofi_rdm_ep *ep, uint8_t half, uint64_t cntrs);
/*
 * Closes one fid of the endpoint; closing the last one closes the endpoint. Returns 0 or -FI_EBUSY.
 */
int ofi_rdm_close(struct ofi_rdm_ep *ep);

/*
 * Attaches the endpoint to everything that is bound, so that whoever reads its queues and counters
 * makes it progress. Returns 0 or -FI_E*; on an error the caller detaches it.
 */
int ofi_rdm_attach(struct ofi_rdm_ep *ep);
/* Attaches the endpoint to queues that were bound later. Returns 0 or -FI_E*. */
int ofi_rdm_attach_cqs(struct ofi_rdm_ep *ep);
void ofi_rdm_detach(struct ofi_rdm_ep *ep);
/* Detaches and unbinds the queue of a direction. */
void ofi_rdm_release_cq(struct ofi_rdm_ep *ep, uint8_t half);

#endif
