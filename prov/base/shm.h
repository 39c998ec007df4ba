/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory that processes of one user share by name, for as long as one of them has it open. If all
 * of them were killed without closing it, the next process that opens the name starts over. Kernel
 * locks on the file, which end with the process, show which processes have it open and which one is
 * changing it.
 */
#ifndef OFI_SHM_H
#define OFI_SHM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

#define OFI_SHM_PATH_LEN 256 /* including the slash and the terminating null */

struct ofi_shm {
	void *base;
	size_t size; /* mapped size; the memory itself is allocated on request */
	bool read_only;
	int fd; /* -1 in a forked child */
	char path[OFI_SHM_PATH_LEN];
	LIST_ENTRY(ofi_shm) link;
};

struct ofi_shm_ask {
	const char *path; /* "/name" */
	bool read_only;	  /* do not create it */
	size_t head;	  /* minimum size, which is allocated when it is created */
	size_t size;	  /* size when it is created */
	void (*init)(void *base, void *arg);
	void *arg;
};

/*
 * Returns 0; -FI_ENOENT if it is to be opened read-only and no process has it open; -FI_ETIMEDOUT
 * if another process was stopped halfway; or another -FI_E* with the name of the failed call in
 * *what.
 */
int ofi_shm_open(struct ofi_shm *shm, const struct ofi_shm_ask *ask, const char **what);
/* The last process to close it removes the name. A child of fork() does not count. */
void ofi_shm_close(struct ofi_shm *shm);
/*
 * Allocates memory for a part of it; without that, a store may kill the process. Returns 0 or
 * -FI_E*.
 */
int ofi_shm_allocate(struct ofi_shm *shm, size_t offset, size_t len);
/*
 * Keeps other processes from changing it, but not other threads that use the same shm. Returns 0 or
 * -FI_E*.
 */
int ofi_shm_lock(struct ofi_shm *shm);
void ofi_shm_unlock(struct ofi_shm *shm);

#endif
