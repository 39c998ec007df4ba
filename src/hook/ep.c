/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Endpoints under hooks: options and contexts. */
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include "hook.h"

static ssize_t ep_cancel(fid_t fid, void *context)
{
	static struct ofi_hook_site site = { .name = "fi_cancel" };
	struct fid_pep *real = ofi_hook_real(fid);
	uint64_t start = ofi_hook_begin();

	return ofi_hook_end(&site, fid, start, real->ops->cancel(&real->fid, context), "context %p",
			    (const void *)context);
}

static int ep_getopt(fid_t fid, int level, int optname, void *optval, size_t *optlen)
{
	static struct ofi_hook_site site = { .name = "fi_getopt" };
	struct fid_pep *real = ofi_hook_real(fid);
	uint64_t start = ofi_hook_begin();

	return (int)ofi_hook_end(&site, fid, start,
				 real->ops->getopt(&real->fid, level, optname, optval, optlen),
				 "level %d, optname %d, optval %p, optlen %p", level, optname,
				 (const void *)optval, (const void *)optlen);
}

static int ep_setopt(fid_t fid, int level, int optname, const void *optval, size_t optlen)
{
	static struct ofi_hook_site site = { .name = "fi_setopt" };
	struct fid_pep *real = ofi_hook_real(fid);
	uint64_t start = ofi_hook_begin();

	return (int)ofi_hook_end(&site, fid, start,
				 real->ops->setopt(&real->fid, level, optname, optval, optlen),
				 "level %d, optname %d, optval %p, optlen %zu", level, optname,
				 (const void *)optval, optlen);
}

static int ep_tx_ctx(struct fid_ep *sep, int idx, struct fi_tx_attr *attr, struct fid_ep **tx_ep,
		     void *context)
{
	static struct ofi_hook_site site = { .name = "fi_tx_ctx" };
	struct fid_ep *real = ofi_hook_real(sep);
	uint64_t start = ofi_hook_begin();
	int ret;

	ret = (int)ofi_hook_end(&site, sep, start,
				real->ops->tx_ctx(real, idx, attr, tx_ep, context),
				"idx %d, attr %p, tx_ep %p, context %p", idx, (const void *)attr,
				(const void *)tx_ep, (const void *)context);
	return ret ? ret : ofi_hook_wrap_ep(tx_ep, context);
}

static int ep_rx_ctx(struct fid_ep *sep, int idx, struct fi_rx_attr *attr, struct fid_ep **rx_ep,
		     void *context)
{
	static struct ofi_hook_site site = { .name = "fi_rx_ctx" };
	struct fid_ep *real = ofi_hook_real(sep);
	uint64_t start = ofi_hook_begin();
	int ret;

	ret = (int)ofi_hook_end(&site, sep, start,
				real->ops->rx_ctx(real, idx, attr, rx_ep, context),
				"idx %d, attr %p, rx_ep %p, context %p", idx, (const void *)attr,
				(const void *)rx_ep, (const void *)context);
	return ret ? ret : ofi_hook_wrap_ep(rx_ep, context);
}

static ssize_t ep_rx_size_left(struct fid_ep *ep)
{
	static struct ofi_hook_site site = { .name = "fi_rx_size_left" };
	struct fid_ep *real = ofi_hook_real(ep);
	uint64_t start = ofi_hook_begin();

	return ofi_hook_end(&site, ep, start, real->ops->rx_size_left(real), "%s", "");
}

static ssize_t ep_tx_size_left(struct fid_ep *ep)
{
	static struct ofi_hook_site site = { .name = "fi_tx_size_left" };
	struct fid_ep *real = ofi_hook_real(ep);
	uint64_t start = ofi_hook_begin();

	return ofi_hook_end(&site, ep, start, real->ops->tx_size_left(real), "%s", "");
}

static int ep_export_xpu(struct fid_ep *ep, uint64_t flags, struct fid_xpu_ep *xpu_ep)
{
	static struct ofi_hook_site site = { .name = "fi_export_xpu" };
	struct fid_ep *real = ofi_hook_real(ep);
	uint64_t start;

	if (!FI_CHECK_OP(real->ops, struct fi_ops_ep, export_xpu))
		return -FI_ENOSYS;
	start = ofi_hook_begin();
	return (int)ofi_hook_end(&site, ep, start, real->ops->export_xpu(real, flags, xpu_ep),
				 "flags 0x%llx, xpu_ep %p", (unsigned long long)flags,
				 (const void *)xpu_ep);
}

struct fi_ops_ep ofi_hook_ep_ops = {
	.size = sizeof(struct fi_ops_ep),
	.cancel = ep_cancel,
	.getopt = ep_getopt,
	.setopt = ep_setopt,
	.tx_ctx = ep_tx_ctx,
	.rx_ctx = ep_rx_ctx,
	.rx_size_left = ep_rx_size_left,
	.tx_size_left = ep_tx_size_left,
	.export_xpu = ep_export_xpu,
};
