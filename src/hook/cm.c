/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connection management under hooks. */
#include <rdma/fi_cm.h>
#include "hook.h"

static int cm_setname(fid_t fid, void *addr, size_t addrlen)
{
	static struct ofi_hook_site site = { .name = "fi_setname" };
	struct fid_pep *real = ofi_hook_real(fid);
	uint64_t start = ofi_hook_begin();

	return (int)ofi_hook_end(&site, fid, start, real->cm->setname(&real->fid, addr, addrlen),
				 "addr %p, addrlen %zu", (const void *)addr, addrlen);
}

static int cm_getname(fid_t fid, void *addr, size_t *addrlen)
{
	static struct ofi_hook_site site = { .name = "fi_getname" };
	struct fid_pep *real = ofi_hook_real(fid);
	uint64_t start = ofi_hook_begin();

	return (int)ofi_hook_end(&site, fid, start, real->cm->getname(&real->fid, addr, addrlen),
				 "addr %p, addrlen %p", (const void *)addr, (const void *)addrlen);
}

static int cm_getpeer(struct fid_ep *ep, void *addr, size_t *addrlen)
{
	static struct ofi_hook_site site = { .name = "fi_getpeer" };
	struct fid_ep *real = ofi_hook_real(ep);
	uint64_t start = ofi_hook_begin();

	return (int)ofi_hook_end(&site, ep, start, real->cm->getpeer(real, addr, addrlen),
				 "addr %p, addrlen %p", (const void *)addr, (const void *)addrlen);
}

static int cm_connect(struct fid_ep *ep, const void *addr, const void *param, size_t paramlen)
{
	static struct ofi_hook_site site = { .name = "fi_connect" };
	struct fid_ep *real = ofi_hook_real(ep);
	uint64_t start = ofi_hook_begin();

	return (int)ofi_hook_end(&site, ep, start, real->cm->connect(real, addr, param, paramlen),
				 "addr %p, param %p, paramlen %zu", (const void *)addr,
				 (const void *)param, paramlen);
}

static int cm_listen(struct fid_pep *pep)
{
	static struct ofi_hook_site site = { .name = "fi_listen" };
	struct fid_pep *real = ofi_hook_real(pep);
	uint64_t start = ofi_hook_begin();

	return (int)ofi_hook_end(&site, pep, start, real->cm->listen(real), "%s", "");
}

static int cm_accept(struct fid_ep *ep, const void *param, size_t paramlen)
{
	static struct ofi_hook_site site = { .name = "fi_accept" };
	struct fid_ep *real = ofi_hook_real(ep);
	uint64_t start = ofi_hook_begin();

	return (int)ofi_hook_end(&site, ep, start, real->cm->accept(real, param, paramlen),
				 "param %p, paramlen %zu", (const void *)param, paramlen);
}

static int cm_reject(struct fid_pep *pep, fid_t handle, const void *param, size_t paramlen)
{
	static struct ofi_hook_site site = { .name = "fi_reject" };
	struct fid_pep *real = ofi_hook_real(pep);
	uint64_t start = ofi_hook_begin();

	return (int)ofi_hook_end(&site, pep, start, real->cm->reject(real, handle, param, paramlen),
				 "handle %p, param %p, paramlen %zu", (void *)handle,
				 (const void *)param, paramlen);
}

static int cm_shutdown(struct fid_ep *ep, uint64_t flags)
{
	static struct ofi_hook_site site = { .name = "fi_shutdown" };
	struct fid_ep *real = ofi_hook_real(ep);
	uint64_t start = ofi_hook_begin();

	return (int)ofi_hook_end(&site, ep, start, real->cm->shutdown(real, flags), "flags 0x%llx",
				 (unsigned long long)flags);
}

static int cm_join(struct fid_ep *ep, const void *addr, uint64_t flags, struct fid_mc **mc,
		   void *context)
{
	static struct ofi_hook_site site = { .name = "fi_join" };
	struct fid_ep *real = ofi_hook_real(ep);
	uint64_t start = ofi_hook_begin();

	return (int)ofi_hook_end(&site, ep, start, real->cm->join(real, addr, flags, mc, context),
				 "addr %p, flags 0x%llx, mc %p, context %p", (const void *)addr,
				 (unsigned long long)flags, (const void *)mc,
				 (const void *)context);
}

struct fi_ops_cm ofi_hook_cm_ops = {
	.size = sizeof(struct fi_ops_cm),
	.setname = cm_setname,
	.getname = cm_getname,
	.getpeer = cm_getpeer,
	.connect = cm_connect,
	.listen = cm_listen,
	.accept = cm_accept,
	.reject = cm_reject,
	.shutdown = cm_shutdown,
	.join = cm_join,
};
