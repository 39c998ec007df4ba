/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Checks whether the network interfaces of RDMA ports work with the connection manager. */
#ifndef DOCTOR_NET_H
#define DOCTOR_NET_H

#include "doctor.h"
#include "doctor_addr.h"
#include "doctor_port.h"

void doctor_net_check(struct doctor *doctor, const struct doctor_ports *ports,
		      const struct doctor_addrs *addrs);

#endif
