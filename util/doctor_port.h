/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The ports of all RDMA devices: state, link, and network interface. */
#ifndef DOCTOR_PORT_H
#define DOCTOR_PORT_H

#include <net/if.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "doctor.h"

enum { DOCTOR_UPPERS = 64 };

struct doctor_port {
	STAILQ_ENTRY(doctor_port) next;
	char device[64];
	char num[16];
	char state[32]; /* "4: ACTIVE" */
	char phys[32];	/* "5: LinkUp" */
	char layer[32]; /* "Ethernet" or "InfiniBand" */
	char netdev[IFNAMSIZ];
	char uppers[DOCTOR_UPPERS][IFNAMSIZ]; /* VLANs, bridges and others on netdev with GIDs */
	int upper_count;
	bool active;
	bool ethernet;
	bool iwarp;
};

STAILQ_HEAD(doctor_ports, doctor_port);

/* Returns false when out of memory. */
bool doctor_ports_read(struct doctor_ports *ports, const char *root);
void doctor_ports_free(struct doctor_ports *ports);

/* Returns true if netdev is the interface of the port or one on top of it. */
bool doctor_port_has(const struct doctor_port *port, const char *netdev);
/* Returns the port that has the interface, NULL if none has. */
const struct doctor_port *doctor_port_of(const struct doctor_ports *ports, const char *netdev);

void doctor_ports_check(struct doctor *doctor, const struct doctor_ports *ports);
/* Checks the MTU of an interface of the port. */
void doctor_port_mtu(struct doctor *doctor, const struct doctor_port *port, const char *netdev);
/*
 * Returns the payload of a RoCE packet on an interface with this MTU: 256, 512 ... 4096; 0 if the
 * MTU is too small.
 */
unsigned int doctor_roce_mtu(long netdev_mtu);

#endif
