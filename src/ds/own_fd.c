/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Descriptors that the application may have closed. */
#include "own_fd.h"

#include <sys/stat.h>
#include <unistd.h>

bool ofi_own_fd_take(struct ofi_own_fd *own, int fd)
{
	struct stat st;

	if (fd >= 0 && fstat(fd, &st)) {
		close(fd);
		fd = -1;
	}
	own->fd = fd;
	if (fd < 0)
		return false;
	own->dev = st.st_dev;
	own->ino = st.st_ino;
	return true;
}

bool ofi_own_fd_valid(const struct ofi_own_fd *own)
{
	struct stat st;

	return own->fd >= 0 && !fstat(own->fd, &st) && st.st_dev == own->dev &&
	       st.st_ino == own->ino;
}

void ofi_own_fd_drop(struct ofi_own_fd *own)
{
	if (ofi_own_fd_valid(own))
		close(own->fd);
	own->fd = -1;
}
