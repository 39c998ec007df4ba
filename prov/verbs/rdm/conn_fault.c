/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Faults that end connections, as reported by the device, memory and packets. A hostile peer can
 * cause any of them as often as it likes, so the log is rate-limited.
 */
#include <stdlib.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "conn_int.h"
#include "prov/rdm/lock.h"
#include "prov/verbs/provider/err.h"
#include "prov/verbs/provider/prov.h"

/* Tells why a connection ends. It is a macro, because each kind of fault has a rate of its own. */
#define WARN_ENDED(peer, subsystem, format, ...)                                              \
	do {                                                                                  \
		char text_[OFI_ADDR_STRLEN];                                                  \
                                                                                              \
		FI_WARN_SPARSE(&vrb_prov, subsystem, "peer %s" format ": connection ended\n", \
			       vrb_rdm_conn_name(peer, text_), ##__VA_ARGS__);                \
	} while (0)

static void warn_failed(const struct vrb_rc_conn *conn, const struct ibv_wc *wc)
{
	WARN_ENDED(conn->peer, FI_LOG_EP_DATA, ": %s (vendor 0x%x)", vrb_wc_str(wc->status),
		   wc->vendor_err);
}

void vrb_rdm_conn_failed(struct vrb_rc_conn *conn, int err, const struct ibv_wc *wc)
{
	if (conn->state >= VRB_RC_CONN_ENDED)
		return;
	/* Consequences of a known fault are not logged. */
	if (!conn->fault)
		warn_failed(conn, wc);
	vrb_rdm_conn_step_failed(conn->peer, conn->fault ? conn->fault : err);
}

static void run_short(struct ofi_rdm_peer *peer)
{
	WARN_ENDED(peer, FI_LOG_EP_DATA, ": out of memory for the messages that it sends");
	vrb_rdm_conn_step_failed(peer, FI_ENOMEM);
}

static void peer_flooded(struct ofi_rdm_peer *peer)
{
	WARN_ENDED(
		peer, FI_LOG_EP_DATA,
		" keeps sending after it was told to stop until its earlier messages are received (FI_VERBS_RDM_UNEXPECTED_SIZE=%llu)",
		(unsigned long long)peer->ep->proto.budget.limit);
	vrb_rdm_conn_step_failed(peer, FI_ECONNABORTED);
	/* Otherwise the peer could reconnect and send more. */
	ofi_rdm_proto_peer_purge(&peer->proto);
}

void vrb_rdm_conn_overdue(struct ofi_rdm_proto_peer *of)
{
	struct ofi_rdm_peer *peer = vrb_rc_peer_of(of);

	WARN_ENDED(peer, FI_LOG_EP_CTRL,
		   ": fi_close of a context or a collective group timed out waiting for it");
	vrb_rdm_conn_step_failed(peer, FI_ECONNABORTED);
}

void vrb_rdm_conn_fault(struct ofi_rdm_proto_peer *of, enum ofi_rdm_wire_error error)
{
	struct ofi_rdm_peer *peer = vrb_rc_peer_of(of);

	if (error == OFI_RDM_WIRE_E_MEMORY) {
		run_short(peer);
		return;
	}
	if (error == OFI_RDM_WIRE_E_FLOOD) {
		peer_flooded(peer);
		return;
	}
	WARN_ENDED(peer, FI_LOG_EP_DATA, " sent a malformed packet: %s",
		   ofi_rdm_wire_strerror(error));
	vrb_rdm_conn_step_failed(peer, FI_ECONNABORTED);
}

void vrb_rdm_conn_fail_later(struct vrb_rc_conn *conn, int err)
{
	if (!conn->fault)
		conn->fault = err;
	vrb_rdm_conn_retry_post(&conn->peer->proto);
}

void vrb_rdm_conn_damaged(struct vrb_rc_conn *conn)
{
	if (conn->fault)
		return;
	WARN_ENDED(conn->peer, FI_LOG_EP_DATA,
		   " broke the rules of the memory that it shares (FI_VERBS_SHM)");
	vrb_rdm_conn_fail_later(conn, FI_ECONNABORTED);
}

void vrb_rdm_conn_wake_failed(struct vrb_rc_conn *conn, const struct ibv_wc *wc)
{
	if (conn->fault || conn->state >= VRB_RC_CONN_ENDED)
		return;
	warn_failed(conn, wc);
	vrb_rdm_conn_fail_later(conn, vrb_wc_err(wc->status, false));
}

static void qp_failed(struct vrb_rc_conn *conn, int err, enum ibv_event_type event)
{
	if (!vrb_rdm_conn_take_last(conn))
		return;
	WARN_ENDED(conn->peer, FI_LOG_EP_CTRL, ": %s", ibv_event_type_str(event));
	vrb_rdm_conn_broken(conn, err);
}

static void live_qp_event(struct vrb_rc_conn *conn, enum ibv_event_type event)
{
	switch (event) {
	case IBV_EVENT_QP_FATAL:
		qp_failed(conn, FI_EIO, event);
		break;
	case IBV_EVENT_QP_REQ_ERR:
		qp_failed(conn, FI_EREMOTEIO, event);
		break;
	case IBV_EVENT_QP_ACCESS_ERR:
		qp_failed(conn, FI_EKEYREJECTED, event);
		break;
	case IBV_EVENT_COMM_EST:
		vrb_rdm_conn_established(conn);
		break;
	default:
		break;
	}
}

/* Called when the connection's queue pair holds no receive of the SRQ anymore. */
static void conn_let_go(struct vrb_rc_conn *conn)
{
	conn->let_go = true;
	__atomic_store_n(&vrb_rc_domain(conn->ep)->no_last_wqe, false, __ATOMIC_RELAXED);
	if (conn->state == VRB_RC_CONN_DEAD)
		vrb_rdm_conn_wake(conn->ep, 0);
}

/* An endpoint that closes does not wait for the device; it may have freed the connection. */
static void qp_event(struct ofi_rdm_ep *ep, struct vrb_rc_conn *conn, enum ibv_event_type event)
{
	if (ep->closing)
		return;
	if (event == IBV_EVENT_QP_LAST_WQE_REACHED)
		conn_let_go(conn);
	else if (conn->state < VRB_RC_CONN_ENDED)
		live_qp_event(conn, event);
}

struct qp_task {
	struct ofi_rdm_task task;
	struct vrb_rc_conn *conn;
	enum ibv_event_type event;
};

static void qp_task_run(struct ofi_rdm_ep *ep, struct ofi_rdm_task *task)
{
	const struct qp_task *qp = (const struct qp_task *)task;

	qp_event(ep, qp->conn, qp->event);
	free(task);
}

void vrb_rdm_conn_qp_event(struct vrb_rc_conn *conn, enum ibv_event_type event)
{
	struct qp_task *qp = malloc(sizeof(*qp));
	struct ofi_rdm_ep *ep = conn->ep;

	if (qp) {
		*qp = (struct qp_task){ .task.run = qp_task_run, .conn = conn, .event = event };
		ofi_rdm_task_add(ep, &qp->task);
		vrb_rdm_conn_tasks(ep);
		return;
	}
	ofi_rdm_lock(ep);
	ofi_rdm_tasks_run(ep);
	qp_event(ep, conn, event);
	ofi_rdm_unlock(ep);
}
