/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* fi_getinfo: asks the providers in order and concatenates what they offer. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "abi.h"
#include "conf.h"
#include "export.h"
#include "filter.h"
#include "hook.h"
#include "log.h"
#include "param.h"
#include "provider.h"
#include "reject.h"
#include <ofi/wide.h>
#include <rdma/fabric.h>
#include <rdma/fi_errno.h>

enum { NEAREST = 5 };

#define GETINFO_FLAGS (FI_SOURCE | FI_NUMERICHOST | FI_PROV_ATTR_ONLY | FI_RESCAN)
/* Plug-ins and test programs of other libraries use these flags among themselves. */
#define FOREIGN_FLAGS (~0ULL << 58)
#define OLDEST	      FI_VERSION(1, 0)

struct request {
	uint32_t version;
	const char *node;
	const char *service;
	uint64_t flags;
	const struct fi_info *hints;
	const char *prov_name; /* from the hints, may be NULL */
};

/* The result of the providers asked so far. */
struct found {
	struct fi_info *head;
	struct fi_info **tail;
	int error;  /* the first error other than "no data" */
	bool named; /* some provider has the requested name */
};

static int check_request(const struct request *req)
{
	if (FI_VERSION_LT(fi_version(), req->version)) {
		FI_WARN(&ofi_core_prov, FI_LOG_CORE,
			"fi_getinfo: API version %u.%u requested, this library has 1.0 to %u.%u\n",
			FI_MAJOR(req->version), FI_MINOR(req->version), FI_MAJOR(fi_version()),
			FI_MINOR(fi_version()));
		return -FI_ENOSYS;
	}
	if (req->flags & ~(GETINFO_FLAGS | FOREIGN_FLAGS)) {
		FI_WARN(&ofi_core_prov, FI_LOG_CORE, "fi_getinfo: unknown flags 0x%llx\n",
			(unsigned long long)(req->flags & ~(GETINFO_FLAGS | FOREIGN_FLAGS)));
		return -FI_EBADFLAGS;
	}
	return 0;
}

static void reject_hint(const struct fi_provider *prov, const char *attr, const char *asked,
			const char *has)
{
	struct fi_explain_entry entry = {
		.prov_name = prov->name,
		.misses = UINT32_MAX, /* not examined, so farther than any other */
		.attr = attr,
		.asked = asked,
		.has = has,
	};

	ofi_reject(&entry);
}

static void reject_version(const struct fi_provider *prov, uint32_t version)
{
	char asked[32], has[32];

	snprintf(asked, sizeof(asked), "API %u.%u", FI_MAJOR(version), FI_MINOR(version));
	snprintf(has, sizeof(has), "API %u.%u", FI_MAJOR(prov->fi_version),
		 FI_MINOR(prov->fi_version));
	reject_hint(prov, "version", asked, has);
}

/* Returns true if the provider should be asked at all. */
static bool prov_wanted(const struct request *req, const struct ofi_provider *entry, bool *named)
{
	const struct fi_provider *prov = entry->prov;

	if (req->prov_name && !ofi_prov_name_pass(req->prov_name, prov->name)) {
		reject_hint(prov, "fabric_attr->prov_name", req->prov_name, prov->name);
		return false;
	}
	*named = true;
	if (entry->excluded) {
		reject_hint(prov, "FI_PROVIDER", ofi_providers_filter(), prov->name);
		return false;
	}
	if (!(req->flags & FI_PROV_ATTR_ONLY) && FI_VERSION_LT(prov->fi_version, req->version)) {
		reject_version(prov, req->version);
		return false;
	}
	return true;
}

static int name_infos(const struct request *req, const struct fi_provider *prov,
		      struct fi_info *info)
{
	struct fi_fabric_attr *attr;

