/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Fabrics under hooks, the objects opened on them, and fi_getinfo. */
#include <stdlib.h>
#include <string.h>
#include "src/hook.h"
#include "call.h"

static int wrap_domain(struct fid_domain **domain, void *context)
{
	struct fid_domain *real = *domain;
	struct ofi_hook *hook;
	int ret = ofi_hook_wrap((struct fid **)domain, context, &hook);

	if (ret)
		return ret;
	hook->domain.ops = real->ops ? &ofi_hook_domain_ops : NULL;
	hook->domain.mr = real->mr ? &ofi_hook_mr_ops : NULL;
	return 0;
}

static int wrap_pep(struct fid_pep **pep, void *context)
{
	struct fid_pep *real = *pep;
	struct ofi_hook *hook;
	int ret = ofi_hook_wrap((struct fid **)pep, context, &hook);

	if (ret)
		return ret;
	hook->pep.ops = real->ops ? &ofi_hook_ep_ops : NULL;
	hook->pep.cm = real->cm ? &ofi_hook_cm_ops : NULL;
	return 0;
}

/* A hook could see nothing of a wait set. */
#define FABRIC_CALLS(CALL, OF...)                                                           \
	CALL(OF, OPENED, int, domain, "fi_domain", wrap_domain(domain, context), A_INFO,    \
	     (P, struct fid_domain **, domain), A_CONTEXT)                                  \
	CALL(OF, OPTIONAL_OPENED, int, domain2, "fi_domain2", wrap_domain(domain, context), \
	     A_INFO, (P, struct fid_domain **, domain), A_FLAGS, A_CONTEXT)                 \
	CALL(OF, OPENED, int, passive_ep, "fi_passive_ep", wrap_pep(pep, context), A_INFO,  \
	     (P, struct fid_pep **, pep), A_CONTEXT)                                        \
	CALL(OF, OPENED, int, eq_open, "fi_eq_open",                                        \
	     ofi_hook_wrap_ops((struct fid **)eq, context, &ofi_hook_eq_ops),               \
	     (P, struct fi_eq_attr *, attr), (P, struct fid_eq **, eq), A_CONTEXT)          \
	CALL(OF, PLAIN, int, wait_open, "fi_wait_open", (P, struct fi_wait_attr *, attr),   \
	     (P, struct fid_wait **, waitset))

FABRIC_CALLS(HOOK_DEFINE, fid_fabric, ops)

static int fabric_trywait(struct fid_fabric *fabric, struct fid **fids, int count)
{
	static struct ofi_hook_site site = { .name = "fi_trywait" };
	struct fid_fabric *real = ofi_hook_real(fabric);
	struct fid **copy = NULL;
	uint64_t start;
	int ret, i;

	if (fids && count > 0) {
		copy = malloc((size_t)count * sizeof(struct fid *));
		if (!copy)
			return -FI_ENOMEM;
		for (i = 0; i < count; i++)
			copy[i] = ofi_hook_unwrap(fids[i]);
	}
	start = ofi_hook_begin();
	ret = (int)ofi_hook_end(&site, fabric, start, real->ops->trywait(real, copy, count),
				"fids %p, count %d", (void *)fids, count);
	free(copy);
	return ret;
}

struct fi_ops_fabric ofi_hook_fabric_ops = {
	.size = sizeof(struct fi_ops_fabric),
	.trywait = fabric_trywait FABRIC_CALLS(HOOK_SLOT, fid_fabric, ops),
};

int ofi_hook_fabric(struct fid_fabric **fabric, void *context)
{
	static struct ofi_hook_site site = { .name = "fi_fabric" };
	struct fid_fabric *real = *fabric;
	struct ofi_hook *hook;
	int ret = ofi_hook_wrap((struct fid **)fabric, context, &hook);

	if (ret)
		return ret;
	hook->fabric.ops = &ofi_hook_fabric_ops;
	hook->fabric.api_version = real->api_version;
	ofi_hook_end(&site, *fabric, ofi_hook_begin(), 0, "context %p", context);
	return 0;
}

const struct fi_info *ofi_hook_hints(const struct fi_info *hints, struct ofi_hook_hints *copy)
{
	if (!hints || !ofi_hook_active())
		return hints;
	copy->info = *hints;
	if (hints->fabric_attr) {
		copy->fabric_attr = *hints->fabric_attr;
		copy->fabric_attr.fabric = (struct fid_fabric *)ofi_hook_unwrap(
			(struct fid *)copy->fabric_attr.fabric);
		copy->info.fabric_attr = &copy->fabric_attr;
	}
	if (hints->domain_attr) {
		copy->domain_attr = *hints->domain_attr;
		copy->domain_attr.domain = (struct fid_domain *)ofi_hook_unwrap(
			(struct fid *)copy->domain_attr.domain);
		copy->info.domain_attr = &copy->domain_attr;
	}
	return &copy->info;
}

void ofi_hook_infos(struct fi_info *info)
{
	if (!ofi_hook_active())
		return;
	for (; info; info = info->next) {
		if (info->fabric_attr && info->fabric_attr->fabric)
			info->fabric_attr->fabric = (struct fid_fabric *)ofi_hook_find(
				(struct fid *)info->fabric_attr->fabric);
		if (info->domain_attr && info->domain_attr->domain)
			info->domain_attr->domain = (struct fid_domain *)ofi_hook_find(
				(struct fid *)info->domain_attr->domain);
	}
}
