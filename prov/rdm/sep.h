/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Scalable endpoints of reliable datagrams. Each index is an endpoint of its own, with its lock,
 * its connections and its queues, and listens at the port of the scalable endpoint plus the index.
 * The transmit and the receive context of an index are the two halves of that endpoint.
 */
#ifndef OFI_RDM_SEP_H
#define OFI_RDM_SEP_H

#include "cmwire.h"
#include "rdm.h"

enum { OFI_RDM_SEP_MAX = OFI_RDM_CMWIRE_CONTEXTS }; /* most contexts of each direction */

/* Opens the endpoint of an index; as in struct fi_ops_domain. */
typedef int ofi_rdm_sep_open_fn(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep,
				void *context);

/* Implements fi_scalable_ep() after ofi_rdm_ep_check(), for an fi_info with a source address. */
int ofi_rdm_sep_open(struct fid_domain *domain, const struct fi_info *info,
		     ofi_rdm_sep_open_fn *open, struct fid_ep **sep, void *context);

#endif
