/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One test connection: its libfabric objects and two messages in each direction, of a byte and of
 * full packets. All calls return 0 or -FI_E*.
 */
#ifndef DOCTOR_LINK_H
#define DOCTOR_LINK_H

#include <stdint.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>

enum {
	DOCTOR_MTU_MAX = 4096,
	DOCTOR_FULL = 2 * DOCTOR_MTU_MAX, /* size of a message that fills packets */
	DOCTOR_HELLO = 32,
};

struct doctor_link {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_eq *eq;
	struct fid_pep *pep;
	struct fid_domain *domain;
	struct fid_cq *cq;
	struct fid_mr *mr;
	struct fid_ep *ep;
	struct fi_context2 contexts[3];
	char buffers[3][DOCTOR_FULL]; /* one to send from, two for the messages that arrive */
	int received;		      /* number of completed receives */
	int receives;		      /* number of those that were waited for */
	int sent;
	int sends;
	unsigned int peer_mtu; /* payload of the peer's packets, 0 if it sends no full ones */
	const char *call;      /* the call that failed */
	char detail[160];      /* the provider's explanation */
};

/* Opens the fabric and the event queue for the link's info. */
int doctor_link_fabric(struct doctor_link *link);
/* Opens everything else, up to an enabled endpoint with a posted receive. */
int doctor_link_endpoint(struct doctor_link *link);
/* Waits for an event; for FI_CONNREQ the link takes over the info. Returns -FI_ETIMEDOUT. */
int doctor_link_event(struct doctor_link *link, uint32_t event, int timeout_ms);
/* Returns the payload of packets of this side. */
unsigned int doctor_link_mtu(const struct doctor_link *link);
/* Writes what a connection request or its answer says to the peer, and returns its size. */
size_t doctor_link_hello(const struct doctor_link *link, char text[DOCTOR_HELLO]);
/* Sends a message of `len` times the byte. */
int doctor_link_send(struct doctor_link *link, char byte, size_t len, int timeout_ms);
/* Waits for the next message, which consists of the byte. */
int doctor_link_receive(struct doctor_link *link, char byte, int timeout_ms);
/* Accepts a partially opened or zeroed link. */
void doctor_link_close(struct doctor_link *link);

#endif
