/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Checks the ports of RDMA devices. */
#include "doctor_port.h"

#include <stdlib.h>
#include <string.h>

#include "doctor_tree.h"

/* The largest headers around a RoCE v2 payload, with IPv6 and checksum. */
enum { ROCE_OVERHEAD = 100, ROCE_MTU_MAX = 4096, ROCE_MTU_MIN = 256 };

bool doctor_port_has(const struct doctor_port *port, const char *netdev)
{
	bool has = !strcmp(port->netdev, netdev);
	int i;

	for (i = 0; i < port->upper_count; i++)
		has |= !strcmp(port->uppers[i], netdev);
	return has;
}

const struct doctor_port *doctor_port_of(const struct doctor_ports *ports, const char *netdev)
{
	const struct doctor_port *port;

	STAILQ_FOREACH (port, ports, next) {
		if (doctor_port_has(port, netdev))
			return port;
	}
	return NULL;
}

static void add_netdev(struct doctor_port *port, const char *netdev)
{
	if (!port->netdev[0])
		snprintf(port->netdev, sizeof(port->netdev), "%s", netdev);
	else if (!doctor_port_has(port, netdev) && port->upper_count < DOCTOR_UPPERS)
		snprintf(port->uppers[port->upper_count++], IFNAMSIZ, "%s", netdev);
}

/*
 * The GIDs of an Ethernet port name its interfaces, the one of the port first. If the port is down
 * it has none; then a software device names its parent, and other devices have the interfaces of
 * their PCI device.
 */
static void find_netdev(const char *root, struct doctor_port *port)
{
	char path[256], netdev[IFNAMSIZ];
	struct dirent **names;
	int count, i;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s", port->device);
	count = tree_list(root, &names, "%s/ports/%s/gid_attrs/ndevs", path, port->num);
	for (i = 0; i < count; i++) {
		if (tree_line(root, "", netdev, sizeof(netdev), "%s/ports/%s/gid_attrs/ndevs/%s",
			      path, port->num, names[i]->d_name))
			add_netdev(port, netdev);
	}
	tree_free(names, count);
	if (port->netdev[0] ||
	    tree_line(root, "", port->netdev, sizeof(port->netdev), "%s/parent", path))
		return;
	count = tree_list(root, &names, "%s/device/net", path);
	for (i = 0; i < count; i++) {
		/* dev_port is numbered from 0, ports of RDMA devices from 1. */
		if (count > 1 &&
		    tree_number(root, 0, "%s/device/net/%s/dev_port", path, names[i]->d_name) + 1 !=
			    atol(port->num))
			continue;
		snprintf(port->netdev, sizeof(port->netdev), "%.15s", names[i]->d_name);
		break;
	}
	tree_free(names, count);
}

static bool read_port(struct doctor_ports *ports, const char *root, const char *device,
		      const char *num)
{
	struct doctor_port *port = calloc(1, sizeof(*port));
	char path[256], type[32];

	if (!port)
		return false;
	STAILQ_INSERT_TAIL(ports, port, next);
	snprintf(port->device, sizeof(port->device), "%.63s", device);
	snprintf(port->num, sizeof(port->num), "%.15s", num);
	snprintf(path, sizeof(path), "/sys/class/infiniband/%s", port->device);
	tree_line(root, "", port->state, sizeof(port->state), "%s/ports/%s/state", path, num);
	tree_line(root, "", port->phys, sizeof(port->phys), "%s/ports/%s/phys_state", path, num);
	tree_line(root, "", port->layer, sizeof(port->layer), "%s/ports/%s/link_layer", path, num);
	port->active = strstr(port->state, "ACTIVE");
	port->ethernet = !strcmp(port->layer, "Ethernet");
	port->iwarp =
		tree_line(root, "", type, sizeof(type), "%s/node_type", path) && type[0] == '4';
	find_netdev(root, port);
	return true;
}

