/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Buffers of FI_MULTI_RECV on the receive queues of connected endpoints. */
#ifndef VRB_MULTI_H
#define VRB_MULTI_H

#include "ep.h"

#define VRB_MULTI_PARTS	  32	/* of a buffer at most */
#define VRB_MULTI_DEFAULT 16384 /* FI_OPT_MIN_MULTI_RECV, bytes */

/*
 * Into how many parts a buffer goes, each of at least min bytes, and of what size all but the last
 * are.
 */
uint32_t vrb_multi_parts(size_t len, size_t min, uint32_t room, size_t *size);
/* Of count parts the device took the first `posted`. */
ssize_t vrb_multi_failed(struct vrb_wq *rq, uint32_t count, uint32_t posted, int err);
/* The receiving calls of endpoints with FI_MULTI_RECV (multi_recv.c). */
ssize_t vrb_multi_recv(struct fid_ep *ep, void *buf, size_t len, void *desc, fi_addr_t src,
		       void *context);
ssize_t vrb_multi_recvv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count,
			fi_addr_t src, void *context);
ssize_t vrb_multi_recvmsg(struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags);

#endif
