/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Endpoints on unreliable datagrams over a fake network. */
#include "ud_net.h"
#include "ud_net_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/random.h>

enum {
	QUEUE = 4096,
	SENDS = VRB_UD_SQ,
	RECVS = VRB_UD_RQ,
	WCS = SENDS + RECVS + 1024,
	PACKET = 2 * UD_MTU,
	SPREAD_US = 3000,
};

struct packet {
	bool used;
	uint64_t due;
	unsigned int from, to; /* nodes */
	uint32_t qpn;	       /* of the sender */
	size_t len;
	uint8_t bytes[PACKET];
};

struct device {
	struct ibv_qp qp;
	uint32_t qkey, inline_max;
	enum ibv_qp_state state;
	unsigned int flushed; /* work requests in the error state */
	struct ibv_cq cq;
	struct ibv_recv_wr recvs[RECVS];
	struct ibv_sge sges[RECVS];
	uint32_t recv_head, recv_tail;
	struct ibv_wc wcs[WCS];
	uint32_t wc_head, wc_tail;
};

struct ud_node ud_nodes[UD_NODES];

static struct {
	struct ibv_context ctx;
	struct ibv_pd pds[UD_NODES];
	size_t top; /* of the packets, so many have been used */
	struct ud_net_params params;
	uint64_t random, now; /* now: in us */
	unsigned int opening; /* the node that opens */
	unsigned int heard;
	struct vrb_ud_packet last;
	uint8_t last_bytes[PACKET];
} net;

static struct device devices[UD_NODES];
static struct packet packets[QUEUE];

static void must(bool truth)
{
	if (!truth)
		abort();
}

uint32_t ud_net_any(uint32_t n)
{
	net.random ^= net.random << 13;
	net.random ^= net.random >> 7;
	net.random ^= net.random << 17;
	return (uint32_t)((net.random >> 32) * n >> 32);
}

static bool happens(uint32_t thousandths)
{
	return ud_net_any(1000) < thousandths;
}

/* The clock and the random numbers of the endpoints. */

int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
ssize_t __wrap_getrandom(void *buf, size_t len, unsigned int flags);

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	(void)clock;
	now->tv_sec = (time_t)(net.now / 1000000);
	now->tv_nsec = (long)(net.now % 1000000) * 1000;
	return 0;
}

ssize_t __wrap_getrandom(void *buf, size_t len, unsigned int flags)
{
	uint8_t *bytes = buf;
	size_t i;

	(void)flags;
	for (i = 0; i < len; i++)
		bytes[i] = (uint8_t)ud_net_any(256);
	return (ssize_t)len;
}

/* The device. */

uint32_t ud_net_qpn(unsigned int node)
{
	return (net.params.srd ? 0 : 100) + node;
}

static struct device *device_of(const struct ibv_qp *qp)
{
	return &devices[qp->qp_num - ud_net_qpn(0)];
}

static void push_wc(struct device *device, const struct ibv_wc *wc)
{
	must(device->wc_head - device->wc_tail < WCS);
	device->wcs[device->wc_head++ % WCS] = *wc;
}

void ud_net_complete(unsigned int node, const struct ibv_wc *wc)
{
	push_wc(&devices[node], wc);
}

const struct ud_net_params *ud_net_params(void)
{
	return &net.params;
}

unsigned int ud_net_opening(void)
{
	return net.opening;
}

uint64_t ud_net_now(void)
{
	return net.now;
}

static struct packet *packet_new(void)
{
	size_t i;

	for (i = 0; i < net.top; i++)
		if (!packets[i].used)
			return &packets[i];
	return net.top < QUEUE ? &packets[net.top++] : NULL;
}

/* A network that is full loses packets, too. */
static void put_on_wire(const struct packet *from)
{
	struct packet *packet = packet_new();

	if (!packet || happens(net.params.loss))
		return;
	*packet = *from;
	packet->used = true;
	packet->due = net.now + 5 + (happens(net.params.delayed) ? ud_net_any(SPREAD_US) : 0);
}

