/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The network interfaces behind a port, whose addresses the connection manager takes. */
#ifndef VRB_NETDEV_H
#define VRB_NETDEV_H

#include <stdbool.h>
#include <ifaddrs.h>
#include "device.h"
#include "gid.h"

/*
 * Fills addrs and link_addr of a port from the list of getifaddrs() and the device's GIDs. Loopback
 * interfaces, those that are down, and those that FI_VERBS_IFACE does not name are left out.
 * 0 or -FI_ENOMEM.
 */
int vrb_port_addrs_find(struct vrb_port *port, enum ibv_transport_type transport,
			const struct vrb_gid_table *gids, const struct ifaddrs *all);
void vrb_port_addrs_free(struct vrb_port *port);
/*
 * The nearest address has the lowest rank: routable IPv4, IPv6, what reaches the link only,
 * InfiniBand's own.
 */
int vrb_addr_rank(const struct sockaddr *sa);
/* Does the name begin with a word of the comma separated list? NULL is a list of all. */
bool vrb_name_listed(const char *name, const char *list);

#endif
