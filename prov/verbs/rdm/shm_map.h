/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory that processes of one user share without a name, so nothing remains when they end. */
#ifndef VRB_RDM_SHM_MAP_H
#define VRB_RDM_SHM_MAP_H

#include <stddef.h>
#include <stdint.h>

/* The memory begins with a random token, which proves that another process mapped the right one. */
struct vrb_shm_place {
	uint64_t boot[2]; /* the running kernel */
	uint64_t netns;
	uint64_t token[2];
	uint32_t pid;
	uint32_t fd;
};

/* Creates memory and sets *place to its place. Returns NULL if that is not possible. */
void *vrb_shm_create(size_t size, struct vrb_shm_place *place);
/*
 * Maps the memory of another process. Returns NULL if it is on another host, in another network
 * namespace or of another user, or if the token differs.
 */
void *vrb_shm_map(const struct vrb_shm_place *place, size_t size);

#endif
