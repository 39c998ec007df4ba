/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The reliable channel on a network that loses, repeats and reorders by a seed, against the order in which
 * messages were sent; silence, hostile datagrams, no memory. WEFT_TEST_SCHEDULES sets their number.
 */
#include "unit.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <ofi/rel.h>
#include <rdma/fi_errno.h>

#define NODES	 3
#define MESSAGES 8 /* from each node to each other */
#define TAGS	 3
#define LEN	 60
#define PACKETS	 4096
#define MTU	 (OFI_REL_HEAD + 16)

static int fail_one_of; /* allocations; 0: none */

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);

void *__wrap_malloc(size_t size)
{
	return fail_one_of && !(rand() % fail_one_of) ? NULL : __real_malloc(size);
}

struct packet {
	size_t from, to, len;
	uint8_t data[MTU];
};

struct message {
	bool posted, sent, received, canceled;
	int err;
	size_t tag, len, got, room, order; /* among those with its tag */
	uint8_t buf[LEN + 1], in[LEN + 1];
};

static struct world {
	struct ofi_rel *rel[NODES];
	struct message msg[NODES][NODES][MESSAGES];
	size_t sent[NODES][NODES], posted[NODES][NODES];
	struct packet packet[PACKETS];
	size_t packets;
	uint64_t now;
	unsigned seed, loss, twice; /* one of so many; 0: none */
	size_t mtu;
	size_t left; /* completions to come */
	bool hostile;
	size_t cut; /* a node that nobody reaches; NODES: none */
} world;

static unsigned pick(unsigned below)
{
	world.seed = world.seed * 1664525u + 1013904223u;
	return (unsigned)(((uint64_t)(world.seed >> 4) * below) >> 28);
}

static bool one_of(unsigned n)
{
	return n && !pick(n);
}

static ssize_t net_send(void *arg, fi_addr_t to, const void *head, const void *data, size_t len)
{
	size_t from = (size_t)(uintptr_t)arg - 1;
	struct packet *packet = &world.packet[world.packets];

	assert_true(OFI_REL_HEAD + len <= world.mtu);
	if (one_of(20) || world.packets == PACKETS)
		return -FI_EAGAIN;
	if (one_of(world.loss) || world.cut == from || world.cut == to)
		return 0;
	packet->from = from;
	packet->to = to;
	packet->len = OFI_REL_HEAD + len;
	memcpy(packet->data, head, OFI_REL_HEAD);
	if (len)
		memcpy(packet->data + OFI_REL_HEAD, data, len);
	world.packets++;
	return 0;
}

/* The cookie is the message, at its odd neighbour when it is received. */
static void net_done(void *arg, void *cookie, size_t len, int err)
{
	struct message *msg = (void *)((uintptr_t)cookie & ~(uintptr_t)1);

	(void)arg;
	assert_true(world.left--);
	if (err && err != FI_ETRUNC)
		msg->err = err;
	if ((uintptr_t)cookie & 1) {
		assert_false(msg->received || msg->canceled);
		msg->received = true;
		msg->got = len;
		assert_int_equal(err == FI_ETRUNC, len > msg->room);
		return;
	}
	assert_false(msg->sent);
	msg->sent = true;
	memset(msg->buf, 0xee, sizeof(msg->buf));
}

static uint64_t net_now(void *arg)
{
	(void)arg;
	return world.now;
}

static void open_world(unsigned seed)
{
	struct ofi_rel_net net = {
		.send = net_send,
		.done = net_done,
		.now = net_now,
		.max_msg = 1000,
		.rto_min = 20,
		.rto_max = 200,
	};

	memset(world.msg, 0, sizeof(world.msg));
	memset(world.sent, 0, sizeof(world.sent));
	memset(world.posted, 0, sizeof(world.posted));
	world.packets = 0;
	world.left = 0;
	world.now = 1000;
	world.seed = seed * 2654435761u + 12345;
	world.loss = pick(3) ? 2 + pick(30) : 0;
	world.twice = pick(3) ? 2 + pick(10) : 0;
	world.mtu = OFI_REL_HEAD + 1 + pick(16);
	world.hostile = false;
	world.cut = NODES;
	net.mtu = world.mtu;
	for (size_t i = 0; i < NODES; i++) {
		net.session = (uint32_t)(seed * 3 + i + 1);
		world.rel[i] = ofi_rel_new(&net, (void *)(uintptr_t)(i + 1));
		assert_non_null(world.rel[i]);
	}
}

