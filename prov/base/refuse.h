/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Logging of refused calls. The function that finds the error logs it once and returns the error
 * code, as in
 *
 * 	return ofi_refuse(prov, FI_LOG_CQ, -FI_EINVAL, "fi_cq_open: attr is NULL\n");
 */
#ifndef OFI_REFUSE_H
#define OFI_REFUSE_H

#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>

/* Fails a call with an error that someone must fix; logs at level warn. */
#define ofi_refuse(prov, subsys, err, ...) \
	ofi_refused(prov, FI_LOG_WARN, subsys, __func__, __LINE__, err, __VA_ARGS__)
/* Answers a query with no; logs at level info, because programs probe. */
#define ofi_decline(prov, subsys, err, ...) \
	ofi_refused(prov, FI_LOG_INFO, subsys, __func__, __LINE__, err, __VA_ARGS__)

/* Shorthands for -FI_EINVAL, -FI_EBADFLAGS and -FI_EBUSY. */
#define ofi_refuse_null(prov, subsys, call, what) \
	ofi_refuse(prov, subsys, -FI_EINVAL, "%s: %s is NULL\n", call, what)
#define ofi_refuse_flags(prov, subsys, call, flags)                                            \
	ofi_refuse(prov, subsys, -FI_EBADFLAGS, "%s: flags 0x%llx are not valid here\n", call, \
		   (unsigned long long)(flags))
#define ofi_refuse_second(prov, subsys, call, what) \
	ofi_refuse(prov, subsys, -FI_EBUSY, "%s: %s is bound already\n", call, what)
/* Returns -FI_ENOSYS from fi_control. */
#define ofi_decline_command(prov, subsys, command, object)                                    \
	ofi_decline(prov, subsys, -FI_ENOSYS, "fi_control: command %d; %s\n", (int)(command), \
		    object)

/* Logs the message and returns err. */
int ofi_refused(const struct fi_provider *prov, enum fi_log_level level, enum fi_log_subsys subsys,
		const char *func, int line, int err, const char *fmt, ...)
	__attribute__((format(printf, 7, 8)));

#endif
