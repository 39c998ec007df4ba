/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The access of memory regions in the terms of libibverbs, and registering with it. */
#include <errno.h>
#include "err.h"
#include "mr.h"
#include "prov/base/mapped.h"

#define WRITTEN (FI_RECV | FI_READ | FI_REMOTE_WRITE)
#define LOCAL	(FI_SEND | FI_RECV | FI_READ | FI_WRITE)

/*
 * Returns the IBV_ODP_SUPPORT_* bits that memory needs if it is not pinned. Receive buffers of
 * connected endpoints may be posted to a shared receive context; reliable datagrams receive into
 * the provider's memory.
 */
static uint32_t odp_needed(const struct vrb_domain *domain, uint64_t access, int flags)
{
	uint32_t needed = 0;

	if (flags & IBV_ACCESS_REMOTE_ATOMIC)
		needed |= IBV_ODP_SUPPORT_ATOMIC;
	if (access & FI_RECV && domain->base.info->ep_attr &&
	    domain->base.info->ep_attr->type == FI_EP_MSG)
		needed |= IBV_ODP_SUPPORT_SRQ_RECV;
	return needed;
}

int vrb_mr_remote_access(uint64_t access)
{
	return (access & FI_REMOTE_READ ? IBV_ACCESS_REMOTE_READ : 0) |
	       (access & FI_REMOTE_WRITE ? IBV_ACCESS_REMOTE_WRITE : 0);
}

int vrb_mr_access(const struct vrb_domain *domain, uint64_t access)
{
	int flags = vrb_mr_remote_access(access);
	uint32_t needed;

	if (access & WRITTEN || !(access & LOCAL))
		flags |= IBV_ACCESS_LOCAL_WRITE;
	if (domain->unordered)
		return vrb_domain_unordered_access(domain, flags);
	if ((access & FI_READ) && domain->ctx->device->transport_type == IBV_TRANSPORT_IWARP)
		flags |= IBV_ACCESS_REMOTE_WRITE;
	if ((access & FI_REMOTE_WRITE) && domain->attr.atomic_cap != IBV_ATOMIC_NONE)
		flags |= IBV_ACCESS_REMOTE_ATOMIC;
	needed = odp_needed(domain, access, flags);
	if (domain->odp && (domain->odp & needed) == needed)
		flags |= IBV_ACCESS_ON_DEMAND;
	return flags;
}

struct ibv_mr *vrb_mr_reg(struct vrb_domain *domain, const struct iovec *iov, uint64_t access,
			  bool *writable)
{
	int flags = vrb_mr_access(domain, access);
	struct ibv_mr *mr = vrb_mr_new(domain, iov->iov_base, iov->iov_len, flags);

	*writable = mr && flags & IBV_ACCESS_LOCAL_WRITE;
	if (!mr && vrb_err_is_refused(errno) && !(access & WRITTEN) &&
	    flags & IBV_ACCESS_LOCAL_WRITE)
		mr = vrb_mr_new(domain, iov->iov_base, iov->iov_len,
				flags & ~IBV_ACCESS_LOCAL_WRITE);
	return mr;
}

/*
 * The kernel does not look whether memory exists if it is more than may be locked, or than a region
 * can have. If it does exist, it may be more than fits, so its pages are not populated then.
 */
bool vrb_mr_is_mapped(const struct iovec *iov, size_t count, uint64_t access, int err)
{
	bool tells = true;

	if ((err != EFAULT && err != ENOMEM && err != EINVAL) ||
	    !ofi_is_mapped(&tells, sizeof(tells), true))
		return true;
	for (; count; count--, iov++)
		if (err == EFAULT ? !ofi_is_mapped(iov->iov_base, iov->iov_len, access & WRITTEN)
				  : ofi_has_hole(iov->iov_base, iov->iov_len, access & WRITTEN))
			return false;
	return true;
}
