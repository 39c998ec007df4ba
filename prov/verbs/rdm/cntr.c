/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What counters do with an endpoint, and those that deferred work lends it. */
#include "cntr.h"

#include <stdlib.h>
#include <rdma/fi_errno.h>

struct vrb_rdm_lent {
	struct ofi_cntr *cntr;
	LIST_ENTRY(vrb_rdm_lent) link;
};

static void progress(void *object)
{
	struct vrb_rdm *ep = object;

	ep->proto.xport.ops->progress(&ep->proto);
}

static int cntr_arm(void *object)
{
	struct vrb_rdm *ep = object;

	return ep->proto.xport.ops->arm(&ep->proto);
}

const struct ofi_cntr_source_ops vrb_rdm_cntr_source = {
	.progress = progress,
	.arm = cntr_arm,
};

/* With the domain's lock held. */
static int lend(struct vrb_rdm *ep, struct ofi_cntr *cntr)
{
	struct vrb_rdm_lent *lent;
	int ret;

	LIST_FOREACH (lent, &ep->deferred.lent, link)
		if (lent->cntr == cntr)
			return 0;
	lent = malloc(sizeof(*lent));
	if (!lent)
		return -FI_ENOMEM;
	lent->cntr = cntr;
	ret = ofi_cntr_watch(cntr, &vrb_rdm_cntr_source, ep, ep->channel->fd);
	if (ret) {
		free(lent);
		return ret;
	}
	ofi_ref_get(&cntr->ref);
	LIST_INSERT_HEAD(&ep->deferred.lent, lent, link);
	return 0;
}

int vrb_rdm_cntr_lend(struct vrb_rdm *ep, struct ofi_cntr *cntr)
{
	int ret;

	ofi_lock(&ep->domain->lock);
	ret = lend(ep, cntr);
	ofi_unlock(&ep->domain->lock);
	return ret;
}

void vrb_rdm_cntr_unlend(struct vrb_rdm *ep)
{
	struct vrb_rdm_lent *lent;

	while ((lent = LIST_FIRST(&ep->deferred.lent))) {
		ofi_cntr_unwatch(lent->cntr, ep);
		ofi_ref_put(&lent->cntr->ref);
		LIST_REMOVE(lent, link);
		free(lent);
	}
}
