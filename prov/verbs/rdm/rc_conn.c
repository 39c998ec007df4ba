/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connections to peers: queue pairs and their rings. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "conn_int.h"
#include "rc_conn.h"
#include "proof.h"
#include "shm.h"
#include "ud.h"
#include "prov/verbs/provider/err.h"
#include "prov/verbs/provider/prov.h"

#define RING_MAX  ((uint32_t)OFI_RDM_WIRE_WINDOW)
#define RING_MIN  8u
#define CQ_LOW	  1024u /* the CQ grows when less room than this is left */
#define SHARES	  128u
#define LINGER_MS 1000

static int conn_failed(const char *what, int err)
{
	FI_WARN_SPARSE(&vrb_prov, FI_LOG_EP_CTRL, "connecting reliable datagrams: %s: %s%s\n", what,
		       strerror(err), vrb_remedy(err));
	return vrb_errno(err);
}

/* Grows the CQ, or records that it cannot grow. */
static void grow_cq(struct ofi_rdm_ep *ep)
{
	uint32_t size = vrb_rc_cq_grow(ep, vrb_rc(ep)->room.size);

	vrb_rc(ep)->room.left += size - vrb_rc(ep)->room.size;
	vrb_rc(ep)->room.fixed =
		size == vrb_rc(ep)->room.size || size == (uint32_t)vrb_rc_domain(ep)->attr.max_cqe;
	vrb_rc(ep)->room.size = size;
}

/*
 * A CQ that cannot grow is shared: the more connections there are, the smaller the ring of each new
 * one.
 */
static uint32_t ring_size(struct ofi_rdm_ep *ep)
{
	uint32_t size = RING_MAX;

	if (!vrb_rc(ep)->room.fixed && vrb_rc(ep)->room.left < CQ_LOW)
		grow_cq(ep);
	while (vrb_rc(ep)->room.fixed && size > RING_MIN && size > vrb_rc(ep)->room.left / SHARES)
		size /= 2;
	return size;
}

/*
 * Returns true if operations are counted: each is reported when it completes, not with a later one.
 */
static bool signals_all(const struct ofi_rdm_ep *ep)
{
	return ep->cntrs[OFI_RDM_SEND] || ep->cntrs[OFI_RDM_RMA_READ] ||
	       ep->cntrs[OFI_RDM_RMA_WRITE];
}

void vrb_rc_conn_signal_all(struct ofi_rdm_ep *ep)
{
	struct vrb_rc_conn *conn = NULL;

	while ((conn = vrb_rc_table_next(&vrb_rc(ep)->by_qp, conn)))
		conn->quiet = 0;
}

bool vrb_rc_conn_has(struct ofi_rdm_ep *ep, const void *context)
{
	const struct vrb_rdm_slot *slot;
	struct vrb_rc_conn *conn = NULL;
	uint32_t i;

	while ((conn = vrb_rc_table_next(&vrb_rc(ep)->by_qp, conn)))
		for (i = conn->tail; i != conn->head; i++) {
			slot = &conn->slots[i & conn->mask];
			if (slot->context == context && vrb_rdm_kind_of(slot) == VRB_RDM_FAST)
				return true;
		}
	return false;
}

bool vrb_rc_conn_has_room(const struct ofi_rdm_ep *ep)
{
	uint32_t max = vrb_rc(ep)->room.fixed ? vrb_rc(ep)->room.size
					      : (uint32_t)vrb_rc_domain(ep)->attr.max_cqe;
	uint32_t room = vrb_rc(ep)->room.left +
			(max > vrb_rc(ep)->room.size ? max - vrb_rc(ep)->room.size : 0);

	return room > max / 4;
}

/*
 * Returns the CQ entries for the ring, the last work request, and packets that only wake the peer.
 */
static uint32_t room_of(const struct ofi_rdm_ep *ep, uint32_t size)
{
	return size + 1 + (vrb_rc_shares(ep) ? VRB_SHM_WAKES : 0);
}

/* Connections on datagrams get their rings with the stand-in for their queue pair. */
static bool open_ring(struct vrb_rc_conn *conn)
{
	uint32_t i;

	conn->slots = calloc(conn->size, sizeof(*conn->slots));
	for (i = 0; conn->slots && i < conn->size; i++)
		conn->slots[i].conn = conn;
	return conn->slots;
}

struct vrb_rc_conn *vrb_rc_conn_new(struct ofi_rdm_ep *ep)
{
	uint32_t size = ring_size(ep);
	struct vrb_rc_conn *conn;

	if (room_of(ep, size) > vrb_rc(ep)->room.left) {
		FI_WARN_SPARSE(
			&vrb_prov, FI_LOG_EP_CTRL,
			"connecting reliable datagrams: the device's completion queue is full; use "
			"several endpoints, or limit their connections with FI_VERBS_MAX_CONN\n");
		return NULL;
	}
	conn = calloc(1, sizeof(*conn));
	if (!conn)
		return NULL;
	conn->ep = ep;
	STAILQ_INIT(&conn->early);
	LIST_INIT(&conn->windows);
	SLIST_INIT(&conn->spare_windows);
	conn->last.conn = conn;
	conn->size = size;
	conn->mask = size - 1;
	conn->quiet = signals_all(ep) ? 0 : conn->mask >> 2;
	if (!vrb_rc(ep)->ud && !open_ring(conn)) {
		free(conn);
		return NULL;
	}
	vrb_rc(ep)->room.left -= room_of(ep, size);
	return conn;
}

