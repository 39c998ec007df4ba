/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Fills and compares structures field by field, by the tables of the interface. */
#include "tests/abi/rich.h"

#include <string.h>
#include "tests/abi/node_table.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

const struct node *rich_node(const char *name)
{
	size_t i;

	for (i = 0; i < COUNT(nodes); i++) {
		if (!strcmp(nodes[i].name, name))
			return &nodes[i];
	}
	return NULL;
}

size_t rich_field_count(void)
{
	return COUNT(fields);
}

const struct field *rich_field(size_t i)
{
	return &fields[i];
}

static uint64_t value_of(size_t i)
{
	if (!strcmp(fields[i].name, "src_addrlen"))
		return RICH_SRC_LEN;
	if (!strcmp(fields[i].name, "dest_addrlen"))
		return RICH_DEST_LEN;
	if (!strcmp(fields[i].name, "auth_key_size"))
		return RICH_KEY_LEN;
	return (i + 1) * 0x0001000100010001;
}

static int is_value(size_t i, unsigned part, size_t size)
{
	return fields[i].part == part && fields[i].kind == VALUE &&
	       fields[i].offset + fields[i].size <= size;
}

void rich_fill(unsigned part, void *structure, size_t size)
{
	uint64_t value;
	size_t i;

	for (i = 0; i < COUNT(fields); i++) {
		value = value_of(i);
		if (is_value(i, part, size))
			memcpy((char *)structure + fields[i].offset, &value, fields[i].size);
	}
}

const struct field *rich_differs(unsigned part, const void *structure, size_t size)
{
	uint64_t value;
	size_t i;

	for (i = 0; i < COUNT(fields); i++) {
		value = value_of(i);
		if (is_value(i, part, size) &&
		    memcmp((const char *)structure + fields[i].offset, &value, fields[i].size) != 0)
			return &fields[i];
	}
	return NULL;
}

void rich_parts(const struct fi_info *info, const void *parts[PARTS])
{
	parts[PART_INFO] = info;
	parts[PART_TX] = info->tx_attr;
	parts[PART_RX] = info->rx_attr;
	parts[PART_EP] = info->ep_attr;
	parts[PART_DOMAIN] = info->domain_attr;
	parts[PART_FABRIC] = info->fabric_attr;
}