static void close_world(void)
{
	for (size_t i = 0; i < NODES; i++)
		ofi_rel_free(world.rel[i]);
}

static uint8_t byte_of(size_t from, size_t to, size_t i, size_t at)
{
	return (uint8_t)(from * 101 + to * 53 + i * 31 + at * 7);
}

static void plan_messages(void)
{
	for (size_t from = 0; from < NODES; from++)
		for (size_t to = 0; to < NODES; to++)
			for (size_t i = 0; i < MESSAGES && from != to; i++) {
				struct message *msg = &world.msg[from][to][i];

				msg->tag = pick(TAGS);
				msg->len = pick(LEN + 1);
				for (size_t at = 0; at < msg->len; at++)
					msg->buf[at] = byte_of(from, to, i, at);
			}
}

/* The next message of its tag, in the order of sending, is what a receive will get. */
static struct message *next_recv(size_t from, size_t to)
{
	size_t first = pick(MESSAGES), tag;

	if (world.posted[from][to] == MESSAGES)
		return NULL;
	while (world.msg[from][to][first % MESSAGES].posted)
		first++;
	tag = world.msg[from][to][first % MESSAGES].tag;
	for (size_t i = 0; i < MESSAGES; i++)
		if (world.msg[from][to][i].tag == tag && !world.msg[from][to][i].posted)
			return &world.msg[from][to][i];
	return NULL;
}

static void act(size_t from, size_t to)
{
	struct message *msg = &world.msg[from][to][world.sent[from][to]];

	if (world.sent[from][to] < MESSAGES &&
	    !ofi_rel_send(world.rel[from], to, msg->tag, msg->buf, msg->len, msg)) {
		world.sent[from][to]++;
		world.left++;
	}
	msg = pick(2) ? next_recv(from, to) : NULL;
	if (!msg)
		return;
	msg->room = one_of(10) ? pick(LEN + 1) : LEN;
	memset(msg->in, 0x77, sizeof(msg->in));
	world.left++;
	if (ofi_rel_recv(world.rel[to], from, msg->tag, msg->in, msg->room,
			 (void *)((uintptr_t)msg | 1))) {
		world.left--;
		return;
	}
	msg->posted = true;
	world.posted[from][to]++;
}

/* One datagram, out of any order; sometimes it stays to come again. */
static void deliver(void)
{
	size_t at = pick((unsigned)world.packets);
	struct packet *packet = &world.packet[at], copy = *packet;

	if (!one_of(world.twice))
		*packet = world.packet[--world.packets];
	if (world.hostile && one_of(3)) {
		copy.data[pick(OFI_REL_HEAD)] ^= (uint8_t)(1 << pick(8));
		if (one_of(4))
			copy.len = pick((unsigned)copy.len + 1);
	}
	ofi_rel_arrived(world.rel[copy.to], copy.from, copy.data, copy.len);
}

static void step(void)
{
	size_t node = pick(NODES);

	world.now += pick(4);
	if (world.packets && pick(4))
		deliver();
	else if (!world.packets)
		world.now += pick(30);
	ofi_rel_progress(world.rel[node]);
}

static bool all_begun(void)
{
	for (size_t from = 0; from < NODES; from++)
		for (size_t to = 0; to < NODES; to++)
			if (from != to &&
			    (world.sent[from][to] < MESSAGES || world.posted[from][to] < MESSAGES))
				return false;
	return true;
}

static void run_world(void)
{
	bool begun = false;

	plan_messages();
	for (size_t i = 0; !begun || world.left; i++) {
		size_t from = pick(NODES), to = pick(NODES);

		assert_true(i < 200000);
		if (from != to && !begun)
			act(from, to);
		if (i % 16 == 0)
			begun = all_begun();
		step();
	}
}

