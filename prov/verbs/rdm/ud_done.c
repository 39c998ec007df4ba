/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* How work requests on unreliable datagrams end: they complete, or fail with their connection. */
#include <stdlib.h>
#include "ud_int.h"
#include "ud_rc.h"

static void done_soon(struct vrb_ud_conn *ud)
{
	const struct vrb_ud_wr *first = STAILQ_FIRST(&ud->wrs);

	if (first && first->done && !ud->broken)
		vrb_ud_list(vrb_ud_of(ud), ud, VRB_UD_DONE);
}

static void count_unhandled(struct vrb_ud_conn *ud, struct vrb_ud_wr *wr)
{
	ud->unhandled += !wr->arrived;
	wr->arrived = true;
}

/* A write is complete once the peer's process has written the data, not when they arrive there. */
void vrb_ud_wr_done(struct vrb_ud_conn *ud, struct vrb_ud_wr *wr)
{
	if (wr->done || !wr->packed || wr->flying ||
	    (wr->kind == VRB_UD_READ && wr->got != wr->len))
		return;
	if (wr->kind == VRB_UD_WRITE && ofi_rdm_seq_distance(ud->handled, wr->last) >= 0) {
		count_unhandled(ud, wr);
		return;
	}
	ud->unhandled -= wr->arrived;
	wr->arrived = false;
	wr->done = true;
	ud->reads -= wr->kind == VRB_UD_READ;
	done_soon(ud);
}

void vrb_ud_handled(struct vrb_ud_conn *ud, uint32_t next)
{
	struct vrb_ud_wr *wr;

	if (ofi_rdm_seq_distance(ud->handled, next) <= 0)
		return;
	ud->handled = next;
	/* `ordered` stays near `handled`, so that their distance does not overflow. */
	if (ofi_rdm_seq_distance(ud->ordered, next) > 0)
		ud->ordered = next;
	if (ofi_likely(!ud->unhandled))
		return;
	STAILQ_FOREACH (wr, &ud->wrs, link)
		if (wr->arrived)
			vrb_ud_wr_done(ud, wr);
}

void vrb_ud_wr_free(struct vrb_ud_conn *ud, struct vrb_ud_wr *wr)
{
	if (wr->copy)
		vrb_ud_tx_put(vrb_ud_of(ud), wr->copy);
	STAILQ_INSERT_HEAD(&vrb_ud_of(ud)->free_wrs, wr, link);
}

void vrb_ud_drop_sent(struct vrb_ud_conn *ud)
{
	struct ofi_rdm_ack_node *node, *next;
	struct vrb_ud_job *job;

	for (node = ud->ack.first; node; node = next) {
		next = node->next;
		vrb_ud_tx_put(vrb_ud_of(ud), (struct vrb_ud_tx *)node);
	}
	ud->ack.first = ud->ack.last = NULL;
	ud->flying = ud->unhandled = 0;
	ud->turn = NULL;
	while ((job = STAILQ_FIRST(&ud->jobs))) {
		STAILQ_REMOVE_HEAD(&ud->jobs, link);
		free(job);
	}
	ud->job_count = 0;
}

/* Work requests are reported in order: those posted to a queue pair before must complete first. */
void vrb_ud_fail_soon(struct vrb_ud_conn *ud)
{
	if (!STAILQ_EMPTY(&ud->wrs) && !vrb_ud_back_drains(ud))
		vrb_ud_list(vrb_ud_of(ud), ud, VRB_UD_FAILING);
}

void vrb_ud_fail(struct vrb_ud_conn *ud, enum ibv_wc_status status)
{
	if (!ud->broken) {
		ud->status = status;
		ud->broken = ud->over = true;
		vrb_ud_drop_sent(ud);
	}
	vrb_ud_fail_soon(ud);
}