static void send_packet(const struct packet *packet)
{
	put_on_wire(packet);
	if (happens(net.params.duplicates))
		put_on_wire(packet);
}

static void flush(struct device *device, uint64_t id)
{
	const struct ibv_wc wc = { .wr_id = id,
				   .status = IBV_WC_WR_FLUSH_ERR,
				   .qp_num = device->qp.qp_num };

	device->flushed++;
	push_wc(device, &wc);
}

unsigned int ud_net_fail(unsigned int node, enum ibv_qp_state state)
{
	struct device *device = &devices[node];

	device->state = state;
	for (; state == IBV_QPS_ERR && device->recv_tail != device->recv_head; device->recv_tail++)
		flush(device, device->recvs[device->recv_tail % RECVS].wr_id);
	return device->flushed;
}

/* Returns what an SRD queue pair reports of a packet. */
static enum ibv_wc_status fate(void)
{
	if (!net.params.srd || net.params.error)
		return net.params.error;
	return happens(net.params.unready) ? IBV_WC_RNR_RETRY_EXC_ERR : IBV_WC_SUCCESS;
}

bool ud_net_is_reached(unsigned int to, uint32_t qpn, uint32_t qkey)
{
	return qpn == ud_net_qpn(to) && qkey == devices[to].qkey;
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct packet packet = { .from = qp->qp_num - ud_net_qpn(0), .qpn = qp->qp_num };
	struct ibv_wc wc = { .wr_id = wr->wr_id, .opcode = IBV_WC_SEND, .qp_num = qp->qp_num };
	const struct ibv_ah *ah = wr->wr.ud.ah;

	*bad = wr;
	if (qp->qp_type == IBV_QPT_RC)
		return ud_net_rc_post(qp, wr);
	if (device_of(qp)->state != IBV_QPS_RTS) {
		flush(device_of(qp), wr->wr_id);
		return 0;
	}
	wc.status = fate();
	wc.vendor_err = net.params.vendor_err;
	if (wr->send_flags & IBV_SEND_INLINE && net.params.no_inline)
		return EINVAL;
	packet.to = ah->handle;
	packet.len = wr->sg_list->length;
	if (net.params.down && packet.to == net.params.down)
		return ud_net_hold(packet.from, &wc);
	must(packet.len <= PACKET);
	must(!(wr->send_flags & IBV_SEND_INLINE) || packet.len <= device_of(qp)->inline_max);
	memcpy(packet.bytes, (void *)(uintptr_t)wr->sg_list->addr, packet.len);
	if (!wc.status &&
	    (packet.to == UD_STRANGER ||
	     ud_net_is_reached(packet.to, wr->wr.ud.remote_qpn, wr->wr.ud.remote_qkey)))
		send_packet(&packet);
	must(wr->send_flags & IBV_SEND_SIGNALED || !net.params.srd);
	if (wr->send_flags & IBV_SEND_SIGNALED)
		push_wc(device_of(qp), &wc);
	return 0;
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct device *device = device_of(qp);
	uint32_t at;

	*bad = NULL;
	for (; wr; wr = wr->next) {
		if (device->state == IBV_QPS_ERR) {
			flush(device, wr->wr_id);
			continue;
		}
		must(device->recv_head - device->recv_tail < RECVS);
		at = device->recv_head++ % RECVS;
		device->recvs[at] = *wr;
		device->sges[at] = *wr->sg_list;
	}
	return 0;
}

static int poll_cq(struct ibv_cq *cq, int count, struct ibv_wc *wc)
{
	struct device *device = ofi_container(cq, struct device, cq);
	struct ibv_wc first;
	int n = 0, other;

	while (n < count && device->wc_tail != device->wc_head)
		wc[n++] = device->wcs[device->wc_tail++ % WCS];
	if (net.params.srd && n > 1) {
		other = (int)ud_net_any((uint32_t)n);
		first = wc[0];
		wc[0] = wc[other];
		wc[other] = first;
	}
	return n;
}

