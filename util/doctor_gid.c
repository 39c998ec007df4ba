/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Chooses among the GIDs of a port as the verbs provider does, see fi_verbs(7), and explains the
 * choice.
 */
#include "doctor_gid.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "doctor_param.h"
#include "doctor_tree.h"

enum { GID_IDX_MAX = 255 };

enum scope { SCOPE_HOST, SCOPE_LINK, SCOPE_IPV6, SCOPE_IPV4 };

static const char *const scopes[] = { "loopback", "link-local", "IPv6", "IPv4" };

struct gid {
	struct in6_addr addr;
	char type[32];
	int index; /* -1 if there is none */
};

struct choice {
	struct gid best;
	int count;
};

static enum scope scope_of(const struct in6_addr *addr)
{
	const uint8_t *raw = addr->s6_addr;

	if (!IN6_IS_ADDR_V4MAPPED(addr))
		return IN6_IS_ADDR_LINKLOCAL(addr) ? SCOPE_LINK : SCOPE_IPV6;
	if (raw[12] == 127)
		return SCOPE_HOST;
	return raw[12] == 169 && raw[13] == 254 ? SCOPE_LINK : SCOPE_IPV4;
}

static bool is_v2(const struct gid *gid)
{
	return !strcmp(gid->type, "RoCE v2");
}

static bool is_better(const struct doctor_port *port, const struct gid *gid, const struct gid *best)
{
	if (best->index < 0)
		return true;
	if (!port->ethernet || port->iwarp)
		return false;
	if (is_v2(gid) != is_v2(best))
		return is_v2(gid);
	return scope_of(&gid->addr) > scope_of(&best->addr);
}

static bool read_gid(const char *root, const struct doctor_port *port, const char *index,
		     struct gid *gid)
{
	char text[64], path[128];

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/%s", port->device, port->num);
	tree_line(root, "", text, sizeof(text), "%s/gids/%s", path, index);
	if (inet_pton(AF_INET6, text, &gid->addr) != 1 || IN6_IS_ADDR_UNSPECIFIED(&gid->addr))
		return false;
	tree_line(root, "", gid->type, sizeof(gid->type), "%s/gid_attrs/types/%s", path, index);
	gid->index = atoi(index);
	return true;
}

static void choose(const char *root, const struct doctor_port *port, int pinned,
		   struct choice *choice)
{
	struct dirent **names;
	struct gid gid;
	int count, i;

	*choice = (struct choice){ .best.index = -1 };
	count = tree_list(root, &names, "/sys/class/infiniband/%s/ports/%s/gids", port->device,
			  port->num);
	for (i = 0; i < count; i++) {
		if (!read_gid(root, port, names[i]->d_name, &gid))
			continue;
		choice->count++;
		if (pinned >= 0 ? gid.index == pinned : is_better(port, &gid, &choice->best))
			choice->best = gid;
	}
	tree_free(names, count);
}

static void say_none(struct doctor *doctor, const struct doctor_port *port, int pinned,
		     const struct choice *choice)
{
	if (pinned >= 0 && choice->count) {
		doctor_param_fix(doctor, "FI_VERBS_GID_IDX");
		doctor_say(doctor, DOCTOR_FAIL,
			   "%s port %s: GID %d, selected by FI_VERBS_GID_IDX, does not exist",
			   port->device, port->num, pinned);
		return;
	}
	if (port->ethernet && port->netdev[0])
		doctor_fix(doctor, "ip link set %s up && ip addr add ADDRESS/24 dev %s",
			   port->netdev, port->netdev);
	else
		doctor_fix(doctor, "rdma link show %s/%s", port->device, port->num);
	doctor_say(doctor, DOCTOR_FAIL, "%s port %s has no GID", port->device, port->num);
}

static const char *why(const struct doctor_port *port, int pinned, const struct choice *choice)
{
	if (pinned >= 0)
		return "FI_VERBS_GID_IDX asks for it";
	if (choice->count == 1)
		return "it is the only one";
	if (!port->ethernet || port->iwarp)
		return "all are equivalent, this is the first";
	return "RoCE v2 before v1, routable before link-local, IPv4 before IPv6";
}

/* Reports a RoCE GID that cannot leave the subnet or the link. */
static bool say_reach(struct doctor *doctor, const struct doctor_port *port, const struct gid *gid,
		      const char *text)
{
	if (!is_v2(gid)) {
		doctor_fix(doctor, "cma_roce_mode -d %s -p %s -m 2", port->device, port->num);
		doctor_say(
			doctor, DOCTOR_WARN,
			"%s port %s would use GID %d %s of type %s, which routers do not forward",
			port->device, port->num, gid->index, text, gid->type);
		return true;
	}
	if (scope_of(&gid->addr) <= SCOPE_LINK) {
		doctor_fix(doctor, "ip addr add ADDRESS/24 dev %s",
			   port->netdev[0] ? port->netdev : "eth0");
		doctor_say(
			doctor, DOCTOR_WARN,
			"%s port %s would use GID %d %s, which is %s, not an address of the network",
			port->device, port->num, gid->index, text, scopes[scope_of(&gid->addr)]);
		return true;
	}
	return false;
}

static void check_port(struct doctor *doctor, const struct doctor_port *port, int pinned)
{
	char text[INET6_ADDRSTRLEN] = "";
	const struct gid *gid;
	struct choice choice;
	bool roce = port->ethernet && !port->iwarp;

	choose(doctor->root, port, pinned, &choice);
	gid = &choice.best;
	if (gid->index < 0) {
		say_none(doctor, port, pinned, &choice);
		return;
	}
	inet_ntop(AF_INET6, &gid->addr, text, sizeof(text));
	if (roce && say_reach(doctor, port, gid, text))
		return;
	doctor_say(doctor, DOCTOR_OK, "%s port %s would use GID %d %s (%s%s%s) of %d: %s",
		   port->device, port->num, gid->index, text, gid->type, roce ? ", " : "",
		   roce ? scopes[scope_of(&gid->addr)] : "", choice.count,
		   why(port, pinned, &choice));
}

/* Returns the GID index that the user has pinned, -1 for none. */
static int read_pin(struct doctor *doctor)
{
	char text[32], *end;
	long pin;

	if (!doctor_param("FI_VERBS_GID_IDX", text, sizeof(text)))
		return -1;
	pin = strtol(text, &end, 0);
	if (!*end && pin >= -1 && pin <= GID_IDX_MAX)
		return (int)pin;
	doctor_param_fix(doctor, "FI_VERBS_GID_IDX");
	doctor_say(doctor, DOCTOR_FAIL, "FI_VERBS_GID_IDX is '%s'; it takes -1 to %d", text,
		   GID_IDX_MAX);
	return -1;
}

void doctor_gids_check(struct doctor *doctor, const struct doctor_ports *ports)
{
	const struct doctor_port *port;
	int pinned;

	doctor->topic = "gid";
	pinned = read_pin(doctor);
	STAILQ_FOREACH (port, ports, next) {
		if (port->active)
			check_port(doctor, port, pinned);
	}
}
