/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reliable queue pairs of the fake network: their messages arrive in order, soon, and so before
 * packets that are under way longer.
 */
#include "ud_net.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "ud_net_int.h"

enum { QPS = 16, SENDS = 256, MESSAGE = UD_BUFFER, RECVS = UD_BUFFERS, FIRST = 5000, SOON_US = 5 };

struct message {
	struct ibv_send_wr wr;
	uint64_t due;
	uint32_t len, local;
	uint8_t *at; /* where a read goes */
	uint8_t bytes[MESSAGE];
};

struct rc {
	struct ibv_qp qp;
	struct ibv_srq *srq;
	unsigned int node;
	bool exists;
	enum ibv_qp_state state;
	uint32_t to, sq_psn, rq_psn;
	struct message sends[SENDS];
	uint32_t head, tail;
	bool holds, lets_go; /* that receive; the event is yet to come */
	uint64_t held;
};

struct srq {
	struct ibv_srq srq; /* first */
	struct ibv_recv_wr recvs[RECVS];
	struct ibv_sge sges[RECVS];
	uint32_t head, tail;
};

static struct rc qps[QPS];
static uint32_t next_number;

static void must(bool truth)
{
	if (!truth)
		abort();
}

static bool fails(unsigned int node, enum ibv_qp_state state)
{
	return ud_net_params()->rc_failing >> node & 1 && ud_net_params()->rc_fails == state;
}

static struct rc *rc_of(uint32_t number)
{
	unsigned int i;

	for (i = 0; i < QPS; i++)
		if (qps[i].exists && qps[i].qp.qp_num == number)
			return &qps[i];
	return NULL;
}

void ud_net_rc_begin(void)
{
	unsigned int i;

	for (i = 0; i < QPS; i++)
		must(!qps[i].exists);
	next_number = FIRST;
}

struct ibv_qp *ud_net_rc_create(unsigned int node, struct ibv_context *ctx,
				const struct ibv_qp_init_attr *init)
{
	unsigned int i;

	if (fails(node, IBV_QPS_RESET)) {
		errno = ENOMEM;
		return NULL;
	}
	for (i = 0; i < QPS && qps[i].exists; i++)
		;
	must(i < QPS && init->srq && init->send_cq == init->recv_cq);
	memset(&qps[i], 0, offsetof(struct rc, sends));
	qps[i].head = qps[i].tail = 0;
	qps[i].holds = qps[i].lets_go = false;
	qps[i].qp =
		(struct ibv_qp){ .context = ctx, .qp_num = next_number++, .qp_type = IBV_QPT_RC };
	qps[i].srq = init->srq;
	qps[i].node = node;
	qps[i].exists = true;
	ud_net_objects++;
	return &qps[i].qp;
}

void ud_net_rc_destroy(struct ibv_qp *qp)
{
	rc_of(qp->qp_num)->exists = false;
	ud_net_objects--;
}

static void complete(struct rc *rc, const struct message *message, enum ibv_wc_status status)
{
	const struct ibv_wc wc = { .wr_id = message->wr.wr_id,
				   .status = status,
				   .opcode = IBV_WC_SEND,
				   .qp_num = rc->qp.qp_num };

	if (status || message->wr.send_flags & IBV_SEND_SIGNALED)
		ud_net_complete(rc->node, &wc);
}

static void flush(struct rc *rc, enum ibv_wc_status status)
{
	rc->state = IBV_QPS_ERR;
	for (; rc->tail != rc->head; rc->tail++, status = IBV_WC_WR_FLUSH_ERR)
		complete(rc, &rc->sends[rc->tail % SENDS], status);
}

static void let_go(struct rc *rc)
{
	const struct ibv_wc wc = { .wr_id = rc->held,
				   .status = IBV_WC_WR_FLUSH_ERR,
				   .opcode = IBV_WC_RECV,
				   .qp_num = rc->qp.qp_num };

	if (ud_net_params()->rc_silent)
		return;
	if (rc->holds)
		ud_net_complete(rc->node, &wc);
	rc->holds = false;
	rc->lets_go = true;
}

static void check_rtr(struct rc *rc, const struct ibv_qp_attr *attr)
{
	must(attr->max_dest_rd_atomic && attr->path_mtu == IBV_MTU_1024 && attr->ah_attr.port_num);
	rc->to = attr->dest_qp_num;
	rc->rq_psn = attr->rq_psn;
}

int ud_net_rc_modify(struct ibv_qp *qp, const struct ibv_qp_attr *attr)
{
	struct rc *rc = rc_of(qp->qp_num);

	must(rc && (attr->qp_state == rc->state + 1 || attr->qp_state == IBV_QPS_ERR));
	if (fails(rc->node, attr->qp_state))
		return EINVAL;
	rc->state = attr->qp_state;
	if (rc->state == IBV_QPS_RTR)
		check_rtr(rc, attr);
	if (rc->state == IBV_QPS_RTS) {
		must(attr->max_rd_atomic);
		rc->sq_psn = attr->sq_psn;
	}
	if (rc->state == IBV_QPS_ERR) {
		flush(rc, IBV_WC_WR_FLUSH_ERR);
		let_go(rc);
	}
	return 0;
}

