/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Flow control: which peer may send now. Per peer: the send queue's credits, some of them
 * reserved for control packets, and two queues in order, control before data. Per endpoint: a
 * budget of bytes for what peers make it keep, in three levels:
 *
 *   up to the limit          peers send as they like
 *   beyond it                whoever adds something is told to STOP, and to GO on when less than
 *                            half is used
 *   beyond twice the limit   whoever adds something and has more than an equal share of the
 *                            limit is told to HALT
 *   beyond four times        if peers that are gone have most of it, everybody is told to HALT
 *
 * STOP does not hold a peer's messages back: it makes the peer announce them (RTS) instead of
 * sending their bytes, so what a program waits for arrives even if it comes behind more than it has
 * room for. HALT holds back all that the other side would have to keep, which leaves control
 * packets and RMA.
 *
 * Packets that are on their way when HALT is sent are accepted. They are a window of packets at
 * most, since a peer that has sent so many takes completions before it sends more, and HALT is
 * among them once its device has it. A peer that sends more is not honest; neither is one that
 * alone makes the endpoint keep more than two limits and four windows of the largest packets,
 * whatever its device says. The endpoint's lock guards it.
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

/* What a peer is to be told as soon as there is a credit. */
enum ofi_rdm_flow_owed {
	OFI_RDM_FLOW_NOTHING,
	OFI_RDM_FLOW_STOP,
	OFI_RDM_FLOW_GO,
	OFI_RDM_FLOW_HALT,
};

/* What a peer may send. */
enum ofi_rdm_flow_level {
	OFI_RDM_FLOW_ALL,
	OFI_RDM_FLOW_ANNOUNCED,
	OFI_RDM_FLOW_NONE,
};

struct ofi_rdm_flow {
	uint32_t credits; /* work requests that the send queue has room for */
	uint32_t reserve; /* of these for control packets only */
	bool stopped;	  /* the peer told us to announce */
	bool halted;	  /* the peer told us to send nothing */
	uint8_t told;	  /* enum ofi_rdm_flow_level: we told the peer, or are about to */
	uint8_t said;	  /* the level that it was last sent */
	uint8_t halts;	  /* sent, and not known to have come to its device */
	bool heard;	  /* its device has the HALT that was sent last */
	bool abused;	  /* it sent more than it may */
	enum ofi_rdm_flow_owed owed;
	uint32_t over; /* packets that were kept since HALT was owed, or heard */
	uint64_t kept; /* bytes, of the budget */
	struct ofi_rdm_flow_queue control, data;
	LIST_ENTRY(ofi_rdm_flow) link; /* budget.told or budget.halted */
};

LIST_HEAD(ofi_rdm_flows, ofi_rdm_flow);

struct ofi_rdm_flow_budget {
	uint64_t limit;
	uint64_t used;	 /* bytes that peers make the endpoint keep */
	uint32_t window; /* packets that a peer sends before it takes completions */
	uint64_t most;	 /* bytes that one peer alone may have */
	uint32_t peers;	 /* connected */
	bool resuming;	 /* the caller's */
	struct ofi_rdm_flows told, halted;
};

/* reserve < credits */
void ofi_rdm_flow_init(struct ofi_rdm_flow *flow, uint32_t credits, uint32_t reserve);
/* A new connection: the queues stay. */
void ofi_rdm_flow_reset(struct ofi_rdm_flow *flow, uint32_t credits, uint32_t reserve);

/* Without bounds of what one peer may do: window and most are the caller's to set. */
void ofi_rdm_flow_budget_init(struct ofi_rdm_flow_budget *budget, uint64_t limit);
/*
 * The budget is used up by the peer. True if the peer is to be told something, or flow->abused is
 * new.
 */
bool ofi_rdm_flow_exceed(struct ofi_rdm_flow_budget *budget, struct ofi_rdm_flow *flow);
/* A peer that was told to halt keeps less: it may be owed something better. */
void ofi_rdm_flow_relent(struct ofi_rdm_flow_budget *budget, struct ofi_rdm_flow *flow);
/*
 * The next peer that may go on: it is owed a GO or STOP then, or nothing if it was not told yet.
 * NULL: none.
 */
struct ofi_rdm_flow *ofi_rdm_flow_resume(struct ofi_rdm_flow_budget *budget);
/* What the peer is to be told, for which a control credit was taken. */
enum ofi_rdm_flow_owed ofi_rdm_flow_settle(struct ofi_rdm_flow *flow);
/* The peer's device has a HALT. */
void ofi_rdm_flow_heard(struct ofi_rdm_flow *flow);

/* ofi_rdm_flow_resume() has work. */
static inline bool ofi_rdm_flow_may_resume(const struct ofi_rdm_flow_budget *budget)
{
	return (budget->used <= budget->limit / 2 && !LIST_EMPTY(&budget->told)) ||
	       (budget->used <= budget->limit + budget->limit / 2 && !LIST_EMPTY(&budget->halted));
}

/* A data packet may go without waiting. */
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

/* Gives bytes of the peer back. */
static inline void ofi_rdm_flow_return(struct ofi_rdm_flow_budget *budget,
				       struct ofi_rdm_flow *flow, uint64_t bytes)
{
	flow->kept -= bytes;
	budget->used -= bytes;
	if (ofi_unlikely(flow->told == OFI_RDM_FLOW_NONE))
		ofi_rdm_flow_relent(budget, flow);
}

/* Bytes that the peer makes us keep. True as of ofi_rdm_flow_exceed(). */
static inline bool ofi_rdm_flow_charge(struct ofi_rdm_flow_budget *budget,
				       struct ofi_rdm_flow *flow, uint64_t bytes)
{
	budget->used += bytes;
	flow->kept += bytes;
	return ofi_unlikely(budget->used > budget->limit) && ofi_rdm_flow_exceed(budget, flow);
}

#endif
