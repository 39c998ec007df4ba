/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Endpoints and connections on unreliable datagrams: opening and closing. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "prov/base/refuse.h"
#include "src/ds/patience.h"
#include "prov/verbs/dgram/ud_name.h"
#include "prov/verbs/provider/prov.h"
#include "prov/verbs/discovery/kind.h"
#include "ud_int.h"
#include "ud_qp.h"
#include "ud_rc.h"

#define BUFFERS	   16384u /* packets being sent */
#define DRAIN_MS   100
#define SILENCE_MS 5000 /* at least */
#define DEPTHS	   4u	/* packets for each receive buffer of the transport */
#define DEPTH_MIN  64u
#define END_TIMES  3 /* copies of the packet that ends a connection, as any may be lost */

static const uint8_t start_packet[2] = { OFI_RDM_WIRE_VERSION, 0x83 };

/*
 * Times in us. The peer's process acknowledges, at the latest when its timer polls. A peer is given
 * up when its host has been silent, too, for that long.
 */
static struct ofi_rdm_ack_params ack_params(const struct vrb_ud *all)
{
	uint64_t ms = (uint64_t)vrb_params.rdm_connect_timeout;

	return (struct ofi_rdm_ack_params){
		VRB_UD_ACK_TIMES,
		.silence = 1000 * (ms > SILENCE_MS ? ms : SILENCE_MS),
		/* A device without order does not lose what it delivers late. */
		.reorder = all->unordered ? OFI_RDM_SEQ_WINDOW : 3,
	};
}

static int post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct vrb_ud *all = srq->srq_context;

	(void)bad;
	if (all->rcs.srq)
		wr = vrb_ud_rc_post_recvs(all, wr);
	for (; wr; wr = wr->next)
		vrb_ud_recv_add(all, wr);
	return 0;
}

/* Mapped, so that no other data shares the pages that the device writes to. */
static int open_receives(struct vrb_ud *all)
{
	uint32_t i, size = all->grh + all->port.mtu;

	all->map_len = (size_t)size * all->rq_depth;
	all->map = mmap(NULL, all->map_len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			0);
	if (all->map == MAP_FAILED) {
		all->map = NULL;
		return -FI_ENOMEM;
	}
	all->mr = ibv_reg_mr(vrb_rc_domain(all->ep)->pd, all->map, all->map_len,
			     IBV_ACCESS_LOCAL_WRITE);
	if (!all->mr)
		return vrb_ud_open_failed("ibv_reg_mr", errno);
	all->rxs = calloc(all->rq_depth, sizeof(*all->rxs));
	if (!all->rxs)
		return -FI_ENOMEM;
	for (i = 0; i < all->rq_depth; i++) {
		all->rxs[i].sge = (struct ibv_sge){ .addr = (uintptr_t)all->map + (size_t)i * size,
						    .length = size,
						    .lkey = all->mr->lkey };
		all->rxs[i].wr = (struct ibv_recv_wr){ .wr_id = (uintptr_t)&all->rxs[i],
						       .next = all->repost,
						       .sg_list = &all->rxs[i].sge,
						       .num_sge = 1 };
		all->repost = &all->rxs[i].wr;
	}
	vrb_ud_repost(all);
	return all->repost ? vrb_ud_open_failed("ibv_post_recv", ENOMEM) : 0;
}

static int open_messages(struct vrb_ud *all)
{
	uint32_t size = 64;

	/* Kept packets are replaced by other buffers, so there may be more than are posted. */
	while (size < 4 * vrb_rc(all->ep)->rx.depth)
		size *= 2;
	all->messages = calloc(size, sizeof(*all->messages));
	all->recvs = calloc(size, sizeof(*all->recvs));
	all->ring_mask = size - 1;
	return all->messages && all->recvs ? 0 : -FI_ENOMEM;
}

