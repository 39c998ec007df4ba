/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A few connections that can be put into any state. */
#include "unit.h"

#include "policy_rig.h"

struct ofi_rdm_conn_set the_set;
struct ofi_rdm_conn conns[CONNS];

uint32_t any32(void *arg)
{
	uint32_t *random = arg;

	return *random = *random * 1664525 + 1013904223;
}

struct ofi_rdm_conn_action after(struct ofi_rdm_conn *conn, struct ofi_rdm_conn_input input)
{
	struct ofi_rdm_conn_action action;

	ofi_rdm_conn_step(&the_set, conn, &input, &action);
	return action;
}

void step_event(struct ofi_rdm_conn *conn, enum ofi_rdm_conn_event event)
{
	after(conn, (struct ofi_rdm_conn_input){ .event = event, .incarnation = 5, .idle = true });
}

struct ofi_rdm_conn *conn_in(enum ofi_rdm_conn_state state, int order)
{
	static uint32_t random;
	const struct ofi_rdm_conn_params params = {
		.incarnation = 77,
		.window = 1,
		.cap = 2,
		.attempt = ATTEMPT,
		.give_up = GIVE_UP,
		.drain = DRAIN,
		.backoff = 20,
		.backoff_max = 200,
		.random = any32,
		.arg = &random,
	};
	struct ofi_rdm_conn *conn = &conns[0];
	int i;

	ofi_rdm_conn_set_init(&the_set, &params);
	for (i = 0; i < CONNS; i++)
		ofi_rdm_conn_init(&conns[i], order);
	if (state == OFI_RDM_CONN_ACCEPTING)
		after(conn, (struct ofi_rdm_conn_input){
				    .event = OFI_RDM_CONN_REQUEST, .incarnation = 5, .serial = 1 });
	else if (state != OFI_RDM_CONN_IDLE)
		step_event(conn, OFI_RDM_CONN_WANT);
	if (state >= OFI_RDM_CONN_UP)
		step_event(conn, OFI_RDM_CONN_ESTABLISHED);
	if (state == OFI_RDM_CONN_DRAINING)
		after(conn, (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_EVICT });
	if (state == OFI_RDM_CONN_PARTING)
		after(conn, (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_BYE });
	if (state == OFI_RDM_CONN_LEAVING)
		step_event(conn, OFI_RDM_CONN_EVICT);
	if (state == OFI_RDM_CONN_LEFT)
		step_event(conn, OFI_RDM_CONN_BYE);
	assert_int_equal(conn->state, state);
	return conn;
}
