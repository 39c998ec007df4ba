/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Shared transmit contexts without shared send queues: a context only sets limits for its
 * endpoints, each of which has its own send queue.
 */
#ifndef OFI_STX_H
#define OFI_STX_H

#include <rdma/fi_endpoint.h>
#include "domain.h"

struct ofi_stx {
	struct fid_stx fid;
	struct ofi_domain *domain;
	/* The application, until fi_close, and endpoints hold references; the last one frees it. */
	struct ofi_ref ref;
	bool limits; /* opened with attributes, whose limits are in attr */
	struct fi_tx_attr attr;
};

/* `limit` holds the maxima of the domain's endpoints. Returns 0, or logs and returns -FI_E*. */
int ofi_stx_open(struct ofi_domain *domain, const struct fi_tx_attr *limit,
		 const struct fi_tx_attr *attr, struct fid_stx **stx, void *context);
/*
 * Binds the context to an endpoint of the domain with these attributes and stores it in *slot.
 * Returns 0 or -FI_E*.
 */
int ofi_stx_bind(struct ofi_stx **slot, struct ofi_stx *stx, const struct ofi_domain *domain,
		 const struct fi_tx_attr *attr, uint64_t flags);
/* Undoes ofi_stx_bind. */
void ofi_stx_put(struct ofi_stx *stx);

#endif
