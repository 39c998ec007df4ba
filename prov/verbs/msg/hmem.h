/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Connected endpoints with FI_HMEM. The device itself reads and writes registered device memory.
 * Data that the processor would read, which is injected data, inline data and operands of atomics,
 * is copied through the interface. These endpoints have separate ops tables, so that others pay
 * nothing.
 */
#ifndef VRB_HMEM_H
#define VRB_HMEM_H

#include <stddef.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>

struct ofi_hmem;
struct vrb_ep;

/*
 * Returns the interface that the memory belongs to, NULL for system memory. Without desc the
 * address is examined.
 */
const struct ofi_hmem *vrb_hmem_of(const struct vrb_ep *ep, const void *buf, const void *desc);
/* Copies to host memory. Returns 0 or -FI_E*. */
ssize_t vrb_hmem_load(const struct vrb_ep *ep, void *to, const void *buf, const void *desc,
		      size_t len);

/* Entries of the tables in msg.c and rma.c. */
ssize_t vrb_hmem_sendmsg(struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags);
ssize_t vrb_hmem_inject(struct fid_ep *ep, const void *buf, size_t len, fi_addr_t dest);
ssize_t vrb_hmem_injectdata(struct fid_ep *ep, const void *buf, size_t len, uint64_t data,
			    fi_addr_t dest);
ssize_t vrb_hmem_writemsg(struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags);
ssize_t vrb_hmem_inject_write(struct fid_ep *ep, const void *buf, size_t len, fi_addr_t dest,
			      uint64_t addr, uint64_t key);
ssize_t vrb_hmem_inject_writedata(struct fid_ep *ep, const void *buf, size_t len, uint64_t data,
				  fi_addr_t dest, uint64_t addr, uint64_t key);

#endif
