/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The part of Level Zero's interface that the library uses, so that it builds without Level Zero's
 * headers. Where those are installed, test_hmem_ze compares this file with them. Handles are of
 * type void *.
 */
#ifndef OFI_HMEM_ZE_H
#define OFI_HMEM_ZE_H

#include <stddef.h>
#include <stdint.h>

/* Results of Level Zero functions. */
enum {
	OFI_ZE_SUCCESS = 0,
	OFI_ZE_OUT_OF_HOST_MEMORY = 0x70000002,
	OFI_ZE_OUT_OF_DEVICE_MEMORY = 0x70000003,
	OFI_ZE_UNINITIALIZED = 0x78000001,
	OFI_ZE_UNSUPPORTED_FEATURE = 0x78000003,
	OFI_ZE_INVALID_ARGUMENT = 0x78000004,
	OFI_ZE_INVALID_ENUMERATION = 0x7800000c,
	OFI_ZE_UNSUPPORTED_ENUMERATION = 0x7800000d,
};

/* Values of stype, one for each structure. */
enum {
	OFI_ZE_STYPE_DEVICE_PROPERTIES = 0x3,
	OFI_ZE_STYPE_GROUP_PROPERTIES = 0x6,
	OFI_ZE_STYPE_CONTEXT_DESC = 0xd,
	OFI_ZE_STYPE_QUEUE_DESC = 0xe,
	OFI_ZE_STYPE_MEMORY_PROPERTIES = 0x17,
	OFI_ZE_STYPE_EXPORT_FD = 0x1a,
};

enum {
	OFI_ZE_DEVICE_GPU = 1,
	OFI_ZE_GROUP_COPY = 1 << 1,
	OFI_ZE_QUEUE_SYNCHRONOUS = 1,
	OFI_ZE_MEMORY_DEVICE = 2,
	OFI_ZE_EXTERNAL_DMA_BUF = 1 << 1,
};

struct ofi_ze_device_properties {
	int stype;
	void *next;
	int type;
	uint32_t vendor, device, flags, subdevice, clock;
	uint64_t max_alloc;
	uint32_t contexts, priority, threads, simd, units, subslices, slices;
	uint64_t timer;
	uint32_t timestamp_bits, kernel_timestamp_bits;
	uint8_t uuid[16];
	char name[256];
};

/* Describes queues of a device with the same abilities. The ordinal of a group is its index. */
struct ofi_ze_group_properties {
	int stype;
	void *next;
	uint32_t flags;
	size_t max_pattern;
	uint32_t queues;
};

struct ofi_ze_context_desc {
	int stype;
	const void *next;
	uint32_t flags;
};

struct ofi_ze_queue_desc {
	int stype;
	const void *next;
	uint32_t ordinal, index, flags;
	int mode, priority;
};

struct ofi_ze_memory_properties {
	int stype;
	void *next;
	int type;
	uint64_t id, page;
};

struct ofi_ze_export_fd {
	int stype;
	const void *next;
	uint32_t flags;
	int fd;
};

#endif
