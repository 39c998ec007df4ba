/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reading the errors that a completion queue's reads stop at. */
#include <stddef.h>
#include <string.h>
#include "cq.h"
#include "stats.h"

/* The error that a read stopped at, NULL when there is none. What closed endpoints left is dropped. */
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

/* The structure grew: err_data_size came with API 1.5, src_addr with 1.20. */
static void copy_error(const struct vrb_cq *cq, struct fi_cq_err_entry *to,
		       const struct fi_cq_err_entry *from)
{
	uint32_t version = cq->domain->info->fabric_attr->api_version;
	void *data = to->err_data;
	size_t room = 0;

	if (data && FI_VERSION_GE(version, FI_VERSION(1, 5)))
		room = to->err_data_size;
	memcpy(to, from, offsetof(struct fi_cq_err_entry, err_data));
	if (room) {
		room = room < sizeof(cq->detail) ? 0 : sizeof(cq->detail);
		memcpy(data, &cq->detail, room);
	} else {
		to->err_data = (void *)&cq->detail;
		room = sizeof(cq->detail);
	}
	if (FI_VERSION_GE(version, FI_VERSION(1, 5)))
		to->err_data_size = room;
	if (FI_VERSION_GE(version, FI_VERSION(1, 20)))
		to->src_addr = FI_ADDR_NOTAVAIL;
}

static void take_error(struct vrb_cq *cq, const struct ibv_wc *wc, struct fi_cq_err_entry *entry)
{
	struct vrb_slot *slot = (struct vrb_slot *)(uintptr_t)wc->wr_id;
	struct fi_cq_err_entry error;

	vrb_cq_failed(wc);
	vrb_wc_error(wc, &error);
	vrb_wc_detail(wc, &cq->detail);
	copy_error(cq, entry, &error);
	vrb_stats_error(cq, slot->wq, wc->status);
	vrb_wq_retire(slot->wq, slot, 0);
	vrb_cq_keep(cq, cq->first + 1, cq->first + vrb_cq_take_kept(cq));
}

ssize_t vrb_cq_readerr(struct fid_cq *fid, struct fi_cq_err_entry *entry, uint64_t flags)
{
	struct vrb_cq *cq = vrb_cq(fid);
	const struct ibv_wc *wc;

	if (!entry)
		return -FI_EINVAL;
	if (flags)
		return -FI_EBADFLAGS;
	vrb_cq_lock(cq);
	wc = kept_error(cq);
	if (wc)
		take_error(cq, wc, entry);
	vrb_cq_unlock(cq);
	return wc ? 1 : -FI_EAGAIN;
}
