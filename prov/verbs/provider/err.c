/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Converts errors of libibverbs and librdmacm to FI_E* and text. */
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <rdma/fi_errno.h>
#include <rdma/fabric.h>
#include "err.h"
#include "prov.h"
#include "prov/base/refuse.h"

#define FILES_AT_ONCE 4 /* files that one call of libibverbs or librdmacm may open */

/*
 * FI_E* up to 255 have the values of errno. EAGAIN is the limit of a control group, which no
 * progress ends; drivers that have no room for a work request return ENOMEM.
 */
int vrb_errno(int err)
{
	err = abs(err);
	if (err == EAGAIN)
		err = ENOMEM;
	return err ? -err : -FI_EIO;
}

int vrb_err_cause(int err)
{
	int fds[FILES_AT_ONCE], n = 0, cause = 0;

	while (n < FILES_AT_ONCE && !cause) {
		fds[n] = open("/", O_PATH | O_CLOEXEC);
		if (fds[n] >= 0)
			n++;
		else
			cause = errno;
	}
	while (n > 0)
		close(fds[--n]);
	return cause == EMFILE || cause == ENFILE ? cause : err;
}

int vrb_err_opening(int err, const char *name)
{
	char path[NAME_MAX];

	snprintf(path, sizeof(path), "/dev/infiniband/%s", name);
	if (eaccess(path, R_OK | W_OK) && (errno == EACCES || errno == EPERM))
		return errno;
	return vrb_err_cause(err);
}

int vrb_wc_err(enum ibv_wc_status status, bool receive)
{
	switch (status) {
	case IBV_WC_SUCCESS:
		return 0;
	case IBV_WC_LOC_LEN_ERR:
		return receive ? FI_ETRUNC : FI_EMSGSIZE;
	case IBV_WC_LOC_QP_OP_ERR:
		return FI_EINVAL;
	case IBV_WC_LOC_PROT_ERR:
		return FI_EFAULT;
	case IBV_WC_WR_FLUSH_ERR:
		return FI_ECANCELED;
	case IBV_WC_MW_BIND_ERR:
	case IBV_WC_LOC_ACCESS_ERR:
		return FI_EACCES;
	case IBV_WC_BAD_RESP_ERR:
	case IBV_WC_REM_INV_REQ_ERR:
	case IBV_WC_REM_OP_ERR:
		return FI_EREMOTEIO;
	case IBV_WC_REM_ACCESS_ERR:
		return FI_EKEYREJECTED;
	case IBV_WC_RETRY_EXC_ERR:
	case IBV_WC_RESP_TIMEOUT_ERR:
		return FI_ETIMEDOUT;
	case IBV_WC_RNR_RETRY_EXC_ERR:
		return FI_ENORX;
	case IBV_WC_REM_INV_RD_REQ_ERR: /* SRD: there is no such queue pair */
		return FI_ECONNRESET;
	case IBV_WC_REM_ABORT_ERR:
		return FI_ECONNABORTED;
	case IBV_WC_FATAL_ERR:
		return FI_ENODEV;
	default:
		return FI_EIO;
	}
}

const char *vrb_wc_str(enum ibv_wc_status status)
{
	/* libibverbs calls it an invalid request for reliable datagrams of InfiniBand. */
	return status == IBV_WC_REM_INV_RD_REQ_ERR ? "the peer's queue pair is gone"
						   : ibv_wc_status_str(status);
}

/* librdmacm's status is a negative errno from the kernel, an IB reject reason, or 0. */
static int status_or(int status, int err)
{
	return status < 0 ? -status : err;
}

