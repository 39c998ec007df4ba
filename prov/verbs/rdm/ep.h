/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Opening, binding, enabling and closing reliable-datagram endpoints. */
#ifndef VRB_RDM_EP_H
#define VRB_RDM_EP_H

#include "rdm.h"

int vrb_rdm_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep,
		 void *context);
/* Whether it is one of these, or an alias. */
bool vrb_rdm_is_ep(const struct fid *fid);
int vrb_rdm_bind(struct fid *fid, struct fid *bfid, uint64_t flags);
/* Lets go of what was bound. */
void vrb_rdm_unbind(struct vrb_rdm *ep);
/* Lets go of one fid of the endpoint; the last closes it. 0 or -FI_EBUSY. */
int vrb_rdm_close(struct vrb_rdm *ep);
/* Whether a domain was opened for reliable datagrams. */
static inline bool vrb_rdm_is_domain(const struct vrb_domain *domain)
{
	return domain->rdm;
}

#endif
