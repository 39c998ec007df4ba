/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fi_info as callers see it who were built when its structures were shorter. A node is a symbol
 * version that changed their sizes.
 */
#ifndef OFI_ABI_H
#define OFI_ABI_H

#include <stddef.h>
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

/* Structures that grew. */
enum ofi_abi_part {
	OFI_ABI_INFO,
	OFI_ABI_TX,
	OFI_ABI_RX,
	OFI_ABI_EP,
	OFI_ABI_DOMAIN,
	OFI_ABI_FABRIC,
	OFI_ABI_PARTS,
};

/* Sizes of the parts, by enum ofi_abi_part. */
const size_t *ofi_abi_sizes(enum ofi_abi_node node);
/* Each symbol version that takes or gives one tells that it has been called. */
void ofi_abi_note(enum ofi_abi_node node);
/*
 * Bytes that the structure has with every caller so far. A call without versions, which may be
 * anyone's, reads no more of it.
 */
size_t ofi_abi_seen(enum ofi_abi_part part);

/* The calls of the same name as an older node's caller makes them. */
int ofi_abi_getinfo(enum ofi_abi_node node, uint32_t version, const char *node_name,
		    const char *service, uint64_t flags, const struct fi_info *hints,
		    struct fi_info **info);
struct fi_info *ofi_abi_dupinfo(enum ofi_abi_node node, const struct fi_info *info);
void ofi_abi_freeinfo(enum ofi_abi_node node, struct fi_info *info);

/* Replaces the list of a provider made for an older API by one of today's structures. */
int ofi_abi_import(uint32_t fi_version, struct fi_info **list);

#endif