int vrb_cm_err(enum rdma_cm_event_type event, int status)
{
	switch (event) {
	case RDMA_CM_EVENT_ADDR_ERROR: /* -ENODEV: the route's interface has no RDMA device */
		return status == -ENODEV ? FI_EADDRNOTAVAIL : status_or(status, FI_EADDRNOTAVAIL);
	case RDMA_CM_EVENT_ROUTE_ERROR:
		return status_or(status, FI_ENETUNREACH);
	case RDMA_CM_EVENT_CONNECT_ERROR:
		return FI_ECONNABORTED;
	case RDMA_CM_EVENT_UNREACHABLE:
		return status == -ETIMEDOUT ? FI_ETIMEDOUT : FI_EHOSTUNREACH;
	case RDMA_CM_EVENT_REJECTED:
		return FI_ECONNREFUSED;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		return FI_ENODEV;
	case RDMA_CM_EVENT_MULTICAST_ERROR:
		return status_or(status, FI_EIO);
	default:
		return FI_EIO;
	}
}

/* If the limit of locked memory is 0, the kernel returns EPERM instead of ENOMEM. */
static bool may_lock_nothing(void)
{
	struct rlimit limit;

	return !getrlimit(RLIMIT_MEMLOCK, &limit) && !limit.rlim_cur;
}

const char *vrb_remedy(int err)
{
	switch (err) {
	case ENOMEM:
		return "; the device has run out of it, or the locked-memory limit is too low (ulimit -l)";
	case EAGAIN:
		return "; the control group has no RDMA objects left (rdma.max)";
	case EPERM:
		if (may_lock_nothing())
			return "; raise the locked-memory limit, which is 0 (ulimit -l)";
		/* fall through */
	case EACCES:
		return "; check the permissions of /dev/infiniband/*";
	case EMFILE:
	case ENFILE:
		return "; raise the limit of open files (ulimit -n)";
	case ENODEV:
	case EIO:
		return "; has the device been removed?";
	case EADDRINUSE:
		return "; choose another port or 0 for any";
	case EADDRNOTAVAIL:
		return "; no RDMA device has this address";
	default:
		return "";
	}
}

/* libibverbs protects whole pages at fork, and takes huge ones for small ones by default. */
const char *vrb_reg_remedy(int err)
{
	/* Where the kernel copies at fork, libibverbs protects only if it is told to. */
	bool protects = ibv_is_fork_initialized() == IBV_FORK_ENABLED ||
			getenv("RDMAV_FORK_SAFE") || getenv("IBV_FORK_SAFE");

	if (err == EINVAL && protects && !getenv("RDMAV_HUGEPAGES_SAFE"))
		return "; if the memory is in huge pages, set RDMAV_HUGEPAGES_SAFE=1 before the process starts, as it is protected at fork";
	return vrb_remedy(err);
}

int vrb_failed(const struct ibv_context *ctx, int err, const char *fmt, ...)
{
	char what[128];
	va_list args;

	va_start(args, fmt);
	vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	return ofi_refuse(&vrb_prov, FI_LOG_EP_CTRL, vrb_errno(err), "%s on %s: %s%s\n", what,
			  ibv_get_device_name(ctx->device), strerror(err), vrb_remedy(err));
}

/* Returns the text of a CM reject reason, IBA volume 1, 12.6.7.2. */
static const char *reject_reason(int reason)
{
	switch (reason) {
	case 6:
		return "the peer no longer knows the connection";
	case 8:
		return "nobody listens at that service";
	case 10:
		return "stale connection: its queue pair number was in use a moment ago; try again";
	case 28:
		return "rejected by the peer's application";
	default:
		return "rejected by the peer";
	}
}

const char *vrb_eq_strerror(int prov_errno, const void *err_data, size_t size, char *buf,
			    size_t len)
{
	static __thread char text[128];

	(void)err_data;
	(void)size;
	if (!buf || !len) {
		buf = text;
		len = sizeof(text);
	}
	if (prov_errno > 0)
		snprintf(buf, len, "%s (reason %d)", reject_reason(prov_errno), prov_errno);
	else
		snprintf(buf, len, "%s (%d)", fi_strerror(prov_errno), prov_errno);
	return buf;
}
