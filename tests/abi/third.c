/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A third-party provider, built against the installed headers only: an empty fabric and domain.
 * THIRD_API and THIRD_VERSION are defined on the command line.
 */
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_prov.h>

static struct fi_provider third_prov;

static int third_close(struct fid *fid)
{
	free(fid);
	return 0;
}

static struct fi_ops third_fid_ops = { .size = sizeof(third_fid_ops), .close = third_close };

static int third_domain(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain,
			void *context)
{
	static struct fi_ops_domain ops = { .size = sizeof(ops) };

	(void)fabric;
	if (strcmp(info->domain_attr->name, "third0") != 0)
		return -FI_ENODEV;
	*domain = calloc(1, sizeof(**domain));
	if (!*domain)
		return -FI_ENOMEM;
	(*domain)->fid.fclass = FI_CLASS_DOMAIN;
	(*domain)->fid.context = context;
	(*domain)->fid.ops = &third_fid_ops;
	(*domain)->ops = &ops;
	return 0;
}

static int third_fabric(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
	static struct fi_ops_fabric ops = { .size = sizeof(ops), .domain = third_domain };

	if (attr->name && strcmp(attr->name, "third fabric") != 0)
		return -FI_ENODEV;
	*fabric = calloc(1, sizeof(**fabric));
	if (!*fabric)
		return -FI_ENOMEM;
	(*fabric)->fid.fclass = FI_CLASS_FABRIC;
	(*fabric)->fid.context = context;
	(*fabric)->fid.ops = &third_fid_ops;
	(*fabric)->ops = &ops;
	return 0;
}

static int third_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
			 const struct fi_info *hints, struct fi_info **info)
{
	int down = 0;

	(void)version;
	(void)node;
	(void)service;
	(void)flags;
	fi_param_get(&third_prov, "down", &down);
	if (down || (hints && hints->caps & ~FI_MSG)) {
		FI_INFO(&third_prov, FI_LOG_CORE, "it is down or has no such capability\n");
		return -FI_ENODATA;
	}
	*info = fi_allocinfo();
	if (!*info)
		return -FI_ENOMEM;
	(*info)->caps = FI_MSG;
	(*info)->ep_attr->type = FI_EP_MSG;
	(*info)->domain_attr->name = strdup("third0");
	(*info)->fabric_attr->name = strdup("third fabric");
	return 0;
}

static struct fi_provider third_prov = {
	.version = THIRD_VERSION,
	.fi_version = THIRD_API,
	.name = "third",
	.getinfo = third_getinfo,
	.fabric = third_fabric,
};

FI_EXT_INI
{
	fi_param_define(&third_prov, "down", FI_PARAM_BOOL, "Whether it has nothing to offer");
	return &third_prov;
}
