/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A program that is not an endpoint requests a connection of one. */
#include "stranger.h"

#include <endian.h>
#include <poll.h>
#include <string.h>
#include "check.h"

enum { WAIT_EVENT_MS = 8000, RECEIVES = 8 };

/* The private data of a request in version 1 of the protocol, preceded by its length. */
struct request {
	uint8_t len;
	uint32_t magic;
	uint8_t version, version_min, kind, reason;
	uint64_t incarnation, expected;
	uint8_t addr[16];
	uint16_t port, flags;
	uint32_t eager, serial;
} __attribute__((packed));

static struct request request_of(const struct claim *claim)
{
	struct request request = {
		.len = sizeof(request) - 1,
		.magic = htole32(0x4d445257),
		.version = 1,
		.version_min = 1,
		.kind = 1,
		.incarnation = htole64(claim->incarnation),
		.addr = { [10] = 0xff, [11] = 0xff },
		.port = htole16(ntohs(claim->name.sin_port)),
		.flags = htole16(claim->flags),
		.eager = htole32(16384),
		.serial = htole32(claim->serial),
	};

	memcpy(request.addr + 12, &claim->name.sin_addr, 4);
	return request;
}

/* Acknowledges the next event and returns it; 0xff: there was none in time. */
static unsigned int next_event(struct stranger *s)
{
	struct pollfd fd = { .fd = s->channel->fd, .events = POLLIN };
	struct rdma_cm_event *event;
	unsigned int type;
	const uint8_t *data;

	if (poll(&fd, 1, WAIT_EVENT_MS) != 1 || rdma_get_cm_event(s->channel, &event))
		return 0xff;
	type = event->event;
	data = event->param.conn.private_data;
	if (type == RDMA_CM_EVENT_REJECTED)
		s->reason = data && event->param.conn.private_data_len > 8 ? data[8] : 0xff;
	rdma_ack_cm_event(event);
	return type;
}

static void post_receive(struct stranger *s)
{
	struct ibv_sge sge = { (uintptr_t)s->text, sizeof(s->text), s->mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	CHECK(!ibv_post_recv(s->id->qp, &wr, &bad));
}

static void make_queues(struct stranger *s)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC };
	int i;

	s->pd = ibv_alloc_pd(s->id->verbs);
	s->cq = ibv_create_cq(s->id->verbs, 64, NULL, NULL, 0);
	CHECK(s->pd && s->cq);
	attr.send_cq = attr.recv_cq = s->cq;
	attr.cap.max_send_wr = attr.cap.max_recv_wr = 16;
	attr.cap.max_send_sge = attr.cap.max_recv_sge = 1;
	CHECK(!rdma_create_qp(s->id, s->pd, &attr));
	s->mr = ibv_reg_mr(s->pd, s->text, sizeof(s->text), IBV_ACCESS_LOCAL_WRITE);
	CHECK(s->mr);
	for (i = 0; i < RECEIVES; i++)
		post_receive(s);
}

bool stranger_asks(struct stranger *s, const struct sockaddr_in *to, const struct claim *claim)
{
	struct sockaddr_in target = *to;
	struct request request = request_of(claim);
	struct rdma_conn_param param = {
		.private_data = &request,
		.private_data_len = sizeof(request),
		.responder_resources = 1,
		.initiator_depth = 1,
		.retry_count = 6,
		.rnr_retry_count = 6,
	};

	memset(s, 0, sizeof(*s));
	CHECK((s->channel = rdma_create_event_channel()));
	CHECK(!rdma_create_id(s->channel, &s->id, NULL, RDMA_PS_TCP));
	CHECK(!rdma_resolve_addr(s->id, NULL, (struct sockaddr *)&target, 2000));
	EQUAL(next_event(s), RDMA_CM_EVENT_ADDR_RESOLVED);
	CHECK(!rdma_resolve_route(s->id, 2000));
	EQUAL(next_event(s), RDMA_CM_EVENT_ROUTE_RESOLVED);
	make_queues(s);
	CHECK(!rdma_connect(s->id, &param));
	if (next_event(s) == RDMA_CM_EVENT_ESTABLISHED)
		return true;
	stranger_leaves(s);
	return false;
}

bool stranger_got(struct stranger *s)
{
	struct ibv_wc wc;

	return ibv_poll_cq(s->cq, 1, &wc) == 1 && wc.status == IBV_WC_SUCCESS;
}

void stranger_leaves(struct stranger *s)
{
	rdma_disconnect(s->id);
	rdma_destroy_qp(s->id);
	ibv_destroy_cq(s->cq);
	ibv_dereg_mr(s->mr);
	ibv_dealloc_pd(s->pd);
	rdma_destroy_id(s->id);
	rdma_destroy_event_channel(s->channel);
}
