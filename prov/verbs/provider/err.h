/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The one place where errors of libibverbs and librdmacm become FI_E* and text. */
#ifndef VRB_ERR_H
#define VRB_ERR_H

#include <stdbool.h>
#include <stddef.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

/*
 * An errno value of an ibv_ or rdma_ call, as a negative FI_E*; 0 becomes -FI_EIO since the call
 * failed.
 */
int vrb_errno(int err);
/* FI_E* (positive) of a failed work completion. */
int vrb_wc_err(enum ibv_wc_status status, bool receive);
/* FI_E* (positive) of a connection manager event that is an error. */
int vrb_cm_err(enum rdma_cm_event_type event, int status);
/* What to try, for a log line; "" when there is nothing to say. */
const char *vrb_remedy(int err);
/* Text of prov_errno in an EQ error: an IB reject reason or an errno. */
const char *vrb_eq_strerror(int prov_errno, const void *err_data, size_t len, char *buf,
			    size_t buflen);

#endif
