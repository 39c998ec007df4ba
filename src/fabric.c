/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Opening a fabric with the provider it belongs to, and the library's own named objects. */
#include <stdlib.h>
#include <string.h>
#include "abi.h"
#include "export.h"
#include "filter.h"
#include "hook.h"
#include "log.h"
#include "provider.h"
#include "reject.h"
#include "stats_read.h"
#include "src/ds/suggest.h"
#include <rdma/fabric.h>
#include <rdma/fi_errno.h>

OFI_EXPORT uint32_t fi_version(void)
{
	return FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION);
}

static struct fi_provider *find_by_name(const char *name)
{
	struct ofi_provider *entry;
	const char *names[16];
	size_t count = 0;

	TAILQ_FOREACH (entry, ofi_providers(), link) {
		if (entry->excluded)
			continue;
		if (ofi_prov_name_pass(name, entry->prov->name))
			return entry->prov;
		if (count < sizeof(names) / sizeof(names[0]))
			names[count++] = entry->prov->name;
	}
	FI_WARN(&ofi_core_prov, FI_LOG_FABRIC,
		"fi_fabric: there is no provider %s%s; use what fi_getinfo returned\n", name,
		ofi_did_you_mean(name, names, count).text);
	return NULL;
}

static bool has_fabric(struct fi_provider *prov, const struct fi_fabric_attr *attr)
{
	uint32_t version = attr->api_version ? attr->api_version : prov->fi_version;
	struct fi_info *info = NULL, *each;
	bool found = false;

	if (FI_VERSION_LT(prov->fi_version, version) ||
	    prov->getinfo(version, NULL, NULL, 0, NULL, &info))
		return false;
	if (ofi_abi_import(prov->fi_version, &info)) {
		fi_freeinfo(info);
		return false;
	}
	for (each = info; each && !found; each = each->next)
		found = each->fabric_attr && each->fabric_attr->name &&
			!strcmp(each->fabric_attr->name, attr->name);
	fi_freeinfo(info);
	return found;
}

/* Returns the first provider that has a fabric with this name. */
static struct fi_provider *find_by_fabric(const struct fi_fabric_attr *attr)
{
	struct ofi_provider *entry;

	TAILQ_FOREACH (entry, ofi_providers(), link) {
		if (!entry->excluded && has_fabric(entry->prov, attr))
			return entry->prov;
	}
	FI_WARN(&ofi_core_prov, FI_LOG_FABRIC,
		"fi_fabric: no provider has a fabric %s; use a name that fi_getinfo returned\n",
		attr->name);
	return NULL;
}

OFI_EXPORT int fi_fabric(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
	struct fi_provider *prov;
	int ret;

	if (!attr || !fabric || (!attr->prov_name && !attr->name)) {
		FI_WARN(&ofi_core_prov, FI_LOG_FABRIC,
			"fi_fabric: the attributes must have a fabric or provider name\n");
		return -FI_EINVAL;
	}
	if (FI_VERSION_LT(fi_version(), attr->api_version)) {
		FI_WARN(&ofi_core_prov, FI_LOG_FABRIC,
			"fi_fabric: API version %u.%u requested, this library has %u.%u\n",
			FI_MAJOR(attr->api_version), FI_MINOR(attr->api_version),
			FI_MAJOR(fi_version()), FI_MINOR(fi_version()));
		return -FI_ENOSYS;
	}
	prov = attr->prov_name ? find_by_name(attr->prov_name) : find_by_fabric(attr);
	if (!prov)
		return -FI_ENODEV;
	ret = prov->fabric(attr, fabric, context);
	if (ret)
		return ret;
	(*fabric)->api_version = attr->api_version;
	return ofi_hook_active() ? ofi_hook_fabric(fabric, context) : 0;
}

OFI_EXPORT int fi_fabric2(struct fi_info *info, struct fid_fabric **fabric, uint64_t flags,
			  void *context)
{
	if (flags)
		return -FI_EBADFLAGS;
	if (!info)
		return -FI_EINVAL;
	return fi_fabric(info->fabric_attr, fabric, context);
}

OFI_EXPORT int fi_open(uint32_t version, const char *name, void *attr, size_t attr_len,
		       uint64_t flags, struct fid **fid, void *context)
{
	if (!name || !fid || (attr_len && !attr)) {
		FI_WARN(&ofi_core_prov, FI_LOG_CORE, "fi_open: name, fid or attr is NULL\n");
		return -FI_EINVAL;
	}
	if (FI_VERSION_LT(fi_version(), version))
		return -FI_ENOSYS;
	if (!strcmp(name, "explain"))
		return ofi_explain_open(attr, attr_len, flags, fid, context);
	if (!strcmp(name, "logging"))
		return ofi_log_open(attr, attr_len, flags, fid, context);
	if (!strcmp(name, "stats"))
		return ofi_stats_open(attr, attr_len, flags, fid, context);
	FI_INFO(&ofi_core_prov, FI_LOG_CORE, "fi_open: this library has no object named %s\n",
		name);
	return -FI_ENOSYS;
}