static void check_world(void)
{
	for (size_t from = 0; from < NODES; from++)
		for (size_t to = 0; to < NODES; to++)
			for (size_t i = 0; i < MESSAGES && from != to; i++) {
				const struct message *msg = &world.msg[from][to][i];
				size_t len = msg->len < msg->room ? msg->len : msg->room;

				assert_true(msg->sent && msg->received && !msg->err);
				assert_int_equal(msg->got, msg->len);
				for (size_t at = 0; at < len; at++)
					if (msg->in[at] != byte_of(from, to, i, at))
						fail_msg("wrong data");
				assert_int_equal(msg->in[len], 0x77);
			}
}

static void in_order_whatever_happens(void **state)
{
	const char *text = getenv("WEFT_TEST_SCHEDULES");
	unsigned count = text ? (unsigned)atoi(text) : 3000;

	(void)state;
	for (unsigned seed = 1; seed <= count; seed++) {
		open_world(seed);
		run_world();
		check_world();
		close_world();
	}
}

static void memory_is_short(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= 500; seed++) {
		open_world(seed);
		fail_one_of = 2 + (int)(seed % 10);
		run_world();
		fail_one_of = 0;
		check_world();
		close_world();
	}
}

/* Damaged headers may fail a peer, nothing else. */
static void hostile_datagrams(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= 1000; seed++) {
		open_world(seed);
		world.hostile = true;
		plan_messages();
		for (size_t i = 0; i < 1500; i++) {
			size_t from = pick(NODES), to = pick(NODES);

			if (from != to)
				act(from, to);
			step();
		}
		close_world();
	}
}

/* Opens with a limit of silence. */
static void open_impatient(void)
{
	struct ofi_rel_net net = {
		.send = net_send,
		.done = net_done,
		.now = net_now,
		.mtu = MTU,
		.max_msg = 1000,
		.rto_min = 20,
		.rto_max = 200,
		.give_up = 3000,
	};

	open_world(1);
	world.loss = 0;
	world.mtu = MTU;
	for (size_t i = 0; i < NODES; i++) {
		ofi_rel_free(world.rel[i]);
		net.session = (uint32_t)i + 1;
		world.rel[i] = ofi_rel_new(&net, (void *)(uintptr_t)(i + 1));
	}
	plan_messages();
}

static void run_until(uint64_t time)
{
	while (world.now < time)
		step();
}

static void post_recv(size_t from, size_t to, struct message *msg)
{
	msg->room = LEN;
	world.left++;
	assert_int_equal(ofi_rel_recv(world.rel[to], from, msg->tag, msg->in, msg->room,
				      (void *)((uintptr_t)msg | 1)),
			 0);
}

static void send_one(size_t from, size_t to, struct message *msg)
{
	world.left++;
	assert_int_equal(ofi_rel_send(world.rel[from], to, msg->tag, msg->buf, msg->len, msg), 0);
}

static void silence(void **state)
{
	struct message *first = &world.msg[0][1][0], *second = &world.msg[0][1][1], *third;

	(void)state;
	open_impatient();
	third = &world.msg[2][1][0];
	post_recv(0, 1, first);
	post_recv(2, 1, third);
	run_until(20000);
	assert_false(first->received); /* idle, but it answers */

	/* Nobody is blamed for what the application did not listen to. */
	world.now += 100000;
	ofi_rel_progress(world.rel[1]);
	run_until(world.now + 10000);
	assert_false(first->received || first->err);

	world.cut = 0;
	send_one(0, 1, second);
	run_until(world.now + 1000);
	assert_false(first->received);
	run_until(world.now + 10000);
	assert_true(first->received && first->err == FI_ETIMEDOUT);
	assert_true(second->sent && second->err == FI_ETIMEDOUT);
	assert_false(third->received);
	assert_int_equal(ofi_rel_send(world.rel[0], 1, 0, NULL, 0, second), -FI_ETIMEDOUT);
	assert_int_equal(ofi_rel_recv(world.rel[1], 0, 0, NULL, 0, first), -FI_ETIMEDOUT);

	/* Forgotten on both sides, the names work again. */
	world.cut = NODES;
	world.packets = 0;
	ofi_rel_forget(world.rel[0], 1, FI_ECANCELED);
	ofi_rel_forget(world.rel[1], 0, FI_ECANCELED);
	memset(second, 0, sizeof(*second));
	memset(first, 0, sizeof(*first));
	send_one(0, 1, second);
	post_recv(0, 1, first);
	run_until(world.now + 2000);
	assert_true(second->sent && first->received);
	close_world();
}

