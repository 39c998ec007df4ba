/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Shared transmit contexts. Verbs have no shared send queue: a context is no more than the limits that its
 * endpoints keep to, each has a send queue of its own.
 */
#ifndef VRB_STX_H
#define VRB_STX_H

#include <rdma/fi_endpoint.h>
#include <ofi/ref.h>
#include "domain.h"

struct vrb_stx {
	struct fid_stx fid;
	struct vrb_domain *domain;
	struct ofi_ref ref; /* endpoints */
	bool limits;	    /* opened with attributes: attr are those */
	struct fi_tx_attr attr;
};

int vrb_stx_open(struct fid_domain *domain, struct fi_tx_attr *attr, struct fid_stx **stx,
		 void *context);
/* Whether an endpoint with these attributes may be bound. 0 or -FI_EINVAL, logged. */
int vrb_stx_check(const struct vrb_stx *stx, const struct fi_tx_attr *attr);

#endif
