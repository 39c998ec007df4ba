/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Addresses that the connection manager resolves to queue pairs: IP addresses, nodes and services.
 */
#ifndef VRB_AV_SVC_H
#define VRB_AV_SVC_H

#include <netinet/in.h>
#include <sys/socket.h>
#include <rdma/fi_domain.h>
#include "ud_name.h"

struct vrb_av;

/* The entry of an IP address. */
struct vrb_av_ip_entry {
	struct vrb_dest dest;	  /* first */
	struct sockaddr_in6 addr; /* of either family */
};

/* An IP address to be inserted and its result. */
struct vrb_av_found {
	struct vrb_dest dest;
	struct sockaddr_storage addr;
};

/*
 * Inserts IP addresses in the address vector's format, like fi_av_insert. The arguments have been
 * checked.
 */
int vrb_av_insert_addrs(struct vrb_av *av, const void *addrs, size_t count, fi_addr_t *fi_addr,
			uint64_t flags, void *context);
int vrb_av_insertsvc(struct fid_av *fid, const char *node, const char *service, fi_addr_t *fi_addr,
		     uint64_t flags, void *context);
int vrb_av_insertsym(struct fid_av *fid, const char *node, size_t nodecnt, const char *service,
		     size_t svccnt, fi_addr_t *fi_addr, uint64_t flags, void *context);

#endif
