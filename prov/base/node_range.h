/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The nodes of fi_av_insertsym: a host name or an address, and those that follow it. */
#ifndef OFI_NODE_RANGE_H
#define OFI_NODE_RANGE_H

#include <stdbool.h>
#include <stddef.h>

enum { OFI_NODE_LEN = 256 };

/*
 * Writes the node that is `add` after this one: 10.0.1.0 follows 10.0.0.255, and host10 follows
 * host09. Returns false if there is none, because the name does not end with a number, or if buf is
 * too short.
 */
bool ofi_node_after(const char *node, size_t add, char *buf, size_t len);

#endif
