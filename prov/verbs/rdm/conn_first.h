/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The first message to a peer travels in the request for the connection, if that is a letter (see
 * ud_meet.c), so it takes no round trip of its own. It is delivered before the connection's own
 * packets, and the answer says so.
 *
 * An attempt may end without an answer although the message was delivered: then it is in doubt,
 * and travels in the next request again. It has the same mark in all of them. The receiver
 * delivers a message only if its mark is another one than that of the last one, and both ends tell
 * the mark of the last one whenever they make a connection.
 *
 * A request does not prove who sent it. So its message counts only if the receiver knows the name
 * that the request says it comes from, whose key others do not know; and not at all with a job
 * secret, which the sender proves only after the answer. The receiver remembers the mark as long
 * as it knows the name. A message that does not count is sent again once the connection is there.
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
/* The peer's connection is up, so it is certain whether the peer has the message. */
void vrb_rdm_first_end(struct vrb_rc_conn *conn);

#endif
