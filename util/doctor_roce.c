/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Checks the quality of service of RoCE. The code point (DSCP) of packets selects a priority, which
 * has to be one with flow control (PFC) where the network must not lose packets.
 */
#include "doctor_roce.h"

#include <string.h>

#include "doctor_dcb.h"
#include "doctor_tree.h"

#define CONFIG "/sys/kernel/config/rdma_cm"

enum { ECN_BITS = 2, PRIORITIES = 8 };

static void check_default(struct doctor *doctor, const struct doctor_port *port)
{
	long tos = tree_number(doctor->root, -1, CONFIG "/%s/ports/%s/default_roce_tos",
			       port->device, port->num);

	if (tos >= 0)
		doctor_say(
			doctor, DOCTOR_OK,
			"%s port %s: DSCP %ld (TOS %ld) by default, a traffic class sets another",
			port->device, port->num, tos >> ECN_BITS, tos);
	else if (tree_exists(doctor->root, CONFIG))
		doctor_say(doctor, DOCTOR_OK,
			   "%s port %s: DSCP 0 by default, since " CONFIG
			   "/%s does not exist; a traffic class sets another",
			   port->device, port->num, port->device);
	else
		doctor_say(doctor, DOCTOR_OK,
			   "%s port %s: the default DSCP cannot be read, since " CONFIG
			   " is not there; it is 0 unless somebody set it",
			   port->device, port->num);
}

static void list_priorities(uint8_t bits, char *text, size_t len)
{
	size_t used = 0;
	int i;

	text[0] = '\0';
	for (i = 0; i < PRIORITIES && used < len; i++)
		if (bits & 1 << i)
			used += (size_t)snprintf(text + used, len - used, " %d", i);
}

void doctor_roce_dcb(struct doctor *doctor, const char *netdev, const struct doctor_dcb *dcb)
{
	char lossless[32];

	if (!dcb) {
		doctor_fix(doctor, "dcb pfc show dev %s; dcb app show dev %s; or mlnx_qos -i %s",
			   netdev, netdev, netdev);
		doctor_say(doctor, DOCTOR_NOTE,
			   "%s: flow control (PFC) and what it trusts cannot be read", netdev);
		return;
	}
	list_priorities(dcb->pfc, lossless, sizeof(lossless));
	if (!dcb->pfc) {
		doctor_fix(doctor, "dcb pfc set dev %s prio-pfc 3:on (as the switches have it)",
			   netdev);
		doctor_say(
			doctor, DOCTOR_NOTE,
			"%s has no priority with flow control (PFC): a congested network loses packets",
			netdev);
	} else if (!dcb->dscp) {
		doctor_fix(doctor, "dcb app add dev %s dscp-prio 26:3 (as the switches have it)",
			   netdev);
		doctor_say(
			doctor, DOCTOR_NOTE,
			"%s has flow control (PFC) on priorities%s, but no DSCP selects a priority",
			netdev, lossless);
	} else {
		doctor_say(doctor, DOCTOR_OK,
			   "%s has flow control (PFC) on priorities%s, and DSCP select priorities",
			   netdev, lossless);
	}
}

static void check_priorities(struct doctor *doctor, const struct doctor_port *port)
{
	struct doctor_dcb dcb;
	bool known;

	if (tree_exists(doctor->root, "/sys/class/infiniband/%s/parent", port->device)) {
		doctor_say(doctor, DOCTOR_OK,
			   "%s is software: it sends lost packets again and needs no flow control",
			   port->device);
		return;
	}
	/* Files do not tell. */
	known = !*doctor->root && doctor_dcb_read(port->netdev, &dcb);
	doctor_roce_dcb(doctor, port->netdev, known ? &dcb : NULL);
}

void doctor_roce_check(struct doctor *doctor, const struct doctor_ports *ports)
{
	const struct doctor_port *port;

	doctor->topic = "roce";
	STAILQ_FOREACH (port, ports, next) {
		if (!port->active || !port->ethernet || port->iwarp || !port->netdev[0])
			continue;
		check_default(doctor, port);
		check_priorities(doctor, port);
	}
}
