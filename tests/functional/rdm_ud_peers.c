/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An endpoint on datagrams that has 10,000 peers: each gets messages and answers them, and nothing
 * is lost. A peer that is connected and idle takes little memory. A program with one queue pair
 * stands for all of the peers, because as many endpoints do not fit in a machine. An argument is
 * another number of peers.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
#include "hostile.h"
#include "prov/verbs/rdm/ud_wire.h"

enum {
	QKEY = 0x01234567, /* of queue pairs that the connection manager resolves */
	GRH = 40,
	PACKET = 256,
	SENDS = 256,
	RECEIVES = 1024,
	CALLS = 64, /* connections that are being made */
	AGAIN_MS = 100,
	PORT = 20000,
	NUMBER = 0x10000, /* of the first peer's end */
	WARM = 500,	  /* peers after which each takes its memory only */
	ROUNDS = 3,
	AT_ONCE = 64, /* messages that are not answered */
	PEER = 1400,  /* bytes */
	SETTLE_MS = 3000,
	LIMIT_MS = 400000,
	TEST_LIMIT_S = 600,
	TAG = 5,
#ifdef __SANITIZE_ADDRESS__
	TIMES = 5, /* guards and shadows */
#else
	TIMES = 1,
#endif
};

static unsigned int count = 10000;

/* The many. */

/* A peer, whose number, order and next are those of struct vrb_ud_packet. */
struct other {
	uint32_t to, first, number, order, next, echo, serial;
	uint64_t sent; /* time in ms; 0: whatever was sent has arrived */
	uint8_t len;
	uint8_t message[64];
};

static struct {
	struct rdma_event_channel *channel, *deaf;
	struct rdma_cm_id *id; /* of the queue pair */
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_ah *ah;
	uint32_t qpn; /* of the one */
	unsigned int posted, done, called, joined;
	struct other *others;
	struct sockaddr_in one;
	uint8_t memory[RECEIVES + SENDS][PACKET];
} many;

static void receive(unsigned int slot)
{
	struct ibv_sge sge = { (uintptr_t)many.memory[slot], PACKET, many.mr->lkey };
	struct ibv_recv_wr *bad, wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 };

	EQUAL(ibv_post_recv(many.id->qp, &wr, &bad), 0);
}

static void make_queues(void)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_UD,
		.cap = { .max_send_wr = SENDS,
			 .max_recv_wr = RECEIVES,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	unsigned int i;

	CHECK(many.cq = ibv_create_cq(many.id->verbs, SENDS + RECEIVES, NULL, NULL, 0));
	attr.send_cq = attr.recv_cq = many.cq;
	EQUAL(rdma_create_qp(many.id, NULL, &attr), 0);
	CHECK(many.mr = ibv_reg_mr(many.id->pd, many.memory, sizeof(many.memory),
				   IBV_ACCESS_LOCAL_WRITE));
	for (i = 0; i < RECEIVES; i++)
		receive(i);
}

static struct rdma_cm_id *resolve(struct other *other)
{
	struct sockaddr_in target = many.one;
	struct rdma_cm_id *id;

	EQUAL(rdma_create_id(many.channel, &id, other, RDMA_PS_UDP), 0);
	EQUAL(rdma_resolve_addr(id, NULL, (struct sockaddr *)&target, LIMIT_MS), 0);
	return id;
}

static void request(struct rdma_cm_id *id, struct other *other)
{
	uint32_t me = (uint32_t)(other - many.others);
	struct vrb_ud_words words = { .number = NUMBER + me, .qpn = many.id->qp->qp_num };
	struct sockaddr_in name = many.one;
	struct ofi_rdm_cmwire cm;
	struct rdma_conn_param param = { 0 };
	uint8_t data[256] = { 0 };
	size_t len;

	name.sin_port = htons((uint16_t)(PORT + me));
	cm = foe_claim(&name, NUMBER + me, ++other->serial);
	len = foe_pack(data, &cm);
	words.first = other->number = other->first = foe_random(UINT32_MAX);
	other->order = 1;
	vrb_ud_words_build(data + len, &words);
	param.private_data = data;
	param.private_data_len = (uint8_t)(len + VRB_UD_WORDS);
	param.qp_num = words.qpn;
	EQUAL(rdma_connect(id, &param), 0);
}

