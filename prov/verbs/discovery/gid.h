/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The GID and P_Key tables of a device, and the choice of a port's GID and P_Key. */
#ifndef VRB_GID_H
#define VRB_GID_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <infiniband/verbs.h>

struct vrb_gid_table {
	size_t count;
	struct ibv_gid_entry *entries;
};

struct vrb_pkey {
	uint16_t pkey; /* in host byte order, 0 if there is none */
	uint16_t index;
};

/* Reads the valid entries of all ports, of which there are `slots`. Returns 0 or errno. */
int vrb_gid_table_read(struct ibv_context *ctx, size_t slots, struct vrb_gid_table *table);
void vrb_gid_table_free(struct vrb_gid_table *table);
/*
 * Returns the best entry of a port: RoCE v2 before v1, routable before link-local, IPv4 before
 * IPv6, then the lowest index; or the entry at `pinned` unless that is negative. Returns NULL if
 * there is none.
 */
const struct ibv_gid_entry *vrb_gid_choose(const struct vrb_gid_table *table, uint32_t port,
					   int pinned);
/*
 * Chooses from the P_Key table of a port, which has `slots` entries, that of the wanted partition,
 * or of any if `wanted` is 0; a full membership before a limited one, then the lowest index. Sets
 * *chosen. Returns 0 or errno.
 */
int vrb_pkey_choose(struct ibv_context *ctx, uint8_t port, int slots, uint16_t wanted,
		    struct vrb_pkey *chosen);
/* Returns true if this is the GID of the IPv4 or IPv6 address. */
bool vrb_gid_is_addr(const union ibv_gid *gid, const struct sockaddr *sa);
/* Writes "fe80::1" or "::ffff:10.0.0.1". */
const char *vrb_gid_str(const union ibv_gid *gid, char *buf, size_t len);

#endif
