/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Shared transmit contexts where there is no shared send queue: a context is no more than the
 * limits that its endpoints keep to, each has a send queue of its own.
 */
#ifndef OFI_STX_H
#define OFI_STX_H

#include <rdma/fi_endpoint.h>
#include "domain.h"

struct ofi_stx {
	struct fid_stx fid;
	struct ofi_domain *domain;
	struct ofi_ref
		ref; /* the application until fi_close, and endpoints: the last one frees it */
	bool limits; /* opened with attributes: attr are those */
	struct fi_tx_attr attr;
};

/* limit: what endpoints of the domain have at most. 0 or -FI_E*, logged. */
int ofi_stx_open(struct ofi_domain *domain, const struct fi_tx_attr *limit,
		 const struct fi_tx_attr *attr, struct fid_stx **stx, void *context);
/*
 * Binds the context to an endpoint of the domain, with these attributes: *slot is its. 0 or -FI_E*.
 */
int ofi_stx_bind(struct ofi_stx **slot, struct ofi_stx *stx, const struct ofi_domain *domain,
		 const struct fi_tx_attr *attr, uint64_t flags);
/* Undoes ofi_stx_bind. */
void ofi_stx_put(struct ofi_stx *stx);

#endif
