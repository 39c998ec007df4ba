/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* An attacker that uses plain librdmacm and libibverbs. */
#include "hostile.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "prov/verbs/cm/cm_wire.h"

enum {
	STEP_MS = 3000, /* how long a healthy kernel takes to answer, at most */
	SENDS = 32,
	MEMORY = (FOE_SLOTS + SENDS) * FOE_SLOT + FOE_SPARE,
};

uint32_t foe_random(uint32_t below)
{
	static uint32_t state = 0x2545f491;

	state ^= state << 13;
	state ^= state >> 17;
	state ^= state << 5;
	return below ? state % below : state;
}

const char *foe_other_host(void)
{
	static bool done;

	need_vm();
	if (!done)
		shell("ip addr replace 10.77.0.77/24 dev eth0");
	done = true;
	return "10.77.0.77";
}

uint8_t *foe_spare(struct foe *foe)
{
	return foe->memory + (FOE_SLOTS + SENDS) * FOE_SLOT;
}

void foe_open(struct foe *foe, const char *from)
{
	struct sockaddr_in name = { .sin_family = AF_INET };

	memset(foe, 0, sizeof(*foe));
	CHECK(foe->channel = rdma_create_event_channel());
	EQUAL(rdma_create_id(foe->channel, &foe->id, foe, RDMA_PS_TCP), 0);
	if (!from)
		return;
	EQUAL(inet_pton(AF_INET, from, &name.sin_addr), 1);
	EQUAL(rdma_bind_addr(foe->id, (struct sockaddr *)&name), 0);
}

/*
 * Acknowledges all events that the kernel still has for the ids; otherwise destroying them would
 * block.
 */
void foe_close(struct foe *foe)
{
	if (foe->id && foe->id->qp)
		rdma_destroy_qp(foe->id);
	if (foe->mr)
		ibv_dereg_mr(foe->mr);
	if (foe->cq)
		ibv_destroy_cq(foe->cq);
	if (foe->id)
		rdma_destroy_id(foe->id);
	if (foe->channel)
		rdma_destroy_event_channel(foe->channel);
	free(foe->memory);
	memset(foe, 0, sizeof(*foe));
}

struct ofi_rdm_cmwire foe_claim(const struct sockaddr_in *name, uint64_t incarnation,
				uint32_t serial)
{
	struct ofi_rdm_cmwire cm = {
		.kind = OFI_RDM_CMWIRE_REQUEST,
		.incarnation = incarnation,
		.port = ntohs(name->sin_port),
		.serial = serial,
		.eager = OFI_RDM_WIRE_EAGER_MIN,
	};

	cm.addr[10] = cm.addr[11] = 0xff;
	memcpy(&cm.addr[12], &name->sin_addr, 4);
	return cm;
}

size_t foe_pack(uint8_t *bytes, const struct ofi_rdm_cmwire *cm)
{
	uint8_t data[OFI_RDM_CMWIRE_LEN];

	ofi_rdm_cmwire_build(data, cm);
	return vrb_cm_pack(bytes, data, sizeof(data));
}

/* Returns the next event of the channel, or NULL if none arrives in time. */
static struct rdma_cm_event *next_event(struct foe *foe, int ms)
{
	struct pollfd fd = { .fd = foe->channel->fd, .events = POLLIN };
	struct rdma_cm_event *event = NULL;

	if (poll(&fd, 1, ms) == 1)
		EQUAL(rdma_get_cm_event(foe->channel, &event), 0);
	return event;
}

static bool step(struct foe *foe, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event = next_event(foe, STEP_MS);
	bool good = event && event->event == type;

	if (event)
		rdma_ack_cm_event(event);
	return good;
}

static void make_qp(struct foe *foe)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = SENDS,
			 .max_recv_wr = FOE_SLOTS,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};

	CHECK(foe->cq = ibv_create_cq(foe->id->verbs, SENDS + FOE_SLOTS, NULL, NULL, 0));
	init.send_cq = init.recv_cq = foe->cq;
	EQUAL(rdma_create_qp(foe->id, NULL, &init), 0);
	CHECK(foe->memory = aligned_alloc(4096, MEMORY));
	memset(foe->memory, 0, MEMORY);
	foe->mr = ibv_reg_mr(foe->id->pd, foe->memory, MEMORY,
			     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
				     IBV_ACCESS_REMOTE_WRITE);
	CHECK(foe->mr);
}

/*
 * Without a queue pair each request has its own number: the kernel takes one that is used twice for
 * a stale connection.
 */
static struct rdma_conn_param param_of(const struct foe *foe, const void *data, size_t len)
{
	static uint32_t invented = 0x400000;

