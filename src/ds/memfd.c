/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Files in memory. */
#include "memfd.h"

#include <errno.h>
#include <fcntl.h>
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

int ofi_file_allocate(int fd, size_t offset, size_t size)
{
	int err;

	do
		err = posix_fallocate(fd, (off_t)offset, (off_t)size);
	while (err == EINTR);
	return -err;
}

/* A seccomp filter may refuse the call. */
bool ofi_memfd_reserve(int fd, size_t offset, size_t size)
{
	int ret = ofi_file_allocate(fd, offset, size);

	return ret != -ENOSPC && ret != -ENOMEM;
}

bool ofi_memory_is_strict(void)
{
	int fd = open("/proc/sys/vm/overcommit_memory", O_RDONLY | O_CLOEXEC);
	char mode = '0';
	bool known = fd >= 0 && read(fd, &mode, 1) == 1;

	if (fd >= 0)
		close(fd);
	return known && mode == '2';
}