static void transmit(struct other *other)
{
	unsigned int slot = RECEIVES + many.posted % SENDS;
	struct vrb_ud_packet packet = {
		.kind = VRB_UD_SEND,
		.last = true,
		.to = other->to,
		.from = NUMBER + (uint32_t)(other - many.others),
		.words = { .next = other->next, .echo = other->echo },
	};
	uint8_t *bytes = many.memory[slot];
	struct ibv_sge sge = { (uintptr_t)bytes, 0, many.mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.ud = { .ah = many.ah, .remote_qpn = many.qpn, .remote_qkey = QKEY },
	};

	other->sent = now_ms();
	if (many.posted - many.done == SENDS)
		return;
	sge.length = (uint32_t)vrb_ud_build(bytes, &packet);
	vrb_ud_stamp(bytes, other->number, other->order++, &packet.words, 0);
	memcpy(bytes + sge.length, other->message, other->len);
	sge.length += other->len;
	EQUAL(ibv_post_send(many.id->qp, &wr, &bad), 0);
	many.posted++;
}

/* The first packet tells that the connection is established. */
static void connected(struct other *other, const struct rdma_ud_param *reply)
{
	static const uint8_t start[2] = { OFI_RDM_WIRE_VERSION, 0x83 };
	const uint8_t *data = reply->private_data;
	struct ibv_ah_attr attr = reply->ah_attr;
	struct vrb_ud_words words;

	CHECK(vrb_ud_words_parse(data + 1 + data[0], reply->private_data_len - 1u - data[0],
				 &words));
	if (!many.ah)
		CHECK(many.ah = ibv_create_ah(many.id->pd, &attr));
	many.qpn = words.qpn;
	other->to = words.number;
	other->next = words.first;
	other->len = sizeof(start);
	memcpy(other->message, start, sizeof(start));
	transmit(other);
}

/* Returns true if the id is needed no more. */
static bool hear_cm(const struct rdma_cm_event *event)
{
	struct other *other = event->id->context;

	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		EQUAL(rdma_resolve_route(event->id, LIMIT_MS), 0);
		return false;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		if (other)
			request(event->id, other);
		else
			make_queues();
		return false;
	case RDMA_CM_EVENT_ESTABLISHED:
		connected(other, &event->param.ud);
		return true;
	default: /* it is refused for now, or lost */
		resolve(other);
		return true;
	}
}

static void poll_cm(void)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *over;

	while (!rdma_get_cm_event(many.channel, &event)) {
		over = hear_cm(event) ? event->id : NULL;
		rdma_ack_cm_event(event);
		if (over)
			EQUAL(rdma_destroy_id(over), 0);
	}
}

/* Sends a message of the one back to it. */
static void hear(const uint8_t *bytes, size_t len)
{
	struct vrb_ud_packet packet;
	struct other *other;

	CHECK(vrb_ud_parse(bytes, len, &packet));
	CHECK(packet.kind != VRB_UD_END);
	CHECK(packet.to - NUMBER < count);
	other = &many.others[packet.to - NUMBER];
	EQUAL(packet.from, other->to);
	if (other->sent && (int32_t)(packet.words.next - other->number) > 0) {
		other->sent = 0;
		many.joined += other->number++ == other->first;
	}
	if (packet.kind != VRB_UD_SEND || packet.number != other->next)
		return;
	/* It comes again once the last answer has arrived. */
	if (other->sent)
		return;
	CHECK(packet.last && packet.len <= sizeof(other->message));
	other->next++;
	other->echo = packet.order;
	other->len = (uint8_t)packet.len;
	memcpy(other->message, packet.payload, packet.len);
	transmit(other);
}

