/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A device without hardware. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <rdma/rdma_cma.h>
#include "fake_verbs.h"

#undef ibv_reg_mr
#undef ibv_query_port

enum { FAKE_RESERVED = 7, FAKE_JUNK = 0xdb };

struct fake_device fake;

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
static int poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc);
static int req_notify(struct ibv_cq *cq, int solicited);

void fake_reset(void)
{
	fake = (struct fake_device){
		.device = { .name = "fake0", .transport_type = IBV_TRANSPORT_IB },
		.attr = { .max_qp_wr = 4096,
			  .max_sge = FAKE_SGE,
			  .max_cqe = 8192,
			  .max_srq = 64,
			  .max_srq_wr = 2048,
			  .max_srq_sge = 27,
			  .max_qp_rd_atom = 16,
			  .max_qp_init_rd_atom = 16,
			  .atomic_cap = IBV_ATOMIC_HCA,
			  .phys_port_cnt = 1 },
		.ports[1] = { .state = IBV_PORT_ACTIVE,
			      .active_mtu = IBV_MTU_1024,
			      .gid_tbl_len = 2,
			      .pkey_tbl_len = 1,
			      .link_layer = IBV_LINK_LAYER_ETHERNET },
	};
	fake_gid(0, "10.0.0.1");
	fake.ctx.device = &fake.device;
	fake.ctx.num_comp_vectors = 4;
	fake.ctx.ops.post_send = post_send;
	fake.ctx.ops.post_recv = post_recv;
	fake.ctx.ops.post_srq_recv = fake_post_srq_recv;
	fake.ctx.ops.poll_cq = poll_cq;
	fake.ctx.ops.req_notify_cq = req_notify;
	fake_mw_ops(&fake.ctx);
}

void fake_all_closed(void)
{
	assert_int_equal(fake.contexts, 0);
	assert_int_equal(fake.pds, 0);
	assert_int_equal(fake.mrs, 0);
	assert_int_equal(fake.cqs, 0);
	assert_int_equal(fake.qps, 0);
	assert_int_equal(fake.srqs, 0);
	assert_int_equal(fake.channels, 0);
	assert_int_equal(fake.ahs, 0);
	assert_int_equal(fake.mcasts, 0);
	assert_int_equal(fake.mws, 0);
}

/* True when this call is the one to fail. */
bool fake_fails(const char *call)
{
	if (++fake.calls != fake.fail_at)
		return false;
	fake.failed = call;
	if (fake.fail_errno >= 0)
		errno = fake.fail_errno;
	return true;
}

/* Completions */

static void push(struct ibv_cq *ibv, const struct ibv_wc *wc)
{
	struct fake_cq *cq = fake_cq(ibv);
	const uint64_t one = 1;

	if (cq->count >= (unsigned int)ibv->cqe)
		fail_msg("completion queue of %d entries overrun", ibv->cqe);
	cq->wc[(cq->first + cq->count++) % ibv->cqe] = *wc;
	if (!cq->armed)
		return;
	cq->armed = false;
	cq->events++;
	assert_int_equal(write(ibv->channel->fd, &one, sizeof(one)), sizeof(one));
}

static struct fake_post *oldest(struct fake_queue *queue)
{
	assert_true(queue->count > 0);
	return &queue->posts[queue->first];
}

static void remove_oldest(struct fake_queue *queue)
{
	queue->first = (queue->first + 1) % queue->room;
	queue->count--;
}

/* Of a failed completion only these fields mean something: man ibv_poll_cq. */
static struct ibv_wc completion(struct ibv_qp *qp, uint64_t id, enum ibv_wc_status status)
{
	struct ibv_wc wc;

	memset(&wc, status ? FAKE_JUNK : 0, sizeof(wc));
	wc.wr_id = id;
	wc.status = status;
	wc.vendor_err = status ? 0x87 : 0;
	wc.qp_num = qp->qp_num;
	return wc;
}

static enum ibv_wc_opcode send_opcode(enum ibv_wr_opcode opcode)
{
	switch (opcode) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return IBV_WC_RDMA_WRITE;
	case IBV_WR_RDMA_READ:
		return IBV_WC_RDMA_READ;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		return IBV_WC_COMP_SWAP;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return IBV_WC_FETCH_ADD;
	default:
		return IBV_WC_SEND;
	}
}

static void complete_send(struct fake_qp *qp, enum ibv_wc_status status)
{
	struct fake_post *post = oldest(&qp->sends);
	struct ibv_wc wc = completion(&qp->ibv, post->wr.wr_id, status);

	if (!status)
		wc.opcode = send_opcode(post->wr.opcode);
	if (status || (post->wr.send_flags & IBV_SEND_SIGNALED))
		push(qp->ibv.send_cq, &wc);
	remove_oldest(&qp->sends);
}

