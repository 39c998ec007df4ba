/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Comparing sizes and times. */
#ifndef OFI_MIN_H
#define OFI_MIN_H

#include <stddef.h>

/* Returns the smaller of two numbers. */
static inline size_t ofi_min(size_t a, size_t b)
{
	return a < b ? a : b;
}

#endif
