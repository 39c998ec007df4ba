/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Registration of device memory: as a dma-buf, or by its address if the kernel supports peer
 * memory.
 */
#include "mr_hmem.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <rdma/fi_errno.h>
#include "domain.h"
#include "err.h"
#include "prov.h"
#include "prov/base/desc.h"
#include "prov/base/refuse.h"

#define DMABUF_VERSION FI_VERSION(1, 20) /* earlier callers do not know FI_MR_DMABUF */

static int no_interface(enum fi_hmem_iface iface, const char *why)
{
	return ofi_refuse(&vrb_prov, FI_LOG_MR, -FI_ENOSYS,
			  "fi_mr_regattr: memory of interface %d: %s\n", (int)iface, why);
}

static int find_interface(enum fi_hmem_iface iface, struct vrb_mr_memory *memory)
{
	const char *why;

	memory->hmem = ofi_hmem_get(&vrb_prov, iface, &why);
	return memory->hmem ? 0 : no_interface(iface, why);
}

static int take_dmabuf(const struct fi_mr_attr *attr, struct vrb_mr_memory *memory)
{
	const struct fi_mr_dmabuf *dmabuf = attr->dmabuf;

	if (!dmabuf || attr->iov_count != 1 || dmabuf->fd < 0 || !dmabuf->len || attr->offset)
		return ofi_refuse(
			&vrb_prov, FI_LOG_MR, -FI_EINVAL,
			"fi_mr_regattr: FI_MR_DMABUF needs one dma-buf with a descriptor and a length, and offset 0\n");
	memory->dmabuf = dmabuf;
	memory->iov.iov_base = (char *)dmabuf->base_addr + dmabuf->offset;
	memory->iov.iov_len = dmabuf->len;
	return 0;
}

int vrb_mr_memory(const struct vrb_domain *domain, const struct fi_mr_attr *attr, uint64_t flags,
		  struct vrb_mr_memory *memory)
{
	uint32_t version = domain->base.info->fabric_attr->api_version;
	bool hmem = domain->base.info->caps & FI_HMEM;
	enum fi_hmem_iface iface = FI_HMEM_SYSTEM;
	int ret = 0;

	*memory = (struct vrb_mr_memory){ .hmem = NULL };
	if (flags & FI_MR_DMABUF && FI_VERSION_LT(version, DMABUF_VERSION))
		return ofi_refuse_flags(&vrb_prov, FI_LOG_MR, "fi_mr_regattr", flags);
	/* The field came with API 1.10; an older caller's structure ends before it. */
	if (FI_VERSION_GE(version, FI_VERSION(1, 10)) && (hmem || flags & FI_MR_DMABUF))
		iface = attr->iface;
	if (iface == FI_HMEM_SYSTEM && !(flags & FI_MR_DMABUF))
		return 0;
	if (!hmem)
		return no_interface(
			iface,
			"the domain was opened without FI_HMEM; request it in the hints of fi_getinfo");
	if (iface != FI_HMEM_SYSTEM && !(flags & FI_HMEM_HOST_ALLOC))
		ret = find_interface(iface, memory);
	if (!ret && flags & FI_MR_DMABUF)
		ret = take_dmabuf(attr, memory);
	if (ret || memory->dmabuf)
		return ret;
	if (!attr->mr_iov || attr->iov_count != 1)
		return ofi_refuse(&vrb_prov, FI_LOG_MR, -FI_EINVAL,
				  "fi_mr_regattr: device memory is registered as one buffer\n");
	memory->iov = attr->mr_iov[0];
	return 0;
}

void *vrb_mr_hmem_desc(const struct vrb_mr_memory *memory, uint32_t lkey, bool writable)
{
	bool device = memory && memory->hmem;
	void *desc = ofi_desc(lkey, device ? memory->hmem->iface : FI_HMEM_SYSTEM, writable);

	return device && memory->dmabuf ? ofi_desc_of_dmabuf(desc) : desc;
}

/* Returns a descriptor in *export, or false with the reason. */
static bool export_memory(const struct vrb_mr_memory *memory, struct ofi_hmem_export *export,
			  struct ofi_hmem_why *why)
{
	int ret;

