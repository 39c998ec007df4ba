/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The memory of tests, in the host or in the GPU. */
#include "gpu.h"

#include <stdlib.h>
#include <string.h>
#include <rdma/fi_domain.h>
#include "check.h"

void gpu_reg(struct fid_domain *domain, void *buf, size_t len, uint64_t access, struct fid_mr **mr)
{
	struct iovec iov = { buf, len };
	struct fi_mr_attr attr = {
		.mr_iov = &iov,
		.iov_count = 1,
		.access = access,
		.requested_key = (uintptr_t)buf,
		.iface = gpu->iface(),
	};

	OK(fi_mr_regattr(domain, &attr, 0, mr));
}

static bool is_here(const void *addr)
{
	return !gpu || !gpu->owns(addr);
}

void mem_put(void *to, const void *from, size_t len)
{
	if (is_here(to))
		memcpy(to, from, len);
	else if (len)
		gpu->put(to, from, len);
}

void mem_get(void *to, const void *from, size_t len)
{
	if (is_here(from))
		memcpy(to, from, len);
	else if (len)
		gpu->get(to, from, len);
}

void mem_set(void *to, int byte, size_t len)
{
	void *bytes = malloc(len + 1);

	CHECK(bytes);
	memset(bytes, byte, len);
	mem_put(to, bytes, len);
	free(bytes);
}