static void hear(const struct packet *packet)
{
	net.heard++;
	memcpy(net.last_bytes, packet->bytes, packet->len);
	must(vrb_ud_parse(net.last_bytes, packet->len, &net.last));
}

/* An IPv4 header is in the last part of the GRH's place; the sender's byte is there, too. */
static void put_ipv4(uint8_t *header, unsigned int from)
{
	const uint8_t address[4] = { 10, 0, 0, (uint8_t)from };

	header[0] = 0x45;
	header[1] = net.params.tos;
	header[3] = (uint8_t)from;
	memcpy(header + 12, address, sizeof(address));
}

static void arrive(const struct packet *packet)
{
	struct device *device = &devices[packet->to];
	struct ibv_wc wc = { .opcode = IBV_WC_RECV,
			     .src_qp = packet->qpn,
			     .qp_num = device->qp.qp_num };
	uint32_t at, head = net.params.srd ? 0 : VRB_UD_GRH;
	struct ibv_grh grh = { .hop_limit = 1 };
	const struct ibv_sge *sge;

	if (device->recv_head == device->recv_tail || device->state == IBV_QPS_ERR)
		return;
	at = device->recv_tail++ % RECVS;
	sge = &device->sges[at];
	grh.sgid.raw[15] = (uint8_t)packet->from;
	memcpy((void *)(uintptr_t)sge->addr, &grh, head);
	if (head)
		put_ipv4((uint8_t *)(uintptr_t)sge->addr + 20, packet->from);
	wc.wr_id = device->recvs[at].wr_id;
	wc.byte_len = (uint32_t)packet->len + head;
	wc.status = wc.byte_len > sge->length ? IBV_WC_LOC_LEN_ERR : IBV_WC_SUCCESS;
	if (!wc.status)
		memcpy((void *)(uintptr_t)(sge->addr + head), packet->bytes, packet->len);
	push_wc(device, &wc);
	if (wc.status)
		ud_net_fail(packet->to, IBV_QPS_ERR);
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
	struct device *device = &devices[net.opening];
	unsigned int node;

	(void)pd;
	for (node = 0; init->qp_type == IBV_QPT_RC && node < UD_NODES; node++)
		if (init->send_cq == &devices[node].cq)
			return ud_net_rc_create(node, &net.ctx, init);
	device->qp = (struct ibv_qp){ .context = &net.ctx, .qp_num = ud_net_qpn(net.opening) };
	must(init->qp_type == IBV_QPT_UD);
	device->inline_max = init->cap.max_inline_data;
	ud_net_objects++;
	return &device->qp;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
	if (qp->qp_type == IBV_QPT_RC)
		ud_net_rc_destroy(qp);
	else
		ud_net_objects--;
	return 0;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	if (qp->qp_type == IBV_QPT_RC)
		return ud_net_rc_modify(qp, attr);
	if (mask & IBV_QP_QKEY)
		device_of(qp)->qkey = attr->qkey;
	if (mask & IBV_QP_RNR_RETRY)
		ud_net_retries = attr->rnr_retry;
	if (attr->qp_state == IBV_QPS_ERR)
		ud_net_read_flush(qp->qp_num - ud_net_qpn(0));
	if (attr->qp_state == IBV_QPS_RESET && net.params.no_reset)
		return EIO;
	if (attr->qp_state == IBV_QPS_RESET)
		must(device_of(qp)->recv_head == device_of(qp)->recv_tail);
	ud_net_fail(qp->qp_num - ud_net_qpn(0), attr->qp_state);
	qp->state = attr->qp_state; /* as libibverbs does */
	return 0;
}

int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
		 struct ibv_qp_init_attr *init)
{
	(void)init;
	must(mask == IBV_QP_STATE);
	attr->qp_state = device_of(qp)->state;
	return 0;
}

