/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Converts older, shorter structures. Each is a prefix of the current one, so a single routine
 * widens them using a table of sizes. An older caller receives current structures; the fields that
 * it does not know own no memory.
 */
#include "abi.h"

#include <stdlib.h>
#include <string.h>
#include <rdma/fi_errno.h>

/*
 * The current form of an older fi_info. The structures are copies, but the memory that they point
 * to is not copied.
 */
struct wide {
	struct fi_info info;
	struct fi_tx_attr tx;
	struct fi_rx_attr rx;
	struct fi_ep_attr ep;
	struct fi_domain_attr domain;
	struct fi_fabric_attr fabric;
};

static void *widen_part(void *to, size_t to_size, const void *from, size_t from_size)
{
	memset(to, 0, to_size);
	if (!from)
		return NULL;
	memcpy(to, from, from_size < to_size ? from_size : to_size);
	return to;
}

static void abi_widen(enum ofi_abi_node node, const struct fi_info *from, struct wide *to)
{
	const size_t *size = ofi_abi_sizes(node);
	struct fi_info *info = &to->info;

	widen_part(info, sizeof(*info), from, size[OFI_ABI_INFO]);
	info->tx_attr = widen_part(&to->tx, sizeof(to->tx), from->tx_attr, size[OFI_ABI_TX]);
	info->rx_attr = widen_part(&to->rx, sizeof(to->rx), from->rx_attr, size[OFI_ABI_RX]);
	info->ep_attr = widen_part(&to->ep, sizeof(to->ep), from->ep_attr, size[OFI_ABI_EP]);
	info->domain_attr = widen_part(&to->domain, sizeof(to->domain), from->domain_attr,
				       size[OFI_ABI_DOMAIN]);
	info->fabric_attr = widen_part(&to->fabric, sizeof(to->fabric), from->fabric_attr,
				       size[OFI_ABI_FABRIC]);
	/* This field was padding originally, so it may contain anything. */
	if (node == OFI_ABI_1_0)
		to->fabric.api_version = 0;
}

static void clear_tail(void *attr, size_t full, size_t seen)
{
	if (attr && seen < full)
		memset((char *)attr + seen, 0, full - seen);
}

/*
 * Removes everything from a current fi_info that the older caller does not know and so could not
 * free.
 */
static void abi_narrow(enum ofi_abi_node node, struct fi_info *info)
{
	const size_t *size = ofi_abi_sizes(node);
	struct fi_info own = *info;
	struct wide seen;

	abi_widen(node, info, &seen);
	if (own.ep_attr && !seen.ep.auth_key)
		free(own.ep_attr->auth_key);
	if (own.domain_attr && !seen.domain.auth_key)
		free(own.domain_attr->auth_key);
	if (!seen.info.nic)
		ofi_nic_free(own.nic);
	clear_tail(own.tx_attr, sizeof(*own.tx_attr), size[OFI_ABI_TX]);
	clear_tail(own.rx_attr, sizeof(*own.rx_attr), size[OFI_ABI_RX]);
	clear_tail(own.ep_attr, sizeof(*own.ep_attr), size[OFI_ABI_EP]);
	clear_tail(own.domain_attr, sizeof(*own.domain_attr), size[OFI_ABI_DOMAIN]);
	clear_tail(own.fabric_attr, sizeof(*own.fabric_attr), size[OFI_ABI_FABRIC]);
	clear_tail(info, sizeof(*info), size[OFI_ABI_INFO]);
}

int ofi_abi_getinfo(enum ofi_abi_node node, uint32_t version, const char *node_name,
		    const char *service, uint64_t flags, const struct fi_info *hints,
		    struct fi_info **info)
{
	struct fi_info *each;
	struct wide wide;
	int ret;

	if (hints)
		abi_widen(node, hints, &wide);
	ret = ofi_getinfo(version, node_name, service, flags, hints ? &wide.info : NULL, info);
	if (!ret) {
		for (each = *info; each; each = each->next)
			abi_narrow(node, each);
	}
	return ret;
}

struct fi_info *ofi_abi_dupinfo(enum ofi_abi_node node, const struct fi_info *info)
{
	struct wide wide;

	if (!info)
		return fi_dupinfo(NULL);
	abi_widen(node, info, &wide);
	return fi_dupinfo(&wide.info);
}

void ofi_abi_freeinfo(enum ofi_abi_node node, struct fi_info *info)
{
	struct fi_info *next;
	struct wide wide;

	for (; info; info = next) {
		next = info->next;
		abi_widen(node, info, &wide);
		ofi_info_free(info, &wide.info);
	}
}

/*
 * Providers of API 1.9 and later are accepted (registry.c). It is not recorded which release
 * between 2.0 and 2.6 extended the structures, so the shorter ones are assumed.
 */
static enum ofi_abi_node node_of(uint32_t fi_version)
{
	if (FI_VERSION_GE(fi_version, FI_VERSION(2, 6)))
		return OFI_ABI_1_10;
	if (FI_VERSION_GE(fi_version, FI_VERSION(2, 0)))
		return OFI_ABI_1_8;
	return FI_VERSION_GE(fi_version, FI_VERSION(1, 20)) ? OFI_ABI_1_7 : OFI_ABI_1_3;
}

int ofi_abi_import(uint32_t fi_version, struct fi_info **list)
{
	enum ofi_abi_node node = node_of(fi_version);
	struct fi_info *head = NULL, **tail = &head, *from;

	if (node == OFI_ABI_1_10)
		return 0;
	for (from = *list; from; from = from->next) {
		*tail = ofi_abi_dupinfo(node, from);
		if (!*tail)
			break;
		tail = &(*tail)->next;
	}
	ofi_abi_freeinfo(node, *list);
	*list = head;
	return from ? -FI_ENOMEM : 0;
}
