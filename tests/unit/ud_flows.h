/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A connection between nodes 0 and 1 of the fake network. Messages say what was written before
 * them; everything that arrives and completes is checked: it comes in order, once.
 */
#ifndef UD_FLOWS_H
#define UD_FLOWS_H

#include "ud_net.h"

enum { UD_FLOW_MOST = 250, UD_FLOW_WINDOW = 50 };

/* What goes from one end to the other. */
struct ud_flow {
	struct ud_conn *to;
	uint32_t posted, arrived;  /* messages */
	uint32_t works, completed; /* work requests */
	uint32_t wrote;
	uint32_t got;			     /* what was read last */
	struct vrb_rdm_rx *held[UD_BUFFERS]; /* receives that are not posted again yet */
	uint32_t held_count;
};

extern struct ud_flow ud_flows[2];
extern struct ud_conn *ud_flow_conns[2];

/* For cmocka: a calm network, in which all connections may get queue pairs. */
int ud_flows_setup(void **state);
int ud_flows_teardown(void **state);
void ud_flows_begin(uint64_t seed, const struct ud_net_params *params);
struct vrb_ud_conn *ud_flow_at(unsigned int at);
/* Has both ends post to queue pairs. */
void ud_flows_use(void);
/* Returns true if a node has a queue pair that it does not give back. */
bool ud_flow_is_kept(unsigned int at);
/* Has a node ask its peer, who agrees if it uses the queue pair less than that. */
void ud_flow_ask(unsigned int at, uint64_t bound);
/* Returns true if a node posts to its reliable queue pair. */
bool ud_flow_is_used(unsigned int at);
/* Post at a node what the stand-in takes, up to UD_FLOW_WINDOW at once. */
void ud_flow_send(unsigned int at);
void ud_flow_write(unsigned int at);
/* Posts any work request, unless UD_FLOW_MOST messages have been posted. */
void ud_flow_any(unsigned int at);
/* Takes the completions of a node. */
void ud_flow_poll(unsigned int at);
/* Makes the connection worth a queue pair, from one side. */
void ud_flows_deserve(unsigned int at);
/* Lets 30 ms pass. */
void ud_flows_settle(void);
/* Posts all receives again. */
void ud_flows_repost(void);
/* Posts at both nodes until everything has arrived. Calls the function now and then. */
void ud_flows_run(void (*also)(void));
/* Posts some receives again. */
void ud_flow_repost(struct ud_flow *flow);

#endif
