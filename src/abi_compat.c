/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The symbol versions for older callers. libfabric.map has the default versions. */
#include "abi.h"
#include "export.h"
#include <rdma/fabric.h>

#ifndef OFI_UNIT_TEST

#if defined(__has_attribute)
#if __has_attribute(symver)
#define SYMVER(name, version) __attribute__((symver(name "@FABRIC_" version)))
#define SYMVER_ASM(function, name, version)
#endif
#endif

#ifndef SYMVER
#define SYMVER(name, version)
#define SYMVER_ASM(function, name, version) \
	__asm__(".symver " #function ", " name "@FABRIC_" version);
#endif

/* The three calls whose structures changed, for a node that is written both as 1_0 and as 1.0. */
#define OLDER(node, version)                                                                       \
	int fi_getinfo_##node(uint32_t api, const char *host, const char *service, uint64_t flags, \
			      const struct fi_info *hints, struct fi_info **info);                 \
	struct fi_info *fi_dupinfo_##node(const struct fi_info *info);                             \
	void fi_freeinfo_##node(struct fi_info *info);                                             \
	SYMVER_ASM(fi_getinfo_##node, "fi_getinfo", version)                                       \
	SYMVER_ASM(fi_dupinfo_##node, "fi_dupinfo", version)                                       \
	SYMVER_ASM(fi_freeinfo_##node, "fi_freeinfo", version)                                     \
	OFI_EXPORT SYMVER("fi_getinfo", version)                                                   \
	int fi_getinfo_##node(uint32_t api, const char *host, const char *service, uint64_t flags, \
			      const struct fi_info *hints, struct fi_info **info)                  \
	{                                                                                          \
		ofi_abi_note(OFI_ABI_##node);                                                      \
		return ofi_abi_getinfo(OFI_ABI_##node, api, host, service, flags, hints, info);    \
	}                                                                                          \
	OFI_EXPORT SYMVER("fi_dupinfo", version)                                                   \
	struct fi_info *fi_dupinfo_##node(const struct fi_info *info)                              \
	{                                                                                          \
		ofi_abi_note(OFI_ABI_##node);                                                      \
		return ofi_abi_dupinfo(OFI_ABI_##node, info);                                      \
	}                                                                                          \
	OFI_EXPORT SYMVER("fi_freeinfo", version) void fi_freeinfo_##node(struct fi_info *info)    \
	{                                                                                          \
		ofi_abi_freeinfo(OFI_ABI_##node, info);                                            \
	}

OLDER(1_0, "1.0")
OLDER(1_1, "1.1")
OLDER(1_2, "1.2")
OLDER(1_3, "1.3")
OLDER(1_7, "1.7")
OLDER(1_8, "1.8")
OLDER(1_9, "1.9")

int fi_fabric_1_0(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);
SYMVER_ASM(fi_fabric_1_0, "fi_fabric", "1.0")

/* In FABRIC_1.0 the attributes have no api_version; its callers use API 1.0 to 1.4. */
OFI_EXPORT SYMVER("fi_fabric", "1.0") int fi_fabric_1_0(struct fi_fabric_attr *attr,
							struct fid_fabric **fabric, void *context)
{
	struct fi_fabric_attr copy;

	if (!attr)
		return fi_fabric(attr, fabric, context);
	copy = *attr;
	copy.api_version = FI_VERSION(1, 4);
	return fi_fabric(&copy, fabric, context);
}

#endif
