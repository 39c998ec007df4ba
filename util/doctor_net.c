/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Checks the IP addresses of RDMA interfaces, and the settings that several interfaces on one
 * subnet require.
 */
#include "doctor_net.h"

#include <stdlib.h>
#include <string.h>

#include "doctor_param.h"
#include "doctor_tree.h"

static const struct doctor_addr *find_addr(const struct doctor_addrs *addrs,
					   const struct doctor_port *port, bool link_local)
{
	const struct doctor_addr *addr;

	STAILQ_FOREACH (addr, addrs, next) {
		if (doctor_port_has(port, addr->netdev) && addr->link_local == link_local)
			return addr;
	}
	return NULL;
}

static bool is_served(const struct doctor_ports *ports, const struct doctor_addrs *addrs)
{
	const struct doctor_port *port;

	STAILQ_FOREACH (port, ports, next) {
		if (port->active && find_addr(addrs, port, false))
			return true;
	}
	return false;
}

/* A port without an address is not a failure if another one has one, or if a GID suffices. */
static void check_addr(struct doctor *doctor, const struct doctor_port *port,
		       const struct doctor_addrs *addrs, bool served)
{
	const struct doctor_addr *addr = find_addr(addrs, port, false);

	if (addr) {
		doctor_say(doctor, DOCTOR_OK, "%s port %s: the connection manager has %s on %s",
			   port->device, port->num, addr->text, addr->netdev);
		if (strcmp(addr->netdev, port->netdev))
			doctor_port_mtu(doctor, port, addr->netdev);
		return;
	}
	addr = find_addr(addrs, port, true);
	doctor_fix(doctor, "ip addr add ADDRESS/24 dev %s", addr ? addr->netdev : port->netdev);
	if (addr)
		doctor_say(doctor, DOCTOR_WARN, "%s has no IP address but %s, which is link-local",
			   addr->netdev, addr->text);
	else
		doctor_say(doctor, served || !port->ethernet ? DOCTOR_WARN : DOCTOR_FAIL,
			   "%s has no IP address: the connection manager cannot use %s port %s",
			   port->netdev, port->device, port->num);
}

static bool is_listed(const char *name, const char *list)
{
	size_t len;

	for (; *list; list += len + (list[len] == ',')) {
		len = strcspn(list, ",");
		if (len && !strncmp(name, list, len))
			return true;
	}
	return false;
}

static void check_filter(struct doctor *doctor, const char *variable, const char *name)
{
	char list[256];

	if (!doctor_param(variable, list, sizeof(list)) || is_listed(name, list))
		return;
	doctor_param_fix(doctor, variable);
	doctor_say(doctor, DOCTOR_NOTE, "%s is left out by %s=%s", name, variable, list);
}

/* The kernel uses the maximum of the values for `all` and for the interface. */
static long sysctl_of(const char *root, const char *netdev, const char *name)
{
	long all = tree_number(root, 0, "/proc/sys/net/ipv4/conf/all/%s", name);
	long own = tree_number(root, 0, "/proc/sys/net/ipv4/conf/%s/%s", netdev, name);

	return own > all ? own : all;
}

static void check_arp(struct doctor *doctor, const char *netdev)
{
	long ignore = sysctl_of(doctor->root, netdev, "arp_ignore");
	long announce = sysctl_of(doctor->root, netdev, "arp_announce");

	if (ignore >= 1 && announce == 2) {
		doctor_say(doctor, DOCTOR_OK, "%s answers for its own addresses only", netdev);
		return;
	}
	doctor_fix(doctor,
		   "sysctl -w net/ipv4/conf/%s/arp_ignore=1 net/ipv4/conf/%s/arp_announce=2",
		   netdev, netdev);
	doctor_say(
		doctor, DOCTOR_WARN,
		"%s answers for addresses of other interfaces (arp_ignore %ld, arp_announce %ld): connections to these hang",
		netdev, ignore, announce);
}

static void check_rp_filter(struct doctor *doctor, const char *netdev)
{
	if (sysctl_of(doctor->root, netdev, "rp_filter") != 1) {
		doctor_say(doctor, DOCTOR_OK, "%s accepts packets whatever route the answer takes",
			   netdev);
		return;
	}
	doctor_fix(doctor, "sysctl -w net/ipv4/conf/%s/rp_filter=2", netdev);
	doctor_say(doctor, DOCTOR_WARN,
		   "%s drops packets whose answer would leave by another interface (rp_filter 1)",
		   netdev);
}

/* Finds another interface of an RDMA port with an address on the same subnet. */
static const char *find_neighbour(const struct doctor_ports *ports,
				  const struct doctor_addrs *addrs, const char *netdev)
{
	const struct doctor_addr *own, *other;

	STAILQ_FOREACH (own, addrs, next) {
		if (own->family != AF_INET || !own->mask || strcmp(own->netdev, netdev))
			continue;
		STAILQ_FOREACH (other, addrs, next) {
			if (other->family == AF_INET && other->mask == own->mask &&
			    strcmp(other->netdev, netdev) &&
			    !((other->addr ^ own->addr) & own->mask) &&
			    doctor_port_of(ports, other->netdev))
				return other->netdev;
		}
	}
	return NULL;
}

static void check_subnet(struct doctor *doctor, const char *netdev,
			 const struct doctor_ports *ports, const struct doctor_addrs *addrs)
{
	const char *neighbour = find_neighbour(ports, addrs, netdev);

	if (!neighbour)
		return;
	doctor_say(doctor, DOCTOR_OK,
		   "%s and %s are on one subnet, which requires some settings:", netdev, neighbour);
	check_arp(doctor, netdev);
	check_rp_filter(doctor, netdev);
}

void doctor_net_check(struct doctor *doctor, const struct doctor_ports *ports,
		      const struct doctor_addrs *addrs)
{
	bool served = is_served(ports, addrs);
	const struct doctor_port *port;
	const struct doctor_addr *addr;
	int i;

	doctor->topic = "network";
	STAILQ_FOREACH (port, ports, next) {
		check_filter(doctor, "FI_VERBS_DEVICE_NAME", port->device);
		if (!port->netdev[0])
			continue;
		addr = find_addr(addrs, port, false);
		check_filter(doctor, "FI_VERBS_IFACE", addr ? addr->netdev : port->netdev);
		if (port->active)
			check_addr(doctor, port, addrs, served);
		check_subnet(doctor, port->netdev, ports, addrs);
		for (i = 0; i < port->upper_count; i++)
			check_subnet(doctor, port->uppers[i], ports, addrs);
	}
}
