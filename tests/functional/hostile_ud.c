/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An attacker with a UD queue pair of its own, on victims that use unreliable datagrams: it guesses
 * as an outsider, and lies, repeats and floods as a peer that connected. Whatever it sends, the
 * victims exchange their messages in time, and their memory remains as it was.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "hostile.h"
#include "prov/verbs/rdm/ud_wire.h"

enum {
	QKEY = 0x01234567, /* of queue pairs that the connection manager resolves */
	GRH = 40,
	BYTES = 1024, /* the longest packet that every port takes */
	DEPTH = 64,
	RECEIVES = 64,
	GUESSES = 4000,
	REPEATS = 300,
	FLOOD = 5000,
	PATIENCE_MS = 3000,
	GROWN_KIB = 24576,
};

/* The attacker as a peer of one of the victims. */
struct liar {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_ah *ah;
	uint32_t qpn, to, me;	      /* the victim's queue pair, and the numbers of the two ends */
	uint32_t number, order, next; /* sent next, and expected from the victim */
	unsigned int posted, done;
	unsigned int ends[8]; /* packets that ended the connection, by their reason */
	uint8_t memory[RECEIVES + DEPTH][GRH + 4096];
};

static struct victims victims;
static struct liar liar;

static struct rdma_cm_event *await(enum rdma_cm_event_type type)
{
	struct pollfd fd = { .fd = liar.channel->fd, .events = POLLIN };
	struct rdma_cm_event *event;

	EQUAL(poll(&fd, 1, PATIENCE_MS), 1);
	EQUAL(rdma_get_cm_event(liar.channel, &event), 0);
	EQUAL(event->event, type);
	return event;
}

static void receive(unsigned int slot)
{
	struct ibv_sge sge = { (uintptr_t)liar.memory[slot], sizeof(liar.memory[slot]),
			       liar.mr->lkey };
	struct ibv_recv_wr *bad, wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 };

	EQUAL(ibv_post_recv(liar.id->qp, &wr, &bad), 0);
}

static void make_queues(void)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_UD,
		.cap = { .max_send_wr = DEPTH,
			 .max_recv_wr = RECEIVES,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	unsigned int i;

	CHECK(liar.cq = ibv_create_cq(liar.id->verbs, DEPTH + RECEIVES, NULL, NULL, 0));
	attr.send_cq = attr.recv_cq = liar.cq;
	EQUAL(rdma_create_qp(liar.id, NULL, &attr), 0);
	CHECK(liar.mr = ibv_reg_mr(liar.id->pd, liar.memory, sizeof(liar.memory),
				   IBV_ACCESS_LOCAL_WRITE));
	for (i = 0; i < RECEIVES; i++)
		receive(i);
}

static void resolve(const struct sockaddr_in *to)
{
	struct sockaddr_in target = *to;

	memset(&liar, 0, offsetof(struct liar, memory));
	CHECK(liar.channel = rdma_create_event_channel());
	EQUAL(rdma_create_id(liar.channel, &liar.id, NULL, RDMA_PS_UDP), 0);
	EQUAL(rdma_resolve_addr(liar.id, NULL, (struct sockaddr *)&target, PATIENCE_MS), 0);
	rdma_ack_cm_event(await(RDMA_CM_EVENT_ADDR_RESOLVED));
	EQUAL(rdma_resolve_route(liar.id, PATIENCE_MS), 0);
	rdma_ack_cm_event(await(RDMA_CM_EVENT_ROUTE_RESOLVED));
	make_queues();
}

static void hear_reply(const struct rdma_ud_param *reply)
{
	const uint8_t *data = reply->private_data;
	struct ibv_ah_attr attr = reply->ah_attr;
	struct vrb_ud_words words = { 0 };

	CHECK(vrb_ud_words_parse(data + 1 + data[0], reply->private_data_len - 1u - data[0],
				 &words));
	liar.qpn = words.qpn;
	liar.to = words.number;
	liar.next = words.first;
	CHECK(liar.ah = ibv_create_ah(liar.id->pd, &attr));
}

/* Connects under a name that nobody has used before. */
static void join(const struct sockaddr_in *to)
{
	static uint16_t port = 2000;
	struct sockaddr_in name = *to;
	struct ofi_rdm_cmwire cm;
	struct vrb_ud_words words = { 0 };
	struct rdma_conn_param param = { 0 };
	struct rdma_cm_event *event;
	uint8_t data[256] = { 0 };
	size_t len;

	resolve(to);
	name.sin_port = htons(port++);
	cm = foe_claim(&name, 1000u + port, 1);
	len = foe_pack(data, &cm);
	liar.me = words.number = 0x1000u + port;
	liar.number = words.first = foe_random(UINT32_MAX);
	liar.order = 1;
	words.qpn = liar.id->qp->qp_num;
	words.mtu = sizeof(liar.memory[0]) - GRH;
	vrb_ud_words_build(data + len, &words);
	param.private_data = data;
	param.private_data_len = (uint8_t)(len + VRB_UD_WORDS);
	param.qp_num = words.qpn;
	EQUAL(rdma_connect(liar.id, &param), 0);
	event = await(RDMA_CM_EVENT_ESTABLISHED);
	hear_reply(&event->param.ud);
	rdma_ack_cm_event(event);
}