static void stand_in(struct vrb_ud *all)
{
	struct vrb_rc_ep *rc = vrb_rc(all->ep);

	all->context.ops.poll_cq = vrb_ud_poll_cq;
	all->context.ops.post_send = vrb_ud_post_send;
	all->context.ops.post_srq_recv = post_srq_recv;
	all->cq.context = all->srq.context = &all->context;
	all->cq.cq_context = all->srq.srq_context = all;
	vrb_rdm_poll_from(rc, &all->cq, VRB_RDM_BATCH);
	rc->srq = &all->srq;
	/* No connection takes room in the device's CQ. */
	rc->room.fixed = true;
	rc->room.size = rc->room.left = 1u << 30;
}

/* Some buffers are there from the start, so that there is always progress. */
static int open_buffers(struct vrb_ud *all)
{
	vrb_rdm_pool_init(&all->pool, vrb_rc_domain(all->ep),
			  sizeof(struct vrb_ud_tx) + all->port.mtu, BUFFERS);
	return vrb_rdm_pool_reserve(&all->pool);
}

static struct vrb_ud *ud_new(struct ofi_rdm_ep *ep, const struct vrb_ud_calls *calls)
{
	struct vrb_ud *all = calloc(1, sizeof(*all));
	int i;

	if (!all)
		return NULL;
	all->ep = ep;
	all->calls = calls;
	STAILQ_INIT(&all->free_wrs);
	for (i = 0; i < VRB_UD_LISTS; i++)
		TAILQ_INIT(&all->lists[i]);
	vrb_ud_sleep_init(all);
	return all;
}

/*
 * Only datagrams have the header of their network before them, and only they leave in order. An
 * endpoint that has few buffers for messages has few for packets.
 */
static void set_limits(struct vrb_ud *all)
{
	const struct vrb_domain *domain = vrb_rc_domain(all->ep);
	/* Both queues must fit the completion queue. */
	uint32_t max =
		ofi_min((uint32_t)domain->attr.max_qp_wr, (uint32_t)domain->attr.max_cqe / 2);
	uint32_t wanted = DEPTHS * vrb_rc(all->ep)->rx.depth;

	if (wanted < DEPTH_MIN)
		wanted = DEPTH_MIN;
	if (wanted < max)
		max = wanted;
	all->grh = domain->fabric->kind->srd ? 0 : VRB_UD_GRH;
	all->unordered = domain->unordered;
	all->sq_depth = max < VRB_UD_SQ ? max : VRB_UD_SQ;
	all->rq_depth = max < VRB_UD_RQ ? max : VRB_UD_RQ;
}

static int open_all(struct vrb_ud *all)
{
	struct ofi_rdm_ep *ep = all->ep;
	bool named;
	int ret;

	set_limits(all);
	named = !all->unordered || vrb_ud_format(ep->info->addr_format);
	ret = vrb_ud_port_find("fi_enable", vrb_rc_domain(ep)->ctx, ep->info, &all->port);
	if (ret)
		return ret;
	if (all->port.mtu < VRB_UD_MTU_MIN)
		return ofi_refuse(&vrb_prov, FI_LOG_EP_CTRL, -FI_EOPNOTSUPP,
				  "fi_enable: datagrams need an MTU of %d B, the port has %u B\n",
				  VRB_UD_MTU_MIN, all->port.mtu);
	ret = open_buffers(all);
	if (!ret && named && all->unordered)
		ret = vrb_ud_draw_key(all);
	if (!ret)
		ret = vrb_ud_qp_open(all);
	if (!ret)
		ret = open_receives(all);
	if (!ret)
		ret = open_messages(all);
	if (!ret && named)
		ret = vrb_ud_set_name(all);
	return ret;
}

int vrb_ud_open(struct ofi_rdm_ep *ep, const struct vrb_ud_calls *calls)
{
	struct vrb_ud *all = ud_new(ep, calls);
	int ret;

	if (!all)
		return -FI_ENOMEM;
	vrb_rc(ep)->ud = all;
	ret = open_all(all);
	if (ret) {
		vrb_ud_close(ep);
		return ret;
	}
	all->ack_params = ack_params(all);
	stand_in(all);
	vrb_ud_rc_init(all);
	if (all->key)
		calls->wake(ep, 0);
	return 0;
}

