/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An IP address is inserted before its endpoint exists: sends return -FI_EAGAIN, and succeed once
 * it exists. If nobody opens it, they fail with the reason. So do sends to a host that does not
 * answer.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "steps.h"

enum { PORT = 7713, EMPTY_PORT = 7714, TIMEOUT_MS = 400 };

static const struct setup setup = { .type = FI_EP_DGRAM,
				    .addr_format = FI_SOCKADDR_IN,
				    .format = FI_CQ_FORMAT_TAGGED,
				    .buf_size = 4096 };

static fi_addr_t insert(struct end *end, uint16_t port)
{
	struct sockaddr_in in;
	fi_addr_t addr = FI_ADDR_NOTAVAIL;

	memcpy(&in, end->info->src_addr, sizeof(in));
	in.sin_port = htons(port);
	EQUAL(fi_av_insert(end->av, &in, 1, &addr, 0, NULL), 1);
	return addr;
}

static ssize_t send_one(struct end *end, fi_addr_t addr)
{
	return fi_send(end->ep, end->buf, 100, end->desc, addr, NULL);
}

static void test_comes(struct end *client)
{
	struct end server = { .name = "server", .setup = &setup, .sock = -1 };
	uint64_t limit = now_ms() + WAIT_MS;
	struct fi_cq_tagged_entry entry;
	char service[8];
	fi_addr_t addr;

	addr = insert(client, PORT);
	RETURNS(send_one(client, addr), -FI_EAGAIN);
	sleep_ms(100); /* it has been refused by then */
	RETURNS(send_one(client, addr), -FI_EAGAIN);
	snprintf(service, sizeof(service), "%d", PORT);
	end_open(&server, info_for(&setup, local_addr(), service, FI_SOURCE));
	server.ep = end_ep(&server, server.info);
	OK(fi_recv(server.ep, server.buf, 200, server.desc, FI_ADDR_UNSPEC, NULL));
	while (AGAIN(limit, send_one(client, addr)))
		;
	wait_comp(client->cq, &entry);
	wait_comp(server.rxcq, &entry);
	EQUAL(entry.len, 100);
	end_close(&server);
}

static void test_nobody(struct end *client)
{
	uint64_t start = now_ms(), limit = start + WAIT_MS;
	fi_addr_t addr = insert(client, EMPTY_PORT);
	ssize_t ret;

	while ((ret = send_one(client, addr)) == -FI_EAGAIN)
		pause_until(limit, "the reason");
	EQUAL(ret, -FI_ECONNREFUSED);
	CHECK(now_ms() - start >= TIMEOUT_MS);
	RETURNS(send_one(client, addr), -FI_ECONNREFUSED);
}

/* The host of the address does not answer: perhaps it starts later. */
static void test_no_host(struct end *client)
{
	uint64_t limit = now_ms() + WAIT_MS;
	fi_addr_t addr = FI_ADDR_NOTAVAIL;
	struct sockaddr_in in;
	int err, count;
	ssize_t ret;

	memcpy(&in, client->info->src_addr, sizeof(in));
	in.sin_port = htons(PORT);
	in.sin_addr.s_addr ^= htonl(0xf0);
	count = fi_av_insert(client->av, &in, 1, &addr, FI_SYNC_ERR, &err);
	if (count == 0 && (err == FI_EHOSTUNREACH || err == FI_ENETUNREACH))
		return; /* the device's network has a longer prefix */
	EQUAL(count, 1);
	EQUAL(err, 0);
	while ((ret = send_one(client, addr)) == -FI_EAGAIN)
		pause_until(limit, "the reason");
	CHECK(ret == -FI_ETIMEDOUT || ret == -FI_ECONNREFUSED);
}

static void test(void)
{
	struct end client = { .name = "client", .setup = &setup, .sock = -1 };
	fi_addr_t addr;

	setenv("FI_VERBS_RESOLVE_TIMEOUT", "400", 1);
	end_open(&client, own_info(&setup));
	client.ep = end_ep(&client, client.info);
	test_comes(&client);
	test_nobody(&client);
	test_no_host(&client);
	addr = insert(&client, EMPTY_PORT); /* closed while it is being resolved */
	RETURNS(send_one(&client, addr), -FI_EAGAIN);
	end_close(&client);
}

int main(void)
{
	return run_test(test);
}
