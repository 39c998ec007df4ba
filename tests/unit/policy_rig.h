/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The decisions of policy.h about a few connections, one step at a time. */
#ifndef POLICY_RIG_H
#define POLICY_RIG_H

#include <stdint.h>
#include "prov/rdm/policy.h"

enum { CONNS = 4, ATTEMPT = 500, GIVE_UP = 3000, DRAIN = 100 };

extern struct ofi_rdm_conn_set the_set;
extern struct ofi_rdm_conn conns[CONNS];

/* For ofi_rdm_conn_params: arg is a uint32_t, the seed. */
uint32_t any32(void *arg);
/* What is to be done after this. */
struct ofi_rdm_conn_action after(struct ofi_rdm_conn *conn, struct ofi_rdm_conn_input input);
/* An event of incarnation 5, with nothing under way. */
void step_event(struct ofi_rdm_conn *conn, enum ofi_rdm_conn_event event);
/*
 * The first connection in this state, the others idle: one request out at a time, at most two
 * connections.
 */
struct ofi_rdm_conn *conn_in(enum ofi_rdm_conn_state state, int order);

#endif
