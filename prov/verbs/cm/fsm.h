/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The connection state machine, the only writer of conn.state. */
#ifndef VRB_FSM_H
#define VRB_FSM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct vrb_ep;

enum vrb_step {
	/* Calls of the application: an error is returned to the caller and changes nothing. */
	VRB_STEP_CONNECT,
	VRB_STEP_ACCEPT,
	VRB_STEP_SHUTDOWN,
	VRB_STEP_TAKE, /* the endpoint is created from a connection request */
	VRB_STEP_CLOSE,
	/* Events: an error is reported through the EQ and ends the connection. */
	VRB_STEP_ADDR,
	VRB_STEP_ROUTE,
	VRB_STEP_RESPONSE,
	VRB_STEP_ESTABLISHED,
	VRB_STEP_COMM_EST, /* data arrived before the peer's last CM message */
	VRB_STEP_FAILED,   /* the CM reports that the connection cannot be made */
	VRB_STEP_DISCONNECTED,
	VRB_STEP_FATAL, /* the queue pair or the device is broken */
	VRB_STEPS
};

struct vrb_step_arg {
	const uint8_t *data; /* the application's private data, sent or received */
	size_t len;
	const struct sockaddr *addr; /* for CONNECT */
	int err;		     /* for FAILED and FATAL: FI_E* */
	int prov_errno;
};

/* Performs a step. Takes conn.lock. Returns 0 or -FI_E*. */
int vrb_fsm_step(struct vrb_ep *ep, enum vrb_step step, const struct vrb_step_arg *arg);

#endif
