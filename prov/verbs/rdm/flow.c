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
	if (flow->told)
		LIST_REMOVE(flow, link);
	flow->told = false;
	flow->stopped = false;
	flow->owed = VRB_FLOW_NOTHING;
	flow->credits = credits;
	flow->reserve = reserve;
}

void vrb_flow_budget_init(struct vrb_flow_budget *budget, uint64_t limit)
{
	*budget = (struct vrb_flow_budget){ .limit = limit };
	LIST_INIT(&budget->told);
}

/* STOP and GO that were not sent yet cancel each other. */
static void owe(struct vrb_flow *flow, enum vrb_flow_owed what)
{
	flow->owed = flow->owed == VRB_FLOW_NOTHING ? what : VRB_FLOW_NOTHING;
}

bool vrb_flow_exceed(struct vrb_flow_budget *budget, struct vrb_flow *flow)
{
	if (flow->told)
		return false;
	flow->told = true;
	LIST_INSERT_HEAD(&budget->told, flow, link);
	owe(flow, VRB_FLOW_STOP);
	return flow->owed != VRB_FLOW_NOTHING;
}

bool vrb_flow_refund(struct vrb_flow_budget *budget, uint64_t bytes)
{
	budget->used -= bytes;
	return budget->used <= budget->limit / 2 && !LIST_EMPTY(&budget->told);
}

struct vrb_flow *vrb_flow_resume(struct vrb_flow_budget *budget)
{
	struct vrb_flow *flow = LIST_FIRST(&budget->told);

	if (!flow || budget->used > budget->limit / 2)
		return NULL;
	LIST_REMOVE(flow, link);
	flow->told = false;
	owe(flow, VRB_FLOW_GO);
	return flow;
}

enum vrb_flow_owed vrb_flow_settle(struct vrb_flow *flow)
{
	enum vrb_flow_owed owed = flow->owed;

	flow->owed = VRB_FLOW_NOTHING;
	return owed;
}
