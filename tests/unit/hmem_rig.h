/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A page of device memory for tests with verbs_rig: the processor must not touch it. */
#ifndef HMEM_RIG_H
#define HMEM_RIG_H

#include <string.h>
#include <sys/mman.h>
#include "verbs_rig.h"
#include "prov/base/desc.h"
#include "prov/base/hmem.h"

enum { HMEM_RIG_SIZE = 4096, HMEM_RIG_LKEY = 0x12345678 };

static char *hmem_rig_memory;		   /* the addresses */
static char hmem_rig_data[HMEM_RIG_SIZE];  /* what is there */
static int hmem_rig_copies, hmem_rig_asks; /* calls of the interface */
static int hmem_rig_err;		   /* of copies */

static inline bool hmem_rig_owns(const void *addr)
{
	hmem_rig_asks++;
	return (const char *)addr >= hmem_rig_memory &&
	       (const char *)addr < hmem_rig_memory + HMEM_RIG_SIZE;
}

static inline int hmem_rig_copy_from(void *to, const void *from, size_t len)
{
	hmem_rig_copies++;
	if (!hmem_rig_err)
		memcpy(to, hmem_rig_data + ((const char *)from - hmem_rig_memory), len);
	return hmem_rig_err;
}

static const struct ofi_hmem hmem_rig = {
	.iface = FI_HMEM_CUDA,
	.name = "cuda",
	.owns = hmem_rig_owns,
	.copy_from = hmem_rig_copy_from,
};

/* The descriptor of a region of it. */
static inline void *hmem_rig_desc(void)
{
	return ofi_desc(HMEM_RIG_LKEY, hmem_rig.iface, true);
}

/* Connects an endpoint with FI_HMEM. */
static inline const struct fake_post *hmem_rig_connect(struct rig *rig)
{
	int i;

	for (i = 0; i < HMEM_RIG_SIZE; i++)
		hmem_rig_data[i] = (char)(7 * i + 1);
	hmem_rig_memory = mmap(NULL, HMEM_RIG_SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(hmem_rig_memory, MAP_FAILED);
	hmem_rig_copies = hmem_rig_asks = hmem_rig_err = 0;
	rig_hmem = &hmem_rig;
	rig->info->caps |= FI_HMEM;
	rig_connect(rig);
	return rig_sent(rig);
}

/* Forbids calls of the interface: FI_OPT_CUDA_API_PERMITTED. */
static inline void hmem_rig_forbid(struct rig *rig)
{
	bool no = false;

	assert_int_equal(fi_setopt(&rig->ep->fid, FI_OPT_ENDPOINT, FI_OPT_CUDA_API_PERMITTED, &no,
				   sizeof(no)),
			 0);
}

#endif
