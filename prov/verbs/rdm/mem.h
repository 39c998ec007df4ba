/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The protocol's memory. Buffers that only the local device uses have cached registrations. A peer
 * gets a memory window to the bytes that it may read or write; without windows it gets a
 * registration of exactly these bytes, which ends with the message.
 */
#ifndef VRB_RDM_MEM_H
#define VRB_RDM_MEM_H

#include "prov/rdm/proto.h"

struct ibv_mr;
struct ofi_rdm_ep;

/* These implement functions of ofi_rdm_xport_ops. */
int vrb_rdm_mem_reg(struct ofi_rdm_proto_peer *peer, const struct iovec *iov,
		    enum ofi_rdm_proto_access access, struct ofi_rdm_proto_mr *mr);
int vrb_rdm_mem_bind(struct ofi_rdm_proto_peer *peer, struct ofi_rdm_proto_mr *mr);
int vrb_rdm_mem_revoke(struct ofi_rdm_proto_peer *peer, struct ofi_rdm_proto_mr *mr,
		       struct ofi_rdm_proto_item *item);
void vrb_rdm_mem_dereg(struct ofi_rdm_proto_peer *peer, struct ofi_rdm_proto_mr *mr);
/* Called when nobody has a right to memory any more. */
void vrb_rdm_mem_fini(struct ofi_rdm_ep *ep);

#endif
