/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Fabrics under hooks, the objects opened on them, and fi_getinfo. */
#include <stdlib.h>
#include <string.h>
#include "src/hook.h"
#include "call.h"

/* A wait set is not put under hooks, which would see nothing of it. */
#define FABRIC_CALLS(CALL, OF...)                                                                  \
	CALL(OF, OPENED, int, domain, "fi_domain", HOOK_WRAP(domain), A_INFO, A_NEW(domain),       \
	     A_CONTEXT)                                                                            \
	CALL(OF, OPTIONAL_OPENED, int, domain2, "fi_domain2", HOOK_WRAP(domain), A_INFO,           \
	     A_NEW(domain), A_FLAGS, A_CONTEXT)                                                    \
	CALL(OF, OPENED, int, passive_ep, "fi_passive_ep", HOOK_WRAP(pep), A_INFO, A_NEW(pep),     \
	     A_CONTEXT)                                                                            \
	CALL(OF, OPENED, int, eq_open, "fi_eq_open", HOOK_WRAP(eq), A_ATTR(fi_eq_attr), A_NEW(eq), \
	     A_CONTEXT)                                                                            \
	CALL(OF, PLAIN, int, wait_open, "fi_wait_open", A_ATTR(fi_wait_attr),                      \
	     (P, struct fid_wait **, waitset))

FABRIC_CALLS(HOOK_DEFINE, fid_fabric, ops)

static int fabric_trywait(struct fid_fabric *fabric, struct fid **fids, int count)
{
	static struct ofi_hook_site site = { .name = "fi_trywait" };
	struct fid_fabric *real = ofi_hook_real(fabric);
	struct fid **copy = NULL;
	uint64_t start;
	int ret, i;

	HOOK_IF_THERE(ops, trywait);
	if (fids && count > 0) {
		copy = malloc((size_t)count * sizeof(struct fid *));
		if (!copy)
			return -FI_ENOMEM;
		for (i = 0; i < count; i++)
			copy[i] = ofi_hook_unwrap(fids[i]);
	}
	start = ofi_hook_begin();
	ret = (int)ofi_hook_end(&site, fabric, start, real->ops->trywait(real, copy, count),
				", fids %p, count %d", (void *)fids, count);
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
	int ret = HOOK_WRAP(fabric);

	if (!ret)
		ofi_hook_end(&site, *fabric, ofi_hook_begin(), 0, ", context %p", context);
	return ret;
}

/* Replaces each object in the attributes by the one that other() returns for it. */
static void replace(struct fi_info *info, struct fid *(*other)(struct fid *fid))
{
	struct fi_fabric_attr *fabric = info->fabric_attr;
	struct fi_domain_attr *domain = info->domain_attr;

	if (fabric && fabric->fabric)
		fabric->fabric = (struct fid_fabric *)other(&fabric->fabric->fid);
	if (domain && domain->domain)
		domain->domain = (struct fid_domain *)other(&domain->domain->fid);
}

const struct fi_info *ofi_hook_hints(const struct fi_info *hints, struct ofi_hook_hints *copy)
{
	if (!hints || !ofi_hook_active())
		return hints;
	copy->info = *hints;
	if (hints->fabric_attr) {
		copy->fabric_attr = *hints->fabric_attr;
		copy->info.fabric_attr = &copy->fabric_attr;
	}
	if (hints->domain_attr) {
		copy->domain_attr = *hints->domain_attr;
		copy->info.domain_attr = &copy->domain_attr;
	}
	replace(&copy->info, ofi_hook_unwrap);
	return &copy->info;
}

void ofi_hook_infos(struct fi_info *info)
{
	for (; info && ofi_hook_active(); info = info->next)
		replace(info, ofi_hook_find);
}
