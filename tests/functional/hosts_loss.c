/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A network loses one packet in a hundred, and then also delays and reorders them: messages, RMA
 * and atomics arrive once, in order and undamaged, within a time that shows that lost packets are
 * soon sent again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_atomic.h>
#include "hosts.h"
#include "steps.h"

#define SERVICE	  "7473"
#define MESSAGES  150
#define WINDOW	  8
#define LARGEST	  20000
#define BIG	  (256 << 10)
#define REGION	  (256 << 10) /* of RMA, behind the messages */
#define ADDITIONS 100
#define LIMIT_MS  22000

static const struct setup setup = {
	.caps = FI_MSG | FI_RMA | FI_ATOMIC,
	.format = FI_CQ_FORMAT_TAGGED,
	.buf_size = REGION + 2 * BIG,
};

static const char *const networks[] = { "loss 1%", "delay 2ms 1ms loss 1% reorder 5%" };

static void shape(const char *how)
{
	char command[160];

	snprintf(command, sizeof(command), "tc qdisc %s dev %s root%s%s", how ? "replace" : "del",
		 local_interface(), how ? " netem " : "", how ? how : "");
	shell(command);
}

static size_t length(unsigned int i)
{
	return i % 3 ? 1 + (i * 37) % 900 : 1 + (i * 2654435761U) % LARGEST;
}

static struct part message(unsigned int i)
{
	return (struct part){
		.off = i % WINDOW * LARGEST, .len = length(i), .seed = i, .context = i
	};
}

static void receive_all(struct end *end)
{
	struct part part;
	unsigned int i;

	for (i = 0; i < WINDOW; i++) {
		part = message(i);
		part.len = LARGEST;
		post_recv(end, &part);
	}
	for (i = 0; i < MESSAGES; i++) {
		part = message(i);
		reap_recv(end, &part);
		part = message(i + WINDOW);
		part.len = LARGEST;
		if (i + WINDOW < MESSAGES)
			post_recv(end, &part);
	}
}

static void send_all(struct end *end)
{
	struct part part;
	unsigned int i;

	for (i = 0; i < MESSAGES; i++) {
		if (i >= WINDOW)
			wait_context(end->cq, (void *)(uintptr_t)(i - WINDOW));
		part = message(i);
		fill_part(end, &part);
		post_send(end, &part);
	}
	for (i = MESSAGES - WINDOW; i < MESSAGES; i++)
		wait_context(end->cq, (void *)(uintptr_t)i);
}

static void write_and_read(struct end *end)
{
	uint64_t target = end->peer.addr + REGION, key = end->peer.key;
	uint8_t *data = end->buf + REGION, *back = data + BIG;

	fill(data, BIG, 7);
	memset(back, 0, BIG);
	OK(fi_write(end->ep, data, BIG, end->desc, 0, target, key, end));
	wait_context(end->cq, end);
	OK(fi_read(end->ep, back, BIG, end->desc, 0, target, key, end));
	wait_context(end->cq, end);
	CHECK_FILLED(back, BIG, 7);
}

/* A retransmitted operation must not add again. */
static void add(struct end *end)
{
	uint64_t target = end->peer.addr + REGION, key = end->peer.key, i;
	uint64_t *before = (uint64_t *)(end->buf + REGION), *one = before + 1;

	*before = 0;
	*one = 1;
	OK(fi_inject_write(end->ep, before, sizeof(*before), 0, target, key));
	for (i = 0; i < ADDITIONS; i++) {
		OK(fi_fetch_atomic(end->ep, one, 1, end->desc, before, end->desc, 0, target, key,
				   FI_UINT64, FI_SUM, end));
		wait_context(end->cq, end);
		EQUAL(*before, i);
	}
}

/* The client has finished when its message arrives. */
static void serve_round(struct end *end)
{
	struct part word = { .len = 1 };

	receive_all(end);
	post_recv(end, &word);
	wait_context(end->rxcq, NULL);
	post_send(end, &word);
	wait_context(end->cq, NULL);
}

static void ask_round(struct end *end)
{
	struct part word = { .len = 1 };

	send_all(end);
	write_and_read(end);
	add(end);
	post_recv(end, &word);
	post_send(end, &word);
	wait_context(end->cq, NULL);
	wait_context(end->rxcq, NULL);
}

static void run(struct end *end, void (*round)(struct end *end))
{
	uint64_t start;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(networks); i++) {
		shape(networks[i]);
		start = now_ms();
		round(end);
		printf("%s: %llu ms\n", networks[i], (unsigned long long)(now_ms() - start));
		CHECK(now_ms() - start < LIMIT_MS);
	}
	shape(NULL);
}

static void serve(void)
{
	struct end end = { .name = "server", .setup = &setup, .sock = -1 };

	hosts_accept(&end, SERVICE);
	run(&end, serve_round);
	wait_event(end.eq, FI_SHUTDOWN, &end.ep->fid, NULL, 0);
	no_event(end.eq, 10);
	end_close(&end);
}

static void ask(void)
{
	struct end end = { .name = "client", .setup = &setup, .sock = -1 };

	hosts_connect(&end, SERVICE);
	run(&end, ask_round);
	OK(fi_shutdown(end.ep, 0));
	end_close(&end);
}

int main(void)
{
	need_vm();
	/*
	 * 67 ms, for ever: soft-RoCE counts all losses of one long message as retries of one
	 * packet.
	 */
	setenv("FI_VERBS_ACK_TIMEOUT", "14", 1);
	setenv("FI_VERBS_RETRY_COUNT", "7", 1);
	return run_hosts(serve, ask);
}
