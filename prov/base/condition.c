/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The counters and thresholds that triggered operations and deferred work wait for. */
#include <rdma/fi_errno.h>
#include <rdma/fi_trigger.h>
#include <rdma/providers/fi_log.h>
#include "condition.h"

struct ofi_cntr *ofi_trigger_cntr(const struct ofi_domain *domain, struct fid_cntr *fid)
{
	struct ofi_cntr *cntr = ofi_cntr_of((struct fid *)fid, &domain->ref);

	if (fid && !cntr)
		FI_WARN(domain->prov, FI_LOG_DOMAIN,
			"triggered operation: %p is not a counter of the endpoint's domain\n",
			(void *)fid);
	return cntr;
}

ssize_t ofi_trigger_condition(const struct ofi_domain *domain, const void *context,
			      struct ofi_cntr **cntr, uint64_t *threshold)
{
	const struct fi_triggered_context *when = context;

	if (!when)
		return -FI_EINVAL;
	if (when->event_type != FI_TRIGGER_THRESHOLD)
		return -FI_ENOSYS;
	*cntr = ofi_trigger_cntr(domain, when->trigger.threshold.cntr);
	*threshold = when->trigger.threshold.threshold;
	return *cntr ? 0 : -FI_EINVAL;
}