	return (struct rdma_conn_param){
		.private_data = data,
		.private_data_len = (uint8_t)len,
		.responder_resources = 4,
		.initiator_depth = 4,
		.retry_count = 7,
		.rnr_retry_count = 7,
		.qp_num = foe->id->qp ? foe->id->qp->qp_num : ++invented,
	};
}

bool foe_ask(struct foe *foe, const struct sockaddr_in *to, const void *data, size_t len,
	     bool with_qp)
{
	struct sockaddr_in name = *to;
	struct rdma_conn_param param;

	if (rdma_resolve_addr(foe->id, NULL, (struct sockaddr *)&name, STEP_MS) ||
	    !step(foe, RDMA_CM_EVENT_ADDR_RESOLVED) || rdma_resolve_route(foe->id, STEP_MS) ||
	    !step(foe, RDMA_CM_EVENT_ROUTE_RESOLVED))
		return false;
	if (with_qp)
		make_qp(foe);
	param = param_of(foe, data, len);
	return !rdma_connect(foe->id, &param);
}

static void keep_data(struct foe *foe, const struct rdma_cm_event *event)
{
	const struct rdma_conn_param *conn = &event->param.conn;
	const uint8_t *data;
	size_t len;

	foe->len = conn->private_data ? conn->private_data_len : 0;
	if (foe->len)
		memcpy(foe->data, conn->private_data, foe->len);
	data = vrb_cm_unpack(foe->data, foe->len, &len);
	foe->sane = data && !ofi_rdm_cmwire_parse(data, len, &foe->cm);
}

enum foe_answer foe_await(struct foe *foe, int ms)
{
	struct rdma_cm_event *event = next_event(foe, ms);
	enum rdma_cm_event_type type;

	if (!event)
		return FOE_NOTHING;
	type = event->event;
	if (type == RDMA_CM_EVENT_ESTABLISHED || type == RDMA_CM_EVENT_CONNECT_RESPONSE ||
	    type == RDMA_CM_EVENT_REJECTED)
		keep_data(foe, event);
	rdma_ack_cm_event(event);
	if (type == RDMA_CM_EVENT_ESTABLISHED || type == RDMA_CM_EVENT_CONNECT_RESPONSE)
		return FOE_UP;
	return type == RDMA_CM_EVENT_REJECTED ? FOE_REJECTED : FOE_FAILED;
}

enum foe_answer foe_join(struct foe *foe, const struct sockaddr_in *to)
{
	struct sockaddr_in name = *to;
	uint8_t data[VRB_CM_WIRE_MAX];
	enum foe_answer answer;
	struct ofi_rdm_cmwire cm;
	int i;

	/* A port of the source's host on which nobody listens. */
	for (i = 0;; i++) {
		foe_open(foe, NULL);
		name.sin_port = htons((uint16_t)(2000 + foe_random(20000)));
		cm = foe_claim(&name, (uint64_t)foe_random(0) << 32 | foe_random(0) | 1, 1);
		CHECK(foe_ask(foe, to, data, foe_pack(data, &cm), true));
		foe_listen_to(foe);
		answer = foe_await(foe, FOE_MS);
		if (answer == FOE_UP || i == 20)
			return answer;
		/* The host may have too many connections for the moment. */
		foe_close(foe);
		sleep_ms(50);
	}
}

static void post_recv(struct foe *foe, unsigned int slot)
{
	struct ibv_sge sge = { .addr = (uintptr_t)foe->memory + slot * FOE_SLOT,
			       .length = FOE_SLOT,
			       .lkey = foe->mr->lkey };
	struct ibv_recv_wr *bad, wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 };

	(void)ibv_post_recv(foe->id->qp, &wr, &bad);
}

void foe_listen_to(struct foe *foe)
{
	unsigned int i;

	for (i = 0; i < FOE_SLOTS; i++)
		post_recv(foe, i);
}

/* Takes one completion: keeps what was received, and counts what was sent. */
static void poll_one(struct foe *foe)
{
	struct ibv_wc wc;
	unsigned int at;

	if (ibv_poll_cq(foe->cq, 1, &wc) != 1)
		return;
	if (wc.wr_id >= FOE_SLOTS) {
		foe->out--;
		if (wc.status != IBV_WC_SUCCESS)
			foe->status = (int)wc.status;
	} else if (wc.status == IBV_WC_SUCCESS && foe->count < FOE_SLOTS) {
		at = (foe->first + foe->count++) % FOE_SLOTS;
		foe->heard[at].slot = (unsigned int)wc.wr_id;
		foe->heard[at].len = wc.byte_len;
	}
}

/* Returns true if the victim has ended the connection. */
static bool is_over(struct foe *foe)
{
	struct rdma_cm_event *event = next_event(foe, 0);
	bool over = event && event->event == RDMA_CM_EVENT_DISCONNECTED;

	if (event)
		rdma_ack_cm_event(event);
	return over;
}

