/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Tries a connection to another host, step by step. */
#ifndef DOCTOR_PEER_H
#define DOCTOR_PEER_H

#include "doctor.h"
#include "doctor_addr.h"
#include "doctor_options.h"
#include "doctor_port.h"

/* Connects to opts->peer. */
void doctor_peer_connect(struct doctor *doctor, const struct doctor_options *opts,
			 const struct doctor_ports *ports, const struct doctor_addrs *addrs);
/* Waits for a peer to connect. */
void doctor_peer_listen(struct doctor *doctor, const struct doctor_options *opts);

#endif
