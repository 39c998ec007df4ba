/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reads GID and P_Key tables, and chooses from them. */

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include "gid.h"

#define PKEY_FULL 0x8000

int vrb_gid_table_read(struct ibv_context *ctx, size_t slots, struct vrb_gid_table *table)
{
	ssize_t count;

	table->count = 0;
	table->entries = NULL;
	if (!slots)
		return 0;
	table->entries = calloc(slots, sizeof(*table->entries));
	if (!table->entries)
		return ENOMEM;
	count = ibv_query_gid_table(ctx, table->entries, slots, 0);
	if (count < 0) {
		vrb_gid_table_free(table);
		return (int)-count;
	}
	table->count = (size_t)count;
	return 0;
}

void vrb_gid_table_free(struct vrb_gid_table *table)
{
	free(table->entries);
	table->entries = NULL;
	table->count = 0;
}

static bool is_zero(const union ibv_gid *gid)
{
	return !gid->global.subnet_prefix && !gid->global.interface_id;
}

/* Returns how far an address of this kind reaches. */
static unsigned gid_scope(const union ibv_gid *gid)
{
	const struct in6_addr *addr = (const void *)gid;

	if (IN6_IS_ADDR_V4MAPPED(addr)) {
		if (gid->raw[12] == 127)
			return 0;
		return gid->raw[12] == 169 && gid->raw[13] == 254 ? 1 : 3;
	}
	return IN6_IS_ADDR_LINKLOCAL(addr) ? 1 : 2;
}

static unsigned gid_rank(const struct ibv_gid_entry *entry)
{
	switch (entry->gid_type) {
	case IBV_GID_TYPE_ROCE_V2:
		return 20 + gid_scope(&entry->gid);
	case IBV_GID_TYPE_ROCE_V1:
		return 10 + gid_scope(&entry->gid);
	default:
		return 10; /* on InfiniBand and iWARP all entries are equal */
	}
}

const struct ibv_gid_entry *vrb_gid_choose(const struct vrb_gid_table *table, uint32_t port,
					   int pinned)
{
	const struct ibv_gid_entry *best = NULL, *entry;
	size_t i;

	for (i = 0; i < table->count; i++) {
		entry = &table->entries[i];
		if (entry->port_num != port || is_zero(&entry->gid))
			continue;
		if (pinned >= 0) {
			if (entry->gid_index == (uint32_t)pinned)
				return entry;
			continue;
		}
		if (!best || gid_rank(entry) > gid_rank(best) ||
		    (gid_rank(entry) == gid_rank(best) && entry->gid_index < best->gid_index))
			best = entry;
	}
	return best;
}

bool vrb_gid_is_addr(const union ibv_gid *gid, const struct sockaddr *sa)
{
	const struct in6_addr *addr = (const void *)gid;
	const struct sockaddr_in *in = (const void *)sa;
	const struct sockaddr_in6 *in6 = (const void *)sa;

	if (sa->sa_family == AF_INET)
		return IN6_IS_ADDR_V4MAPPED(addr) &&
		       !memcmp(gid->raw + 12, &in->sin_addr, sizeof(in->sin_addr));
	return sa->sa_family == AF_INET6 && !memcmp(gid, &in6->sin6_addr, sizeof(*gid));
}

int vrb_pkey_choose(struct ibv_context *ctx, uint8_t port, int slots, uint16_t wanted,
		    struct vrb_pkey *chosen)
{
	uint16_t key;
	__be16 pkey;
	int i;

	*chosen = (struct vrb_pkey){ 0 };
	for (i = 0; i < slots && !(chosen->pkey & PKEY_FULL); i++) {
		if (ibv_query_pkey(ctx, port, i, &pkey))
			return errno ? errno : EIO;
		key = be16toh(pkey);
		if (!(key & ~PKEY_FULL) || (wanted && (key ^ wanted) & ~PKEY_FULL))
			continue;
		if (!chosen->pkey || key & PKEY_FULL)
			*chosen = (struct vrb_pkey){ .pkey = key, .index = (uint16_t)i };
	}
	return 0;
}

const char *vrb_gid_str(const union ibv_gid *gid, char *buf, size_t len)
{
	if (!inet_ntop(AF_INET6, gid->raw, buf, (socklen_t)len))
		buf[0] = '\0';
	return buf;
}
