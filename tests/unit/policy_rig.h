/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Drives policy.h with a few connections, one step at a time. */
#ifndef POLICY_RIG_H
#define POLICY_RIG_H

#include <stdint.h>
#include "prov/rdm/policy.h"

enum { CONNS = 4, ATTEMPT = 500, GIVE_UP = 3000, DRAIN = 100 };

extern struct ofi_rdm_conn_set the_set;
extern struct ofi_rdm_conn conns[CONNS];

/* For ofi_rdm_conn_params: arg is the seed, a uint32_t. */
uint32_t any32(void *arg);
/* Returns the actions after this input. */
struct ofi_rdm_conn_action after(struct ofi_rdm_conn *conn, struct ofi_rdm_conn_input input);
/* Feeds an event with incarnation 5 and nothing in flight. */
void step_event(struct ofi_rdm_conn *conn, enum ofi_rdm_conn_event event);
/*
 * Returns the first connection in this state with the others idle; one outstanding request and two
 * connections are allowed.
 */
struct ofi_rdm_conn *conn_in(enum ofi_rdm_conn_state state, int order);

#endif
