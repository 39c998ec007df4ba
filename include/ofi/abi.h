/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fi_info as callers see it who were built when its structures were shorter. A node is a symbol
 * version that changed their sizes.
 */
#ifndef OFI_ABI_H
#define OFI_ABI_H

#include <rdma/fabric.h>

enum ofi_abi_node {
	OFI_ABI_1_0,
	OFI_ABI_1_1,
	OFI_ABI_1_2,
	OFI_ABI_1_3,
	OFI_ABI_1_7,
	OFI_ABI_1_8,
	OFI_ABI_1_9,
	OFI_ABI_1_10,
};

/* The calls of the same name as an older node's caller makes them. */
int ofi_abi_getinfo(enum ofi_abi_node node, uint32_t version, const char *node_name,
		    const char *service, uint64_t flags, const struct fi_info *hints,
		    struct fi_info **info);
struct fi_info *ofi_abi_dupinfo(enum ofi_abi_node node, const struct fi_info *info);
void ofi_abi_freeinfo(enum ofi_abi_node node, struct fi_info *info);

/* Replaces the list of a provider made for an older API by one of today's structures. */
int ofi_abi_import(uint32_t fi_version, struct fi_info **list);

#endif