void fake_complete_sends(struct ibv_qp *qp, unsigned int n, enum ibv_wc_status status)
{
	while (n--)
		complete_send(fake_qp(qp), status);
}

void fake_complete_recv(struct ibv_qp *qp, enum ibv_wc_status status, enum ibv_wc_opcode opcode,
			uint32_t len, const uint32_t *imm)
{
	struct fake_queue *queue = qp->srq ? &fake_srq(qp->srq)->recvs : &fake_qp(qp)->recvs;
	struct ibv_wc wc = completion(qp, oldest(queue)->wr.wr_id, status);

	if (!status) {
		wc.opcode = opcode;
		wc.byte_len = len;
	}
	if (!status && imm) {
		wc.wc_flags = IBV_WC_WITH_IMM;
		wc.imm_data = htobe32(*imm);
	}
	push(qp->recv_cq, &wc);
	remove_oldest(queue);
}

void fake_flush(struct ibv_qp *qp)
{
	while (fake_qp(qp)->sends.count)
		complete_send(fake_qp(qp), IBV_WC_WR_FLUSH_ERR);
	while (fake_qp(qp)->recvs.count)
		fake_complete_recv(qp, IBV_WC_WR_FLUSH_ERR, IBV_WC_RECV, 0, NULL);
}

void fake_note_end(const char *word)
{
	size_t len = strlen(fake.ends), own = strlen(word);

	if (len + own + 2 > sizeof(fake.ends) ||
	    (len > own && !strncmp(fake.ends + len - own - 1, word, own)))
		return;
	snprintf(fake.ends + len, sizeof(fake.ends) - len, "%s ", word);
}

static int poll_cq(struct ibv_cq *ibv, int n, struct ibv_wc *wc)
{
	struct fake_cq *cq = fake_cq(ibv);
	int i;

	fake.polls++;
	if (fake.poll_err || (fake.stale && fake.stale--))
		return fake.poll_err ? -fake.poll_err : -EINVAL;
	for (i = 0; i < n && cq->count; i++) {
		wc[i] = cq->wc[cq->first];
		cq->first = (cq->first + 1) % ibv->cqe;
		cq->count--;
	}
	if (!i)
		fake_note_end("empty");
	return i;
}

static int req_notify(struct ibv_cq *cq, int solicited)
{
	assert_int_equal(solicited, 0);
	assert_non_null(cq->channel);
	if (fake.notify_err)
		return fake.notify_err;
	fake_cq(cq)->armed = true;
	return 0;
}

/* Posting */

struct fake_post *fake_add(struct fake_queue *queue, const struct ibv_sge *sge, int count,
			   int limit)
{
	struct fake_post *post;
	int i;

	assert_in_range(count, 0, limit);
	assert_true(count || !sge || !sge->length); /* some drivers use the first one even so */
	if (queue->count == queue->room)
		fail_msg("queue of %u work requests overrun", queue->room);
	post = &queue->posts[(queue->first + queue->count++) % queue->room];
	*post = (struct fake_post){ .wr.num_sge = count };
	for (i = 0; i < count; i++) {
		post->sge[i] = sge[i];
		post->len += sge[i].length;
	}
	queue->total++;
	return post;
}

static void copy_inline(struct fake_post *post, int count)
{
	size_t done = 0;
	int i;

	assert_true(post->len <= FAKE_DATA);
	for (i = 0; i < count; i++) {
		memcpy(post->data + done, (void *)(uintptr_t)post->sge[i].addr,
		       post->sge[i].length);
		done += post->sge[i].length;
	}
}

static void take_send(struct fake_qp *qp, const struct ibv_send_wr *wr)
{
	struct fake_post *post =
		fake_add(&qp->sends, wr->sg_list, wr->num_sge, (int)qp->init.cap.max_send_sge);

	post->wr = *wr;
	post->wr.next = NULL;
	if (wr->send_flags & IBV_SEND_INLINE) {
		assert_true(post->len <= qp->init.cap.max_inline_data);
		copy_inline(post, wr->num_sge);
	}
	qp->sends.last = *post;
	if (qp->ibv.state == IBV_QPS_ERR)
		complete_send(qp, IBV_WC_WR_FLUSH_ERR);
}

/* Like mlx5, the device refuses long windows. */
static int refused(struct fake_qp *qp, const struct ibv_send_wr *wr)
{
	int err = qp->post_err;

	if (wr && wr->opcode == IBV_WR_BIND_MW && wr->bind_mw.bind_info.length > 1ull << 31)
		return EOPNOTSUPP;
	if (qp->deaf && qp->ibv.state == IBV_QPS_ERR)
		return ENODEV;
	if (fake.strict && qp->ibv.state != IBV_QPS_RTS)
		return EINVAL;
	if (err && qp->post_good) {
		qp->post_good--;
		return 0;
	}
	qp->post_err = 0;
	return err;
}

