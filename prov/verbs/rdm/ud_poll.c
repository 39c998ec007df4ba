/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Polling an endpoint on unreliable datagrams: the device's completions, the timers of connections,
 * and what the transport gets to see: arrived messages and completed work requests.
 */
#include <time.h>
#include <rdma/fi_errno.h>
#include "src/ds/compiler.h"
#include "ud_int.h"
#include "ud_qp.h"
#include "ud_rc.h"

#define IDLE	16  /* polls without anything to do, after which the time is taken */
#define ROUNDS	128 /* of batches in one call: packets that are dropped may never end */
#define TICK_MS 100 /* peers learn from polls that this process is alive */

uint64_t vrb_ud_clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

void vrb_ud_repost(struct vrb_ud *all)
{
	struct ibv_recv_wr *bad = NULL;

	if (!all->repost)
		return;
	if (!ibv_post_recv(all->qp, all->repost, &bad))
		bad = NULL;
	/* The rest is posted with the next ones. */
	all->repost = bad;
	if (ofi_unlikely(bad))
		vrb_ud_qp_check(all);
}

/* Removes and frees the oldest work request, and reports it if it has a completion. */
static int report_wr(struct vrb_ud_conn *ud, enum ibv_wc_status status, struct ibv_wc *wc)
{
	struct vrb_ud_wr *wr = STAILQ_FIRST(&ud->wrs);
	bool reports = wr->signaled || status != IBV_WC_SUCCESS;

	if (reports) {
		*wc = vrb_rdm_wc_sent(wr->wr_id, ud->conn->qp_num);
		wc->status = status;
		wc->vendor_err = status == IBV_WC_SUCCESS ? 0 : ud->vendor_err;
	}
	STAILQ_REMOVE_HEAD(&ud->wrs, link);
	vrb_ud_wr_free(ud, wr);
	return reports;
}

/* Reports the newest work request, which is silent, and so all those before it. */
static int report_settled(struct vrb_ud_conn *ud, struct ibv_wc *wc)
{
	const struct vrb_rc_conn *conn = ud->conn;

	ud->settles = false;
	if (!STAILQ_EMPTY(&ud->wrs) || vrb_rc_conn_idle(conn) || ud->rc)
		return 0;
	*wc = vrb_rdm_wc_sent((uintptr_t)&conn->slots[(conn->head - 1) & conn->mask], conn->qp_num);
	return 1;
}

static int report_done(struct vrb_ud *all, int count, struct ibv_wc *wc)
{
	struct vrb_ud_conn *ud;
	struct vrb_ud_wr *wr;
	int n = 0;

	while (n < count && (ud = TAILQ_FIRST(&all->lists[VRB_UD_DONE]))) {
		while (n < count && (wr = STAILQ_FIRST(&ud->wrs)) && wr->done && !ud->broken)
			n += report_wr(ud, IBV_WC_SUCCESS, wc + n);
		if (n == count)
			break;
		if (ofi_unlikely(ud->settles))
			n += report_settled(ud, wc + n);
		vrb_ud_unlist(all, ud, VRB_UD_DONE);
	}
	return n;
}

static int report_messages(struct vrb_ud *all, int count, struct ibv_wc *wc)
{
	const struct vrb_ud_message *message;
	int n = 0;

	for (; n < count && all->message_tail != all->message_head; all->message_tail++) {
		message = &all->messages[all->message_tail & all->ring_mask];
		wc[n++] = vrb_rdm_wc_arrived(message->rx, message->len, message->number);
	}
	return n;
}

/* Returns true if there is a work request, and the device does not read into its memory. */
static bool has_failed(const struct vrb_ud_conn *ud)
{
	return !STAILQ_EMPTY(&ud->wrs) && !STAILQ_FIRST(&ud->wrs)->posted;
}

/* The first work request that is not complete tells why, the rest is flushed. */
static enum ibv_wc_status failure(struct vrb_ud_conn *ud)
{
	enum ibv_wc_status status = ud->status;

	if (STAILQ_FIRST(&ud->wrs)->done)
		return IBV_WC_SUCCESS;
	ud->status = IBV_WC_WR_FLUSH_ERR;
	return status;
}