/* The owner of connections. */

static void conn_news(struct vrb_rc_conn *rc)
{
	struct ud_conn *conn = (struct ud_conn *)rc;
	bool silent = rc->news.silent;

	conn->meetings += rc->news.met;
	conn->silences += silent;
	if (rc->news.err) {
		conn->endings++;
		conn->err = rc->news.err;
	}
	rc->news.met = rc->news.silent = false;
	rc->news.err = 0;
	if (silent && net.params.silent)
		net.params.silent(conn);
	else if (silent)
		vrb_ud_conn_heard(rc);
}

static void ep_lost(struct ofi_rdm_ep *ep, int err)
{
	struct ud_node *node = (struct ud_node *)(void *)vrb_rc(ep);

	node->losses++;
	node->loss = err;
}

static void ep_wake(struct ofi_rdm_ep *ep, uint64_t ms)
{
	(void)ep;
	(void)ms;
}

/*
 * What the event thread does with queue pairs that were given back. A test may poll before those
 * that are due are destroyed.
 */
static void destroy_old(struct ofi_rdm_ep *ep)
{
	struct vrb_rdm_deferred_list old = SLIST_HEAD_INITIALIZER(old);
	struct vrb_rdm_deferred *rc;

	vrb_ud_take_old(ep, &old);
	while ((rc = SLIST_FIRST(&old))) {
		SLIST_REMOVE_HEAD(&old, link);
		rc->destroy(rc);
		rc->end.run(ep, &rc->end);
	}
	vrb_ud_old_due(ep, net.now);
}

static bool ep_letter(struct ofi_rdm_ep *ep, struct vrb_rc_conn *conn,
		      const struct rdma_cm_event *event)
{
	return conn ? net.params.answered(conn, event) : net.params.asked(ep, event);
}

static const struct vrb_ud_calls calls = {
	.news = conn_news,
	.lose = ep_lost,
	.letter = ep_letter,
	.wake = ep_wake,
};

/* Endpoints. */

static void node_open(unsigned int at)
{
	struct ud_node *node = &ud_nodes[at];

	memset(node, 0, sizeof(*node));
	net.opening = at;
	devices[at].recv_head = devices[at].recv_tail = devices[at].flushed = 0;
	devices[at].wc_head = devices[at].wc_tail = 0;
	node->domain.fabric = ud_net_fabric(net.params.srd);
	node->domain.unordered = net.params.srd;
	node->domain.max_read = net.params.max_read;
	node->domain.grows = net.params.grows >> at & 1;
	node->domain.attr =
		(struct ibv_device_attr){ .max_qp_wr = 4096,
					  .max_cqe = net.params.max_cqe ? (int)net.params.max_cqe
									: 1 << 16,
					  .max_srq = 1,
					  .max_qp = 4,
					  .max_qp_rd_atom = net.params.no_rd_atom ? 0 : 16,
					  .max_qp_init_rd_atom = 16 };
	node->domain.ctx = &net.ctx;
	node->domain.pd = &net.pds[at];
	node->domain.pd->context = &net.ctx;
	node->domain.base.info = fi_allocinfo();
	node->rc.rdm.info = fi_allocinfo();
	node->rc.rdm.info->addr_format = net.params.named ? FI_ADDR_EFA : FI_FORMAT_UNSPEC;
	node->rc.rdm.domain = &node->domain.base;
	devices[at].cq.context = &net.ctx;
	devices[at].cq.cqe = VRB_UD_SQ + VRB_UD_RQ;
	node->rc.cq = node->rc.poll_cq = &devices[at].cq;
	node->rc.rx = (struct vrb_rdm_rx_ring){ .size = UD_BUFFER, .depth = UD_BUFFERS };
	node->peer.rdm.ep = &node->rc.rdm;
	node->peer.rdm.addr.sa.sa_family = AF_INET;
	must(!vrb_ud_open(&node->rc.rdm, &calls));
	ud_net_memory(node);
}

