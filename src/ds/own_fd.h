/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A descriptor with its file's identity, which reveals if the application has closed it, as daemons
 * close all, and opened something else.
 */
#ifndef OFI_OWN_FD_H
#define OFI_OWN_FD_H

#include <stdbool.h>
#include <sys/types.h>

struct ofi_own_fd {
	int fd; /* -1 if none */
	dev_t dev;
	ino_t ino;
};

#define OFI_OWN_FD_INIT  \
	{                \
		.fd = -1 \
	}

/* Takes what open() returned. Returns false, with errno set, if that is -1 or an error occurs. */
bool ofi_own_fd_take(struct ofi_own_fd *own, int fd);
/* Returns true if there is a descriptor and it still refers to the same file. */
bool ofi_own_fd_valid(const struct ofi_own_fd *own);
/* Closes the descriptor if it is valid; there is none afterward. */
void ofi_own_fd_drop(struct ofi_own_fd *own);

#endif
