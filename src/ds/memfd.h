/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Files in memory, and the limit on the size of files, beyond which growing one raises SIGXFSZ. */
#ifndef OFI_MEMFD_H
#define OFI_MEMFD_H

#include <stdbool.h>
#include <stddef.h>

/* Returns true if the limit of the process allows files of the size. */
bool ofi_file_may_grow(size_t size);
/*
 * Creates a file of the size, which can be sealed; only /proc shows its name. Returns its
 * descriptor, or -1.
 */
int ofi_memfd(const char *name, size_t size);
/*
 * Allocates memory for a part of a file, which a store may not get later: that raises SIGBUS.
 * Returns 0 or -errno.
 */
int ofi_file_allocate(int fd, size_t offset, size_t size);
/*
 * Does so for a file in memory. Returns false if there is no memory, and true if it cannot be
 * allocated in advance.
 */
bool ofi_memfd_reserve(int fd, size_t offset, size_t size);
/* Returns true if the kernel promises no more memory than it has (vm.overcommit_memory=2). */
bool ofi_memory_is_strict(void);

#endif
