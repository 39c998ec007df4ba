/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Shared transmit contexts. Verbs have no shared send queue: a context is no more than the limits
 * that its endpoints keep to, each has a send queue of its own.
 */
#ifndef VRB_STX_H
#define VRB_STX_H

#include <rdma/fi_endpoint.h>
#include "prov/base/ref.h"
#include "prov/verbs/provider/domain.h"

struct vrb_stx {
	struct fid_stx fid;
	struct vrb_domain *domain;
	struct ofi_ref ref; /* endpoints */
	bool limits;	    /* opened with attributes: attr are those */
	struct fi_tx_attr attr;
};

int vrb_stx_open(struct fid_domain *domain, struct fi_tx_attr *attr, struct fid_stx **stx,
		 void *context);
/*
 * Binds the context to an endpoint of the domain, with these attributes: *slot is its. 0 or -FI_E*.
 */
int vrb_stx_bind(struct vrb_stx **slot, struct vrb_stx *stx, const struct vrb_domain *domain,
		 const struct fi_tx_attr *attr, uint64_t flags);

#endif