static void poll_packets(void)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(many.cq, 1, &wc) == 1) {
		EQUAL(wc.status, IBV_WC_SUCCESS);
		if (wc.opcode != IBV_WC_RECV) {
			many.done++;
			continue;
		}
		hear(many.memory[wc.wr_id] + GRH, wc.byte_len - GRH);
		receive((unsigned int)wc.wr_id);
	}
}

static void resend(void)
{
	uint64_t now = now_ms();
	unsigned int i;

	for (i = 0; i < many.called; i++)
		if (many.others[i].sent && now - many.others[i].sent > AGAIN_MS)
			transmit(&many.others[i]);
}

/* Whoever asks at the port whether the peer is there gets no answer, as of a process that waits. */
static void listen_at(uint16_t port)
{
	struct sockaddr_in name = many.one;
	struct rdma_cm_id *id;

	name.sin_port = htons(port);
	EQUAL(rdma_create_id(many.deaf, &id, NULL, RDMA_PS_UDP), 0);
	EQUAL(rdma_bind_addr(id, (struct sockaddr *)&name), 0);
	EQUAL(rdma_listen(id, 8), 0);
}

static void call(unsigned int goal)
{
	while (many.cq && many.called < goal && many.called - many.joined < CALLS) {
		listen_at((uint16_t)(PORT + many.called));
		resolve(&many.others[many.called++]);
	}
}

static void go_on(unsigned int goal)
{
	static uint64_t looked;

	call(goal);
	poll_cm();
	if (many.cq)
		poll_packets();
	if (now_ms() - looked < AGAIN_MS / 4)
		return;
	looked = now_ms();
	resend();
}

/* Tells when some are connected, and when all are. */
static void be_many(struct child *parent, void *arg)
{
	struct pollfd fd = { .fd = parent->sock, .events = POLLIN };
	unsigned int goal;
	bool told = false;
	char byte;

	(void)arg;
	alarm(TEST_LIMIT_S);
	child_hear(parent, &many.one, sizeof(many.one));
	CHECK(many.others = calloc(count, sizeof(*many.others)));
	CHECK(many.channel = rdma_create_event_channel());
	CHECK(many.deaf = rdma_create_event_channel());
	EQUAL(fcntl(many.channel->fd, F_SETFL, O_NONBLOCK), 0);
	many.id = resolve(NULL);
	for (goal = WARM; goal;) {
		go_on(goal);
		if (!told && many.joined == goal)
			child_say(parent, "j", 1);
		told = many.joined == goal;
		if (poll(&fd, 1, 1) != 1)
			continue;
		child_hear(parent, &byte, 1);
		goal = goal < count ? count : 0;
		told = false;
	}
}

/* The one. */

static uint32_t *answers; /* of each peer */
static uint64_t *numbers; /* what it gets */
static fi_addr_t *addrs;

/* Records of statistics are in memory that is not anonymous. */
static size_t own_now(void)
{
	FILE *file = fopen("/proc/self/smaps_rollup", "r");
	unsigned long kib = 0;
	char line[128];

	CHECK(file);
	while (fgets(line, sizeof(line), file))
		if (!strncmp(line, "Rss:", 4))
			EQUAL(sscanf(line + 4, "%lu", &kib), 1);
	fclose(file);
	return (size_t)kib * 1024;
}

/* Returns true if an answer has arrived, for which the receive is posted again. */
static bool take(struct node *node, uint32_t round)
{
	struct fi_cq_tagged_entry entry;
	uint64_t number;
	int err;

	if (!node_poll(node, &entry, &err))
		return false;
	EQUAL(err, 0);
	if (entry.flags & FI_SEND)
		return false;
	number = *(uint64_t *)entry.op_context;
	CHECK(number >> 32 < count);
	EQUAL((uint32_t)number, round);
	EQUAL(answers[number >> 32], round);
	answers[number >> 32]++;
	node_trecv(node, entry.op_context, sizeof(number), TAG, entry.op_context);
	return true;
}