	if (!ofi_hmem_may_export(memory->hmem))
		return ofi_hmem_cannot(why, "%s is off", memory->hmem->dmabuf_param);
	if (!vrb_params.use_dmabuf)
		return ofi_hmem_cannot(why, "verbs_use_dmabuf is off");
	ret = memory->hmem->export(memory->iov.iov_base, memory->iov.iov_len, export);
	return !ret || ofi_hmem_cannot(why, "its driver does not export it%s: %s",
				       ret == -FI_EINVAL ? " (managed or of a pool)" : "",
				       fi_strerror(-ret));
}

static struct ibv_mr *reg_export(const struct vrb_domain *domain,
				 const struct vrb_mr_memory *memory, int access,
				 struct ofi_hmem_why *why)
{
	const struct iovec *iov = &memory->iov;
	struct ofi_hmem_export export;
	struct ibv_mr *mr;
	int err;

	if (!export_memory(memory, &export, why))
		return NULL;
	mr = ibv_reg_dmabuf_mr(domain->pd, export.offset, iov->iov_len, (uintptr_t)iov->iov_base,
			       export.fd, access);
	err = errno;
	close(export.fd);
	if (!mr)
		ofi_hmem_cannot(why, "ibv_reg_dmabuf_mr: %s%s", strerror(err), vrb_remedy(err));
	return mr;
}

static struct ibv_mr *reg_dmabuf(const struct vrb_domain *domain,
				 const struct vrb_mr_memory *memory, int access)
{
	const struct fi_mr_dmabuf *dmabuf = memory->dmabuf;
	struct ibv_mr *mr = ibv_reg_dmabuf_mr(domain->pd, dmabuf->offset, dmabuf->len,
					      (uintptr_t)memory->iov.iov_base, dmabuf->fd, access);
	int err = errno;

	if (mr)
		return mr;
	FI_WARN(&vrb_prov, FI_LOG_MR,
		"fi_mr_regattr: ibv_reg_dmabuf_mr of %zu B, descriptor %d: %s%s\n", dmabuf->len,
		dmabuf->fd, strerror(err), vrb_remedy(err));
	errno = err;
	return NULL;
}

/* Makes the runtime's copies complete before they return, if it supports that. */
static void sync_copies(const struct vrb_mr_memory *memory)
{
	int ret = memory->hmem->sync ? memory->hmem->sync(memory->iov.iov_base) : 0;

	if (ret)
		FI_INFO(&vrb_prov, FI_LOG_MR,
			"memory of %s at %p: its copies cannot be made synchronous (%s); "
			"wait for copies to complete before the memory is sent or read by a peer\n",
			memory->hmem->name, memory->iov.iov_base, fi_strerror(-ret));
}

struct ibv_mr *vrb_mr_hmem_try(const struct vrb_domain *domain, const struct vrb_mr_memory *memory,
			       int access, struct ofi_hmem_why *why)
{
	const struct iovec *iov = &memory->iov;
	struct ibv_mr *mr;

	access &= ~IBV_ACCESS_ON_DEMAND;
	sync_copies(memory);
	mr = reg_export(domain, memory, access, why);
	return mr ? mr : ibv_reg_mr(domain->pd, iov->iov_base, iov->iov_len, access);
}

struct ibv_mr *vrb_mr_hmem_reg(const struct vrb_domain *domain, const struct vrb_mr_memory *memory,
			       int access)
{
	const struct iovec *iov = &memory->iov;
	struct ofi_hmem_why why;
	struct ibv_mr *mr;
	int err;

	if (memory->dmabuf)
		return reg_dmabuf(domain, memory, access & ~IBV_ACCESS_ON_DEMAND);
	mr = vrb_mr_hmem_try(domain, memory, access, &why);
	if (mr)
		return mr;
	err = errno;
	FI_WARN(&vrb_prov, FI_LOG_MR,
		"fi_mr_regattr: %zu B of %s at %p: as dma-buf: %s; as peer memory: %s; "
		"load the kernel module for peer memory, or use a driver that exports dma-buf\n",
		iov->iov_len, memory->hmem->name, iov->iov_base, why.text, strerror(err));
	errno = err;
	return NULL;
}
