/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Opening, binding, enabling and closing reliable-datagram endpoints. */
#ifndef OFI_RDM_EP_H
#define OFI_RDM_EP_H

#include "rdm.h"

/* What is wrong with the arguments of fi_endpoint. 0 or -FI_E*. */
int ofi_rdm_ep_check(const struct ofi_domain *domain, const struct fi_info *info,
		     struct fid_ep **ep);
/*
 * Opens an endpoint, which its transport has allocated, all bits 0, and frees whether or not it
 * opens.
 */
int ofi_rdm_ep_open(struct ofi_rdm_ep *ep, struct ofi_domain *domain, const struct fi_info *info,
		    const struct ofi_rdm_xport *xport, const struct ofi_rdm_proto_config *config,
		    struct fid_ep **ep_fid, void *context);
/* Whether it is one of these, or an alias. */
bool ofi_rdm_is_ep(const struct fid *fid);
int ofi_rdm_bind(struct fid *fid, struct fid *bfid, uint64_t flags);
/* Lets go of what was bound. */
void ofi_rdm_unbind(struct ofi_rdm_ep *ep);
/* Lets go of one fid of the endpoint; the last closes it. 0 or -FI_EBUSY. */
int ofi_rdm_close(struct ofi_rdm_ep *ep);

#endif
