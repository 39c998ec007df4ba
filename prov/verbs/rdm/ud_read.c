/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reads that the device carries out on a queue pair without order (SRD), if both ends have said
 * that theirs can: long messages, which their receiver reads, and long reads of the application.
 * The peer's process has no part in them.
 *
 * Nothing keeps such a read in order with packets, or with other reads. A message is there before
 * it is announced, and does not change before it has been read. A read of the application waits
 * until the peer has handled whatever was sent before, and until all other reads are complete; the
 * reads behind it wait for it.
 *
 * Until the device reports a read, it may write to the memory, so the work request does not
 * complete before that, whatever becomes of the connection.
 */
#include <errno.h>
#include "prov/rdm/proto.h"
#include "prov/verbs/discovery/kind.h"
#include "prov/verbs/provider/prov.h"
#include "ud_int.h"

static bool is_of_message(const struct vrb_rdm_slot *slot)
{
	return (slot->flags & OFI_RDM_KIND) >> OFI_RDM_KIND_SHIFT == VRB_RDM_READ;
}

static const struct vrb_rdm_slot *slot_behind(const struct vrb_ud_wr *wr)
{
	return (const struct vrb_rdm_slot *)(uintptr_t)wr->wr_id;
}

bool vrb_ud_is_direct(const struct vrb_ud_conn *ud, const struct vrb_ud_wr *wr)
{
	const struct ofi_rdm_proto_in *in;
	const struct vrb_params *params;

	if (!ud->direct)
		return false;
	params = vrb_rc_domain(ud->conn->ep)->fabric->kind->sizes;
	if (!is_of_message(slot_behind(wr)))
		return wr->len >= params->inter_min_read_write_size;
	in = slot_behind(wr)->context;
	return in->total >= params->inter_min_read_message_size;
}

bool vrb_ud_may_read(const struct vrb_ud_conn *ud, const struct vrb_ud_wr *wr)
{
	/* A closing endpoint waits for the device's reads, so it begins no more. */
	if (wr->direct && ud->conn->ep->closing)
		return false;
	if (wr->sent)
		return true;
	if (ud->reads == VRB_UD_READS || ud->alone)
		return false;
	return !wr->direct || is_of_message(slot_behind(wr)) ||
	       (!ud->reads && vrb_ud_is_handled(ud));
}

/* Returns the segment with the next byte to be read. */
static struct ibv_sge next_sge(const struct vrb_ud_wr *wr, uint32_t max)
{
	uint32_t from = wr->sent, left;
	int i = 0;

	while (from >= wr->sge[i].length)
		from -= wr->sge[i++].length;
	left = wr->sge[i].length - from;
	return (struct ibv_sge){ .addr = wr->sge[i].addr + from,
				 .length = left < max ? left : max,
				 .lkey = wr->sge[i].lkey };
}

/* Returns 0 or an errno. */
static int post_read(const struct vrb_ud_conn *ud, const struct vrb_ud_wr *wr,
		     const struct ibv_sge *sge)
{
	struct vrb_ud *all = vrb_ud_of(ud);
	const struct vrb_ud_way way = vrb_ud_way_of(ud);
	struct ibv_qp_ex *qp = all->reader;

	ibv_wr_start(qp);
	qp->wr_id = all->sq_head << 1 | 1;
	qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_read(qp, wr->rkey, wr->remote + wr->sent);
	ibv_wr_set_sge(qp, sge->lkey, sge->addr, sge->length);
	ibv_wr_set_ud_addr(qp, way.path->ah, way.qpn, way.qkey);
	return ibv_wr_complete(qp);
}

static void note_read(struct vrb_ud_conn *ud, struct vrb_ud_wr *wr, struct vrb_ud_tx *tx)
{
	if (!wr->sent) {
		ud->reads++;
		if (!is_of_message(slot_behind(wr)))
			ud->alone = wr;
	}
	wr->sent += tx->len;
	wr->posted++;
	tx->wr = wr;
	tx->ud = ud;
	tx->reads = true;
	TAILQ_INSERT_TAIL(&ud->reading, tx, link);
}

int vrb_ud_read(struct vrb_ud_conn *ud, struct vrb_ud_wr *wr)
{
	struct vrb_ud *all = vrb_ud_of(ud);
	struct ibv_sge sge = next_sge(wr, vrb_rc_domain(all->ep)->max_read);
	struct vrb_ud_tx *tx = vrb_ud_tx_new(all);
	int err = tx ? post_read(ud, wr, &sge) : ENOMEM;

	if (err) {
		if (tx)
			vrb_ud_tx_put(all, tx);
		return err;
	}
	all->sq[all->sq_head++ % VRB_UD_SQ] = tx;
	all->sq_reports = all->sq_head;
	tx->posted++;
	tx->len = sge.length;
	note_read(ud, wr, tx);
	if (wr->sent == wr->len) {
		wr->packed = true;
		ud->turn = STAILQ_NEXT(wr, link);
	}
	return 0;
}

void vrb_ud_read_left(struct vrb_ud *all, struct vrb_ud_tx *tx, bool success)
{
	struct vrb_ud_conn *ud = tx->ud;
	struct vrb_ud_wr *wr = tx->wr;

	TAILQ_REMOVE(&ud->reading, tx, link);
	vrb_ud_tx_put(all, tx);
	wr->posted--;
	if (!success)
		return;
	wr->got += tx->len;
	vrb_ud_wr_done(ud, wr);
	if (wr->done && ud->alone == wr)
		ud->alone = NULL;
}

void vrb_ud_reads_forget(struct vrb_ud_conn *ud)
{
	struct vrb_ud_tx *tx;

	while ((tx = TAILQ_FIRST(&ud->reading))) {
		TAILQ_REMOVE(&ud->reading, tx, link);
		tx->ud = NULL;
		vrb_ud_tx_put(vrb_ud_of(ud), tx);
	}
}
