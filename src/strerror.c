/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Texts of fabric error numbers; all others are the system's. */
#include <rdma/fi_errno.h>

#include <limits.h>
#include <string.h>
#include "export.h"

static const char *const texts[] = {
	[FI_EOTHER - FI_ERRNO_OFFSET] = "Unspecified error",
	[FI_ETOOSMALL - FI_ERRNO_OFFSET] = "Provided buffer is too small",
	[FI_EOPBADSTATE - FI_ERRNO_OFFSET] = "Operation not permitted in current state",
	[FI_EAVAIL - FI_ERRNO_OFFSET] = "Error available",
	[FI_EBADFLAGS - FI_ERRNO_OFFSET] = "Flags not supported",
	[FI_ENOEQ - FI_ERRNO_OFFSET] = "Missing or unavailable event queue",
	[FI_EDOMAIN - FI_ERRNO_OFFSET] = "Invalid resource domain",
	[FI_ENOCQ - FI_ERRNO_OFFSET] = "Missing or unavailable completion queue",
	[FI_ECRC - FI_ERRNO_OFFSET] = "CRC error",
	[FI_ETRUNC - FI_ERRNO_OFFSET] = "Truncation error",
	[FI_ENOKEY - FI_ERRNO_OFFSET] = "Required key not available",
	[FI_ENOAV - FI_ERRNO_OFFSET] = "Missing or unavailable address vector",
	[FI_EOVERRUN - FI_ERRNO_OFFSET] = "Queue has been overrun",
	[FI_ENORX - FI_ERRNO_OFFSET] = "Receiver not ready, no receive buffers available",
	[FI_ENOMR - FI_ERRNO_OFFSET] = "Memory registration limit reached",
	[FI_EFIREWALLADDR - FI_ERRNO_OFFSET] = "Host address unreachable due to firewall",
};

_Static_assert(sizeof(texts) / sizeof(texts[0]) == FI_ERRNO_MAX - FI_ERRNO_OFFSET,
	       "each error number has a text");

OFI_EXPORT const char *fi_strerror(int errnum)
{
	const char *text;

	if (errnum < 0 && errnum != INT_MIN)
		errnum = -errnum;
	if (errnum >= FI_ERRNO_OFFSET && errnum < FI_ERRNO_MAX)
		return texts[errnum - FI_ERRNO_OFFSET];
	text = strerrordesc_np(errnum); /* unlike that of strerror, its text stays */
	return text ? text : texts[FI_EOTHER - FI_ERRNO_OFFSET];
}