void ud_net_set(const struct ud_net_params *params)
{
	uint32_t max_read = net.params.max_read;
	unsigned int grows = net.params.grows;
	bool srd = net.params.srd, named = net.params.named;

	net.params = *params;
	net.params.named = named;
	net.params.max_read = max_read;
	net.params.grows = grows;
	net.params.srd = srd;
}

void ud_net_begin(uint64_t seed, const struct ud_net_params *params)
{
	unsigned int i;

	memset(&net, 0, sizeof(net));
	for (i = 0; i < QUEUE; i++)
		packets[i].used = false;
	ud_net_objects = 0;
	ud_net_rc_begin();
	ud_net_read_begin();
	net.random = seed * 2 + 1;
	net.now = 1000000;
	net.params = *params;
	net.ctx.ops.poll_cq = poll_cq;
	net.ctx.ops.post_send = post_send;
	net.ctx.ops.post_recv = post_recv;
	net.ctx.ops.post_srq_recv = ud_net_srq_post;
	for (i = 0; i < 10; i++)
		ud_net_any(1);
	for (i = 0; i < UD_NODES; i++)
		node_open(i);
}

static void node_close(struct ud_node *node)
{
	unsigned int i;

	must(ud_net_has_buffers(node));
	vrb_ud_close(&node->rc.rdm);
	vrb_mr_table_close(&node->domain.table);
	fi_freeinfo(node->domain.base.info);
	fi_freeinfo(node->rc.rdm.info);
	for (i = 0; i < UD_BUFFERS; i++)
		free((void *)(uintptr_t)node->bufs[i].rx.sge.addr);
	must(!node->guard);
	ud_net_free_paths(&node->domain.paths);
}

static void close_conns(struct ud_node *node)
{
	struct vrb_rc_conn *conn;

	while ((conn = vrb_rc_table_next(&node->rc.by_qp, NULL)))
		ud_net_close((struct ud_conn *)conn);
}

void ud_net_end(void)
{
	unsigned int i;

	for (i = 0; i < UD_NODES; i++)
		close_conns(&ud_nodes[i]);
	for (i = 0; i < UD_NODES; i++)
		node_close(&ud_nodes[i]);
	must(!ud_net_objects);
}

/* Ports drop what exceeds their MTU. */
static void deliver(struct packet *packet)
{
	packet->used = false;
	if (packet->to == UD_STRANGER)
		hear(packet);
	else if (packet->len <= ud_nodes[packet->to].rc.ud->port.mtu)
		arrive(packet);
}

void ud_net_pass(uint64_t us)
{
	size_t i;

	net.now += us;
	for (i = 0; i < net.top; i++)
		if (packets[i].used && packets[i].due <= net.now)
			deliver(&packets[i]);
	ud_net_rc_pass();
	for (i = 0; i < UD_NODES; i++)
		destroy_old(&ud_nodes[i].rc.rdm);
	ud_net_read_pass();
}

uint64_t ud_net_next(void)
{
	uint64_t next = UINT64_MAX;
	size_t i;

	for (i = 0; i < net.top; i++)
		if (packets[i].used && packets[i].due < next)
			next = packets[i].due;
	for (i = 0; i < UD_NODES; i++)
		next = ofi_min(next, ofi_rdm_due_next(&ud_nodes[i].rc.ud->due));
	if (next == UINT64_MAX)
		return 0;
	return next > net.now ? next - net.now : 1;
}

void ud_net_inject(unsigned int from, uint32_t qpn, unsigned int to, const void *bytes, size_t len)
{
	struct packet packet = { .from = from, .to = to, .qpn = qpn, .len = len };

	must(len <= PACKET);
	memcpy(packet.bytes, bytes, len);
	arrive(&packet);
}

unsigned int ud_net_heard(struct vrb_ud_packet *last)
{
	*last = net.last;
	return net.heard;
}
