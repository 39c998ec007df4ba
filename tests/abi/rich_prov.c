/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A plug-in that offers rich infos. The service is the caller's symbol version: the hints must
 * contain what the caller set, and nothing beyond the end of its structures.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_prov.h>
#include "tests/abi/rich.h"

static const size_t full[PARTS] = {
	sizeof(struct fi_info),	   sizeof(struct fi_tx_attr),	  sizeof(struct fi_rx_attr),
	sizeof(struct fi_ep_attr), sizeof(struct fi_domain_attr), sizeof(struct fi_fabric_attr),
};

static int complain(const char *type, const char *what)
{
	fprintf(stderr, "hints of %s: %s\n", type, what);
	return -FI_EINVAL;
}

static int check_part(unsigned part, const void *structure, size_t seen)
{
	const struct field *field = rich_differs(part, structure, seen);
	const char *byte = structure;
	size_t i;

	if (field)
		return complain(field->type, field->name);
	for (i = seen; i < full[part]; i++) {
		if (byte[i])
			return complain("an older caller", "something beyond their end");
	}
	return 0;
}

static int check_hints(const char *node_name, const struct fi_info *hints)
{
	const struct node *node = rich_node(node_name);
	const void *parts[PARTS];
	unsigned part;
	int ret = 0;

	rich_parts(hints, parts);
	for (part = 0; part < PARTS && !ret; part++)
		ret = check_part(part, parts[part],
				 /* at first, api_version was padding */
				 part == PART_FABRIC && !strcmp(node_name, "1.0")
					 ? offsetof(struct fi_fabric_attr, api_version)
					 : node->size[part]);
	return ret;
}

static int nic_close(struct fid *fid)
{
	free(fid);
	return 0;
}

static int nic_control(struct fid *fid, int command, void *arg);
static struct fi_ops nic_ops = { .size = sizeof(nic_ops),
				 .close = nic_close,
				 .control = nic_control };

static struct fid_nic *nic_new(void)
{
	static struct fi_device_attr device = { .name = "rich nic" };
	struct fid_nic *nic = calloc(1, sizeof(*nic));

	if (nic) {
		nic->fid.fclass = FI_CLASS_NIC;
		nic->fid.ops = &nic_ops;
		nic->device_attr = &device;
	}
	return nic;
}

static int nic_control(struct fid *fid, int command, void *arg)
{
	struct fid_nic *copy = command == FI_DUP && fid ? nic_new() : NULL;

	*(struct fid **)arg = copy ? &copy->fid : NULL;
	return copy ? 0 : -FI_ENOSYS;
}

static struct fi_info *rich_new(void)
{
	struct fi_info *info = fi_allocinfo();
	const void *parts[PARTS];
	unsigned part;

	if (!info)
		return NULL;
	rich_parts(info, parts);
	for (part = 0; part < PARTS; part++)
		rich_fill(part, (void *)parts[part], full[part]);
	info->src_addr = calloc(1, RICH_SRC_LEN);
	info->dest_addr = calloc(1, RICH_DEST_LEN);
	info->nic = nic_new();
	info->ep_attr->auth_key = calloc(1, RICH_KEY_LEN);
	info->domain_attr->auth_key = calloc(1, RICH_KEY_LEN);
	info->domain_attr->name = strdup("rich domain");
	info->fabric_attr->name = strdup("rich fabric");
	return info;
}

static int getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
		   const struct fi_info *hints, struct fi_info **info)
{
	int ret;

	(void)version;
	(void)node;
	(void)flags;
	if (!service || !rich_node(service))
		return -FI_ENODATA;
	ret = hints ? check_hints(service, hints) : 0;
	if (ret)
		return ret;
	*info = rich_new();
	if (!*info)
		return -FI_ENOMEM;
	(*info)->next = rich_new();
	return 0;
}

static int fabric_close(struct fid *fid)
{
	free(fid);
	return 0;
}

static int fabric(struct fi_fabric_attr *attr, struct fid_fabric **fab, void *context)
{
	static struct fi_ops ops = { .size = sizeof(ops), .close = fabric_close };

	*fab = calloc(1, sizeof(**fab));
	if (!*fab)
		return -FI_ENOMEM;
	(*fab)->fid.fclass = FI_CLASS_FABRIC;
	(*fab)->fid.context = context;
	(*fab)->fid.ops = &ops;
	(*fab)->api_version = attr->api_version;
	return 0;
}

static struct fi_provider prov = {
	.version = FI_VERSION(7, 3),
	.fi_version = FI_VERSION(2, 6),
	.name = "rich",
	.getinfo = getinfo,
	.fabric = fabric,
};

FI_EXT_INI
{
	return &prov;
}
