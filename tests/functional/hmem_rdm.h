/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Two reliable-datagram endpoints with FI_HMEM, each with a registered buffer in device memory. */
#ifndef HMEM_RDM_H
#define HMEM_RDM_H

#include <string.h>
#include "gpu.h"
#include "rdm.h"

enum { HMEM_SIZE = 2 << 20 };

struct hmem_pair {
	struct rdm_pair pair;
	uint8_t *buf[2];
	struct fid_mr *mr[2];
	void *desc[2];
};

static inline void hmem_hints(struct fi_info *hints)
{
	hints->caps =
		FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_COLLECTIVE | FI_MULTI_RECV | FI_HMEM;
}

static inline void hmem_open_with(struct hmem_pair *hmem, const struct rdm_change *change)
{
	int i;

	rdm_open_with(&hmem->pair, RDM_PROV_KEYS | FI_MR_HMEM, change);
	CHECK(hmem->pair.info->caps & FI_HMEM);
	CHECK(hmem->pair.info->domain_attr->mr_mode & FI_MR_HMEM);
	for (i = 0; i < 2; i++) {
		hmem->buf[i] = gpu->alloc(HMEM_SIZE);
		gpu_reg(hmem->pair.domain, hmem->buf[i], HMEM_SIZE,
			FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE,
			&hmem->mr[i]);
		hmem->desc[i] = fi_mr_desc(hmem->mr[i]);
	}
}

static inline void hmem_open(struct hmem_pair *hmem)
{
	const struct rdm_change change = { .hints = hmem_hints };

	hmem_open_with(hmem, &change);
}

static inline void hmem_close(struct hmem_pair *hmem)
{
	int i;

	for (i = 0; i < 2; i++) {
		OK(fi_close(&hmem->mr[i]->fid));
		gpu->free(hmem->buf[i]);
	}
	rdm_close(&hmem->pair);
}

#endif
