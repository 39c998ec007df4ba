/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Copies of application data that may be in device memory. */
#include "hmem_copy.h"

#include <rdma/fi_errno.h>

const struct ofi_hmem *(*ofi_hmem_finder)(const void *addr);

int ofi_hmem_move(void *to, const void *from, size_t len)
{
	const struct ofi_hmem *target = ofi_hmem_at(to), *source = ofi_hmem_at(from);

	if (!len)
		return 0;
	if (target && source)
		return -FI_EOPNOTSUPP;
	if (target)
		return target->copy_to(to, from, len);
	if (source)
		return source->copy_from(to, from, len);
	memcpy(to, from, len);
	return 0;
}
