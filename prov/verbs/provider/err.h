/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Converts errors of libibverbs and librdmacm to FI_E* and text. */
#ifndef VRB_ERR_H
#define VRB_ERR_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

/*
 * Converts the errno of a failed ibv_ or rdma_ call to a negative FI_E*: 0 becomes -FI_EIO, and the
 * EAGAIN of a control group without RDMA objects -FI_ENOMEM, as -FI_EAGAIN would be tried for ever.
 */
int vrb_errno(int err);
/*
 * Returns the reason why a call that opens files has failed: EMFILE or ENFILE if no more files can
 * be opened, which libibverbs and librdmacm report as a missing device or module; otherwise err.
 */
int vrb_err_cause(int err);
/*
 * Does the same for a call that opens this file in /dev/infiniband; EACCES, or EPERM by a control
 * group, if access is denied.
 */
int vrb_err_opening(int err, const char *name);
/* Returns the positive FI_E* of a failed work completion. */
int vrb_wc_err(enum ibv_wc_status status, bool receive);
/* Returns the name of the status. */
const char *vrb_wc_str(enum ibv_wc_status status);
/* Returns the positive FI_E* of a connection manager event that is an error. */
int vrb_cm_err(enum rdma_cm_event_type event, int status);
/* Returns true for the errors of registering memory that is not mapped, or not for the access. */
static inline bool vrb_err_is_refused(int err)
{
	return err == EFAULT || err == EACCES || err == EPERM;
}
/* Returns advice for a log line, "" if there is none. */
const char *vrb_remedy(int err);
/* The same for memory that cannot be registered. */
const char *vrb_reg_remedy(int err);
/*
 * Logs that a call has failed on a device: `fmt` names the call of the API and that of the library.
 * Returns what vrb_errno(err) does.
 */
int vrb_failed(const struct ibv_context *ctx, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Returns the text of prov_errno in an EQ error: an IB reject reason or an errno. */
const char *vrb_eq_strerror(int prov_errno, const void *err_data, size_t len, char *buf,
			    size_t buflen);

#endif
