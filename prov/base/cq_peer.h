/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Peer completion queues (FI_PEER): reading one with a count of 0 makes progress and writes its
 * completions to the owner's queue.
 */
#ifndef OFI_CQ_PEER_H
#define OFI_CQ_PEER_H

#include <rdma/fi_domain.h>
#include <rdma/providers/fi_prov.h>

typedef int ofi_cq_open_call(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq,
			     void *context);

/*
 * Opens a CQ as the peer of the one that `context` describes, a struct fi_peer_cq_context. The
 * provider's call opens the CQ itself. Returns 0, or logs and returns -FI_E*.
 */
int ofi_cq_peer_open(const struct fi_provider *prov, ofi_cq_open_call *open,
		     struct fid_domain *domain, const struct fi_cq_attr *attr, struct fid_cq **cq,
		     void *context);

#endif