	for (; info; info = info->next) {
		if (!info->fabric_attr)
			info->fabric_attr = calloc(1, sizeof(*info->fabric_attr));
		attr = info->fabric_attr;
		if (attr && !attr->prov_name)
			attr->prov_name = strdup(prov->name);
		if (!attr || !attr->prov_name)
			return -FI_ENOMEM;
		attr->prov_version = prov->version;
		attr->api_version = req->version;
	}
	return 0;
}

/* Implements FI_ADDR_FORMAT: removes entries with another format from the list. */
static int keep_format(const struct fi_provider *prov, struct fi_info **list)
{
	struct fi_info **at = list, *info;
	const char *only = ofi_param_addr_format();
	char has[64];

	if (!only)
		return 0;
	while ((info = *at)) {
		fi_tostr_r(has, sizeof(has), &info->addr_format, FI_TYPE_ADDR_FORMAT);
		if (!strcasecmp(has, only)) {
			at = &info->next;
			continue;
		}
		reject_hint(prov, "FI_ADDR_FORMAT", only, has);
		*at = info->next;
		info->next = NULL;
		fi_freeinfo(info);
	}
	return *list ? 0 : -FI_ENODATA;
}

/*
 * Hints with the provider's name and the layer that the provider implements itself, without any
 * other layers that the caller named.
 */
struct named_hints {
	struct fi_info info;
	struct fi_fabric_attr fabric_attr;
	char name[64];
};

static const struct fi_info *name_hints(const struct request *req, const struct fi_provider *prov,
					struct named_hints *hints)
{
	const struct fi_fabric_attr *attr = req->hints ? req->hints->fabric_attr : NULL;
	const char *layer = req->prov_name
				    ? ofi_prov_layer(req->prov_name, prov->name)
				    : ofi_prov_filter_layer(ofi_providers_filter(), prov->name);

	if (!req->prov_name && !layer)
		return req->hints;
	*hints = (struct named_hints){ 0 };
	if (req->hints)
		hints->info = *req->hints;
	if (attr)
		hints->fabric_attr = *attr;
	snprintf(hints->name, sizeof(hints->name), "%s%s%s", prov->name, layer ? ";" : "",
		 layer ? layer : "");
	hints->fabric_attr.prov_name = hints->name;
	hints->info.fabric_attr = &hints->fabric_attr;
	return &hints->info;
}

static int getinfo_ask(const struct request *req, struct fi_provider *prov, struct fi_info **info)
{
	struct named_hints hints;
	int ret;

	*info = NULL;
	ret = prov->getinfo(req->version, req->node, req->service, req->flags,
			    name_hints(req, prov, &hints), info);
	if (ret)
		*info = NULL; /* the provider may have freed what it left there */
	else if (*info)
		ret = ofi_abi_import(prov->fi_version, info);
	if (!ret)
		ret = name_infos(req, prov, *info);
	if (!ret)
		ret = keep_format(prov, info);
	if (!ret)
		return *info ? 0 : -FI_ENODATA;
	fi_freeinfo(*info);
	*info = NULL;
	return ret;
}

/* Implements FI_PROV_ATTR_ONLY: returns one empty info that names the provider. */
static int name_only(const struct request *req, struct fi_provider *prov, struct fi_info **info)
{
	int ret;

	*info = fi_dupinfo(NULL);
	if (!*info)
		return -FI_ENOMEM;
	ret = name_infos(req, prov, *info);
	if (ret) {
		fi_freeinfo(*info);
		*info = NULL;
	}
	return ret;
}

static bool is_no_data(int ret)
{
	return ret == -FI_ENODATA || ret == -FI_ENOSYS;
}

static void getinfo_add(struct found *found, const struct fi_provider *prov, int ret,
			struct fi_info *info)
{
	if (ret) {
		FI_INFO(&ofi_core_prov, FI_LOG_CORE, "fi_getinfo: provider %s: %s\n", prov->name,
			fi_strerror(-ret));
		if (!found->error && !is_no_data(ret))
			found->error = ret;
		return;
	}
	*found->tail = info;
	while (*found->tail)
		found->tail = &(*found->tail)->next;
}

