/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Credits of peers and the endpoint's budget for unexpected messages. */
#include <stddef.h>
#include "flow.h"

void ofi_rdm_flow_init(struct ofi_rdm_flow *flow, uint32_t credits, uint32_t reserve)
{
	*flow = (struct ofi_rdm_flow){ .credits = credits, .reserve = reserve };
	STAILQ_INIT(&flow->control);
	STAILQ_INIT(&flow->data);
}

void ofi_rdm_flow_reset(struct ofi_rdm_flow *flow, uint32_t credits, uint32_t reserve)
{
	if (flow->level != OFI_RDM_FLOW_ALL)
		LIST_REMOVE(flow, link);
	flow->level = flow->sent = OFI_RDM_FLOW_ALL;
	flow->stopped = flow->halted = flow->halt_acked = flow->abused = false;
	flow->owed = OFI_RDM_FLOW_NOTHING;
	flow->halts = 0;
	flow->over = 0;
	flow->credits = credits;
	flow->reserve = reserve;
}

void ofi_rdm_flow_budget_init(struct ofi_rdm_flow_budget *budget, uint64_t limit)
{
	*budget = (struct ofi_rdm_flow_budget){
		.limit = limit,
		.window = UINT32_MAX,
		.most = UINT64_MAX,
	};
	LIST_INIT(&budget->stopped);
	LIST_INIT(&budget->halted);
}

static uint64_t flow_share(const struct ofi_rdm_flow_budget *budget)
{
	return budget->limit / (budget->peers ? budget->peers : 1);
}

/*
 * Sets the peer's level. A packet that is still owed is dropped if the peer returns to the level
 * last sent to it.
 */
static void flow_set_level(struct ofi_rdm_flow_budget *budget, struct ofi_rdm_flow *flow,
			   enum ofi_rdm_flow_level level)
{
	static const enum ofi_rdm_flow_owed words[] = {
		[OFI_RDM_FLOW_ALL] = OFI_RDM_FLOW_GO,
		[OFI_RDM_FLOW_ANNOUNCED] = OFI_RDM_FLOW_STOP,
		[OFI_RDM_FLOW_NONE] = OFI_RDM_FLOW_HALT,
	};

	if (flow->level != OFI_RDM_FLOW_ALL)
		LIST_REMOVE(flow, link);
	if (level != OFI_RDM_FLOW_ALL)
		LIST_INSERT_HEAD(level == OFI_RDM_FLOW_NONE ? &budget->halted : &budget->stopped,
				 flow, link);
	flow->level = (uint8_t)level;
	flow->owed = level == flow->sent ? OFI_RDM_FLOW_NOTHING : words[level];
	flow->halt_acked = false;
	flow->over = 0;
}

static bool is_abuse(const struct ofi_rdm_flow_budget *budget, const struct ofi_rdm_flow *flow)
{
	return flow->level == OFI_RDM_FLOW_NONE &&
	       ((flow->halt_acked && flow->over > budget->window) || flow->kept > budget->most);
}

bool ofi_rdm_flow_exceed(struct ofi_rdm_flow_budget *budget, struct ofi_rdm_flow *flow)
{
	enum ofi_rdm_flow_level level = OFI_RDM_FLOW_ANNOUNCED;

	if (budget->used > 2 * budget->limit &&
	    (flow->kept > flow_share(budget) || budget->used > 4 * budget->limit))
		level = OFI_RDM_FLOW_NONE;
	flow->over++;
	if (flow->level < level) {
		flow_set_level(budget, flow, level);
		return flow->owed != OFI_RDM_FLOW_NOTHING;
	}
	flow->abused = flow->abused || is_abuse(budget, flow);
	return flow->abused;
}

void ofi_rdm_flow_relax(struct ofi_rdm_flow_budget *budget, struct ofi_rdm_flow *flow)
{
	if (flow->kept <= flow_share(budget) / 2)
		flow_set_level(budget, flow, OFI_RDM_FLOW_ANNOUNCED);
}

struct ofi_rdm_flow *ofi_rdm_flow_resume(struct ofi_rdm_flow_budget *budget)
{
	struct ofi_rdm_flow *flow = LIST_FIRST(&budget->halted);

	if (!ofi_rdm_flow_may_resume(budget))
		return NULL;
	if (budget->used > budget->limit / 2) {
		flow_set_level(budget, flow, OFI_RDM_FLOW_ANNOUNCED);
		return flow;
	}
	if (!flow)
		flow = LIST_FIRST(&budget->stopped);
	flow_set_level(budget, flow, OFI_RDM_FLOW_ALL);
	return flow;
}

enum ofi_rdm_flow_owed ofi_rdm_flow_settle(struct ofi_rdm_flow *flow)
{
	enum ofi_rdm_flow_owed owed = flow->owed;

	flow->owed = OFI_RDM_FLOW_NOTHING;
	flow->sent = flow->level;
	flow->halts += owed == OFI_RDM_FLOW_HALT;
	return owed;
}

void ofi_rdm_flow_halt_acked(struct ofi_rdm_flow *flow)
{
	/* The HALT packets of an earlier connection are not counted in halts. */
	if (!flow->halts || --flow->halts || flow->level != OFI_RDM_FLOW_NONE ||
	    flow->sent != OFI_RDM_FLOW_NONE)
		return;
	flow->halt_acked = true;
	flow->over = 0;
}
