/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Credits of peers and the endpoint's budget for unexpected messages. */
#include <stddef.h>
#include "flow.h"

void vrb_flow_init(struct vrb_flow *flow, uint32_t credits, uint32_t reserve)
{
	*flow = (struct vrb_flow){ .credits = credits, .reserve = reserve };
	STAILQ_INIT(&flow->control);
	STAILQ_INIT(&flow->data);
}

void vrb_flow_reset(struct vrb_flow *flow, uint32_t credits, uint32_t reserve)
{
	if (flow->told != VRB_FLOW_ALL)
		LIST_REMOVE(flow, link);
	flow->told = flow->said = VRB_FLOW_ALL;
	flow->stopped = flow->halted = flow->heard = flow->abused = false;
	flow->owed = VRB_FLOW_NOTHING;
	flow->halts = 0;
	flow->over = 0;
	flow->credits = credits;
	flow->reserve = reserve;
}

void vrb_flow_budget_init(struct vrb_flow_budget *budget, uint64_t limit)
{
	*budget = (struct vrb_flow_budget){
		.limit = limit,
		.window = UINT32_MAX,
		.most = UINT64_MAX,
	};
	LIST_INIT(&budget->told);
	LIST_INIT(&budget->halted);
}

static uint64_t share(const struct vrb_flow_budget *budget)
{
	return budget->limit / (budget->peers ? budget->peers : 1);
}

/* What was not sent yet and what takes it back cancel each other. */
static void tell(struct vrb_flow_budget *budget, struct vrb_flow *flow, enum vrb_flow_level level)
{
	static const enum vrb_flow_owed words[] = {
		[VRB_FLOW_ALL] = VRB_FLOW_GO,
		[VRB_FLOW_ANNOUNCED] = VRB_FLOW_STOP,
		[VRB_FLOW_NONE] = VRB_FLOW_HALT,
	};

	if (flow->told != VRB_FLOW_ALL)
		LIST_REMOVE(flow, link);
	if (level != VRB_FLOW_ALL)
		LIST_INSERT_HEAD(level == VRB_FLOW_NONE ? &budget->halted : &budget->told, flow,
				 link);
	flow->told = (uint8_t)level;
	flow->owed = level == flow->said ? VRB_FLOW_NOTHING : words[level];
	flow->heard = false;
	flow->over = 0;
}

static bool is_abuse(const struct vrb_flow_budget *budget, const struct vrb_flow *flow)
{
	return flow->told == VRB_FLOW_NONE &&
	       ((flow->heard && flow->over > budget->window) || flow->kept > budget->most);
}

bool vrb_flow_exceed(struct vrb_flow_budget *budget, struct vrb_flow *flow)
{
	enum vrb_flow_level level = VRB_FLOW_ANNOUNCED;

	if (budget->used > 2 * budget->limit &&
	    (flow->kept > share(budget) || budget->used > 4 * budget->limit))
		level = VRB_FLOW_NONE;
	flow->over++;
	if (flow->told < level) {
		tell(budget, flow, level);
		return flow->owed != VRB_FLOW_NOTHING;
	}
	flow->abused = flow->abused || is_abuse(budget, flow);
	return flow->abused;
}

bool vrb_flow_refund(struct vrb_flow_budget *budget, uint64_t bytes)
{
	budget->used -= bytes;
	return vrb_flow_may_resume(budget);
}

void vrb_flow_return(struct vrb_flow_budget *budget, struct vrb_flow *flow, uint64_t bytes)
{
	flow->kept -= bytes;
	vrb_flow_refund(budget, bytes);
	if (flow->told == VRB_FLOW_NONE && flow->kept <= share(budget) / 2)
		tell(budget, flow, VRB_FLOW_ANNOUNCED);
}

struct vrb_flow *vrb_flow_resume(struct vrb_flow_budget *budget)
{
	struct vrb_flow *flow = LIST_FIRST(&budget->halted);

	if (!vrb_flow_may_resume(budget))
		return NULL;
	if (budget->used > budget->limit / 2) {
		tell(budget, flow, VRB_FLOW_ANNOUNCED);
		return flow;
	}
	if (!flow)
		flow = LIST_FIRST(&budget->told);
	tell(budget, flow, VRB_FLOW_ALL);
	return flow;
}

enum vrb_flow_owed vrb_flow_settle(struct vrb_flow *flow)
{
	enum vrb_flow_owed owed = flow->owed;

	flow->owed = VRB_FLOW_NOTHING;
	flow->said = flow->told;
	flow->halts += owed == VRB_FLOW_HALT;
	return owed;
}

void vrb_flow_heard(struct vrb_flow *flow)
{
	/* There is none of an earlier connection. */
	if (!flow->halts || --flow->halts || flow->told != VRB_FLOW_NONE ||
	    flow->said != VRB_FLOW_NONE)
		return;
	flow->heard = true;
	flow->over = 0;
}
