/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The IP addresses of network interfaces. */
#ifndef DOCTOR_ADDR_H
#define DOCTOR_ADDR_H

#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <sys/queue.h>
#include <sys/socket.h>

struct doctor_addr {
	STAILQ_ENTRY(doctor_addr) next;
	char netdev[IFNAMSIZ];
	char text[INET6_ADDRSTRLEN];
	int family;
	in_addr_t addr; /* IPv4 only, in network order, like the mask */
	in_addr_t mask;
	bool link_local;
};

STAILQ_HEAD(doctor_addrs, doctor_addr);

/*
 * Reads the addresses of the running system, or with a root those in its file ip-addr, written by
 * `ip -o addr`. Returns false if they are not available.
 */
bool doctor_addrs_read(struct doctor_addrs *addrs, const char *root);
void doctor_addrs_free(struct doctor_addrs *addrs);

#endif
