/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Files in memory. */
#include "memfd.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

bool ofi_file_may_grow(size_t size)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur >= size;
}

int ofi_memfd(const char *name, size_t size)
{
	int fd = -1;

	if (ofi_file_may_grow(size))
		fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd >= 0 && ftruncate(fd, (off_t)size)) {
		close(fd);
		fd = -1;
	}
	return fd;
}
