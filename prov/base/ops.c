/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the empty slots of ops tables do. */
#include <rdma/fi_errno.h>
#include "ops.h"

/*
 * Called with whatever arguments the slot has and read as int or ssize_t: in the calling
 * conventions of all supported machines the caller clears the arguments away, and an int is the low
 * half of the result.
 */
ssize_t ofi_enosys(void)
{
	return -FI_ENOSYS;
}

ssize_t ofi_eopnotsupp(void)
{
	return -FI_EOPNOTSUPP;
}

const struct fi_ops_cm ofi_no_cm_ops = { .size = sizeof(struct fi_ops_cm), OFI_CM_DEFAULTS };
const struct fi_ops_msg ofi_no_msg_ops = { .size = sizeof(struct fi_ops_msg), OFI_MSG_DEFAULTS };
const struct fi_ops_rma ofi_no_rma_ops = { .size = sizeof(struct fi_ops_rma), OFI_RMA_DEFAULTS };
const struct fi_ops_tagged ofi_no_tagged_ops = { .size = sizeof(struct fi_ops_tagged),
						 OFI_TAGGED_DEFAULTS };
const struct fi_ops_atomic ofi_no_atomic_ops = { .size = sizeof(struct fi_ops_atomic),
						 OFI_ATOMIC_DEFAULTS };
const struct fi_ops_collective ofi_no_collective_ops = { .size = sizeof(struct fi_ops_collective),
							 OFI_COLLECTIVE_DEFAULTS };
