/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the files about decisions share: pconn.c has the table, pconn_request.c what peers, or strangers, ask for. */
#ifndef VRB_RDM_PCONN_INT_H
#define VRB_RDM_PCONN_INT_H

#include "pconn.h"

#define VRB_PCONN_DECISION(name)                                     \
	void name(struct vrb_pconn_set *set, struct vrb_pconn *conn, \
		  const struct vrb_pconn_input *input, struct vrb_pconn_action *action)

void vrb_pconn_enter(struct vrb_pconn_set *set, struct vrb_pconn *conn, enum vrb_pconn_state state);

static inline bool vrb_pconn_has_room(const struct vrb_pconn_set *set)
{
	return set->open < set->params.cap;
}

/* A request or a reply of the peer has this incarnation and serial. */
void vrb_pconn_hear(struct vrb_pconn_set *set, struct vrb_pconn *conn,
		    const struct vrb_pconn_input *input);

VRB_PCONN_DECISION(vrb_pconn_on_request);
VRB_PCONN_DECISION(vrb_pconn_on_request_expected);
VRB_PCONN_DECISION(vrb_pconn_on_request_crossing);
VRB_PCONN_DECISION(vrb_pconn_on_request_again);
VRB_PCONN_DECISION(vrb_pconn_on_request_live);
VRB_PCONN_DECISION(vrb_pconn_on_request_left);
VRB_PCONN_DECISION(vrb_pconn_on_alive);

#endif
