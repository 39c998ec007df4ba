/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The nodes of fi_av_insertsym: a host name or an address, and those that follow it. */
#include "node_range.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Adds to a numeric address as to an integer. Returns false if the node is not a numeric address.
 */
static bool next_numeric(const char *node, size_t add, char *buf, size_t len)
{
	uint8_t addr[16];
	int family = AF_INET, last = 3;
	size_t sum;

	if (inet_pton(AF_INET, node, addr) != 1) {
		if (inet_pton(AF_INET6, node, addr) != 1)
			return false;
		family = AF_INET6;
		last = 15;
	}
	for (; add && last >= 0; last--) {
		sum = addr[last] + (add & 0xff);
		addr[last] = (uint8_t)sum;
		add = (add >> 8) + (sum >> 8);
	}
	return inet_ntop(family, addr, buf, (socklen_t)len);
}

static bool next_name(const char *node, size_t add, char *buf, size_t len)
{
	size_t end = strlen(node), at = end;
	unsigned long long number;

	while (at && isdigit((unsigned char)node[at - 1]))
		at--;
	if (at == end || end - at > 18)
		return false;
	number = strtoull(node + at, NULL, 10) + add;
	return (size_t)snprintf(buf, len, "%.*s%0*llu", (int)at, node, (int)(end - at), number) <
	       len;
}

bool ofi_node_after(const char *node, size_t add, char *buf, size_t len)
{
	if (!add)
		return (size_t)snprintf(buf, len, "%s", node) < len;
	return next_numeric(node, add, buf, len) || next_name(node, add, buf, len);
}