static int report_failed(struct vrb_ud *all, int count, struct ibv_wc *wc)
{
	struct vrb_ud_conn *ud;
	int n = 0;

	while (n < count && (ud = TAILQ_FIRST(&all->lists[VRB_UD_FAILING]))) {
		while (n < count && has_failed(ud))
			n += report_wr(ud, failure(ud), wc + n);
		if (has_failed(ud))
			break;
		vrb_ud_unlist(all, ud, VRB_UD_FAILING);
	}
	return n;
}

static int report(struct vrb_ud *all, int count, struct ibv_wc *wc)
{
	int n;

	if (!vrb_ud_any(all, VRB_UD_DONE) && all->message_tail == all->message_head &&
	    !vrb_ud_any(all, VRB_UD_FAILING))
		return 0;
	n = report_done(all, count, wc);
	n += report_messages(all, count - n, wc + n);
	return n + report_failed(all, count - n, wc + n);
}

/* Nothing has been sent that could have carried the acknowledgment. */
static void ack_late(struct vrb_ud_conn *ud)
{
	if (ud->chats == ud->chats_needed && ud->chats < VRB_UD_CHATS_MAX)
		ud->chats_needed *= 2;
	ud->chats = 0;
	vrb_ud_send_ack(ud);
}

static void ack_messages(struct vrb_ud *all)
{
	struct vrb_ud_conn *ud;

	while ((ud = TAILQ_FIRST(&all->lists[VRB_UD_PROMPT]))) {
		vrb_ud_unlist(all, ud, VRB_UD_PROMPT);
		if (!ud->over && ud->ack.owes != OFI_RDM_ACK_NEVER)
			vrb_ud_send_ack(ud);
	}
}

/* What was posted to a queue pair before the connection left it has failed. */
static void fail_last(struct vrb_ud_conn *ud)
{
	enum ibv_wc_status status = ud->rc->failed;

	ud->rc->failed = IBV_WC_SUCCESS;
	if (!ud->broken && STAILQ_EMPTY(&ud->wrs))
		vrb_ud_tell(ud, FI_ECONNRESET);
	vrb_ud_fail(ud, status);
}

static void serve(struct vrb_ud *all, struct vrb_ud_conn *ud)
{
	if (ofi_unlikely(ud->rc && ud->rc->failed))
		fail_last(ud);
	if (ud->over || !vrb_ud_resend(ud))
		return;
	vrb_ud_pump(ud);
	if (ofi_rdm_ack_is_owed(&ud->ack, all->now))
		ack_late(ud);
	vrb_ud_watch(ud);
}

/* Moves a connection from the list. */
static struct vrb_ud_conn *take(struct vrb_ud *all, enum vrb_ud_list list)
{
	struct vrb_ud_conn *ud = TAILQ_FIRST(&all->lists[list]);

	if (ud)
		vrb_ud_unlist(all, ud, list);
	return ud;
}

/* Lists the connections whose timers expire by then. Their timers are to be set again. */
static void list_late(struct vrb_ud *all, uint64_t by)
{
	struct vrb_ud_conn *ud;

	while (ofi_rdm_due_next(&all->due) <= by) {
		ud = ofi_container(ofi_rdm_due_first(&all->due), struct vrb_ud_conn, due);
		ofi_rdm_due_set(&all->due, &ud->due, OFI_RDM_DUE_NEVER);
		vrb_ud_list(all, ud, VRB_UD_LATE);
	}
}

static void run_timers(struct vrb_ud *all)
{
	struct vrb_ud_conn *ud;

	list_late(all, all->now);
	while ((ud = take(all, VRB_UD_LATE)))
		serve(all, ud);
}

/* Sends what waits for room, in turn, until the room is used. */
static void use_room(struct vrb_ud *all)
{
	struct vrb_ud_conn *ud;

	while (vrb_ud_sq_room(all) > VRB_UD_RESERVE && (ud = take(all, VRB_UD_BUSY))) {
		serve(all, ud);
		if (vrb_ud_is_listed(ud, VRB_UD_BUSY))
			break;
	}
}

