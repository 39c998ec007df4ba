/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The network interfaces of a port, whose addresses the connection manager uses. */
#ifndef VRB_NETDEV_H
#define VRB_NETDEV_H

#include <stdbool.h>
#include <ifaddrs.h>
#include "device.h"
#include "gid.h"

/*
 * Sets addrs and link_addr of a port from the list of getifaddrs() and the device's GIDs. Skips
 * loopback interfaces, interfaces that are down, and those that FI_VERBS_IFACE does not name; IPv6
 * addresses that may be duplicates; on RoCE also addresses that have no GID.
 * Returns 0 or -FI_ENOMEM.
 */
int vrb_port_addrs_find(struct vrb_port *port, enum ibv_transport_type transport,
			const struct vrb_gid_table *gids, const struct ifaddrs *all);
/*
 * Returns true if the InfiniBand port of the GID has an interface with this address, by the list of
 * getifaddrs(); then sets *pkey to the P_Key of the interface, 0 if that is unknown.
 */
bool vrb_gid_has_ip(const struct ibv_gid_entry *gid, const struct ifaddrs *all,
		    const struct sockaddr *sa, uint16_t *pkey);
void vrb_port_addrs_free(struct vrb_port *port);
/*
 * Returns true if FI_VERBS_IFACE leaves out an address of this host: none of the interfaces that
 * have it is named. Loopback addresses are never left out.
 */
bool vrb_addr_left_out(const struct sockaddr *sa);
/*
 * Returns the rank of an address, nearest first: routable IPv4, IPv6, link-local, InfiniBand's own.
 */
int vrb_addr_rank(const struct sockaddr *sa);
/*
 * Returns true if the name begins with a word of the comma-separated list. NULL is the list of all
 * names.
 */
bool vrb_name_listed(const char *name, const char *list);

#endif
