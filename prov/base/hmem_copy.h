/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Copies of application data, which may be in device memory in a program that asked for FI_HMEM. In
 * other programs a copy is memcpy().
 */
#ifndef OFI_HMEM_COPY_H
#define OFI_HMEM_COPY_H

#include <string.h>
#include "hmem.h"
#include "src/ds/compiler.h"

/* Finds the interface of an address; NULL until an interface works. Set once. */
extern const struct ofi_hmem *(*ofi_hmem_finder)(const void *addr);

/* Copies if either side may be device memory. Returns 0 or -FI_E*. */
int ofi_hmem_move(void *to, const void *from, size_t len);

/* Returns 0 or -FI_E*. */
static inline int ofi_hmem_copy(void *to, const void *from, size_t len)
{
	if (ofi_unlikely(ofi_hmem_finder))
		return ofi_hmem_move(to, from, len);
	if (len)
		memcpy(to, from, len);
	return 0;
}

/* Returns the interface whose memory is at the address, or NULL for system memory. */
static inline const struct ofi_hmem *ofi_hmem_at(const void *addr)
{
	return ofi_hmem_finder ? ofi_hmem_finder(addr) : NULL;
}

#endif