void vrb_rc_conn_destroy_qp(struct vrb_rc_conn *conn)
{
	int err;

	/* The stand-in for a queue pair is freed with the connection. */
	if (conn->ud) {
		err = vrb_ud_conn_destroy_qp(conn);
	} else {
		err = conn->qp ? ibv_destroy_qp(conn->qp) : 0;
		conn->qp = NULL;
	}
	if (err)
		conn_failed("ibv_destroy_qp", err);
}

void vrb_rc_conn_free(struct vrb_rc_conn *conn)
{
	if (!conn)
		return;
	vrb_shm_conn_close(conn);
	vrb_ud_conn_close(conn);
	vrb_rc_table_remove(&vrb_rc(conn->ep)->by_qp, conn);
	vrb_rc(conn->ep)->conns.set.ending -= conn->state >= VRB_RC_CONN_ENDED && conn->qp_num;
	vrb_rc(conn->ep)->room.left += room_of(conn->ep, conn->size);
	if (conn->peer)
		vrb_rc_peer(conn->peer)->conns--;
	if (conn->proof)
		vrb_rdm_secret_close(conn->proof->secret);
	free(conn->proof);
	free(conn->slots);
	free(conn);
}

/* A peer that has not proved that it knows the job secret gets no remote access. */
static int access_of(const struct vrb_rc_conn *conn)
{
	if (conn->proof && conn->proof->shut)
		return IBV_ACCESS_LOCAL_WRITE;
	return IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
}

static int to_init(struct vrb_rc_conn *conn)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = conn->id->port_num,
		.qp_access_flags = (unsigned int)access_of(conn),
	};
	int err;

	err = ibv_modify_qp(conn->qp, &attr,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	return err ? conn_failed("ibv_modify_qp to INIT", err) : 0;
}

static int create_ud(struct vrb_rc_conn *conn)
{
	int ret = vrb_ud_conn_open(conn);

	if (!ret)
		vrb_rc_table_add(&vrb_rc(conn->ep)->by_qp, conn);
	return ret;
}

int vrb_rc_conn_create_qp(struct vrb_rc_conn *conn)
{
	struct ofi_rdm_ep *ep = conn->ep;

	if (!vrb_rc_table_reserve(&vrb_rc(ep)->by_qp))
		return -FI_ENOMEM;
	if (vrb_rc(ep)->ud)
		return create_ud(conn);
	conn->qp = vrb_rc_qp_new(ep, &conn->owner, vrb_rc(ep)->srq, room_of(ep, conn->size));
	if (!conn->qp)
		return conn_failed("ibv_create_qp", errno);
	conn->sq = conn->qp;
	conn->qp_num = conn->qp->qp_num;
	vrb_rc_table_add(&vrb_rc(ep)->by_qp, conn);
	return to_init(conn);
}

static int qp_modify(struct vrb_rc_conn *conn, enum ibv_qp_state state, const char *what)
{
	struct ibv_qp_attr attr = { .qp_state = state };
	int err, mask = 0;

	if (rdma_init_qp_attr(conn->id, &attr, &mask))
		return errno == EINVAL ? -FI_ECONNABORTED : conn_failed("rdma_init_qp_attr", errno);
	vrb_qp_settle(vrb_rc_domain(conn->ep), conn->ep->info, &attr, mask);
	if (mask & IBV_QP_ACCESS_FLAGS)
		attr.qp_access_flags = (unsigned int)access_of(conn);
	err = ibv_modify_qp(conn->qp, &attr, mask);
	return err ? conn_failed(what, err) : 0;
}

int vrb_rc_conn_connect(struct vrb_rc_conn *conn)
{
	int ret;

	if (conn->ud)
		return 0;
	ret = qp_modify(conn, IBV_QPS_INIT, "ibv_modify_qp to INIT");
	conn->takes = !ret;
	if (!ret)
		ret = qp_modify(conn, IBV_QPS_RTR, "ibv_modify_qp to RTR");
	if (!ret)
		ret = qp_modify(conn, IBV_QPS_RTS, "ibv_modify_qp to RTS");
	return ret;
}

int vrb_rc_conn_open(struct vrb_rc_conn *conn)
{
	struct ibv_qp_attr attr = { .qp_access_flags = (unsigned int)access_of(conn) };
	int err = conn->ud ? 0 : ibv_modify_qp(conn->qp, &attr, IBV_QP_ACCESS_FLAGS);

	return err ? -conn_failed("ibv_modify_qp for remote access", err) : 0;
}