int ud_net_rc_post(struct ibv_qp *qp, const struct ibv_send_wr *wr)
{
	struct rc *rc = rc_of(qp->qp_num);
	struct message *message = &rc->sends[rc->head % SENDS];

	must(wr->num_sge <= 1 && rc->head - rc->tail < SENDS);
	must(rc->state == IBV_QPS_RTS || rc->state == IBV_QPS_ERR);
	message->wr = *wr;
	message->due = ud_net_now() + SOON_US;
	message->len = wr->num_sge ? wr->sg_list->length : 0;
	must(message->len <= MESSAGE);
	message->at = message->len ? (uint8_t *)(uintptr_t)wr->sg_list->addr : NULL;
	if (message->len && wr->opcode != IBV_WR_RDMA_READ)
		memcpy(message->bytes, message->at, message->len);
	rc->head++;
	if (rc->state == IBV_QPS_ERR)
		flush(rc, IBV_WC_WR_FLUSH_ERR);
	return 0;
}

/* Returns false while the receiver is not ready. */
static bool receive(struct rc *rc, const struct message *message)
{
	struct srq *srq = (struct srq *)rc->srq;
	struct ibv_wc wc = { .opcode = IBV_WC_RECV,
			     .byte_len = message->len,
			     .qp_num = rc->qp.qp_num };
	const struct ibv_sge *sge = &srq->sges[srq->tail % RECVS];

	if (srq->tail == srq->head)
		return false;
	must(message->len <= sge->length);
	memcpy((void *)(uintptr_t)sge->addr, message->bytes, message->len);
	wc.wr_id = srq->recvs[srq->tail++ % RECVS].wr_id;
	ud_net_complete(rc->node, &wc);
	return true;
}

static bool carry_out(struct rc *to, const struct message *message)
{
	void *remote = (void *)(uintptr_t)message->wr.wr.rdma.remote_addr;

	switch (message->wr.opcode) {
	case IBV_WR_SEND:
		return receive(to, message);
	case IBV_WR_RDMA_WRITE:
		memcpy(remote, message->bytes, message->len);
		return true;
	default:
		must(message->wr.opcode == IBV_WR_RDMA_READ);
		memcpy(message->at, remote, message->len);
		return true;
	}
}

/* A queue pair that is not connected yet does not answer, which the sender tries again. */
static void deliver(struct rc *from)
{
	struct message *message = &from->sends[from->tail % SENDS];
	struct rc *to = rc_of(from->to);

	if (!to || to->state == IBV_QPS_ERR) {
		flush(from, IBV_WC_RETRY_EXC_ERR);
		return;
	}
	must(to->state >= IBV_QPS_RTR);
	must(to->to == from->qp.qp_num && to->rq_psn == from->sq_psn);
	if (!carry_out(to, message)) {
		message->due = ud_net_now() + 100;
		return;
	}
	complete(from, message, IBV_WC_SUCCESS);
	from->tail++;
}

/* Owners of connections are not told. */
static void tell(struct rc *rc)
{
	struct vrb_owner *owner = rc->qp.qp_context;

	if (rc->exists && rc->lets_go && owner)
		owner->ops->qp_event(owner, IBV_EVENT_QP_LAST_WQE_REACHED);
	rc->lets_go = false;
}

void ud_net_rc_pass(void)
{
	unsigned int i;
	uint32_t n;

	for (i = 0; i < QPS; i++)
		tell(&qps[i]);
	for (i = 0; i < QPS; i++)
		for (n = qps[i].head - qps[i].tail;
		     n && qps[i].exists && qps[i].head != qps[i].tail &&
		     qps[i].sends[qps[i].tail % SENDS].due <= ud_net_now();
		     n--)
			deliver(&qps[i]);
}

unsigned int ud_net_rc_count(unsigned int node)
{
	unsigned int i, n = 0;

	for (i = 0; i < QPS; i++)
		n += qps[i].exists && qps[i].node == node;
	return n;
}

uint32_t ud_net_rc_created(void)
{
	return next_number - FIRST;
}

void ud_net_rc_hold(const struct ibv_qp *qp)
{
	struct rc *rc = rc_of(qp->qp_num);
	struct srq *srq = (struct srq *)rc->srq;

	must(srq->tail != srq->head && !rc->holds);
	rc->held = srq->recvs[srq->tail++ % RECVS].wr_id;
	rc->holds = true;
}

uint32_t ud_net_srq_count(unsigned int node)
{
	const struct srq *srq = (const struct srq *)ud_nodes[node].rc.ud->rcs.srq;

	return srq->head - srq->tail;
}

int ud_net_srq_post(struct ibv_srq *ibv, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct srq *srq = (struct srq *)ibv;
	uint32_t at;

	*bad = NULL;
	for (; wr; wr = wr->next) {
		must(srq->head - srq->tail < RECVS);
		at = srq->head++ % RECVS;
		srq->recvs[at] = *wr;
		srq->sges[at] = *wr->sg_list;
	}
	return 0;
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *init)
{
	struct srq *srq = calloc(1, sizeof(*srq));

	must(srq && init->attr.max_sge == 1);
	srq->srq.context = pd->context;
	ud_net_objects++;
	return &srq->srq;
}

int ibv_destroy_srq(struct ibv_srq *srq)
{
	free(srq);
	ud_net_objects--;
	return 0;
}

int ibv_resize_cq(struct ibv_cq *cq, int size)
{
	must(size > cq->cqe);
	cq->cqe = size;
	return 0;
}
