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
#include "prov/base/ops.h"

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
OFI_CALL(fi_ops_msg, sendmsg) vrb_hmem_sendmsg;
OFI_CALL(fi_ops_msg, inject) vrb_hmem_inject;
OFI_CALL(fi_ops_msg, injectdata) vrb_hmem_injectdata;
OFI_CALL(fi_ops_rma, writemsg) vrb_hmem_writemsg;
OFI_CALL(fi_ops_rma, inject) vrb_hmem_inject_write;
OFI_CALL(fi_ops_rma, injectdata) vrb_hmem_inject_writedata;

#endif
