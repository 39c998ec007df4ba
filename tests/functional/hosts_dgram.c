/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Between two hosts: the client finds the server by its IP address, and both send datagrams of all
 * sizes. Then the network loses one packet in a hundred: some datagrams are missing, but none
 * arrives twice or damaged.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "steps.h"

#define SERVICE "7471"
#define ROOM	64   /* receives that are posted */
#define SLOT	4096 /* bytes of each */
#define COUNT	2000
#define BURST	16

static const struct setup setup = {
	.type = FI_EP_DGRAM,
	.addr_format = FI_SOCKADDR_IN,
	.buf_size = (2 * ROOM + 1) * SLOT,
	.format = FI_CQ_FORMAT_TAGGED,
};

enum kind { HELLO, DATA, ASK, TOLD, END };

struct head {
	uint32_t kind, seq;
	struct name from; /* of HELLO */
};

static void post(struct end *end, uintptr_t slot)
{
	OK(fi_recv(end->ep, end->buf + slot * SLOT, SLOT, end->desc, FI_ADDR_UNSPEC, (void *)slot));
}

static void post_all(struct end *end)
{
	uintptr_t i;

	for (i = 0; i < ROOM; i++)
		post(end, i);
}

/* Filled behind the header by its number. */
static void say(struct end *end, enum kind kind, uint32_t seq, size_t len)
{
	struct head head = { .kind = kind, .seq = seq };
	uint8_t *at = end->buf + (ROOM + seq % ROOM) * SLOT;
	struct fi_cq_tagged_entry entry;
	uint64_t limit = deadline();

	if (kind == HELLO)
		end_name(end, &head.from);
	memcpy(at, &head, sizeof(head));
	fill(at + sizeof(head), len - sizeof(head), seq);
	while (AGAIN(limit, fi_send(end->ep, at, len, end->desc, end->to, NULL)))
		;
	wait_comp(end->cq, &entry);
}

/* Waits some time for the next datagram, checks it, and posts its receive again. */
static bool hear(struct end *end, struct head *head, size_t *len, int ms)
{
	uint64_t limit = now_ms() + (uint64_t)ms;
	struct fi_cq_tagged_entry entry;
	const uint8_t *at;
	ssize_t ret;

	while ((ret = fi_cq_read(end->rxcq, &entry, 1)) == -FI_EAGAIN)
		if (now_ms() > limit)
			return false;
	EQUAL(ret, 1);
	at = end->buf + (uintptr_t)entry.op_context * SLOT;
	CHECK(entry.len >= sizeof(*head));
	memcpy(head, at, sizeof(*head));
	CHECK_FILLED(at + sizeof(*head), entry.len - sizeof(*head), head->seq);
	*len = entry.len;
	post(end, (uintptr_t)entry.op_context);
	return true;
}

static void must_hear(struct end *end, struct head *head, size_t *len, enum kind kind)
{
	CHECK(hear(end, head, len, WAIT_MS));
	EQUAL(head->kind, kind);
}

/* Every length in both directions. */
static void echo(struct end *end)
{
	size_t max = end->info->ep_attr->max_msg_size, len, got;
	struct head head;

	for (len = sizeof(head); len; len = len == max ? 0 : len * 2 < max ? len * 2 : max) {
		must_hear(end, &head, &got, DATA);
		EQUAL(got, len);
		say(end, DATA, head.seq + 1, len);
	}
}

static void ask_echo(struct end *end)
{
	size_t max = end->info->ep_attr->max_msg_size, len, got;
	struct head head;
	uint32_t seq = 0;

	for (len = sizeof(head); len; len = len == max ? 0 : len * 2 < max ? len * 2 : max) {
		say(end, DATA, seq, len);
		must_hear(end, &head, &got, DATA);
		EQUAL(got, len);
		EQUAL(head.seq, seq + 1);
		seq += 2;
	}
}

static void count_data(struct end *end)
{
	static uint8_t seen[COUNT];
	struct head head = { 0 };
	uint32_t got = 0;
	size_t len;

	do {
		CHECK(hear(end, &head, &len, WAIT_MS));
		if (head.kind == DATA) {
			CHECK(head.seq < COUNT && !seen[head.seq]++);
			got++;
		} else {
			say(end, TOLD, got, sizeof(head));
		}
	} while (head.kind != END);
}

/* Asks until there is an answer, because the question may be lost, too. */
static uint32_t ask(struct end *end, enum kind kind)
{
	uint64_t limit = deadline();
	struct head head;
	size_t len;

	do {
		pause_until(limit, "an answer");
		say(end, kind, 0, sizeof(head));
	} while (!hear(end, &head, &len, 1000));
	EQUAL(head.kind, TOLD);
	return head.seq;
}

static void lose(const char *what)
{
	char command[128];

	snprintf(command, sizeof(command), "tc qdisc %s dev %s root %s", *what ? "add" : "del",
		 local_interface(), what);
	shell(command);
}

static void send_lossy(struct end *end)
{
	uint32_t seq, got;

	lose("netem loss 1%");
	for (seq = 0; seq < COUNT; seq++) {
		say(end, DATA, seq, 1000);
		if (seq % BURST == BURST - 1)
			ask(end, ASK);
	}
	got = ask(end, ASK);
	lose("");
	ask(end, END);
	printf("%u of %d arrived\n", got, COUNT);
	CHECK(got < COUNT && got > COUNT * 9 / 10);
}

static void serve(void)
{
	struct end end = { .name = "server", .setup = &setup, .sock = -1 };
	struct head head;
	size_t len;

	end_open(&end, info_for(&setup, local_addr(), SERVICE, FI_SOURCE));
	end.ep = end_ep(&end, end.info);
	post_all(&end);
	must_hear(&end, &head, &len, HELLO);
	step_insert(&end, &head.from);
	say(&end, HELLO, 0, sizeof(head));
	echo(&end);
	count_data(&end);
	sleep_ms(200); /* the last answer is in flight */
	end_close(&end);
}

/* The server may not have started yet. */
static void find(struct end *end)
{
	uint64_t limit = deadline();

	while (fi_av_insert(end->av, end->info->dest_addr, 1, &end->to, 0, NULL) != 1)
		pause_until(limit, "the server's address");
}

static void run_client(void)
{
	struct end end = { .name = "client", .setup = &setup, .sock = -1 };
	struct head head;
	size_t len;

	need_vm();
	end_open(&end, info_for(&setup, need_env("WEFT_PEER_ADDRS"), SERVICE, 0));
	end.ep = end_ep(&end, end.info);
	post_all(&end);
	find(&end);
	say(&end, HELLO, 0, sizeof(head));
	must_hear(&end, &head, &len, HELLO);
	ask_echo(&end);
	send_lossy(&end);
	end_close(&end);
}

int main(void)
{
	const char *guest = getenv("WEFT_GUEST"), *guests = getenv("WEFT_GUESTS");

	if (!guest || !guests || strcmp(guests, "2")) {
		puts("needs two hosts: run this with tests/vm/run -n 2");
		return 77;
	}
	return run_test(strcmp(guest, "0") ? run_client : serve);
}
