/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Flow control decides which peer may send now. Each peer has the send queue's credits, some of
 * them reserved for control packets, and two FIFO queues, control before data. The endpoint has a
 * budget of bytes that peers make it buffer, with these thresholds:
 *
 *   up to the limit          peers send freely
 *   above the limit          a peer that adds something is told to STOP, and to GO once no more
 *                            than half of the limit is used
 *   above twice the limit    a peer that adds something and holds more than an equal share of the
 *                            limit is told to HALT
 *   above four times         any peer that adds something is told to HALT, because peers that are
 *                            gone may hold most of the budget
 *
 * HALT becomes STOP once at most one and a half limits are used, or once the peer holds at most
 * half of its share.
 *
 * STOP does not block a peer's messages: the peer announces them (RTS) instead of sending their
 * bytes, so a message that the program waits for arrives even if it comes behind more data than the
 * receiver has room for. HALT blocks each message that has not begun. Control packets and RMA still
 * pass.
 *
 * Packets already in flight when HALT is sent are accepted. There is at most one window of them: a
 * peer that has sent a full window must poll completions before it sends more, and it finds the
 * HALT among them once its device has it. It then finishes a message that has begun if that takes
 * at most one more window. A peer that sends more violates the protocol, and so does one that alone
 * makes the endpoint buffer more than two limits plus five windows of the largest packets, whatever
 * its device acknowledges. The endpoint's lock guards everything.
 */
#ifndef OFI_RDM_FLOW_H
#define OFI_RDM_FLOW_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include "src/ds/compiler.h"

struct ofi_rdm_flow_node {
	STAILQ_ENTRY(ofi_rdm_flow_node) link;
};

STAILQ_HEAD(ofi_rdm_flow_queue, ofi_rdm_flow_node);

/* The flow-control packet that is sent to a peer as soon as there is a credit. */
enum ofi_rdm_flow_owed {
	OFI_RDM_FLOW_NOTHING,
	OFI_RDM_FLOW_STOP,
	OFI_RDM_FLOW_GO,
	OFI_RDM_FLOW_HALT,
};

/* The packets that a peer may send. */
enum ofi_rdm_flow_level {
	OFI_RDM_FLOW_ALL,
	OFI_RDM_FLOW_ANNOUNCED,
	OFI_RDM_FLOW_NONE,
};

struct ofi_rdm_flow {
	uint32_t credits; /* free slots of the send queue */
	uint32_t reserve; /* number of credits kept for control packets */
	bool stopped;	  /* the peer makes us announce messages */
	bool halted;	  /* the peer makes us begin no message */
	uint8_t level;	  /* enum ofi_rdm_flow_level that the peer has or is owed */
	uint8_t sent;	  /* the level in the last packet sent */
	uint8_t halts;	  /* HALT packets sent and not yet acknowledged by the device */
	bool halt_acked;  /* the peer's device has acknowledged the last HALT */
	bool abused;	  /* the peer sent more than it may */
	uint8_t owed;	  /* enum ofi_rdm_flow_owed */
	uint32_t over;	  /* packets above the limit since the level or halt_acked changed */
	uint64_t kept;	  /* bytes charged to the budget */
	struct ofi_rdm_flow_queue control, data;
	LIST_ENTRY(ofi_rdm_flow) link; /* budget.stopped or budget.halted */
};

LIST_HEAD(ofi_rdm_flows, ofi_rdm_flow);

struct ofi_rdm_flow_budget {
	uint64_t limit;
	uint64_t used;	 /* bytes that peers make the endpoint buffer */
	uint32_t window; /* packets of a peer that may arrive after it has got a HALT */
	uint64_t most;	 /* largest number of bytes that one peer may make the endpoint buffer */
	uint32_t peers;	 /* number of connected peers */
	bool resuming;	 /* for the caller's use */
	struct ofi_rdm_flows stopped, halted;
};

/* Requires reserve < credits. */
void ofi_rdm_flow_init(struct ofi_rdm_flow *flow, uint32_t credits, uint32_t reserve);
/* Resets the state for a new connection; the queues keep their contents. */
void ofi_rdm_flow_reset(struct ofi_rdm_flow *flow, uint32_t credits, uint32_t reserve);

/* Initializes the budget without limits per peer: the caller sets window and most. */
void ofi_rdm_flow_budget_init(struct ofi_rdm_flow_budget *budget, uint64_t limit);
/*
 * Called when the peer adds bytes while more than the limit is used. Returns true if a packet is
 * now owed to the peer, or flow->abused became true.
 */
bool ofi_rdm_flow_exceed(struct ofi_rdm_flow_budget *budget, struct ofi_rdm_flow *flow);
/* Called when a halted peer holds fewer bytes: it may be owed a STOP that replaces HALT. */
void ofi_rdm_flow_relax(struct ofi_rdm_flow_budget *budget, struct ofi_rdm_flow *flow);
/*
 * Picks the next peer that may go on and returns it. It is now owed a GO or STOP, or nothing if the
 * earlier packet was never sent. Returns NULL if there is none.
 */
struct ofi_rdm_flow *ofi_rdm_flow_resume(struct ofi_rdm_flow_budget *budget);
/*
 * Returns the packet to send to the peer and marks it as sent. The caller has taken a control
 * credit.
 */
enum ofi_rdm_flow_owed ofi_rdm_flow_settle(struct ofi_rdm_flow *flow);
/* Called when the peer's device has acknowledged a HALT. */
void ofi_rdm_flow_halt_acked(struct ofi_rdm_flow *flow);

/* Returns true if ofi_rdm_flow_resume() would find a peer. */
static inline bool ofi_rdm_flow_may_resume(const struct ofi_rdm_flow_budget *budget)
{
	return (!LIST_EMPTY(&budget->stopped) && budget->used <= budget->limit / 2) ||
	       (!LIST_EMPTY(&budget->halted) && budget->used <= budget->limit + budget->limit / 2);
}

/* Returns true if a data packet may be sent without queueing. */
static inline bool ofi_rdm_flow_clear(const struct ofi_rdm_flow *flow)
{
	return flow->credits > flow->reserve && STAILQ_EMPTY(&flow->data);
}

static inline bool ofi_rdm_flow_has_data_credit(const struct ofi_rdm_flow *flow)
{
	return flow->credits > flow->reserve;
}

static inline bool ofi_rdm_flow_has_control_credit(const struct ofi_rdm_flow *flow)
{
	return flow->credits > 0;
}

static inline void ofi_rdm_flow_take(struct ofi_rdm_flow *flow)
{
	flow->credits--;
}

static inline void ofi_rdm_flow_give(struct ofi_rdm_flow *flow, uint32_t credits)
{
	flow->credits += credits;
}

/* Gives back bytes that were charged to the peer. */
static inline void ofi_rdm_flow_return(struct ofi_rdm_flow_budget *budget,
				       struct ofi_rdm_flow *flow, uint64_t bytes)
{
	flow->kept -= bytes;
	budget->used -= bytes;
	if (ofi_unlikely(flow->level == OFI_RDM_FLOW_NONE))
		ofi_rdm_flow_relax(budget, flow);
}

/*
 * Charges bytes to the peer. Returns false, or the result of ofi_rdm_flow_exceed() if more than the
 * limit is used now.
 */
static inline bool ofi_rdm_flow_charge(struct ofi_rdm_flow_budget *budget,
				       struct ofi_rdm_flow *flow, uint64_t bytes)
{
	budget->used += bytes;
	flow->kept += bytes;
	return ofi_unlikely(budget->used > budget->limit) && ofi_rdm_flow_exceed(budget, flow);
}

#endif
