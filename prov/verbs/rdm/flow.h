/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Who may send now. Per peer: the send queue's credits, some of them reserved for control packets, and two
 * queues in order, control before data. Per endpoint: a budget of bytes for unexpected messages. A peer whose
 * message goes beyond it is told to STOP, and to GO on when less than half is used.
 *
 * STOP does not hold a peer's messages back: it makes the peer announce them (RTS) instead of sending
 * their bytes, so what a program waits for arrives even if it comes behind more than it has room for.
 * What is on its way when STOP is sent is accepted. No locks: the endpoint's lock guards it.
 */
#ifndef VRB_RDM_FLOW_H
#define VRB_RDM_FLOW_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

struct vrb_flow_node {
	STAILQ_ENTRY(vrb_flow_node) link;
};

STAILQ_HEAD(vrb_flow_queue, vrb_flow_node);

/* What a peer is to be told as soon as there is a credit. */
enum vrb_flow_owed {
	VRB_FLOW_NOTHING,
	VRB_FLOW_STOP,
	VRB_FLOW_GO,
};

struct vrb_flow {
	uint32_t credits; /* work requests that the send queue has room for */
	uint32_t reserve; /* of these for control packets only */
	bool stopped;	  /* the peer told us */
	bool told;	  /* we told the peer, or are about to */
	enum vrb_flow_owed owed;
	struct vrb_flow_queue control, data;
	LIST_ENTRY(vrb_flow) link; /* budget.told */
};

struct vrb_flow_budget {
	uint64_t limit;
	uint64_t used; /* bytes of unexpected messages */
	LIST_HEAD(, vrb_flow) told;
};

/* reserve < credits */
void vrb_flow_init(struct vrb_flow *flow, uint32_t credits, uint32_t reserve);
/* A new connection: the queues stay. */
void vrb_flow_reset(struct vrb_flow *flow, uint32_t credits, uint32_t reserve);

void vrb_flow_budget_init(struct vrb_flow_budget *budget, uint64_t limit);
/* The budget is used up by the peer. True if the peer is to be told something. */
bool vrb_flow_exceed(struct vrb_flow_budget *budget, struct vrb_flow *flow);
/* Gives bytes back. True if vrb_flow_resume() has work. */
bool vrb_flow_refund(struct vrb_flow_budget *budget, uint64_t bytes);
/* The next peer that may go on: it is owed a GO then, or nothing if it was not told yet. NULL: none. */
struct vrb_flow *vrb_flow_resume(struct vrb_flow_budget *budget);
/* What the peer is to be told, for which a control credit was taken. */
enum vrb_flow_owed vrb_flow_settle(struct vrb_flow *flow);

/* A data packet may go without waiting. */
static inline bool vrb_flow_clear(const struct vrb_flow *flow)
{
	return flow->credits > flow->reserve && STAILQ_EMPTY(&flow->data);
}

static inline bool vrb_flow_has_data_credit(const struct vrb_flow *flow)
{
	return flow->credits > flow->reserve;
}

static inline bool vrb_flow_has_control_credit(const struct vrb_flow *flow)
{
	return flow->credits > 0;
}

static inline void vrb_flow_take(struct vrb_flow *flow)
{
	flow->credits--;
}

static inline void vrb_flow_give(struct vrb_flow *flow, uint32_t credits)
{
	flow->credits += credits;
}

/* Bytes of an unexpected message of the peer. True if the peer is to be told something. */
static inline bool vrb_flow_charge(struct vrb_flow_budget *budget, struct vrb_flow *flow,
				   uint64_t bytes)
{
	budget->used += bytes;
	return __builtin_expect(budget->used > budget->limit, 0) && vrb_flow_exceed(budget, flow);
}

#endif
