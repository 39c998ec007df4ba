/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the protocol asks for, done with verbs. */
#ifndef VRB_RDM_CARRY_H
#define VRB_RDM_CARRY_H

#include "rdm.h"

extern const struct ofi_rdm_proto_ops vrb_rdm_carry_ops;
/* The protocol of an endpoint that is opened. 0 or -FI_ENOMEM. */
int vrb_rdm_proto_open(struct vrb_rdm *ep, const struct fi_info *info);

/*
 * Objects for the protocol, by index. NULL when there are `limit` of them in use, or out of memory.
 */
struct vrb_rdm_out *vrb_rdm_out_get(struct vrb_rdm *ep);
void vrb_rdm_out_put(struct vrb_rdm *ep, struct vrb_rdm_out *out);
struct vrb_rdm_recv *vrb_rdm_recv_get(struct vrb_rdm *ep, bool tagged);
void vrb_rdm_recv_put(struct vrb_rdm *ep, struct vrb_rdm_recv *recv);
/* Sets these bits in the flags of all receives that are posted. */
void vrb_rdm_recvs_mark(struct vrb_rdm *ep, uint64_t bits);
void vrb_rdm_objects_fini(struct vrb_rdm *ep);

#endif
