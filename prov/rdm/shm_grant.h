/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Rights to copy from the memory of a process, in memory that it shares with the process that
 * copies. Only what a right covers is copied, and only what it still covers afterward is used.
 */
#ifndef OFI_RDM_SHM_GRANT_H
#define OFI_RDM_SHM_GRANT_H

#include <stdbool.h>
#include <stdint.h>

#define OFI_SHM_GRANTS 32u

struct ofi_shm_grant {
	uint64_t key; /* 0: none */
	uint64_t addr, len;
};

/*
 * Grants the right to copy these bytes to whoever names the key. The key is not 0 and is never used
 * again; its lower 32 bits are the number of the right, which no other right has now.
 */
void ofi_shm_grant_give(struct ofi_shm_grant *grants, uint64_t key, uint64_t addr, uint64_t len);
/* Ends the right with that number: whoever copies from now on does not use the copy. */
void ofi_shm_grant_end(struct ofi_shm_grant *grants, uint32_t number);
/* Returns true if the key stands for a right that covers these bytes. */
bool ofi_shm_grant_covers(const struct ofi_shm_grant *grants, uint64_t key, uint64_t addr,
			  uint64_t len);

#endif
