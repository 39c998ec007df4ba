/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Describes how fi_tostr prints each fi_type: as names, or as a structure, field by field. */
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
	OFI_KIND_CONTEXTS, /* a number, or FI_SHARED_CONTEXT */
	OFI_KIND_HEX8,
	OFI_KIND_HEX16,
	OFI_KIND_HEX32,
	OFI_KIND_HEX64,
	OFI_KIND_TAG, /* all 16 digits */
	OFI_KIND_PTR,
	OFI_KIND_PTR_SET, /* omitted if NULL */
	OFI_KIND_STR,
	OFI_KIND_VERSION,
	OFI_KIND_ERR,
	OFI_KIND_FLAGS32,
	OFI_KIND_FLAGS64,
	OFI_KIND_ENUM,
	OFI_KIND_STRUCT, /* a pointer to a structure */
	OFI_KIND_PCI,	 /* an embedded structure, omitted for other kinds of bus */
	OFI_KIND_ADDR,
	OFI_KIND_KEY, /* omitted if there is none */
};

struct ofi_shape;

struct ofi_field {
	const char *name;
	enum ofi_kind kind;
	size_t offset;
	enum ofi_names_id names;       /* for flags and enumerations */
	const struct ofi_shape *shape; /* for structures */
	size_t len_offset;	       /* for addresses and keys: offset of their length */
};

struct ofi_shape {
	const char *name;
	const struct ofi_field *fields;
	size_t count;
	bool grew;		/* older callers have a shorter structure */
	enum ofi_abi_part part; /* the structure that grew */
	const char *none;	/* printed for NULL */
};

struct ofi_type {
	const struct ofi_shape *shape;
	enum ofi_names_id names; /* without a shape: names for a value of `size` bytes */
	size_t size;
};

extern const struct ofi_type ofi_types[];
extern const size_t ofi_type_count;

#endif