bool vrb_rc_conn_break(struct vrb_rc_conn *conn)
{
	struct ibv_send_wr *bad, wr = {
		.wr_id = (uintptr_t)&conn->last,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};

	if (conn->ud ? !vrb_ud_conn_flush(conn) : vrb_qp_stop(conn->qp) != 0)
		return false;
	return !ibv_post_send(conn->qp, &wr, &bad);
}

static struct ibv_qp *qp_of(const struct vrb_rc_conn *conn)
{
	return conn->ud ? vrb_ud_conn_qp(conn) : conn->qp;
}

/*
 * Datagrams need nothing, because the endpoint itself acknowledges them; but their connection may
 * have a reliable queue pair, too.
 */
void vrb_rc_conn_stop(struct vrb_rc_conn *conn)
{
	struct ibv_qp *qp = qp_of(conn);

	if (qp)
		vrb_qp_stop(qp);
}

void vrb_rc_conn_drop_rights(struct vrb_rc_conn *conn)
{
	vrb_rdm_windows_drop(conn);
	vrb_shm_end(conn);
}

void vrb_rc_conn_halt(struct vrb_rc_conn *conn, uint64_t now)
{
	struct ibv_qp *qp = qp_of(conn);

	conn->linger = now + LINGER_MS;
	if (qp && conn->takes && vrb_qp_stop(qp))
		conn->linger = now;
}

bool vrb_rc_conn_freeable(const struct vrb_rc_conn *conn, uint64_t now)
{
	const struct vrb_domain *domain = vrb_rc_domain(conn->ep);

	if (vrb_ud_conn_reads(conn) && !conn->ep->dead)
		return false;
	return !conn->qp || !conn->takes || conn->let_go || now >= conn->linger || conn->ep->dead ||
	       __atomic_load_n(&domain->no_last_wqe, __ATOMIC_RELAXED);
}

/* The context of the slot is not NULL, because the packet took no credit. */
int vrb_rc_conn_send(struct vrb_rc_conn *conn, const void *bytes, size_t len)
{
	const uint64_t flags = vrb_rdm_kind_bits(VRB_RDM_PROBE);
	struct vrb_rdm_pool *pool = &vrb_rc(conn->ep)->tx_bufs;
	struct ibv_sge sge = { .addr = (uintptr_t)bytes, .length = (uint32_t)len };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .num_sge = 1, .sg_list = &sge };
	struct vrb_rdm_buf *buf;
	int err;

	if (len <= vrb_rc(conn->ep)->inline_max) {
		wr.send_flags = IBV_SEND_INLINE;
		return vrb_rc_conn_post(conn, &wr, flags, conn, NULL);
	}
	buf = vrb_rdm_pool_get(pool);
	if (!buf) {
		vrb_rc_conn_probe_all(conn->ep);
		return FI_ENOMEM;
	}
	memcpy(buf->out.data, bytes, len);
	sge.addr = (uintptr_t)buf->out.data;
	sge.lkey = buf->out.lkey;
	err = vrb_rc_conn_post(conn, &wr, flags, conn, buf);
	if (err)
		vrb_rdm_pool_put(pool, buf);
	return err;
}

void vrb_rc_conn_refused(struct vrb_rc_conn *conn, int err)
{
	char text[OFI_ADDR_STRLEN];

	err = -vrb_errno(err);
	if (err == ENOMEM || conn->fault)
		return;
	FI_WARN_SPARSE(&vrb_prov, FI_LOG_EP_DATA,
		       "peer %s: ibv_post_send: %s%s: connection ended\n",
		       vrb_rdm_conn_name(conn->peer, text), strerror(err), vrb_remedy(err));
	conn->fault = err;
	/* This is vrb_rdm_conn_retry_post() of conn.c, which calls this file. */
	ofi_rdm_xport(&conn->peer->proto)->retry(&conn->peer->proto);
}

bool vrb_rc_conn_touch(struct vrb_rc_conn *conn, struct ofi_rdm_flow *flow)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE };
	uint64_t flags = vrb_rdm_kind_bits(VRB_RDM_PROBE);
	int err;

	if (!ofi_rdm_flow_has_control_credit(flow))
		return false;
	err = vrb_rc_conn_post(conn, &wr, flags, NULL, NULL);
	if (err)
		vrb_rc_conn_refused(conn, err);
	else
		ofi_rdm_flow_take(flow);
	return !err;
}

void vrb_rc_conn_probe(struct vrb_rc_conn *conn, struct ofi_rdm_flow *flow)
{
	if (!vrb_rc_conn_idle(conn) && vrb_rc_conn_is_quiet(conn))
		vrb_rc_conn_touch(conn, flow);
}

void vrb_rc_conn_probe_all(struct ofi_rdm_ep *ep)
{
	uint64_t now = ofi_now_ms();
	struct vrb_rc_conn *conn = NULL;

	if (vrb_rc(ep)->conns.probed == now)
		return;
	vrb_rc(ep)->conns.probed = now;
	while ((conn = vrb_rc_table_next(&vrb_rc(ep)->by_qp, conn)))
		if (conn->live)
			vrb_rc_conn_probe(conn, &conn->peer->proto.flow);
}
