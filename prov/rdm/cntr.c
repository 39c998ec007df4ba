/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connects counters with an endpoint's progress and its deferred work. */
#include "cntr.h"

static void cntr_progress(void *object)
{
	struct ofi_rdm_ep *ep = object;

	ep->proto.xport.ops->progress(&ep->proto);
}

static int cntr_arm(void *object)
{
	struct ofi_rdm_ep *ep = object;

	return ep->proto.xport.ops->arm(&ep->proto);
}

const struct ofi_cntr_source_ops ofi_rdm_cntr_source = {
	.progress = cntr_progress,
	.arm = cntr_arm,
};

int ofi_rdm_cntr_watch_work(struct ofi_rdm_ep *ep, struct ofi_cntr *cntr)
{
	return ofi_cntr_watch_once(&ep->domain->triggers, &ep->deferred.watches, cntr,
				   &ofi_rdm_cntr_source, ep, ep->fd);
}