static int post_send(struct ibv_qp *ibv, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct fake_qp *qp = fake_qp(ibv);
	int err;

	qp->doorbells++;
	for (; wr; wr = wr->next) {
		err = refused(qp, wr);
		if (err) {
			*bad = wr;
			return err;
		}
		take_send(qp, wr);
	}
	return 0;
}

static int post_recv(struct ibv_qp *ibv, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct fake_qp *qp = fake_qp(ibv);
	struct fake_post *post;
	int err;

	assert_int_not_equal(ibv->state, IBV_QPS_RESET);
	for (; wr; wr = wr->next) {
		err = refused(qp, NULL);
		if (err) {
			*bad = wr;
			return err;
		}
		post = fake_add(&qp->recvs, wr->sg_list, wr->num_sge,
				(int)qp->init.cap.max_recv_sge);
		post->wr.wr_id = wr->wr_id;
		qp->recvs.last = *post;
		if (ibv->state == IBV_QPS_ERR)
			fake_flush(ibv);
	}
	return 0;
}

/* Objects */

const char *ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

int ibv_close_device(struct ibv_context *ctx)
{
	(void)ctx;
	fake.contexts--;
	return 0;
}

int ibv_query_device(struct ibv_context *ctx, struct ibv_device_attr *attr)
{
	(void)ctx;
	if (fake_fails("ibv_query_device"))
		return errno;
	*attr = fake.attr;
	return 0;
}

int ibv_query_port(struct ibv_context *ctx, uint8_t port, struct _compat_ibv_port_attr *attr)
{
	(void)ctx;
	memcpy(attr, &fake.ports[port], offsetof(struct ibv_port_attr, port_cap_flags2));
	return 0;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *ctx)
{
	struct ibv_pd *pd = fake_fails("ibv_alloc_pd") ? NULL : calloc(1, sizeof(*pd));

	if (!pd)
		return NULL;
	pd->context = ctx;
	fake.pds++;
	return pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	fake.pds--;
	free(pd);
	return 0;
}

#define REMOTE_ACCESS (IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t len, uint64_t iova,
				unsigned int access)
{
	struct ibv_mr *mr = fake_fails("ibv_reg_mr") ? NULL : calloc(1, sizeof(*mr));

	assert_true(iova == (uintptr_t)addr);
	if (!mr)
		return NULL;
	*mr = (struct ibv_mr){ .context = pd->context, .pd = pd, .addr = addr, .length = len };
	mr->lkey = 0x80001000 + fake.calls;
	/* As of soft-RoCE. */
	mr->rkey = access & REMOTE_ACCESS ? 0x90002000 + fake.calls : 0;
	fake.mr = mr;
	fake.mr_access = (int)access;
	fake.mrs++;
	return mr;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t len, int access)
{
	return ibv_reg_mr_iova2(pd, addr, len, (uintptr_t)addr, (unsigned int)access);
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	if (fake.dereg_err)
		return fake.dereg_err;
	if (fake.on_end)
		fake.on_end();
	fake.mrs--;
	free(mr);
	return 0;
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *ctx)
{
	struct ibv_comp_channel *channel;

	channel = fake_fails("ibv_create_comp_channel") ? NULL : calloc(1, sizeof(*channel));
	if (!channel)
		return NULL;
	channel->context = ctx;
	channel->fd = eventfd(0, EFD_SEMAPHORE);
	fake.channels++;
	return channel;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	assert_int_equal(channel->refcnt, 0);
	close(channel->fd);
	free(channel);
	fake.channels--;
	return 0;
}

/* One CQ for each channel: its context is enough to find it. */
int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **context)
{
	uint64_t one;

	*cq = NULL;
	*context = NULL;
	return read(channel->fd, &one, sizeof(one)) == sizeof(one) ? 0 : -1;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int n)
{
	fake_cq(cq)->acked += n;
	assert_true(fake_cq(cq)->acked <= fake_cq(cq)->events);
}

struct ibv_cq *ibv_create_cq(struct ibv_context *ctx, int cqe, void *context,
			     struct ibv_comp_channel *channel, int vector)
{
	struct fake_cq *cq = fake_fails("ibv_create_cq") ? NULL : calloc(1, sizeof(*cq));

