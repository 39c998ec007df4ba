/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Finds the interfaces of ports, and the addresses of interfaces. */

#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <netpacket/packet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_errno.h>
#include <rdma/rdma_cma.h>
#include <infiniband/ib.h>
#include <linux/if_addr.h>
#include <ofi/addr.h>
#include "netdev.h"
#include "prov/verbs/provider/prov.h"

enum { MAC_LEN = 6, IPOIB_LEN = 20, IPOIB_PKEY = 8, IPOIB_GUID = 12, GUID_LEN = 8 };

bool vrb_name_listed(const char *name, const char *list)
{
	size_t len;

	if (!list)
		return true;
	for (; *list; list += len + (list[len] == ',')) {
		len = strcspn(list, ",");
		if (len && !strncmp(name, list, len))
			return true;
	}
	return false;
}

/* An InfiniBand hardware address is longer than struct sockaddr_ll declares. */
static const uint8_t *hw_addr(const struct sockaddr_ll *ll)
{
	return (const uint8_t *)ll + offsetof(struct sockaddr_ll, sll_addr);
}

static bool has_gid(const struct sockaddr_ll *ll, const struct ibv_gid_entry *gid,
		    enum ibv_transport_type transport)
{
	if (gid->ndev_ifindex)
		return gid->ndev_ifindex == (uint32_t)ll->sll_ifindex;
	if (ll->sll_hatype == ARPHRD_INFINIBAND && ll->sll_halen == IPOIB_LEN)
		return !memcmp(hw_addr(ll) + IPOIB_GUID, &gid->gid.global.interface_id, GUID_LEN);
	return transport == IBV_TRANSPORT_IWARP && ll->sll_halen == MAC_LEN &&
	       !memcmp(hw_addr(ll), gid->gid.raw, MAC_LEN);
}

static bool is_behind(const struct ifaddrs *link, const struct vrb_port *port,
		      enum ibv_transport_type transport, const struct vrb_gid_table *gids)
{
	const struct sockaddr_ll *ll = (const void *)link->ifa_addr;
	size_t i;

	for (i = 0; i < gids->count; i++) {
		if (gids->entries[i].port_num == port->num &&
		    has_gid(ll, &gids->entries[i], transport))
			return true;
	}
	return false;
}

static bool is_usable(const struct ifaddrs *link)
{
	return link->ifa_addr && link->ifa_addr->sa_family == AF_PACKET &&
	       link->ifa_flags & IFF_UP && !(link->ifa_flags & IFF_LOOPBACK) &&
	       vrb_name_listed(link->ifa_name, vrb_params.iface);
}

int vrb_addr_rank(const struct sockaddr *sa)
{
	const struct sockaddr_in *in = (const void *)sa;
	const struct sockaddr_in6 *in6 = (const void *)sa;

	switch (sa->sa_family) {
	case AF_INET:
		return (ntohl(in->sin_addr.s_addr) >> 16) == 0xa9fe ? 2 : 0;
	case AF_INET6:
		return IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr) ? 3 : 1;
	default:
		return 4;
	}
}

/* `flags` are IFA_F_* of an IPv6 address. */
static int add_addr(struct vrb_port *port, const void *sa, const char *netdev, unsigned flags)
{
	struct vrb_port_addr *addr, *at, *before = NULL;

	addr = calloc(1, sizeof(*addr));
	if (!addr)
		return -FI_ENOMEM;
	memcpy(&addr->addr, sa, ofi_addr_size(sa));
	snprintf(addr->netdev, sizeof(addr->netdev), "%s", netdev);
	addr->order = 2 * vrb_addr_rank(sa) + !!(flags & (IFA_F_TEMPORARY | IFA_F_DEPRECATED));
	STAILQ_FOREACH (at, &port->addrs, next) {
		if (at->order > addr->order)
			break;
		before = at;
	}
	if (before)
		STAILQ_INSERT_AFTER(&port->addrs, before, addr, next);
	else
		STAILQ_INSERT_HEAD(&port->addrs, addr, next);
	return 0;
}

bool vrb_addr_left_out(const struct sockaddr *sa)
{
	struct ifaddrs *all, *ifa;
	bool out = true;

	if (!vrb_params.iface || ofi_addr_is_loopback(sa))
		return false;
	if (getifaddrs(&all))
		return true;
	for (ifa = all; ifa && out; ifa = ifa->ifa_next)
		out = !ifa->ifa_addr || !ofi_addr_same_host(ifa->ifa_addr, sa) ||
		      !vrb_name_listed(ifa->ifa_name, vrb_params.iface);
	freeifaddrs(all);
	return out;
}

/* An IPv4 address may have a label such as "eth0:1" as its name. */
static bool is_of(const struct ifaddrs *ifa, const char *netdev)
{
	size_t len = strcspn(ifa->ifa_name, ":");

	return !strncmp(ifa->ifa_name, netdev, len) && !netdev[len];
}

/*
 * The connection manager uses the GID of the address that an endpoint is bound to, so a GID is
 * pinned by leaving out all other addresses. On InfiniBand and iWARP, GIDs are not derived from
 * addresses.
 */
static bool is_pinned_away(const struct vrb_port *port, const struct sockaddr *sa)
{
	return vrb_params.gid_idx >= 0 && port->attr.link_layer == IBV_LINK_LAYER_ETHERNET &&
	       port->gid_type != IBV_GID_TYPE_IB && !vrb_gid_is_addr(&port->gid, sa);
}

/* Returns the P_Key of an IPoIB interface, which is part of its broadcast address, or else 0. */
static uint16_t netdev_pkey(const struct ifaddrs *link)
{
	const struct sockaddr_ll *ll = (const void *)link->ifa_broadaddr;

	if (!ll || ll->sll_halen != IPOIB_LEN)
		return 0;
	return (uint16_t)(hw_addr(ll)[IPOIB_PKEY] << 8 | hw_addr(ll)[IPOIB_PKEY + 1]);
}

