/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What endpoints of all kinds share. */
#include "ep.h"

#include <string.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>

#define DIRECTIONS (FI_TRANSMIT | FI_RECV)

int ofi_ep_getopt(struct fid *ep, ofi_ep_option *option, int level, int name, void *value,
		  size_t *len)
{
	size_t found;
	int ret;

	if (level != FI_OPT_ENDPOINT)
		return -FI_EINVAL;
	ret = option(ep, name, &found);
	if (ret)
		return ret;
	if (!value || !len)
		return -FI_EINVAL;
	ret = *len < sizeof(found) ? -FI_ETOOSMALL : 0;
	*len = sizeof(found);
	if (!ret)
		memcpy(value, &found, sizeof(found));
	return ret;
}

int ofi_ep_setopt(struct fid *ep, ofi_ep_option *option, int level, int name, const void *value,
		  size_t len, int writable, size_t *to)
{
	int ret;

	if (level != FI_OPT_ENDPOINT)
		return -FI_EINVAL;
	ret = option(ep, name, to);
	if (ret)
		return ret;
	if (!value || len != sizeof(*to))
		return -FI_EINVAL;
	memcpy(to, value, sizeof(*to));
	return name == writable ? 0 : -FI_EOPNOTSUPP;
}

int ofi_ep_get_op_flags(const struct ofi_ep_op_flags *of, uint64_t *flags)
{
	uint64_t which = flags ? *flags & DIRECTIONS : 0;

	if (which != FI_TRANSMIT && which != FI_RECV)
		return -FI_EINVAL;
	*flags = which == FI_TRANSMIT ? *of->tx : *of->rx;
	return 0;
}

int ofi_ep_set_op_flags(const struct ofi_ep_op_flags *of, const uint64_t *flags)
{
	uint64_t which = flags ? *flags & DIRECTIONS : 0;

	if (which != FI_TRANSMIT && which != FI_RECV)
		return -FI_EINVAL;
	if (*flags & ~which & ~(which == FI_TRANSMIT ? of->tx_allowed : of->rx_allowed))
		return -FI_EBADFLAGS;
	*(which == FI_TRANSMIT ? of->tx : of->rx) = *flags & ~which;
	return 0;
}

int ofi_ep_bind_eq(const struct fi_provider *prov, struct ofi_eq **slot, struct ofi_eq *eq,
		   const struct ofi_ref *fabric, uint64_t flags)
{
	if (flags)
		return -FI_EBADFLAGS;
	if (!ofi_eq_of(&eq->fid.fid, fabric)) {
		FI_WARN(prov, FI_LOG_EP_CTRL,
			"fi_ep_bind: the event queue belongs to another fabric\n");
		return -FI_EINVAL;
	}
	if (*slot)
		return -FI_EBUSY;
	*slot = eq;
	ofi_ref_get(&eq->ref);
	return 0;
}

int ofi_ep_check_cq(const struct fi_provider *prov, struct fid *cq, const struct ofi_ref *domain,
		    uint64_t flags, uint64_t bound)
{
	if ((flags & ~(DIRECTIONS | FI_SELECTIVE_COMPLETION)) || !(flags & DIRECTIONS)) {
		FI_WARN(prov, FI_LOG_EP_CTRL,
			"fi_ep_bind: flags 0x%llx; bind a completion queue with FI_TRANSMIT, FI_RECV or both, and FI_SELECTIVE_COMPLETION if wanted\n",
			(unsigned long long)flags);
		return -FI_EBADFLAGS;
	}
	if (!ofi_cq_of(cq, domain)) {
		FI_WARN(prov, FI_LOG_EP_CTRL,
			"fi_ep_bind: the completion queue belongs to another domain\n");
		return -FI_EINVAL;
	}
	return flags & bound ? -FI_EBUSY : 0;
}
