/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Refusals of packets to connections that do not exist, private to ud*.c. */
#ifndef VRB_RDM_UD_REFUSE_H
#define VRB_RDM_UD_REFUSE_H

#include "ud_int.h"

enum {
	/* Refusals of packets to unknown connections: so many in so many us. */
	VRB_UD_REFUSALS = 32,
	VRB_UD_REFUSAL_US = 8000,
	/* Hosts that an endpoint without order gets paths to for that: so many in so many us. */
	VRB_UD_REFUSED_HOSTS = 64,
	VRB_UD_REFUSED_US = 60000000,
};

/* Tells the sender of a packet that there is no such connection. */
void vrb_ud_refuse(struct vrb_ud *all, const struct ibv_wc *wc, const struct vrb_ud_rx *rx);
/* The same if the way back is known. */
void vrb_ud_refuse_to(struct vrb_ud *all, const struct ibv_wc *wc,
		      const struct vrb_ud_packet *packet, const struct ibv_ah_attr *attr);
/* Tells the peer, which sends on a connection that has ended, once more that it has. */
void vrb_ud_repeat_end(struct vrb_ud_conn *ud, const struct vrb_ud_packet *packet);
/* Returns true if the peer was answered and has not sent a packet, so it may not wait any more. */
bool vrb_ud_waits_for_first(const struct vrb_ud_conn *ud);
/*
 * Returns true if the peer refuses a packet that was sent to it and is not acknowledged, or the
 * answer to a request.
 */
bool vrb_ud_is_refusal(const struct vrb_ud_conn *ud, const struct vrb_ud_packet *packet);
/* Returns a path to a host that is refused, or NULL; vrb_ud_path_leave() ends its use. */
struct vrb_ah *vrb_ud_refusal_path(struct vrb_ud *all, const struct ibv_ah_attr *attr);

#endif
