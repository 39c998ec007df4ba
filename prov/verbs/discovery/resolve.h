/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Resolves node, service and hints to socket addresses, and finds the local addresses that reach
 * them.
 */
#ifndef VRB_RESOLVE_H
#define VRB_RESOLVE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <rdma/fabric.h>
#include "device.h"
#include "prov/verbs/dgram/ud_name.h"

enum { VRB_TARGET_ADDRS = 8 };

struct ofi_domain;

struct vrb_addr_list {
	size_t count;
	struct sockaddr_storage addr[VRB_TARGET_ADDRS];
};

struct vrb_target {
	struct vrb_addr_list src;   /* possible source addresses; empty: any */
	struct vrb_addr_list dest;  /* possible destinations; empty: none given */
	bool named_src, named_dest; /* the hints contain FI_ADDR_IB_UD names */
	struct vrb_ud_name src_name, dest_name;
};

/*
 * Returns -FI_ENODATA with *why set if a name has no address, or logs and returns -FI_EINVAL for
 * invalid input.
 */
int vrb_resolve(const char *node, const char *service, uint64_t flags, const struct fi_info *hints,
		struct vrb_target *target, struct ofi_miss *why);
/*
 * Sets *src to the local address with the port that the target requests. Returns false with *why
 * set if the target requests a different source address.
 */
bool vrb_resolve_src(const struct vrb_target *target, const struct vrb_port_addr *local,
		     struct sockaddr_storage *src, struct ofi_miss *why);
/*
 * Makes *src, which is for a passive endpoint, the wildcard address of its family if the target
 * requests one and no destination. Returns false then, unless `local` is the port's first of this
 * family.
 */
bool vrb_resolve_any(const struct vrb_target *target, const struct vrb_port *port,
		     const struct vrb_port_addr *local, struct sockaddr_storage *src);
/*
 * Finds the first destination for which the routing table would choose a local address, and sets
 * *preferred; else the first that can be reached from this address at all. Returns 0, -FI_ENODATA
 * with *why set, or -FI_E*.
 */
int vrb_resolve_dest(const struct vrb_target *target, const struct vrb_port_addr *local,
		     struct sockaddr_storage *dest, bool *preferred, struct ofi_miss *why);
/*
 * Finds the source address that the routing table chooses for dest; only through the interface of
 * `local` unless that is NULL. Returns 0 or errno.
 */
int vrb_route(const struct vrb_port_addr *local, const struct sockaddr_storage *dest,
	      struct sockaddr_storage *from);
/* Sets *ss to the source of an fi_info, with any port. Returns false if that names no host. */
bool vrb_resolve_own(const struct fi_info *info, struct sockaddr_storage *ss);
/*
 * Implements ofi_domain_ops.resolve. If the routing table reaches none of the addresses from the
 * domain's address, it takes one that can be reached at all, or the first. A loopback address is
 * the domain's own.
 */
int vrb_resolve_peer(const struct ofi_domain *domain, const char *call, uint32_t format,
		     const char *node, const char *service, struct sockaddr_storage *ss);

#endif