static void leave(void)
{
	rdma_destroy_qp(liar.id);
	ibv_destroy_ah(liar.ah);
	ibv_dereg_mr(liar.mr);
	ibv_destroy_cq(liar.cq);
	rdma_destroy_id(liar.id);
	rdma_destroy_event_channel(liar.channel);
}

static void hear(const struct ibv_wc *wc)
{
	struct vrb_ud_packet packet;

	if (wc->opcode != IBV_WC_RECV) {
		liar.done++;
		return;
	}
	if (vrb_ud_parse(liar.memory[wc->wr_id] + GRH, wc->byte_len - GRH, &packet) &&
	    packet.kind == VRB_UD_END && packet.id < ARRAY_SIZE(liar.ends))
		liar.ends[packet.id]++;
	receive((unsigned int)wc->wr_id);
}

static void poll_liar(void)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(liar.cq, 1, &wc) == 1) {
		EQUAL(wc.status, IBV_WC_SUCCESS);
		hear(&wc);
	}
}

static void throw(const void *bytes, size_t len)
{
	unsigned int slot = RECEIVES + liar.posted % DEPTH;
	struct ibv_sge sge = { (uintptr_t)liar.memory[slot], (uint32_t)len, liar.mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.ud = { .ah = liar.ah, .remote_qpn = liar.qpn, .remote_qkey = QKEY },
	};

	while (liar.posted - liar.done == DEPTH)
		poll_liar();
	memcpy(liar.memory[slot], bytes, len);
	EQUAL(ibv_post_send(liar.id->qp, &wr, &bad), 0);
	liar.posted++;
}

static void pause_liar(int ms)
{
	uint64_t end = now_ms() + (uint64_t)ms;

	while (now_ms() < end) {
		poll_liar();
		sleep_ms(1);
	}
}

static bool hears_end(enum vrb_ud_reason reason)
{
	uint64_t end = now_ms() + PATIENCE_MS;

	while (!liar.ends[reason] && now_ms() < end)
		pause_liar(1);
	return liar.ends[reason];
}

/* Returns a packet of the liar's connection, as an honest peer would send it. */
static struct vrb_ud_packet honest(enum vrb_ud_kind kind)
{
	return (struct vrb_ud_packet){ .kind = kind,
				       .last = kind == VRB_UD_SEND,
				       .to = liar.to,
				       .from = liar.me,
				       .number = liar.number,
				       .order = liar.order++,
				       .words.next = liar.next };
}

static void say(const struct vrb_ud_packet *packet, size_t payload)
{
	uint8_t bytes[BYTES] __attribute__((aligned(8))) = { 0 };
	size_t len = vrb_ud_build(bytes, packet);

	vrb_ud_stamp(bytes, packet->number, packet->order, &packet->words, 0);
	throw(bytes, len + payload);
}

/* An outsider. */

static void guess(void)
{
	struct vrb_ud_packet packet;
	uint8_t noise[BYTES];
	size_t i, k;

	for (i = 0; i < GUESSES; i++) {
		packet = honest(foe_random(VRB_UD_KINDS));
		packet.to = foe_random(UINT32_MAX);
		packet.from = foe_random(UINT32_MAX);
		packet.id = foe_random(5);
		packet.words = (struct ofi_rdm_ack_words){ .next = foe_random(UINT32_MAX),
							   .echo = foe_random(UINT32_MAX) };
		say(&packet, foe_random(100));
		for (k = 0; k < sizeof(noise); k++)
			noise[k] = (uint8_t)foe_random(256);
		noise[0] = i % 2 ? VRB_UD_VERSION : noise[0];
		throw(noise, foe_random(BYTES) + 1);
	}
	printf("guesses: %u refused\n", liar.ends[VRB_UD_UNKNOWN]);
}

/* A peer. Each lie ends its own connection at most. */

static void lie_parts(void)
{
	struct vrb_ud_packet packet;
	unsigned int i;

	for (i = 0; i < 200; i++) {
		packet = honest(VRB_UD_SEND);
		packet.last = false;
		say(&packet, i == 100 ? 0 : 900);
		liar.number++;
	}
}

