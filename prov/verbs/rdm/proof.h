/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The two ends of a connection prove to each other that they know the job secret. The request
 * carries random bytes of the initiator in place of its IP address, which the connection manager
 * provides as well. The reply carries random bytes of the responder, followed by its authentication
 * code. The initiator's first packet is its own code; until it has arrived, the responder grants no
 * remote access, and any other packet ends the connection. The initiator sends nothing else until
 * that packet is answered. Endpoints without a secret use none of this. The caller holds the
 * endpoint's lock.
 */
#ifndef VRB_RDM_PROOF_H
#define VRB_RDM_PROOF_H

#include <rdma/rdma_cma.h>
#include "rc_conn.h"
#include "secret.h"
#include "ud_wire.h"

#define VRB_RDM_CM_MAX (1 + OFI_RDM_CMWIRE_LEN + VRB_RDM_MAC_LEN + VRB_UD_WORDS)

struct vrb_rdm_proof {
	struct vrb_rdm_hello hello;
	bool active;	/* this end requested the connection */
	bool waits;	/* waits for the peer's first packet; any other ends the connection */
	bool shut;	/* the queue pair grants no remote access */
	uint64_t known; /* the incarnation that the reply states */
	uint32_t serial;
	struct vrb_rdm_secret *secret; /* made from the peer's key in the address vector, or NULL */
};

/* Allocates the proof of a connection that needs one. Returns 0 or -FI_E*. */
int vrb_rdm_proof_new(struct vrb_rc_conn *conn, bool active);
/*
 * Write the private data of a request or a reply to `wire`, which has VRB_RDM_CM_MAX bytes. Return
 * its length, or 0 on failure.
 */
uint8_t vrb_rdm_proof_request(struct vrb_rc_conn *conn, uint8_t *wire);
uint8_t vrb_rdm_proof_reply(struct vrb_rc_conn *conn, const struct rdma_cm_event *event,
			    uint8_t *wire);
/* Returns true if the reply proves that the peer knows the secret. */
bool vrb_rdm_proof_is_right(struct vrb_rc_conn *conn, const struct rdma_cm_event *event);
/* Called after the reply: sends the initiator's code. Returns 0 or FI_E*. */
int vrb_rdm_proof_begin(struct vrb_rc_conn *conn);
/* Checks the first packet of the peer. */
void vrb_rdm_proof_take(struct vrb_rc_conn *conn, const void *bytes, size_t len);

static inline bool vrb_rdm_proof_waits(const struct vrb_rc_conn *conn)
{
	return conn->proof && conn->proof->waits;
}

#endif
