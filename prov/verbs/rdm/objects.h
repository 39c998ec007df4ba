/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The messages and receives of an endpoint. */
#ifndef VRB_RDM_OBJECTS_H
#define VRB_RDM_OBJECTS_H

#include "rdm.h"

#define VRB_RDM_OBJECTS 64u /* of a chunk */

/* Appends a chunk of objects, all bits 0, to an array of chunks. NULL when out of memory. */
void *vrb_rdm_add_chunk(void *array, size_t chunks, size_t size);

/* NULL when as many as the endpoint may have are in use, or out of memory. */
struct vrb_rdm_out *vrb_rdm_out_get(struct vrb_rdm *ep);
void vrb_rdm_out_put(struct vrb_rdm *ep, struct vrb_rdm_out *out);
/* NULL when there is none of the index. */
struct vrb_rdm_out *vrb_rdm_out_at(struct vrb_rdm *ep, uint32_t index);
struct vrb_rdm_recv *vrb_rdm_recv_get(struct vrb_rdm *ep, bool tagged);
void vrb_rdm_recv_put(struct vrb_rdm *ep, struct vrb_rdm_recv *recv);
/* Sets these bits in the flags of all receives that are posted. */
void vrb_rdm_recvs_mark(struct vrb_rdm *ep, uint64_t bits);
void vrb_rdm_objects_fini(struct vrb_rdm *ep);

/* Moves bytes between a flat buffer and an iov. */
void vrb_rdm_scatter(const struct iovec *iov, size_t count, const void *from, size_t len);
void vrb_rdm_gather(void *to, const struct iovec *iov, size_t count);

#endif
