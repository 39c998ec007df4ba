/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Asks the kernel if memory is mapped, without accessing it. */
#ifndef OFI_MAPPED_H
#define OFI_MAPPED_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Returns true if all of the memory can be read, and written if `written` is set. Memory that was
 * never touched gets its pages. Returns false on kernels before Linux 5.14, too.
 */
bool ofi_is_mapped(const void *at, size_t len, bool written);
/*
 * Returns true if the process has no mapping for some of the memory, or one that cannot be read, or
 * written if `written` is set. Touches no page. Returns false if there is no /proc, too.
 */
bool ofi_has_hole(const void *at, size_t len, bool written);

#endif