/* The device must not lose what it has not sent yet. */
static void drain(struct vrb_ud *all)
{
	struct ofi_patience patience = { .ms = DRAIN_MS };
	struct ibv_wc wc;

	while (all->qp && all->sq_tail < all->sq_reports && !ofi_patience_over(&patience)) {
		if (ibv_poll_cq(vrb_rc(all->ep)->cq, 1, &wc) <= 0)
			sched_yield();
		else if (!vrb_ud_rc_is(all, &wc) && wc.wr_id & 1)
			vrb_ud_sent(all, wc.wr_id >> 1);
	}
}

/* Peers are told while the queue pair still sends. */
void vrb_ud_halt(struct ofi_rdm_ep *ep)
{
	struct vrb_ud *all = vrb_rc(ep)->ud;
	struct vrb_ud_conn *ud;

	TAILQ_FOREACH (ud, &all->awake, awake)
		vrb_ud_conn_end(ud->conn);
	drain(all);
	if (!vrb_ud_reads(ep))
		return;
	vrb_qp_stop(all->qp);
	drain(all);
	if (vrb_ud_reads(ep))
		FI_WARN(&vrb_prov, FI_LOG_EP_CTRL, "fi_close: the device does not end its reads\n");
}

void vrb_ud_close(struct ofi_rdm_ep *ep)
{
	struct vrb_ud *all = vrb_rc(ep)->ud;
	struct vrb_ud_wr *wr;

	if (!all)
		return;
	vrb_rc(ep)->ud = NULL;
	vrb_rdm_poll_from(vrb_rc(ep), vrb_rc(ep)->cq, 1);
	vrb_rc(ep)->srq = NULL;
	drain(all);
	if (all->qp)
		ibv_destroy_qp(all->qp);
	vrb_ud_rc_fini(all);
	if (all->mr)
		ibv_dereg_mr(all->mr);
	if (all->map)
		munmap(all->map, all->map_len);
	vrb_rdm_pool_fini(&all->pool);
	while ((wr = STAILQ_FIRST(&all->free_wrs))) {
		STAILQ_REMOVE_HEAD(&all->free_wrs, link);
		free(wr);
	}
	vrb_ud_sleep_fini(all);
	ofi_index_fini(&all->by_end);
	free(all->rxs);
	free(all->messages);
	free(all->recvs);
	free(all);
}

bool vrb_ud_random(struct vrb_ud *all, uint32_t *random)
{
	if (!all->random_left) {
		if (getrandom(all->random, sizeof(all->random), 0) != sizeof(all->random))
			return false;
		all->random_left = VRB_UD_RANDOM;
	}
	*random = all->random[--all->random_left];
	all->random[all->random_left] = 0;
	return true;
}

/* Returns false if there are no random bytes. */
static bool draw_number(struct vrb_rc_conn *conn, uint32_t *first)
{
	struct vrb_ud *all = vrb_rc(conn->ep)->ud;
	uint32_t number;

	do {
		if (!vrb_ud_random(all, &number))
			return false;
	} while (!number || number == VRB_RDM_NO_QP || vrb_rc_conn_find(conn->ep, number));
	conn->qp_num = number;
	return vrb_ud_random(all, first);
}

int vrb_ud_conn_open(struct vrb_rc_conn *conn)
{
	struct vrb_ud *all = vrb_rc(conn->ep)->ud;
	struct vrb_ud_conn *ud;
	uint32_t first;

	if (!draw_number(conn, &first))
		return -FI_EIO;
	ud = vrb_ud_awake_new(conn);
	if (!ud)
		return -FI_ENOMEM;
	ud->first = first;
	ud->payload = vrb_ud_payload(all, 0);
	vrb_ud_conn_begin(ud, first);
	all->conns++;
	all->fresh++;
	all->wake = vrb_ud_clock() + VRB_UD_FRESH_MS * 1000;
	all->calls->wake(all->ep, VRB_UD_FRESH_MS);
	return 0;
}

