/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Pools of the send and receive objects of an endpoint. */
#ifndef OFI_RDM_OBJECTS_H
#define OFI_RDM_OBJECTS_H

#include "rdm.h"

#define OFI_RDM_OBJECTS 64u /* objects in a chunk */

/* Appends a zeroed chunk of objects of the size. Returns the chunk, or NULL when out of memory. */
void *ofi_rdm_chunks_grow(struct ofi_rdm_chunks *chunks, size_t size);

/* Returns the object with the index, or NULL. */
static inline void *ofi_rdm_chunks_at(const struct ofi_rdm_chunks *chunks, uint32_t index,
				      size_t size)
{
	if (index >= chunks->count)
		return NULL;
	return (char *)chunks->chunk[index / OFI_RDM_OBJECTS] + index % OFI_RDM_OBJECTS * size;
}

/* Returns NULL when the endpoint's limit of objects is in use, or when out of memory. */
struct ofi_rdm_out *ofi_rdm_out_get(struct ofi_rdm_ep *ep);
void ofi_rdm_out_put(struct ofi_rdm_ep *ep, struct ofi_rdm_out *out);
struct ofi_rdm_recv *ofi_rdm_recv_get(struct ofi_rdm_ep *ep, bool tagged);
void ofi_rdm_recv_put(struct ofi_rdm_ep *ep, struct ofi_rdm_recv *recv);
/* Sets these bits in the flags of all posted receives. */
void ofi_rdm_recvs_mark(struct ofi_rdm_ep *ep, uint64_t bits);
/*
 * Leaves no free receive. Those in use go to a list that nothing is taken from, so that returning
 * them needs no check.
 */
void ofi_rdm_recvs_drop(struct ofi_rdm_ep *ep);
void ofi_rdm_objects_fini(struct ofi_rdm_ep *ep);

/*
 * Implement fi_tx_size_left and fi_rx_size_left. Return a lower bound of the operations accepted
 * before one returns -FI_EAGAIN, at most tx_attr or rx_attr.size; -FI_EOPBADSTATE before the
 * endpoint is enabled.
 */
ssize_t ofi_rdm_tx_left(struct fid_ep *fid);
ssize_t ofi_rdm_rx_left(struct fid_ep *fid);

/*
 * Adds up the lengths of an iov of the application. Returns 0; -FI_EINVAL if it has too many
 * buffers or lacks one; -FI_EMSGSIZE if the sum overflows or a buffer wraps around.
 */
static inline int ofi_rdm_iov_total(const struct iovec *iov, size_t count, size_t *total)
{
	uintptr_t end;
	size_t i;

	*total = 0;
	if (count > OFI_RDM_PROTO_IOV || (count && !iov))
		return -FI_EINVAL;
	for (i = 0; i < count; i++) {
		if (!iov[i].iov_base && iov[i].iov_len)
			return -FI_EINVAL;
		if (__builtin_add_overflow(*total, iov[i].iov_len, total) ||
		    __builtin_add_overflow((uintptr_t)iov[i].iov_base, iov[i].iov_len, &end))
			return -FI_EMSGSIZE;
	}
	return 0;
}

#endif
