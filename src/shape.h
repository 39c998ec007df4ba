/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* How fi_tostr prints each fi_type: as names, or as a structure's fields one by one. */
#ifndef OFI_SHAPE_H
#define OFI_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include "abi.h"
#include "names.h"

enum ofi_kind {
	OFI_KIND_INT,
	OFI_KIND_U32,
	OFI_KIND_U64,
	OFI_KIND_HEX8,
	OFI_KIND_HEX16,
	OFI_KIND_HEX32,
	OFI_KIND_HEX64,
	OFI_KIND_TAG, /* all 16 digits */
	OFI_KIND_PTR,
	OFI_KIND_PTR_SET, /* left out when NULL */
	OFI_KIND_STR,
	OFI_KIND_VERSION,
	OFI_KIND_ERR,
	OFI_KIND_FLAGS32,
	OFI_KIND_FLAGS64,
	OFI_KIND_ENUM,
	OFI_KIND_STRUCT, /* a pointer to one */
	OFI_KIND_PCI,	 /* an embedded one, left out when the bus is another */
	OFI_KIND_ADDR,
	OFI_KIND_KEY, /* left out when there is none */
};

struct ofi_shape;

struct ofi_field {
	const char *name;
	enum ofi_kind kind;
	size_t offset;
	enum ofi_names_id names;       /* of flags and enumerations */
	const struct ofi_shape *shape; /* of structures */
	size_t len_offset;	       /* of addresses and keys, where their length is */
};

struct ofi_shape {
	const char *name;
	const struct ofi_field *fields;
	size_t count;
	bool grew;		/* older callers' structure is shorter: */
	enum ofi_abi_part part; /* this one */
	const char *none;	/* printed for NULL */
};

struct ofi_type {
	const struct ofi_shape *shape;
	enum ofi_names_id names; /* without a shape: of a value of so many bytes */
	size_t size;
};

extern const struct ofi_type ofi_types[];
extern const size_t ofi_type_count;

#endif
