/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The protocol's memory. What our device uses is registered for that alone and cached. What a peer is to read or
 * write it gets a window to; where there is none, a registration of these bytes that ends with the message.
 */
#ifndef VRB_RDM_MEM_H
#define VRB_RDM_MEM_H

#include "proto.h"

struct ibv_mr;

/* As vrb_proto_ops has them. */
int vrb_rdm_mem_reg(struct vrb_proto_peer *peer, const struct iovec *iov,
		    enum vrb_proto_access access, struct vrb_proto_mr *mr);
int vrb_rdm_mem_bind(struct vrb_proto_peer *peer, struct vrb_proto_mr *mr);
int vrb_rdm_mem_revoke(struct vrb_proto_peer *peer, struct vrb_proto_mr *mr,
		       struct vrb_proto_item *item);
void vrb_rdm_mem_dereg(struct vrb_proto_peer *peer, struct vrb_proto_mr *mr);
/* By which our device uses it. */
struct ibv_mr *vrb_rdm_mem_mr(const struct vrb_proto_mr *mr);

#endif
