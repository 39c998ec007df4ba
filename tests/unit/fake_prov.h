/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Providers whose fi_getinfo is controlled by the test, and the registry for the core. */
#ifndef FAKE_PROV_H
#define FAKE_PROV_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "src/provider.h"
#include <rdma/fi_errno.h>

static struct ofi_registry fake_registry = {
	.list = TAILQ_HEAD_INITIALIZER(fake_registry.list),
	.refused = TAILQ_HEAD_INITIALIZER(fake_registry.refused),
};
static int fake_cleanups;

bool ofi_providers_starting(void)
{
	return false;
}

const struct ofi_provider_list *ofi_providers(void)
{
	return &fake_registry.list;
}

static const char *fake_filter;

const char *ofi_providers_filter(void)
{
	return fake_filter;
}

/* The name in the last call of ofi_provider_missing(). */
static char fake_missing[64];

void ofi_provider_missing(enum fi_log_level level, const char *by, const char *word, bool near)
{
	(void)level;
	(void)by;
	(void)near;
	snprintf(fake_missing, sizeof(fake_missing), "%s", word);
}

static inline void fake_cleanup(void)
{
	fake_cleanups++;
}

static inline int fake_fabric(struct fi_fabric_attr *attr, struct fid_fabric **fabric,
			      void *context)
{
	static struct fid_fabric fid;

	(void)attr;
	fid.fid.context = context;
	*fabric = &fid;
	return 0;
}

/* Returns one fi_info of a fabric, NULL when out of memory. */
static inline struct fi_info *fake_info(const char *fabric)
{
	struct fi_info *info = fi_dupinfo(NULL);

	if (info) {
		info->caps = FI_MSG;
		info->ep_attr->type = FI_EP_MSG;
		info->fabric_attr->name = strdup(fabric);
	}
	return info;
}

static inline int fake_getinfo(uint32_t version, const char *node, const char *service,
			       uint64_t flags, const struct fi_info *hints, struct fi_info **info)
{
	(void)version;
	(void)node;
	(void)service;
	(void)flags;
	(void)hints;
	*info = fake_info("net");
	return *info ? 0 : -FI_ENOMEM;
}

static inline struct fi_provider fake_prov(const char *name, uint32_t version)
{
	return (struct fi_provider){ .version = version,
				     .fi_version = FI_VERSION(2, 6),
				     .name = name,
				     .getinfo = fake_getinfo,
				     .fabric = fake_fabric,
				     .cleanup = fake_cleanup };
}

static inline int fake_add(struct fi_provider *prov, int rank, bool preferred)
{
	struct ofi_provider offer = {
		.prov = prov, .origin = "test", .rank = rank, .preferred = preferred
	};

	return ofi_registry_add(&fake_registry, &offer);
}

#endif