/* Exchanges a message with each of the first peers. */
static void exchange(struct node *node, unsigned int peers, uint32_t round)
{
	uint64_t start = now_ms();
	unsigned int i = 0, arrived = 0;

	while (arrived < peers) {
		for (; i < peers && i - arrived < AT_ONCE; i++) {
			numbers[i] = (uint64_t)i << 32 | round;
			node_tsend(node, &numbers[i], sizeof(numbers[i]), addrs[i], TAG);
		}
		arrived += take(node, round);
		CHECK(now_ms() - start < LIMIT_MS);
	}
	printf("%u peers in %llu ms\n", peers, (unsigned long long)(now_ms() - start));
	fflush(stdout);
}

static void know_all(struct node *node)
{
	struct node_name name = node->name;
	unsigned int i;

	for (i = 0; i < count; i++) {
		name.in.sin_port = htons((uint16_t)(PORT + i));
		addrs[i] = node_know(node, &name);
	}
}

/* Waits until so many peers are connected. */
static void await(struct node *node, const struct child *child, unsigned int peers)
{
	struct pollfd fd = { .fd = child->sock, .events = POLLIN };
	uint64_t start = now_ms();
	char byte;

	while (poll(&fd, 1, 0) != 1) {
		node_silent(node, 1);
		CHECK(now_ms() - start < LIMIT_MS);
	}
	child_hear(child, &byte, 1);
	printf("%u peers connected in %llu ms\n", peers, (unsigned long long)(now_ms() - start));
	fflush(stdout);
}

/* The memory once the connections that were used sleep. */
static size_t settled(struct node *node)
{
	node_silent(node, SETTLE_MS);
	return own_now();
}

static void at_most(const char *what, size_t before, size_t now, size_t most)
{
	size_t grown = now > before ? (now - before) / (count - WARM) : 0;

	printf("%s: %zu B\n", what, grown);
	fflush(stdout);
	if (grown > most * TIMES)
		FAIL("%s: %zu bytes, at most %zu", what, grown, most * TIMES);
}

static void be_one(struct node *node, const struct child *child)
{
	static uint64_t in[AT_ONCE];
	size_t before;
	uint32_t i;

	for (i = 0; i < AT_ONCE; i++)
		node_trecv(node, &in[i], sizeof(in[i]), TAG, &in[i]);
	await(node, child, WARM);
	exchange(node, WARM, 0);
	memset(answers, 0, WARM * sizeof(*answers));
	before = settled(node);
	child_say(child, "m", 1);
	await(node, child, count);
	at_most("a connected peer", before, settled(node), PEER);
	for (i = 0; i < ROUNDS; i++)
		exchange(node, count, i);
	at_most("an idle peer", before, settled(node), PEER);
}

static void test(void)
{
	struct child child;
	struct node node;

	alarm(TEST_LIMIT_S);
	child = child_start(be_many, NULL);
	CHECK(answers = calloc(count, sizeof(*answers)));
	CHECK(numbers = calloc(count, sizeof(*numbers)));
	CHECK(addrs = calloc(count, sizeof(*addrs)));
	memset(numbers, 1, count * sizeof(*numbers));
	memset(addrs, 1, count * sizeof(*addrs));
	node_open(&node, NULL);
	know_all(&node);
	child_say(&child, &node.name.in, sizeof(node.name.in));
	be_one(&node, &child);
	child_say(&child, "e", 1);
	child_end(&child);
	node_close(&node);
}

int main(int argc, char **argv)
{
	if (argc == 2)
		count = (unsigned int)atoi(argv[1]);
	CHECK(count > WARM && count <= UINT16_MAX - PORT);
	/* A huge page of 2 MiB would take the place of the pages that were touched. */
	CHECK(!prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0));
	setenv("FI_VERBS_RDM_TRANSPORT", "ud", 1);
	setenv("FI_VERBS_SHM", "0", 1);
	return run_test(test);
}