bool vrb_gid_has_ip(const struct ibv_gid_entry *gid, const struct ifaddrs *all,
		    const struct sockaddr *sa, uint16_t *pkey)
{
	const struct ifaddrs *link, *ifa;

	for (link = all; link; link = link->ifa_next) {
		if (!is_usable(link) ||
		    !has_gid((const void *)link->ifa_addr, gid, IBV_TRANSPORT_IB))
			continue;
		for (ifa = all; ifa; ifa = ifa->ifa_next) {
			if (!ifa->ifa_addr || !is_of(ifa, link->ifa_name) ||
			    !ofi_addr_same_host(ifa->ifa_addr, sa))
				continue;
			*pkey = netdev_pkey(link);
			return true;
		}
	}
	return false;
}

/*
 * Returns true if the address does not belong to the RoCE port. On RoCE each address has a GID; an
 * interface without it only has the same index as the port's interface, which is in another network
 * namespace. `gids` is NULL for other ports.
 */
static bool is_foreign(const struct vrb_gid_table *gids, const struct vrb_port *port,
		       const struct ifaddrs *link, const struct sockaddr *sa)
{
	const struct sockaddr_ll *ll = (const void *)link->ifa_addr;
	const struct ibv_gid_entry *gid;
	size_t i;

	for (i = 0; gids && i < gids->count; i++) {
		gid = &gids->entries[i];
		if (gid->port_num == port->num && has_gid(ll, gid, IBV_TRANSPORT_IB) &&
		    vrb_gid_is_addr(&gid->gid, sa))
			return false;
	}
	return gids;
}

/* Returns the IFA_F_* flags of an IPv6 address, 0 if the system does not say. */
static unsigned in6_flags(const struct sockaddr *sa, const struct sockaddr_ll *ll)
{
	const struct in6_addr *addr = &((const struct sockaddr_in6 *)sa)->sin6_addr;
	FILE *file = sa->sa_family == AF_INET6 ? fopen("/proc/net/if_inet6", "re") : NULL;
	unsigned word[4], index, flags, found = 0;
	int i;

	while (file && fscanf(file, "%8x%8x%8x%8x %x %*x %*x %x %*s", &word[0], &word[1], &word[2],
			      &word[3], &index, &flags) == 6) {
		for (i = 0; i < 4; i++)
			word[i] = htonl(word[i]);
		if ((int)index == ll->sll_ifindex && !memcmp(addr, word, sizeof(word)))
			found = flags;
	}
	if (file)
		fclose(file);
	return found;
}

static int add_addrs_of(struct vrb_port *port, const struct ifaddrs *link,
			const struct ifaddrs *all, const struct vrb_gid_table *gids)
{
	const char *netdev = link->ifa_name;
	const struct ifaddrs *ifa;
	unsigned flags;
	int ret = 0;

	for (ifa = all; ifa && !ret; ifa = ifa->ifa_next) {
		if (!ifa->ifa_addr || !is_of(ifa, netdev) || is_pinned_away(port, ifa->ifa_addr) ||
		    is_foreign(gids, port, link, ifa->ifa_addr))
			continue;
		flags = in6_flags(ifa->ifa_addr, (const void *)link->ifa_addr);
		if (ofi_addr_size(ifa->ifa_addr) && !(flags & (IFA_F_TENTATIVE | IFA_F_DADFAILED)))
			ret = add_addr(port, ifa->ifa_addr, netdev, flags);
	}
	return ret;
}

static int add_ib_addr(struct vrb_port *port)
{
	struct sockaddr_ib ib = { .sib_family = AF_IB };

	ib.sib_pkey = htobe16(port->pkey);
	memcpy(&ib.sib_addr, &port->gid, sizeof(ib.sib_addr));
	ib.sib_sid = htobe64(RDMA_IB_IP_PS_TCP);
	ib.sib_sid_mask = htobe64(RDMA_IB_IP_PS_MASK);
	return add_addr(port, &ib, "", 0);
}

static void set_mac(struct vrb_port *port, const struct ifaddrs *link)
{
	const struct sockaddr_ll *ll = (const void *)link->ifa_addr;
	const uint8_t *mac = hw_addr(ll);

	if (ll->sll_halen == MAC_LEN)
		snprintf(port->link_addr, sizeof(port->link_addr), "%02x:%02x:%02x:%02x:%02x:%02x",
			 mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
}

int vrb_port_addrs_find(struct vrb_port *port, enum ibv_transport_type transport,
			const struct vrb_gid_table *gids, const struct ifaddrs *all)
{
	bool ib = transport == IBV_TRANSPORT_IB;
	bool roce = ib && port->attr.link_layer == IBV_LINK_LAYER_ETHERNET;
	const struct ifaddrs *link;
	int ret = 0;

	for (link = all; link && !ret; link = link->ifa_next) {
		if (!is_usable(link) || !is_behind(link, port, transport, gids))
			continue;
		if (!port->link_addr[0])
			set_mac(port, link);
		ret = add_addrs_of(port, link, all, roce ? gids : NULL);
	}
	if (!port->link_addr[0])
		vrb_gid_str(&port->gid, port->link_addr, sizeof(port->link_addr));
	if (!ret && port->gid_index >= 0 && ib && !roce && !vrb_params.iface)
		ret = add_ib_addr(port);
	return ret;
}

void vrb_port_addrs_free(struct vrb_port *port)
{
	struct vrb_port_addr *addr;

	while ((addr = STAILQ_FIRST(&port->addrs))) {
		STAILQ_REMOVE_HEAD(&port->addrs, next);
		free(addr);
	}
}
