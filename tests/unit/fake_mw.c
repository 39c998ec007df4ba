/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The fake device's memory windows, whose bind and invalidation are ordinary work requests, and
 * regions of dma-bufs.
 */
#include <errno.h>
#include <stdlib.h>
#include "fake_verbs.h"

static struct ibv_mw *alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct ibv_mw *mw = fake_fails("ibv_alloc_mw") ? NULL : calloc(1, sizeof(*mw));

	if (!mw)
		return NULL;
	*mw = (struct ibv_mw){ .context = pd->context, .pd = pd, .type = type };
	/* The last byte of the first key is 0xfe, so that the next ones wrap. */
	mw->rkey = fake.calls << 8 | 0xfe;
	fake.mws++;
	return mw;
}

static int dealloc_mw(struct ibv_mw *mw)
{
	if (fake.dealloc_mw_err)
		return fake.dealloc_mw_err;
	fake.mws--;
	free(mw);
	return 0;
}

void fake_mw_ops(struct ibv_context *ctx)
{
	ctx->ops.alloc_mw = alloc_mw;
	ctx->ops.dealloc_mw = dealloc_mw;
}

/* As in libibverbs, the region's addr is the offset in the dma-buf, not the start of the region. */
struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t len, uint64_t iova,
				 int fd, int access)
{
	struct ibv_mr *mr;

	if (fake_fails("ibv_reg_dmabuf_mr"))
		return NULL;
	fake.dmabufs++;
	fake.dmabuf_fd = fd;
	fake.dmabuf_offset = offset;
	mr = ibv_reg_mr_iova2(pd, (void *)(uintptr_t)iova, len, iova, (unsigned int)access);
	if (mr)
		mr->addr = (void *)(uintptr_t)offset;
	return mr;
}