/* Frees what the connection has while it is awake. */
static void conn_empty(struct vrb_ud_conn *ud)
{
	struct vrb_ud_wr *wr;
	enum vrb_ud_list list;

	vrb_ud_drop_sent(ud);
	vrb_ud_reads_forget(ud);
	vrb_ud_drop_received(ud);
	vrb_ud_rc_close(ud);
	while ((wr = STAILQ_FIRST(&ud->wrs))) {
		STAILQ_REMOVE_HEAD(&ud->wrs, link);
		vrb_ud_wr_free(ud, wr);
	}
	for (list = 0; list < VRB_UD_LISTS; list++)
		vrb_ud_unlist(vrb_ud_of(ud), ud, list);
}

void vrb_ud_conn_close(struct vrb_rc_conn *conn)
{
	struct vrb_ud *all = vrb_rc(conn->ep)->ud;

	if (!conn->ud)
		return;
	vrb_ud_conn_end(conn);
	vrb_ud_unknow(conn->ud);
	vrb_ud_letter_free(conn->ud);
	if (!conn->ud->asleep)
		conn_empty(conn->ud);
	all->conns--;
	all->fresh -= !conn->ud->used;
	vrb_ud_conn_put(conn->ud);
	conn->ud = NULL;
	conn->qp = conn->sq = NULL;
	conn->slots = NULL;
}

/* Without memory to wake the connection, the peer is told once it sends and this one is freed. */
void vrb_ud_conn_end(struct vrb_rc_conn *conn)
{
	struct vrb_ud *all = vrb_rc(conn->ep)->ud;
	struct vrb_ud_conn *ud = conn->ud;
	int i;

	/* Nobody polls while the endpoint closes. */
	if (conn->ep->closing && all->sq_head - all->sq_tail + END_TIMES > all->sq_depth)
		drain(all);
	if (!ud->over)
		ud = vrb_ud_wake(ud);
	for (i = 0; ud && i < END_TIMES && !ud->over; i++)
		vrb_ud_send_bare(ud, VRB_UD_END, VRB_UD_CLOSED);
	conn->ud->over = true;
}

bool vrb_ud_conn_flush(struct vrb_rc_conn *conn)
{
	vrb_ud_letter_free(conn->ud);
	if (!vrb_ud_wake(conn->ud))
		return false;
	vrb_ud_fail(conn->ud, IBV_WC_WR_FLUSH_ERR);
	return vrb_ud_rc_flush(conn->ud);
}

void vrb_ud_conn_heard(struct vrb_rc_conn *conn)
{
	vrb_ud_conn_renew(conn);
	if (!conn->ud->asleep)
		ofi_rdm_ack_heard(&conn->ud->ack, vrb_ud_clock());
}

void vrb_ud_conn_lost(struct vrb_rc_conn *conn)
{
	if (!conn->ud->over)
		vrb_ud_over(conn->ud, FI_ECONNRESET);
}

int vrb_ud_conn_start(struct vrb_rc_conn *conn)
{
	const struct vrb_ud_wr *wr;

	/* The peer's process sees messages only, and not what is read and written. */
	STAILQ_FOREACH (wr, &conn->ud->wrs, link)
		if (wr->kind == VRB_UD_SEND)
			return 0;
	return vrb_rc_conn_send(conn, start_packet, sizeof(start_packet));
}

bool vrb_ud_conn_quiet(const struct vrb_rc_conn *conn)
{
	const struct vrb_ud_conn *ud = conn->ud;

	if (ud->asleep)
		return true;
	if (ud->turn || ud->flying || ud->reads || vrb_ud_back_drains(ud))
		return false;
	return !ud->rc || !ud->rc->used || vrb_rc_conn_is_quiet(conn);
}

/* The device reports reads of its own. */
bool vrb_ud_conn_is_owed(const struct vrb_rc_conn *conn)
{
	const struct vrb_ud_conn *ud = conn->ud;

	return !ud->asleep && ud->reads && !ud->flying && TAILQ_EMPTY(&ud->reading);
}

bool vrb_ud_is_start(const void *bytes, size_t len)
{
	return len == sizeof(start_packet) && !memcmp(bytes, start_packet, len);
}

uint32_t vrb_ud_qpn(const struct ofi_rdm_ep *ep)
{
	return vrb_rc(ep)->ud->qp->qp_num;
}

uint32_t vrb_ud_peer_number(const struct vrb_rc_conn *conn)
{
	return conn->ud->to;
}
