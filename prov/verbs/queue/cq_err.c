/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reading the errors at which reads of a completion queue stop. */
#include "prov/base/cq.h"
#include "cq.h"
#include "prov/verbs/provider/stats.h"

/* Returns the error at which a read stopped, or NULL. Drops what closed endpoints have left. */
static const struct ibv_wc *kept_error(struct vrb_cq *cq)
{
	const struct ibv_wc *wc;

	for (; cq->kept; cq->first++, cq->kept--) {
		wc = &cq->wc[cq->first];
		if (wc->status == IBV_WC_SUCCESS)
			return NULL;
		if (!vrb_cq_drops(wc))
			return wc;
	}
	vrb_cq_set_special(cq, VRB_CQ_KEPT, false);
	return NULL;
}

static void report_error(struct vrb_cq *cq, const struct ibv_wc *wc, struct fi_cq_err_entry *entry)
{
	struct vrb_slot *slot = (struct vrb_slot *)(uintptr_t)wc->wr_id;
	struct fi_cq_err_entry error;

	vrb_cq_failed(wc);
	vrb_wc_error(wc, &error);
	vrb_wc_detail(wc, &cq->detail);
	ofi_cq_copy_error(cq->domain->base.info->fabric_attr->api_version, entry, &error,
			  &cq->detail, sizeof(cq->detail));
	vrb_stats_error(cq, slot->wq, wc->status);
	vrb_wq_retire(slot->wq, slot, 0);
	vrb_cq_keep(cq, cq->first + 1, cq->first + vrb_cq_take_kept(cq));
}

bool vrb_cq_take_error(struct ofi_cq *base, struct fi_cq_err_entry *entry)
{
	struct vrb_cq *cq = (struct vrb_cq *)base;
	const struct ibv_wc *wc;

	vrb_cq_lock(cq);
	wc = kept_error(cq);
	if (wc)
		report_error(cq, wc, entry);
	vrb_cq_unlock(cq);
	return wc;
}