	if (!cq)
		return NULL;
	if (channel && fake.no_events) {
		free(cq);
		errno = EOPNOTSUPP;
		return NULL;
	}
	assert_in_range(cqe, 1, fake.attr.max_cqe);
	cq->ibv.context = ctx;
	cq->ibv.cq_context = context;
	cq->ibv.channel = channel;
	cq->requested = cqe;
	cq->ibv.cqe = cqe + FAKE_RESERVED;
	cq->wc = calloc(cq->ibv.cqe, sizeof(*cq->wc));
	cq->vector = vector;
	if (channel)
		channel->refcnt++;
	fake.cqs++;
	return &cq->ibv;
}

int ibv_resize_cq(struct ibv_cq *ibv, int cqe)
{
	struct fake_cq *cq = fake_cq(ibv);
	struct ibv_wc *wc;
	unsigned int i;

	fake.resizes++;
	if (fake.resize_err || fake.resize_idle)
		return fake.resize_err;
	assert_in_range(cqe, 1, fake.attr.max_cqe);
	wc = calloc(cqe, sizeof(*wc));
	for (i = 0; i < cq->count; i++)
		wc[i] = cq->wc[(cq->first + i) % ibv->cqe];
	free(cq->wc);
	cq->wc = wc;
	cq->first = 0;
	ibv->cqe = cqe;
	return 0;
}

/* The real one waits for the events to be acknowledged, for ever if need be. */
int ibv_destroy_cq(struct ibv_cq *ibv)
{
	struct fake_cq *cq = fake_cq(ibv);
	uint64_t one;

	while (ibv->channel && cq->acked < cq->events) {
		assert_int_equal(read(ibv->channel->fd, &one, sizeof(one)), sizeof(one));
		cq->acked++;
	}
	assert_int_equal(cq->events, cq->acked);
	if (ibv->channel)
		ibv->channel->refcnt--;
	free(cq->wc);
	free(cq);
	fake.cqs--;
	return 0;
}

void fake_queue_init(struct fake_queue *queue, unsigned int room)
{
	*queue = (struct fake_queue){ .posts = calloc(room, sizeof(*queue->posts)), .room = room };
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
	struct fake_qp *qp = fake_fails("ibv_create_qp") ? NULL : calloc(1, sizeof(*qp));

	if (!qp)
		return NULL;
	qp->init = *init;
	init->cap.max_inline_data -= fake.ungranted;
	qp->ibv.context = pd->context;
	qp->ibv.pd = pd;
	qp->ibv.qp_context = init->qp_context;
	qp->ibv.send_cq = init->send_cq;
	qp->ibv.recv_cq = init->recv_cq;
	qp->ibv.srq = init->srq;
	qp->ibv.qp_num = 0x100 + fake.calls;
	qp->ibv.qp_type = init->qp_type;
	fake_queue_init(&qp->sends, init->cap.max_send_wr);
	fake_queue_init(&qp->recvs, init->cap.max_recv_wr);
	fake.qps++;
	return &qp->ibv;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	if (attr->qp_state != IBV_QPS_ERR && fake_fails("ibv_modify_qp"))
		return errno;
	assert_true(mask & IBV_QP_STATE);
	if ((attr->qp_state == IBV_QPS_INIT || attr->qp_state == IBV_QPS_RTR) &&
	    qp->state >= IBV_QPS_RTR)
		return EINVAL;
	qp->state = attr->qp_state;
	fake_qp(qp)->attr = *attr;
	if (qp->state == IBV_QPS_RESET)
		fake_orphan(qp);
	if (qp->state == IBV_QPS_ERR)
		fake_note_end("error");
	if (qp->state == IBV_QPS_ERR && !fake_qp(qp)->deaf)
		fake_flush(qp);
	return 0;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
	fake_note_end("destroy");
	if (fake.on_end)
		fake.on_end();
	fake_orphan(qp);
	free(fake_qp(qp)->sends.posts);
	free(fake_qp(qp)->recvs.posts);
	free(qp);
	fake.qps--;
	return 0;
}

int rdma_init_qp_attr(struct rdma_cm_id *id, struct ibv_qp_attr *attr, int *mask)
{
	(void)id;
	if (fake_fails("rdma_init_qp_attr"))
		return -1;
	*mask = IBV_QP_STATE;
	switch (attr->qp_state) {
	case IBV_QPS_INIT:
		*mask |= IBV_QP_ACCESS_FLAGS | IBV_QP_PORT | IBV_QP_PKEY_INDEX;
		break;
	case IBV_QPS_RTR:
		*mask |= IBV_QP_MIN_RNR_TIMER | IBV_QP_DEST_QPN;
		attr->dest_qp_num = 0x2b1;
		break;
	default:
		*mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY;
		break;
	}
	attr->timeout = attr->retry_cnt = attr->rnr_retry = attr->min_rnr_timer = fake.timers;
	return 0;
}