static void ask_all(const struct request *req, struct found *found)
{
	bool names = req->flags & FI_PROV_ATTR_ONLY;
	struct ofi_provider *entry;
	struct fi_info *info;
	int ret;

	TAILQ_FOREACH (entry, ofi_providers(), link) {
		if (!prov_wanted(req, entry, &found->named))
			continue;
		ret = names ? name_only(req, entry->prov, &info)
			    : getinfo_ask(req, entry->prov, &info);
		getinfo_add(found, entry->prov, ret, info);
	}
}

/* An unknown name causes no warning: programs probe for providers that may be absent. */
static void explain_name(const struct request *req)
{
	if (ofi_providers_starting())
		return;
	if (TAILQ_EMPTY(ofi_providers()))
		FI_WARN(&ofi_core_prov, FI_LOG_CORE,
			"fi_getinfo: no provider is available: none is built in, and FI_PROVIDER_PATH has no plug-in\n");
	else if (!strchr(req->prov_name, '^'))
		ofi_provider_missing(FI_LOG_INFO, "fi_getinfo", req->prov_name, false);
}

static void explain_none(const struct request *req, const struct found *found,
			 struct ofi_rejects *rejects, bool all)
{
	bool quiet = found->head || !ofi_rejects_news(rejects);

	if (!quiet && !found->named)
		explain_name(req);
	if (all || quiet || !found->named) {
		ofi_rejects_log(rejects, all ? SIZE_MAX : 0);
		return;
	}
	if (rejects->total && !found->error)
		FI_WARN(&ofi_core_prov, FI_LOG_CORE,
			"fi_getinfo: nothing matches the hints; the closest of %zu candidates:\n",
			rejects->total);
	ofi_rejects_log(rejects, NEAREST);
}

/* The start of the providers logs the cause. */
static int unread_conf(void)
{
	int ret = ofi_conf_error();

	if (ret)
		ofi_providers();
	return ret;
}

int ofi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
		const struct fi_info *hints, struct fi_info **info)
{
	struct request req = { version, node, service, flags, hints, NULL };
	struct found found = { .tail = &found.head };
	struct ofi_hook_hints unwrapped;
	struct ofi_rejects rejects;
	bool all;
	int ret;

	if (!info) {
		FI_WARN(&ofi_core_prov, FI_LOG_CORE, "fi_getinfo: info is NULL\n");
		return -FI_EINVAL;
	}
	*info = NULL;
	ret = check_request(&req);
	if (!ret)
		ret = unread_conf();
	if (ret)
		return ret;
	if (!node && !service)
		req.flags &= ~FI_SOURCE;
	if (FI_VERSION_LT(version, OLDEST)) /* MPICH asks for 0.0 first */
		req.version = OLDEST;
	if (hints && hints->fabric_attr)
		req.prov_name = hints->fabric_attr->prov_name;
	req.hints = ofi_hook_hints(hints, &unwrapped);
	ofi_providers(); /* reads the parameters */
	all = ofi_param_explain();
	ofi_rejects_begin(&rejects, all);
	ask_all(&req, &found);
	explain_none(&req, &found, &rejects, all);
	ofi_rejects_end(&rejects);
	ofi_hook_infos(found.head);
	*info = found.head;
	if (found.head)
		return 0;
	return found.error ? found.error : -FI_ENODATA;
}

/* A caller that has looked up the symbol by its name may have any version's structures. */
OFI_EXPORT int fi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
			  const struct fi_info *hints, struct fi_info **info)
{
	struct ofi_wide wide;

	ofi_abi_note(OFI_ABI_1_10);
	if (FI_VERSION_GE(version, OLDEST)) /* the hints of those who ask for 0.0 are current */
		hints = ofi_widen(version, (struct fi_info *)hints, &wide);
	return ofi_getinfo(version, node, service, flags, hints, info);
}