/* Waits until that many are complete. Returns the first failure, or -1 at the time limit. */
static int await_sends(struct foe *foe, unsigned int out)
{
	uint64_t end = now_ms() + FOE_MS;

	while (foe->out > out && foe->status == IBV_WC_SUCCESS) {
		if (now_ms() > end)
			return -1;
		poll_one(foe);
		if (foe->out > out && is_over(foe))
			foe->status = IBV_WC_WR_FLUSH_ERR;
	}
	return foe->status;
}

static bool post(struct foe *foe, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	wr->wr_id = FOE_SLOTS;
	wr->send_flags = IBV_SEND_SIGNALED;
	if (await_sends(foe, SENDS - 1) != IBV_WC_SUCCESS || ibv_post_send(foe->id->qp, wr, &bad))
		return false;
	foe->out++;
	return true;
}

bool foe_throw(struct foe *foe, const void *bytes, size_t len)
{
	uint8_t *out = foe->memory + (FOE_SLOTS + foe->posted++ % SENDS) * FOE_SLOT;
	struct ibv_sge sge = { .addr = (uintptr_t)out,
			       .length = (uint32_t)len,
			       .lkey = foe->mr->lkey };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1 };

	CHECK(len <= FOE_SLOT);
	memcpy(out, bytes, len);
	return post(foe, &wr);
}

int foe_say(struct foe *foe, const void *bytes, size_t len)
{
	return foe_throw(foe, bytes, len) ? await_sends(foe, 0) : IBV_WC_WR_FLUSH_ERR;
}

int foe_rdma(struct foe *foe, enum ibv_wr_opcode opcode, uint64_t addr, uint32_t rkey, uint32_t len)
{
	struct ibv_sge sge = { .addr = (uintptr_t)foe_spare(foe),
			       .length = len,
			       .lkey = foe->mr->lkey };
	struct ibv_send_wr wr = { .opcode = opcode, .sg_list = &sge, .num_sge = 1 };

	CHECK(len <= FOE_SPARE);
	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = addr;
		wr.wr.atomic.rkey = rkey;
		wr.wr.atomic.compare_add = 1;
	} else {
		wr.wr.rdma.remote_addr = addr;
		wr.wr.rdma.rkey = rkey;
	}
	return post(foe, &wr) ? await_sends(foe, 0) : IBV_WC_WR_FLUSH_ERR;
}

const uint8_t *foe_hear(struct foe *foe, size_t *len, int ms)
{
	uint64_t end = now_ms() + (uint64_t)ms;
	unsigned int slot;
	static uint8_t bytes[FOE_SLOT];

	while (!foe->count && now_ms() < end)
		poll_one(foe);
	if (!foe->count)
		return NULL;
	slot = foe->heard[foe->first].slot;
	*len = foe->heard[foe->first].len;
	foe->first = (foe->first + 1) % FOE_SLOTS;
	foe->count--;
	memcpy(bytes, foe->memory + slot * FOE_SLOT, *len);
	post_recv(foe, slot);
	return bytes;
}

bool foe_hear_type(struct foe *foe, enum ofi_rdm_wire_type type, struct ofi_rdm_wire_packet *packet,
		   int ms)
{
	uint64_t end = now_ms() + (uint64_t)ms;
	const uint8_t *bytes;
	size_t len;

	do {
		bytes = foe_hear(foe, &len, ms);
		if (bytes && !ofi_rdm_wire_parse(bytes, len, packet) && packet->type == type)
			return true;
	} while (now_ms() < end);
	return false;
}

void foe_lurk(struct foe *foe, struct sockaddr_in *name)
{
	foe_open(foe, need_env("WEFT_ADDR"));
	EQUAL(rdma_listen(foe->id, 64), 0);
	memcpy(name, rdma_get_local_addr(foe->id), sizeof(*name));
}

struct rdma_cm_id *foe_request(struct foe *foe, int ms)
{
	struct rdma_cm_event *event = next_event(foe, ms);
	struct rdma_cm_id *id = NULL;

	if (!event)
		return NULL;
	if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
		id = event->id;
		keep_data(foe, event);
	}
	rdma_ack_cm_event(event);
	return id;
}

void foe_accept(struct foe *to, struct foe *from, struct rdma_cm_id *id, const void *data,
		size_t len)
{
	struct rdma_conn_param param;

	(void)from;
	memset(to, 0, sizeof(*to));
	CHECK(to->channel = rdma_create_event_channel());
	EQUAL(rdma_migrate_id(id, to->channel), 0);
	to->id = id;
	id->context = to;
	make_qp(to);
	foe_listen_to(to);
	param = param_of(to, data, len);
	/* The victim may have given up in the meantime. */
	if (!rdma_accept(id, &param))
		foe_await(to, FOE_MS);
}
