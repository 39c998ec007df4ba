/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Converts traffic classes to DSCPs and service levels. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_errno.h>
#include <rdma/rdma_cma.h>
#include "prov.h"
#include "prov/base/attr.h"
#include "prov/base/refuse.h"
#include "tclass.h"

enum { CODE_POINTS = 64, LEVELS = 16, ECN_BITS = 2 };

/* Indexed by DSCP; set once, when the provider is loaded. */
static int8_t levels[CODE_POINTS];

/* Parses a number below `limit` followed by `end`. Returns the rest of the text, or NULL. */
static const char *parse_number(const char *text, long limit, const char *end, long *value)
{
	char *after;

	*value = strtol(text, &after, 10);
	return after > text && *value >= 0 && *value < limit && strchr(end, *after) ? after : NULL;
}

static bool parse_levels(const char *text)
{
	long point, level;

	while (*text) {
		text = parse_number(text, CODE_POINTS, "=", &point);
		if (!text || !*text)
			return false;
		text = parse_number(text + 1, LEVELS, ",", &level);
		if (!text)
			return false;
		levels[point] = (int8_t)level;
		text += *text == ',';
	}
	return true;
}

void vrb_tclass_init(void)
{
	memset(levels, -1, sizeof(levels));
	if (!vrb_params.tclass_sl || parse_levels(vrb_params.tclass_sl))
		return;
	memset(levels, -1, sizeof(levels));
	FI_WARN(&vrb_prov, FI_LOG_CORE,
		"FI_VERBS_TCLASS_SL=%s is ignored: it takes DSCP=LEVEL, separated by commas, with a DSCP of 0 to 63 and a service level of 0 to 15\n",
		vrb_params.tclass_sl);
}

int vrb_tclass_check(const char *call, const struct fi_info *info)
{
	uint32_t tx = info->tx_attr ? info->tx_attr->tclass : FI_TC_UNSPEC;
	uint32_t domain = info->domain_attr ? info->domain_attr->tclass : FI_TC_UNSPEC;
	bool tx_fits = ofi_attr_tclass_fits(tx);

	if (tx_fits && ofi_attr_tclass_fits(domain))
		return 0;
	return ofi_refuse(
		&vrb_prov, FI_LOG_EP_CTRL, -FI_EINVAL,
		"%s: %s_attr->tclass is 0x%x; a traffic class is one of FI_TC_* or fi_tc_dscp_set(0 to 63)\n",
		call, tx_fits ? "domain" : "tx", tx_fits ? domain : tx);
}

static int code_point(uint32_t tclass)
{
	switch (tclass) {
	case FI_TC_BEST_EFFORT:
		return vrb_params.tclass_best_effort;
	case FI_TC_LOW_LATENCY:
		return vrb_params.tclass_low_latency;
	case FI_TC_DEDICATED_ACCESS:
		return vrb_params.tclass_dedicated_access;
	case FI_TC_BULK_DATA:
		return vrb_params.tclass_bulk_data;
	case FI_TC_SCAVENGER:
		return vrb_params.tclass_scavenger;
	case FI_TC_NETWORK_CTRL:
		return vrb_params.tclass_network_ctrl;
	default:
		return fi_tc_dscp_get(tclass);
	}
}

struct vrb_tclass vrb_tclass_of(const struct fi_info *domain, const struct fi_info *ep)
{
	uint32_t tclass = ep->tx_attr ? ep->tx_attr->tclass : FI_TC_UNSPEC;
	int point;

	if (!tclass && ep->domain_attr)
		tclass = ep->domain_attr->tclass;
	if (!tclass && domain->domain_attr)
		tclass = domain->domain_attr->tclass;
	if (!tclass)
		return (struct vrb_tclass){ .level = -1 };
	point = code_point(tclass);
	return (struct vrb_tclass){
		.asked = true,
		.tos = (uint8_t)(point << ECN_BITS),
		.level = levels[point],
	};
}

void vrb_tclass_set_id(struct vrb_tclass tclass, struct rdma_cm_id *id)
{
	if (!tclass.asked || !rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tclass.tos,
					      sizeof(tclass.tos)))
		return;
	FI_WARN_SPARSE(
		&vrb_prov, FI_LOG_EP_CTRL,
		"rdma_set_option(RDMA_OPTION_ID_TOS): %s; the connection manager does not know the traffic class, so packets may have the service level of another one\n",
		strerror(errno));
}

void vrb_tclass_set_ah(struct vrb_tclass tclass, struct ibv_ah_attr *attr)
{
	if (!tclass.asked)
		return;
	if (attr->is_global)
		attr->grh.traffic_class = tclass.tos;
	if (tclass.level >= 0)
		attr->sl = (uint8_t)tclass.level;
}
