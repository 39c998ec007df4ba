/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Socket addresses of node, service and hints, and which local address reaches them. */
#ifndef VRB_RESOLVE_H
#define VRB_RESOLVE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <rdma/fabric.h>
#include "device.h"
#include "prov/verbs/dgram/ud_name.h"

enum { VRB_TARGET_ADDRS = 8 };

struct vrb_addr_list {
	size_t count;
	struct sockaddr_storage addr[VRB_TARGET_ADDRS];
};

struct vrb_target {
	struct vrb_addr_list src;   /* where to start from, empty is anywhere */
	struct vrb_addr_list dest;  /* where to get to, empty is nowhere in particular */
	bool named_src, named_dest; /* the hints have names of FI_ADDR_IB_UD */
	struct vrb_ud_name src_name, dest_name;
};

/* -FI_ENODATA with *why filled when a name has no address, -FI_EINVAL on bad input, logged. */
int vrb_resolve(const char *node, const char *service, uint64_t flags, const struct fi_info *hints,
		struct vrb_target *target, struct ofi_miss *why);
/*
 * The source address that a local address gives to the target, port included. False with *why when
 * the target starts elsewhere.
 */
bool vrb_resolve_src(const struct vrb_target *target, const struct vrb_port_addr *local,
		     struct sockaddr_storage *src, struct ofi_miss *why);
/*
 * The destination that is reached from a local address; *preferred when the routing table would
 * take this address by itself. 0, -FI_ENODATA with *why, or -FI_E*.
 */
int vrb_resolve_dest(const struct vrb_target *target, const struct vrb_port_addr *local,
		     struct sockaddr_storage *dest, bool *preferred, struct ofi_miss *why);

#endif
