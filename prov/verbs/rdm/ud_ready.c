/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A reliable device reports what became of packets: those whose receiver was not ready are sent
 * again after a wait, a receiver that is gone ends its connection, and one that is there is waited
 * for.
 */
#include <stdlib.h>
#include <rdma/fi_errno.h>
#include "prov/verbs/discovery/kind.h"
#include "prov/verbs/provider/prov.h"
#include "ud_int.h"

#define READY_US 40 /* shortest wait */

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

static void receiver_gone(struct vrb_ud_conn *ud, int err)
{
	vrb_ud_fail(ud, IBV_WC_RETRY_EXC_ERR);
	vrb_ud_tell(ud, err);
}

/* There is no such queue pair. */
static bool is_nobody(enum ibv_wc_status status)
{
	return status == IBV_WC_REM_INV_RD_REQ_ERR || status == IBV_WC_REM_ABORT_ERR;
}

/* A read that fails ends the connection, as it does on a reliable queue pair. */
static void read_failed(struct vrb_ud_conn *ud, enum ibv_wc_status status)
{
	if (status == IBV_WC_RESP_TIMEOUT_ERR) {
		receiver_gone(ud, FI_ETIMEDOUT);
	} else if (is_nobody(status)) {
		receiver_gone(ud, FI_ECONNRESET);
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

	vrb_ud_read_left(all, tx, !status);
	if (status)
		read_failed(ud, status);
	if (ud->broken)
		vrb_ud_fail_soon(ud);
	vrb_ud_pump(ud);
	vrb_ud_watch(ud);
}

/* These are the statuses of libefa. A packet with another one counts as lost. */
void vrb_ud_reported(struct vrb_ud *all, uint64_t index, enum ibv_wc_status status)
{
	bool posted = index >= all->sq_tail && index < all->sq_head;
	struct vrb_ud_tx *tx = posted ? all->sq[index % VRB_UD_SQ] : NULL;

	if (tx && tx->writer && is_nobody(status))
		vrb_ud_nobody(all, tx->writer);
	if (!tx || tx->done || !tx->ud)
		return;
	if (!status || status == IBV_WC_RNR_RETRY_EXC_ERR)
		ofi_rdm_ack_heard(&tx->ud->ack, all->now);
	if (tx->reads)
		read_reported(all, tx, status);
	else if (status == IBV_WC_RNR_RETRY_EXC_ERR)
		not_ready(all, tx);
	else if (status == IBV_WC_RESP_TIMEOUT_ERR)
		receiver_gone(tx->ud, FI_ETIMEDOUT);
	else if (is_nobody(status))
		receiver_gone(tx->ud, FI_ECONNRESET);
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
