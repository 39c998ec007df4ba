/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A provider whose file name states its version: "name_major_minor-fi.so". One of version 0
 * declines.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_prov.h>

__attribute__((visibility("default"))) extern int plugin_starts;
int plugin_starts;

static char name[64];

static int getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
		   const struct fi_info *hints, struct fi_info **info)
{
	(void)version;
	(void)node;
	(void)service;
	(void)flags;
	(void)hints;
	(void)info;
	return -FI_ENODATA;
}

static int fabric(struct fi_fabric_attr *attr, struct fid_fabric **fab, void *context)
{
	(void)attr;
	(void)fab;
	(void)context;
	return -FI_ENODEV;
}

static struct fi_provider prov = {
	.fi_version = FI_VERSION(2, 6),
	.name = name,
	.getinfo = getinfo,
	.fabric = fabric,
};

FI_EXT_INI
{
	unsigned major = 0, minor = 0;
	const char *base;
	Dl_info info;

	plugin_starts++;
	if (!dladdr(&prov, &info))
		return NULL;
	base = strrchr(info.dli_fname, '/');
	if (!base || sscanf(base, "/%63[^_]_%u_%u", name, &major, &minor) != 3 || !major)
		return NULL;
	prov.version = FI_VERSION(major, minor);
	return &prov;
}
