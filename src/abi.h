/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fi_info as seen by callers built when its structures were shorter. A node is a symbol version at
 * which the sizes changed.
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

/* The structures that have grown. */
enum ofi_abi_part {
	OFI_ABI_INFO,
	OFI_ABI_TX,
	OFI_ABI_RX,
	OFI_ABI_EP,
	OFI_ABI_DOMAIN,
	OFI_ABI_FABRIC,
	OFI_ABI_PARTS,
};

/* Returns the sizes of the parts, indexed by enum ofi_abi_part. */
const size_t *ofi_abi_sizes(enum ofi_abi_node node);
/* Records that a symbol version that passes such a structure has been called. */
void ofi_abi_note(enum ofi_abi_node node);
/*
 * Returns the size of the structure in the oldest node called so far. A call without symbol
 * versions, which any caller may make, reads no more than that.
 */
size_t ofi_abi_seen(enum ofi_abi_part part);

/* Implements fi_getinfo for hints whose fields may all be read. */
int ofi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
		const struct fi_info *hints, struct fi_info **info);

/* Implement the calls of the same names for callers of an older node. */
int ofi_abi_getinfo(enum ofi_abi_node node, uint32_t version, const char *node_name,
		    const char *service, uint64_t flags, const struct fi_info *hints,
		    struct fi_info **info);
struct fi_info *ofi_abi_dupinfo(enum ofi_abi_node node, const struct fi_info *info);
void ofi_abi_freeinfo(enum ofi_abi_node node, struct fi_info *info);

/* Replaces the list of a provider built for an older API by a list of current structures. */
int ofi_abi_import(uint32_t fi_version, struct fi_info **list);

/*
 * Frees info, its attributes, and the memory that they point to, as far as the caller's structure
 * contains the pointers; *seen is a copy of that structure.
 */
void ofi_info_free(struct fi_info *info, struct fi_info *seen);
void ofi_nic_free(struct fid_nic *nic);

#endif
