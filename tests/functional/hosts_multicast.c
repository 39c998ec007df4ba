/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Between two hosts: both join a group and receive what the other sends to it. The datagrams
 * contain the names: neither host knows the other's address before.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "mc_steps.h"

enum { SLOT = 4096, ROOM = 16, ROUNDS = 20 };

struct hello {
	char host[16];
	uint32_t heard; /* hellos of the other host */
};

static void post(struct end *end, uintptr_t slot)
{
	OK(fi_recv(end->ep, end->buf + (1 + slot) * SLOT, SLOT, end->desc, FI_ADDR_UNSPEC,
		   (void *)slot));
}

/* Takes what has arrived; what this host has sent itself does not count. */
static void listen_in(struct end *end, const char *host, uint32_t *heard, uint32_t *told)
{
	struct fi_cq_tagged_entry entry;
	struct hello hello;
	uintptr_t slot;

	while (fi_cq_read(end->rxcq, &entry, 1) == 1) {
		slot = (uintptr_t)entry.op_context;
		EQUAL(entry.len, sizeof(hello));
		memcpy(&hello, end->buf + (1 + slot) * SLOT, sizeof(hello));
		if (strcmp(hello.host, host)) {
			*heard += 1;
			*told = hello.heard;
		}
		post(end, slot);
	}
}

/* Both continue until each has received the other's hello, and knows that its own was received. */
static void talk(struct end *end, const char *host)
{
	uint32_t heard = 0, told = 0, more = ROUNDS;
	struct hello hello = { .heard = 0 };
	uint64_t limit = now_ms() + 60000;

	snprintf(hello.host, sizeof(hello.host), "%s", host);
	while (more) {
		CHECK(now_ms() < limit);
		hello.heard = heard;
		memcpy(end->buf, &hello, sizeof(hello));
		send_group(end, sizeof(hello));
		sleep_ms(20);
		listen_in(end, host, &heard, &told);
		if (heard && told)
			more--;
	}
}

static void test(void)
{
	struct setup setup = mc_setup;
	struct end end = { .name = "end", .setup = &setup };
	struct join join = { GROUP, 0 };
	uintptr_t i;

	setup.buf_size = (1 + ROOM) * SLOT;
	end_open(&end, own_info(&setup));
	end.ep = end_ep(&end, end.info);
	for (i = 0; i < ROOM; i++)
		post(&end, i);
	step_join(&end, &join);
	talk(&end, need_env("WEFT_GUEST"));
	step_leave(&end, NULL);
	end_close(&end);
}

int main(void)
{
	if (atoi(need_env("WEFT_GUESTS")) < 2) {
		puts("needs two hosts: run this with tests/vm/run -n 2");
		return 77;
	}
	return run_test(test);
}
