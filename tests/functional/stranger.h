/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A program that is not an endpoint: it uses plain librdmacm to request connections under a name of
 * its choice.
 */
#ifndef STRANGER_H
#define STRANGER_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <rdma/rdma_cma.h>

struct claim {
	struct sockaddr_in name; /* the name that the stranger claims */
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
	uint8_t reason; /* reason of the reject, a number of the protocol */
	char text[256]; /* memory for receives */
};

enum { /* of the protocol */
       STRANGER_BUSY = 4,
       STRANGER_SOURCE = 8,
       STRANGER_IN_USE = 9,
};

/*
 * Sends one request. Returns true if it was accepted; the connection stays until the stranger
 * leaves. Returns false if it was rejected, and leaves.
 */
bool stranger_asks(struct stranger *stranger, const struct sockaddr_in *to,
		   const struct claim *claim);
/* Returns true if the peer has sent anything. */
bool stranger_got(struct stranger *stranger);
void stranger_leaves(struct stranger *stranger);

#endif