static void lie_key(void)
{
	struct vrb_ud_packet packet = honest(VRB_UD_WRITE);

	packet.addr = victims.facts.addr[0];
	packet.key = foe_random(UINT32_MAX) | 1;
	say(&packet, 8);
}

static void lie_bounds(void)
{
	struct vrb_ud_packet packet = honest(VRB_UD_WRITE);

	packet.addr = victims.facts.addr[0] + PAIR_WINDOW - 7;
	packet.key = (uint32_t)victims.facts.key[0];
	say(&packet, 8);
}

static void lie_wrap(void)
{
	struct vrb_ud_packet packet = honest(VRB_UD_WRITE);

	packet.addr = UINT64_MAX - 3;
	packet.key = (uint32_t)victims.facts.key[0];
	say(&packet, 8);
}

static void lie_read(void)
{
	struct vrb_ud_packet packet = honest(VRB_UD_READ);

	packet.addr = victims.facts.addr[0];
	packet.key = (uint32_t)victims.facts.key[0];
	packet.asked = UINT32_MAX;
	say(&packet, 0);
}

static void lie_reads(void)
{
	struct vrb_ud_packet packet;
	unsigned int i;

	for (i = 0; i < 200; i++) {
		packet = honest(VRB_UD_READ);
		packet.addr = victims.facts.addr[0];
		packet.key = (uint32_t)victims.facts.key[0];
		packet.asked = PAIR_WINDOW;
		say(&packet, 0);
		liar.number++;
	}
}

static void lie_data(void)
{
	struct vrb_ud_packet packet = honest(VRB_UD_DATA);

	packet.id = foe_random(10);
	say(&packet, 100);
}

static void lie_order(void)
{
	struct vrb_ud_packet packet;
	unsigned int i;

	for (i = 0; i < 2000; i++) {
		packet = honest(VRB_UD_SEND);
		packet.number += foe_random(200);
		packet.order = foe_random(UINT32_MAX);
		packet.words.next += foe_random(3) - 1;
		packet.words.early = foe_random(UINT32_MAX);
		packet.words.echo = foe_random(4);
		say(&packet, foe_random(200));
	}
}

/* The first packet again and again, and then again after the end. */
static void lie_again(void)
{
	struct vrb_ud_packet packet = honest(VRB_UD_NOTHING);
	unsigned int i;

	for (i = 0; i < REPEATS; i++)
		say(&packet, 0);
	packet = honest(VRB_UD_END);
	for (i = 0; i < REPEATS; i++)
		say(&packet, 0);
	packet = honest(VRB_UD_NOTHING);
	for (i = 0; i < REPEATS; i++)
		say(&packet, 0);
}

static void lie_flood(void)
{
	struct vrb_ud_packet packet;
	unsigned int i;

	for (i = 0; i < FLOOD; i++) {
		packet = honest(VRB_UD_SEND);
		say(&packet, foe_random(200));
		liar.number++;
	}
}

struct lie {
	const char *name;
	void (*tell)(void);
	bool ends;
	enum vrb_ud_reason reason;
};

static const struct lie lies[] = {
	{ "a message that is too long", lie_parts, true, VRB_UD_BROKEN },
	{ "a key that nobody has", lie_key, true, VRB_UD_ACCESS },
	{ "beyond the end", lie_bounds, true, VRB_UD_ACCESS },
	{ "around the end of memory", lie_wrap, true, VRB_UD_ACCESS },
	{ "a read of everything", lie_read, true, VRB_UD_ACCESS },
	{ "too many reads", lie_reads, true, VRB_UD_BROKEN },
	{ "answers without a question", lie_data, true, VRB_UD_BROKEN },
	{ "numbers and acknowledgments", lie_order, false, 0 },
	{ "repeated packets", lie_again, false, 0 },
	{ "a flood", lie_flood, false, 0 },
};

static void test(void)
{
	size_t i;

	setenv("FI_VERBS_RDM_TRANSPORT", "ud", 1);
	setenv("FI_VERBS_ACCEPT_RATE", "0", 1);
	pair_start(&victims, false);
	pair_check(&victims, 1);
	join(&victims.facts.name[0]);
	guess();
	leave();
	pair_check(&victims, 2);
	for (i = 0; i < ARRAY_SIZE(lies); i++) {
		join(&victims.facts.name[0]);
		lies[i].tell();
		if (lies[i].ends && !hears_end(lies[i].reason))
			FAIL("%s: not told that the connection has ended", lies[i].name);
		pause_liar(20);
		leave();
		printf("%s: round of %u ms\n", lies[i].name, pair_check(&victims, 1).slowest_ms);
	}
	pair_end(&victims, GROWN_KIB);
}

int main(void)
{
	return run_test(test);
}