/* Neither the network nor the caller hears of what was canceled; what follows arrives. */
static void cancels(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= 500; seed++) {
		struct message *msg = world.msg[0][1];

		open_world(seed);
		plan_messages();
		for (size_t i = 0; i < 4; i++) {
			msg[i].tag = i;
			msg[i].len = LEN;
			for (size_t at = 0; at < LEN; at++)
				msg[i].buf[at] = byte_of(0, 1, i, at);
			send_one(0, 1, &msg[i]);
			post_recv(0, 1, &msg[i]);
		}
		for (size_t i = pick(60); i; i--)
			step();
		if (!msg[1].sent) {
			ofi_rel_cancel(world.rel[0], &msg[1]);
			memset(msg[1].buf, 0xdd, LEN);
			world.left--;
		}
		if (!msg[1].received && seed % 2) {
			ofi_rel_cancel(world.rel[1], (void *)((uintptr_t)&msg[1] | 1));
			msg[1].canceled = true;
			world.left--;
		}
		/* A receive that is not canceled may get what had begun to come, or wait. */
		for (size_t i = 0; world.left > (seed % 2 ? 0 : 1); i++) {
			assert_true(i < 100000);
			step();
		}
		run_until(world.now + 3000);
		for (size_t i = 0; i < 4; i++)
			assert_true(!msg[i].err && (i == 1 || msg[i].received));
		for (size_t i = 0; i < 4; i++)
			for (size_t at = 0; at < LEN && msg[i].received; at++)
				assert_int_equal(msg[i].in[at], byte_of(0, 1, i, at));
		ofi_rel_purge(world.rel[1], 0, 0, UINT64_MAX);
		close_world();
	}
}

/* What was sent by an endpoint that is gone does not reach the one that has its name. */
static void sessions(void **state)
{
	struct message *msg = world.msg[0][1];
	struct ofi_rel_net net = {
		.send = net_send,
		.done = net_done,
		.now = net_now,
		.mtu = MTU,
		.max_msg = 1000,
		.rto_min = 20,
		.rto_max = 200,
		.session = 99,
	};

	(void)state;
	open_impatient();
	send_one(0, 1, &msg[0]);
	post_recv(0, 1, &msg[0]);
	run_until(world.now + 1000);
	assert_true(msg[0].received && msg[0].sent);
	send_one(0, 1, &msg[1]);
	for (int i = 0; i < 30; i++)
		ofi_rel_progress(world.rel[0]);
	assert_true(world.packets);
	ofi_rel_free(world.rel[1]);
	world.rel[1] = ofi_rel_new(&net, (void *)(uintptr_t)2);
	post_recv(0, 1, &msg[1]);
	run_until(world.now + 2500);
	assert_false(msg[1].received);
	close_world();
}

static void limits(void **state)
{
	uint8_t byte = 0;

	(void)state;
	open_impatient();
	assert_true(ofi_rel_deadline(world.rel[0]) == UINT64_MAX);
	assert_int_equal(ofi_rel_send(world.rel[0], 1, 0, &byte, 1001, NULL), -FI_EMSGSIZE);
	ofi_rel_arrived(world.rel[0], 1, &byte, 0);
	ofi_rel_arrived(world.rel[0], 1, &byte, 1);
	ofi_rel_forget(world.rel[0], 77, FI_EIO);
	ofi_rel_cancel(world.rel[0], &byte);
	ofi_rel_purge(world.rel[0], 77, 0, 0);
	ofi_rel_free(NULL);
	close_world();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_order_whatever_happens),
		cmocka_unit_test(memory_is_short),
		cmocka_unit_test(hostile_datagrams),
		cmocka_unit_test(silence),
		cmocka_unit_test(cancels),
		cmocka_unit_test(sessions),
		cmocka_unit_test(limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
