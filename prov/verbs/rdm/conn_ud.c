/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connections to peers on unreliable datagrams: the differences from queue pairs. */
#include <rdma/fi_errno.h>
#include "conn_int.h"

/* Handles news: the peer's first packet arrived, it is silent, or the connection has ended. */
static void ud_news_run(struct ofi_rdm_ep *ep, struct ofi_rdm_task *task)
{
	struct vrb_rc_conn *conn = ofi_container(task, struct vrb_rc_conn, news.task);
	bool silent = conn->news.silent, met = conn->news.met;
	int err = conn->news.err;

	conn->news.queued = conn->news.silent = conn->news.met = false;
	if (ep->closing || conn->state >= VRB_RC_CONN_ENDED)
		return;
	if (met)
		vrb_rdm_conn_established(conn);
	if (!err && silent && !ofi_rdm_addr_is_qp(&conn->peer->addr))
		vrb_rdm_conn_ask(conn);
	else if (err == FI_ECONNRESET)
		vrb_rdm_conn_disconnected(conn);
	else if (err)
		vrb_rdm_conn_broken(conn, err);
}

/* Called while polling: leaves the news to be handled when the thread leaves the endpoint. */
static void ud_news(struct vrb_rc_conn *conn)
{
	if (conn->ep->closing || conn->news.queued || conn->state >= VRB_RC_CONN_ENDED)
		return;
	conn->news.queued = true;
	conn->news.task.run = ud_news_run;
	vrb_rdm_conn_hand(conn->ep, &conn->news.task);
}

static void ud_lose_run(struct ofi_rdm_ep *ep, struct ofi_rdm_task *task)
{
	(void)task;
	vrb_rdm_conn_lose(ep, vrb_rc(ep)->conns.lose_err);
}

static void ud_lose(struct ofi_rdm_ep *ep, int err)
{
	vrb_rc(ep)->conns.lose_err = err;
	vrb_rc(ep)->conns.lose.run = ud_lose_run;
	vrb_rdm_conn_hand(ep, &vrb_rc(ep)->conns.lose);
}

static bool ud_letter(struct ofi_rdm_ep *ep, struct vrb_rc_conn *conn,
		      const struct rdma_cm_event *event)
{
	if (conn)
		return vrb_rdm_conn_event_later(ep, vrb_rdm_conn_take_event, &conn->owner, event);
	return vrb_rdm_conn_event_later(ep, vrb_rdm_conn_take_request,
					&vrb_rc(ep)->conns.listener.owner, event);
}

const struct vrb_ud_calls vrb_rdm_ud_calls = {
	.news = ud_news,
	.lost = vrb_rdm_conn_lost,
	.lose = ud_lose,
	.letter = ud_letter,
	.wake = vrb_rdm_conn_wake,
};
