/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A fi_info with a distinct value in every field, truncated where a symbol version's structures
 * end.
 */
#ifndef RICH_H
#define RICH_H

#include <stddef.h>
#include <stdint.h>
#include <rdma/fabric.h>

enum { PART_INFO, PART_TX, PART_RX, PART_EP, PART_DOMAIN, PART_FABRIC, PARTS };

enum kind { VALUE, STRING, POINTER };

struct node {
	const char *name; /* "1.3" */
	size_t size[PARTS];
};

struct field {
	const char *type, *name;
	unsigned part;
	size_t offset, size;
	enum kind kind;
};

enum { RICH_SRC_LEN = 16, RICH_DEST_LEN = 8, RICH_KEY_LEN = 4 };

/* Returns NULL if there is none with this name. */
const struct node *rich_node(const char *name);
size_t rich_field_count(void);
const struct field *rich_field(size_t i);
/* Sets the fields in the first `size` bytes of a structure. */
void rich_fill(unsigned part, void *structure, size_t size);
/* Returns the first of these fields that differs, NULL if none does. */
const struct field *rich_differs(unsigned part, const void *structure, size_t size);
/* Returns the structures of a fi_info by part, NULL for missing ones. */
void rich_parts(const struct fi_info *info, const void *parts[PARTS]);

#endif
