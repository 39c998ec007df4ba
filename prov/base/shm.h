/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory that processes of one user share by a name, for as long as one of them has it open. Who
 * opens a name that processes have left without closing it, because they were killed, starts
 * over. The kernel's locks on the file say which processes have it open and which one changes it;
 * they end with the process.
 */
#ifndef OFI_SHM_H
#define OFI_SHM_H

#include <stdbool.h>
#include <stddef.h>

#define OFI_SHM_PATH_LEN 256 /* with the slash and the end */

struct ofi_shm {
	void *base;
	size_t size; /* mapped; memory is allocated when it is asked for */
	bool read_only;
	int fd;
	char path[OFI_SHM_PATH_LEN];
};

struct ofi_shm_ask {
	const char *path; /* "/name" */
	bool read_only;	  /* do not make it */
	size_t head;	  /* allocated at once, and the least there has to be */
	size_t size;	  /* of a new one */
	void (*init)(void *base, void *arg);
	void *arg;
};

/*
 * 0; -FI_ENOENT when it is to be read and nobody has it open; -FI_ETIMEDOUT when another process
 * stops half way. Of other failures *what is the call.
 */
int ofi_shm_open(struct ofi_shm *shm, const struct ofi_shm_ask *ask, const char **what);
/* The last one takes the name away. */
void ofi_shm_close(struct ofi_shm *shm);
/* Memory for a part of it. 0 or -FI_E*: without it a store may kill the process. */
int ofi_shm_allocate(struct ofi_shm *shm, size_t offset, size_t len);
/* Keeps other processes from changing it, not other threads with the same shm. 0 or -FI_E*. */
int ofi_shm_lock(struct ofi_shm *shm);
void ofi_shm_unlock(struct ofi_shm *shm);

#endif
