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
 *
 * Such a device is reliable, and reports what became of packets: those whose receiver was not ready
 * are sent again after a wait, a receiver that is gone ends its connection, and one that is there
 * is waited for.
 */
#include <errno.h>
#include <stdlib.h>
#include "prov/rdm/proto.h"
#include "prov/verbs/discovery/kind.h"
#include "prov/verbs/provider/err.h"
#include "prov/verbs/provider/prov.h"
#include "ud_int.h"

#define READY_US 40 /* shortest wait */

static bool is_of_message(const struct vrb_rdm_slot *slot)
{
	return vrb_rdm_kind_of(slot) == VRB_RDM_READ;
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

	vrb_ud_sq_seek(all);
	ibv_wr_start(qp);
	qp->wr_id = all->sq_head << 1 | 1;
	qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_read(qp, wr->rkey, wr->remote + wr->sent);
	ibv_wr_set_sge(qp, sge->lkey, sge->addr, sge->length);
	ibv_wr_set_ud_addr(qp, __atomic_load_n(&way.path->ah, __ATOMIC_ACQUIRE), way.qpn, way.qkey);
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

/* Called when the device reports a part of a read whose connection exists. */
static void read_left(struct vrb_ud *all, struct vrb_ud_tx *tx, bool success)
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

bool vrb_ud_conn_reads(const struct vrb_rc_conn *conn)
{
	return conn->ud && !conn->ud->asleep && !TAILQ_EMPTY(&conn->ud->reading);
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

/* The first wait is random, so that senders do not come back together. */
static uint64_t wait_new(const struct vrb_ud *all)
{
	const struct vrb_params *params = vrb_rc_domain(all->ep)->fabric->kind->sizes;

	if (params->timeout_interval)
		return (uint64_t)params->timeout_interval;
	return READY_US + (uint64_t)rand_r(&vrb_rc(all->ep)->conns.seed) % (2 * READY_US);
}

static uint64_t longest_wait(const struct vrb_ud *all)
{
	return (uint64_t)vrb_rc_domain(all->ep)->fabric->kind->sizes->max_timeout;
}

static void not_ready(struct vrb_ud *all, struct vrb_ud_tx *tx)
{
	struct vrb_ud_conn *ud = tx->ud;

	if (tx->not_ready)
		return;
	if (TAILQ_EMPTY(&ud->not_ready)) {
		ud->ready_wait = ud->ready_wait ? 2 * ud->ready_wait : wait_new(all);
		if (ud->ready_wait > longest_wait(all))
			ud->ready_wait = longest_wait(all);
		ud->ready_at = all->now + ud->ready_wait;
	}
	tx->not_ready = true;
	TAILQ_INSERT_TAIL(&ud->not_ready, tx, link);
	vrb_ud_watch(ud);
}

/*
 * Returns what the device says of a work request. The status of some of its codes (efa_io_defs.h of
 * Linux) depends on the version of libefa; devices that lose packets have other codes.
 */
static enum ibv_wc_status status_of(const struct vrb_ud *all, const struct ibv_wc *wc)
{
	static const enum ibv_wc_status known[] = {
		[7] = IBV_WC_REM_ACCESS_ERR,	 /* wrong key or range */
		[8] = IBV_WC_REM_INV_RD_REQ_ERR, /* ended by the peer */
		[9] = IBV_WC_REM_INV_RD_REQ_ERR, /* no such queue pair */
		[10] = IBV_WC_RNR_RETRY_EXC_ERR, /* no receive */
		[13] = IBV_WC_RESP_TIMEOUT_ERR,	 /* no answer any more */
		[15] = IBV_WC_RESP_TIMEOUT_ERR,	 /* no answer ever */
	};
	size_t code = all->unordered && wc->status ? wc->vendor_err : 0;

	return code < sizeof(known) / sizeof(*known) && known[code] ? known[code] : wc->status;
}

/* There is no such queue pair, or its host does not answer. */
static bool is_gone(enum ibv_wc_status status)
{
	return status == IBV_WC_REM_INV_RD_REQ_ERR || status == IBV_WC_RESP_TIMEOUT_ERR;
}

static void receiver_gone(struct vrb_ud_conn *ud, enum ibv_wc_status status)
{
	vrb_ud_fail(ud, status);
	vrb_ud_tell(ud, vrb_wc_err(status, false));
}

/* A read that fails ends the connection, as it does on a reliable queue pair. */
static void read_failed(struct vrb_ud_conn *ud, enum ibv_wc_status status)
{
	if (is_gone(status)) {
		receiver_gone(ud, status);
	} else {
		if (!ud->over)
			vrb_ud_send_bare(ud, VRB_UD_END, VRB_UD_CLOSED);
		vrb_ud_fail(ud, status);
	}
}

/* What has failed is reported once the device reads nothing for it any more. */
static void read_reported(struct vrb_ud *all, struct vrb_ud_tx *tx, enum ibv_wc_status status)
{
	struct vrb_ud_conn *ud = tx->ud;

	read_left(all, tx, !status);
	if (status)
		read_failed(ud, status);
	if (ud->broken)
		vrb_ud_fail_soon(ud);
	vrb_ud_pump(ud);
	vrb_ud_watch(ud);
}

/* A packet with another status counts as lost. */
void vrb_ud_reported(struct vrb_ud *all, const struct ibv_wc *wc)
{
	enum ibv_wc_status status = status_of(all, wc);
	uint64_t index = wc->wr_id >> 1;
	bool posted = all->unordered || (index >= all->sq_tail && index < all->sq_head);
	struct vrb_ud_tx *tx = posted ? all->sq[index % VRB_UD_SQ] : NULL;

	if (tx && tx->writer)
		vrb_ud_letter_left(all, tx->writer, status == IBV_WC_REM_INV_RD_REQ_ERR);
	if (!tx || tx->done || !tx->ud)
		return;
	if (!status || status == IBV_WC_RNR_RETRY_EXC_ERR)
		ofi_rdm_ack_heard(&tx->ud->ack, all->now);
	else if (!tx->ud->broken)
		tx->ud->vendor_err = tx->reads || is_gone(status) ? wc->vendor_err : 0;
	if (tx->reads)
		read_reported(all, tx, status);
	else if (status == IBV_WC_RNR_RETRY_EXC_ERR)
		not_ready(all, tx);
	else if (is_gone(status))
		receiver_gone(tx->ud, status);
}

/* These transmissions have never arrived, so they keep their numbers. */
void vrb_ud_send_not_ready(struct vrb_ud_conn *ud)
{
	struct vrb_ud_tx *tx;

	if (vrb_ud_of(ud)->now < ud->ready_at)
		return;
	while ((tx = TAILQ_FIRST(&ud->not_ready))) {
		TAILQ_REMOVE(&ud->not_ready, tx, link);
		tx->not_ready = false;
		vrb_ud_transmit(ud, tx);
	}
}
