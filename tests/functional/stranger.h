/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A program that is no endpoint, on plain librdmacm, and asks one for a connection under a name of
 * its choice.
 */
#ifndef STRANGER_H
#define STRANGER_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <rdma/rdma_cma.h>

struct claim {
	struct sockaddr_in name; /* who the stranger says that it is */
	uint64_t incarnation;
	uint32_t serial;
	uint16_t flags;
};

struct stranger {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_cq *cq;
	uint8_t reason; /* why it was refused, in the numbers of the protocol */
	char text[256]; /* where receives are posted */
};

enum { /* of the protocol */
       STRANGER_BUSY = 4,
       STRANGER_SOURCE = 8,
       STRANGER_IN_USE = 9,
};

/*
 * Asks, once. True: it was accepted, and is connected until it leaves. False: it was refused, and
 * has left.
 */
bool stranger_asks(struct stranger *stranger, const struct sockaddr_in *to,
		   const struct claim *claim);
/* Whether the peer sent it anything. */
bool stranger_got(struct stranger *stranger);
void stranger_leaves(struct stranger *stranger);

#endif