bool doctor_ports_read(struct doctor_ports *ports, const char *root)
{
	struct dirent **devices, **nums;
	int device_count, num_count, i, n;
	bool good = true;

	STAILQ_INIT(ports);
	device_count = tree_list(root, &devices, "/sys/class/infiniband");
	for (i = 0; i < device_count && good; i++) {
		num_count = tree_list(root, &nums, "/sys/class/infiniband/%s/ports",
				      devices[i]->d_name);
		for (n = 0; n < num_count && good; n++)
			good = read_port(ports, root, devices[i]->d_name, nums[n]->d_name);
		tree_free(nums, num_count);
	}
	tree_free(devices, device_count);
	return good;
}

void doctor_ports_free(struct doctor_ports *ports)
{
	struct doctor_port *port;

	while ((port = STAILQ_FIRST(ports))) {
		STAILQ_REMOVE_HEAD(ports, next);
		free(port);
	}
}

unsigned int doctor_roce_mtu(long netdev_mtu)
{
	unsigned int mtu = ROCE_MTU_MAX;

	while (mtu >= ROCE_MTU_MIN && (long)mtu + ROCE_OVERHEAD > netdev_mtu)
		mtu /= 2;
	return mtu < ROCE_MTU_MIN ? 0 : mtu;
}

static bool is_up(const char *root, const char *netdev)
{
	return tree_number(root, 0, "/sys/class/net/%s/flags", netdev) & IFF_UP;
}

static void fix_down(struct doctor *doctor, const struct doctor_port *port)
{
	if (port->netdev[0] && !is_up(doctor->root, port->netdev))
		doctor_fix(doctor, "ip link set %s up", port->netdev);
	else if (port->netdev[0])
		doctor_fix(doctor, "ethtool %s (look for \"Link detected\", then at the cable)",
			   port->netdev);
	else if (strstr(port->state, "INIT") || strstr(port->state, "ARMED"))
		doctor_fix(
			doctor,
			"systemctl start opensm (one host or switch of the network has to run a subnet manager)");
	else
		doctor_fix(doctor, "rdma link show %s/%s (then look at the cable)", port->device,
			   port->num);
}

/* A port that is down is not a failure if another one works. */
static void check_state(struct doctor *doctor, const struct doctor_port *port, bool any_active)
{
	if (port->active) {
		doctor_say(doctor, DOCTOR_OK, "%s port %s is active, %s%s%s", port->device,
			   port->num, port->layer, port->netdev[0] ? ", interface " : "",
			   port->netdev);
		return;
	}
	fix_down(doctor, port);
	doctor_say(doctor, any_active ? DOCTOR_WARN : DOCTOR_FAIL,
		   "%s port %s (%s) is in state %s, %s", port->device, port->num,
		   port->netdev[0] ? port->netdev : port->layer,
		   port->state[0] ? port->state : "unknown", port->phys);
}

/* On InfiniBand and iWARP the interface's MTU is not the MTU of RDMA. */
void doctor_port_mtu(struct doctor *doctor, const struct doctor_port *port, const char *netdev)
{
	unsigned int roce;
	long mtu;

	if (!port->active || !port->ethernet || port->iwarp || !netdev[0])
		return;
	mtu = tree_number(doctor->root, 0, "/sys/class/net/%s/mtu", netdev);
	roce = doctor_roce_mtu(mtu);
	if (roce == ROCE_MTU_MAX) {
		doctor_say(doctor, DOCTOR_OK, "%s has MTU %ld, room for %u bytes of RDMA a packet",
			   netdev, mtu, roce);
		return;
	}
	doctor_fix(doctor, "ip link set %s mtu 4200 (on all hosts; switches have to allow it)",
		   netdev);
	doctor_say(doctor, roce ? DOCTOR_NOTE : DOCTOR_FAIL,
		   "%s has MTU %ld, room for %u bytes of RDMA a packet, up to 4096 are possible",
		   netdev, mtu, roce);
}

void doctor_ports_check(struct doctor *doctor, const struct doctor_ports *ports)
{
	const struct doctor_port *port;
	bool any_active = false;

	doctor->topic = "port";
	STAILQ_FOREACH (port, ports, next)
		any_active |= port->active;
	STAILQ_FOREACH (port, ports, next) {
		check_state(doctor, port, any_active);
		doctor_port_mtu(doctor, port, port->netdev);
	}
}
