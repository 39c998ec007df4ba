/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Copies of application data, which may be in device memory if `device` is true: the endpoint or
 * the domain was opened with FI_HMEM. Otherwise a copy is a memcpy().
 */
#ifndef OFI_HMEM_COPY_H
#define OFI_HMEM_COPY_H

#include <string.h>
#include "hmem.h"
#include "src/ds/compiler.h"

/* Finds the interface of an address. NULL until an interface works; atomic. */
extern const struct ofi_hmem *(*ofi_hmem_finder)(const void *addr);

/* Returns the interface whose memory is at the address, or NULL for system memory. */
static inline const struct ofi_hmem *ofi_hmem_at(bool device, const void *addr)
{
	const struct ofi_hmem *(*find)(const void *);

	if (ofi_likely(!device))
		return NULL;
	find = __atomic_load_n(&ofi_hmem_finder, __ATOMIC_RELAXED);
	return find ? find(addr) : NULL;
}

/* Copies to the application's memory. Returns 0 or -FI_E*. */
static inline int ofi_hmem_store(bool device, void *to, const void *from, size_t len)
{
	const struct ofi_hmem *hmem = len ? ofi_hmem_at(device, to) : NULL;

	if (ofi_unlikely(hmem != NULL))
		return hmem->copy_to(to, from, len);
	if (len)
		memcpy(to, from, len);
	return 0;
}

/* Copies from the application's memory. Returns 0 or -FI_E*. */
static inline int ofi_hmem_load(bool device, void *to, const void *from, size_t len)
{
	const struct ofi_hmem *hmem = len ? ofi_hmem_at(device, from) : NULL;

	if (ofi_unlikely(hmem != NULL))
		return hmem->copy_from(to, from, len);
	if (len)
		memcpy(to, from, len);
	return 0;
}

#endif