static void packet_left(struct vrb_ud *all, const struct ibv_wc *wc)
{
	/* Later statuses say what became of the packet at its receiver. */
	if (wc->status != IBV_WC_SUCCESS && wc->status <= IBV_WC_WR_FLUSH_ERR)
		vrb_ud_qp_check(all);
	if (all->unordered || wc->status != IBV_WC_SUCCESS)
		vrb_ud_reported(all, wc);
	vrb_ud_sent(all, wc->wr_id >> 1);
}

/*
 * Returns the number of the device's completions. Those of work requests of the transport go to
 * `out`, and their number is added to *done.
 */
static int poll_device(struct vrb_ud *all, int count, struct ibv_wc *out, int *done)
{
	int most = all->rcs.srq && count - *done < VRB_UD_BATCH ? count - *done : VRB_UD_BATCH;
	struct ibv_wc wc[VRB_UD_BATCH];
	int i, n = ibv_poll_cq(vrb_rc(all->ep)->cq, most, wc);

	if (n > 0 || ofi_rdm_due_first(&all->due) || ++all->idle == IDLE) {
		all->idle = 0;
		if (!all->behind || all->behind >= all->rq_depth / 4)
			all->polled = all->last;
		all->behind = n < most ? 0 : all->behind + (uint32_t)n;
		all->last = all->now = vrb_ud_clock();
	}
	for (i = 0; i < n; i++) {
		if (vrb_ud_rc_is(all, &wc[i]))
			*done += vrb_ud_rc_take(all, &wc[i], out + *done);
		else if (wc[i].wr_id & 1)
			packet_left(all, &wc[i]);
		else
			vrb_ud_arrived(all, &wc[i]);
	}
	ack_messages(all);
	return n;
}

/*
 * Returns true if a timer has expired, unless acknowledgments that arrived before may still be in
 * the device's CQ: until it was not full, or as much was taken from it as it holds.
 */
static bool is_late(const struct vrb_ud *all)
{
	return all->now >= ofi_rdm_due_next(&all->due) &&
	       (!all->behind || all->behind >= all->sq_depth + all->rq_depth);
}

int vrb_ud_poll_cq(struct ibv_cq *cq, int count, struct ibv_wc *wc)
{
	struct vrb_ud *all = cq->cq_context;
	int some, rounds = ROUNDS, n;

	if (ofi_unlikely(all->looks))
		vrb_ud_look(all);
	n = report(all, count, wc);
	do {
		if (n == count)
			return n;
		some = poll_device(all, count, wc, &n);
		if (vrb_ud_any(all, VRB_UD_STALLED))
			vrb_ud_unstall(all);
		if (is_late(all))
			run_timers(all);
		if (vrb_ud_any(all, VRB_UD_BUSY))
			use_room(all);
		vrb_ud_repost(all);
		n += report(all, count - n, wc + n);
	} while (some > 0 && --rounds);
	return n;
}

void vrb_ud_arm(struct ofi_rdm_ep *ep)
{
	struct vrb_ud *all = vrb_rc(ep)->ud;
	struct vrb_ud_conn *ud;

	if (!all)
		return;
	list_late(all, all->now + all->ack_params.delay);
	while ((ud = take(all, VRB_UD_LATE))) {
		if (ud->ack.owes != OFI_RDM_ACK_NEVER)
			ack_late(ud);
		serve(all, ud);
	}
}

uint64_t vrb_ud_due(const struct ofi_rdm_ep *ep)
{
	struct vrb_ud *all = vrb_rc(ep)->ud;
	uint64_t now, next, left, ms;

	/* Requests arrive on the queue pair itself if it has a name. */
	if (!all || (!all->conns && !all->key))
		return UINT64_MAX;
	ms = all->fresh ? VRB_UD_FRESH_MS : TICK_MS;
	now = vrb_ud_clock();
	next = ofi_rdm_due_next(&all->due);
	left = next > now ? (next - now) / 1000 + 1 : 1;
	if (left < ms)
		ms = left;
	/* Frequent events must not postpone the timer. */
	if (all->wake > now && all->wake - now < ms * 1000)
		return (all->wake - now) / 1000 + 1;
	all->wake = now + ms * 1000;
	return ms;
}
