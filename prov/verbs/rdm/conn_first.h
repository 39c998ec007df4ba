/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The first message to a peer travels in the request for the connection, if that is a letter (see
 * ud_meet.c), so it does not wait for a round trip. It is delivered before the connection's own
 * packets, and the answer says whether it was delivered.
 *
 * An attempt may end without an answer although the message was delivered. The message is then in
 * doubt, and the next request carries it again with the same mark. The receiver delivers a message
 * only if its mark differs from that of the last one it delivered, and each end states this last
 * mark whenever a connection is made.
 *
 * A request does not prove who sent it. Its message therefore counts only if the receiver's address
 * vector has the name that the request comes from, because others do not know the key in that name.
 * With a job secret, no such message counts: the sender proves the secret only after the answer.
 * The receiver remembers the mark as long as its address vector has the peer. A message that does
 * not count is sent again when the connection is up.
 */
#ifndef VRB_RDM_CONN_FIRST_H
#define VRB_RDM_CONN_FIRST_H

#include <rdma/rdma_cma.h>
#include "rc_conn.h"
#include "ud.h"

/* Fills in the message that waits for the connection, if it fits behind that private data. */
void vrb_rdm_first_put(struct vrb_rc_conn *conn, uint8_t len, struct vrb_ud_first *first);
/* Delivers the message of a request that is being accepted, if it counts. */
void vrb_rdm_first_take(struct vrb_rc_conn *conn, const struct rdma_cm_event *event);
/* Called when the connection is up: settles whether the peer has the message. */
void vrb_rdm_first_end(struct vrb_rc_conn *conn);

#endif
