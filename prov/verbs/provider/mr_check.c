/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Checks registrations against what the domain permits: modes, sizes of keys, arguments. */
#include <string.h>
#include <rdma/fi_domain.h>
#include <rdma/providers/fi_log.h>
#include "mr.h"
#include "prov.h"
#include "prov/base/refuse.h"

/* Some programs add their endpoint's capabilities to the access; those bits grant nothing. */
#define ACCESS                                                                                \
	(FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE | FI_MSG | \
	 FI_RMA | FI_TAGGED | FI_ATOMIC | FI_COLLECTIVE)

bool vrb_mr_has_mode(const struct vrb_domain *domain, int bit)
{
	int mode = domain->base.info->domain_attr->mr_mode;

	return mode == FI_MR_BASIC || (mode != FI_MR_SCALABLE && (mode & bit));
}

bool vrb_mr_prov_key(const struct vrb_domain *domain)
{
	return !domain->rdm || vrb_mr_has_mode(domain, FI_MR_PROV_KEY);
}

bool vrb_mr_is_virtual(const struct vrb_domain *domain)
{
	const struct fi_info *info = domain->base.info;
	bool says =
		info->caps & (FI_RMA | FI_ATOMIC) || info->domain_attr->mr_mode == FI_MR_SCALABLE;

	return !domain->rdm || !says || vrb_mr_has_mode(domain, FI_MR_VIRT_ADDR);
}

size_t vrb_mr_key_size(const struct vrb_domain *domain)
{
	return vrb_mr_prov_key(domain) ? sizeof(((struct ibv_mr *)0)->rkey) : sizeof(uint64_t);
}

/*
 * Returns mr_iov_limit. A key of the device covers one range of addresses, so only peers that ask
 * the target for keys can use several buffers.
 */
static size_t iov_limit(const struct vrb_domain *domain)
{
	return vrb_mr_prov_key(domain) ? 1 : OFI_MR_BUFFERS;
}

/* Peers that know the device's key cannot be told that there is none. */
bool vrb_mr_may_be_unbacked(const struct vrb_domain *domain)
{
	return !vrb_mr_prov_key(domain) && !vrb_mr_has_mode(domain, FI_MR_ALLOCATED);
}

/* Returns true if the buffers are valid. If there are several, none may be empty. */
static bool are_buffers(const struct vrb_domain *domain, const struct iovec *iov, size_t count)
{
	size_t i, sum = 0;

	for (i = 0; i < count; i++)
		if ((!iov[i].iov_base && iov[i].iov_len && !vrb_mr_may_be_unbacked(domain)) ||
		    (!iov[i].iov_len && count > 1) ||
		    __builtin_add_overflow(sum, iov[i].iov_len, &sum))
			return false;
	return true;
}

int vrb_mr_check(const struct vrb_domain *domain, const struct iovec *iov, size_t count,
		 uint64_t access, uint64_t offset, uint64_t flags)
{
	if (flags & ~(domain->base.progress ? FI_RMA_EVENT : 0))
		return ofi_refuse_flags(&vrb_prov, FI_LOG_MR, "fi_mr_reg", flags);
	if (!iov || !count || count > iov_limit(domain) || offset)
		return ofi_refuse(
			&vrb_prov, FI_LOG_MR, -FI_EINVAL,
			"fi_mr_reg: %zu buffers, offset %llu: mr_iov_limit is %zu, and the offset must be 0\n",
			count, (unsigned long long)offset, iov_limit(domain));
	if (!are_buffers(domain, iov, count))
		return ofi_refuse(
			&vrb_prov, FI_LOG_MR, -FI_EINVAL,
			"fi_mr_reg: a buffer at NULL, an empty one of several, or too many bytes; memory that is not mapped needs FI_EP_RDM without FI_MR_ALLOCATED and FI_MR_PROV_KEY, and Linux 5.14\n");
	if (access & ~ACCESS)
		return ofi_refuse(
			&vrb_prov, FI_LOG_MR, -FI_EINVAL,
			"fi_mr_reg: access 0x%llx: give FI_SEND, FI_RECV, FI_[REMOTE_]READ or WRITE\n",
			(unsigned long long)access);
	return 0;
}

/* Peers of all endpoints of the domain can use a region, and these have its key by default. */
int vrb_mr_check_key(const struct vrb_domain *domain, const struct fi_mr_attr *attr)
{
	const struct fi_info *info = domain->base.info;
	bool of_ep = info->ep_attr && info->ep_attr->auth_key_size;
	const uint8_t *key = of_ep ? info->ep_attr->auth_key : info->domain_attr->auth_key;
	size_t len = of_ep ? info->ep_attr->auth_key_size : info->domain_attr->auth_key_size;

	if (FI_VERSION_LT(info->fabric_attr->api_version, FI_VERSION(1, 5)) || !attr->auth_key ||
	    !attr->auth_key_size)
		return 0;
	if (key && len == attr->auth_key_size && !memcmp(key, attr->auth_key, len))
		return 0;
	return ofi_refuse(
		&vrb_prov, FI_LOG_MR, -FI_EOPNOTSUPP,
		"fi_mr_regattr: auth_key is not that of the domain; a region has no key of its own\n");
}
