/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Atomics whose operands, results and targets are in device memory. */
#include <rdma/fi_atomic.h>
#include "gpu.h"
#include "steps.h"

/* Offsets in the client's buffer. */
enum { OPERAND = 0, COMPARE = 8, RESULT = 16, TARGET = 64 };

static void put_word(struct end *end, size_t at, uint64_t word)
{
	mem_put(end->buf + at, &word, sizeof(word));
}

static uint64_t get_word(const struct end *end, size_t at)
{
	uint64_t word;

	mem_get(&word, end->buf + at, sizeof(word));
	return word;
}

static void step_put(struct end *end, void *arg)
{
	put_word(end, TARGET, *(uint64_t *)arg);
}

static void step_get(struct end *end, void *arg)
{
	*(uint64_t *)arg = get_word(end, TARGET);
}

static uint64_t target(struct pair *pair)
{
	uint64_t word = 0;

	at(&pair->server, step_get, &word, sizeof(word));
	return word;
}

static void test_write(struct pair *pair)
{
	struct end *client = &pair->client;
	uint64_t to = client->peer.addr + TARGET, key = client->peer.key;

	put_word(client, OPERAND, 40);
	OK(fi_atomic(client->ep, client->buf, 1, client->desc, 0, to, key, FI_UINT64,
		     FI_ATOMIC_WRITE, client));
	wait_context(client->cq, client);
	EQUAL(target(pair), 40);
	OK(fi_atomic(client->ep, client->buf, 1, client->desc, 0, to, key, FI_UINT64, FI_SUM,
		     client));
	wait_context(client->cq, client);
	EQUAL(target(pair), 80);
	OK(fi_inject_atomic(client->ep, client->buf, 1, 0, to, key, FI_UINT64, FI_SUM));
	put_word(client, OPERAND, 0);
	OK(fi_atomic(client->ep, client->buf, 1, client->desc, 0, to, key, FI_UINT64, FI_SUM,
		     client));
	wait_context(client->cq, client);
	EQUAL(target(pair), 120);
}

static void test_fetch(struct pair *pair)
{
	struct end *client = &pair->client;
	uint64_t to = client->peer.addr + TARGET, key = client->peer.key;

	put_word(client, OPERAND, 3);
	OK(fi_fetch_atomic(client->ep, client->buf, 1, client->desc, client->buf + RESULT,
			   client->desc, 0, to, key, FI_UINT64, FI_SUM, client));
	wait_context(client->cq, client);
	EQUAL(get_word(client, RESULT), 120);
	EQUAL(target(pair), 123);
	OK(fi_fetch_atomic(client->ep, NULL, 1, NULL, client->buf + RESULT, client->desc, 0, to,
			   key, FI_UINT64, FI_ATOMIC_READ, client));
	wait_context(client->cq, client);
	EQUAL(get_word(client, RESULT), 123);
}

static void test_compare(struct pair *pair)
{
	struct end *client = &pair->client;
	struct fi_ioc operand = { client->buf, 1 }, compare = { client->buf + COMPARE, 1 },
		      result = { client->buf + RESULT, 1 };
	struct fi_rma_ioc remote = { client->peer.addr + TARGET, 1, client->peer.key };
	struct fi_msg_atomic msg = {
		.msg_iov = &operand,
		.desc = &client->desc,
		.iov_count = 1,
		.rma_iov = &remote,
		.rma_iov_count = 1,
		.datatype = FI_UINT64,
		.op = FI_CSWAP,
		.context = client,
	};

	put_word(client, OPERAND, 7);
	put_word(client, COMPARE, 123);
	OK(fi_compare_atomic(client->ep, client->buf, 1, client->desc, client->buf + COMPARE,
			     client->desc, client->buf + RESULT, client->desc, 0, remote.addr,
			     remote.key, FI_UINT64, FI_CSWAP, client));
	wait_context(client->cq, client);
	EQUAL(get_word(client, RESULT), 123);
	EQUAL(target(pair), 7);
	OK(fi_compare_atomicmsg(client->ep, &msg, &compare, &client->desc, 1, &result,
				&client->desc, 1, FI_COMPLETION));
	wait_context(client->cq, client);
	EQUAL(get_word(client, RESULT), 7);
	EQUAL(target(pair), 7);
}

static void test(struct pair *pair)
{
	uint64_t zero = 0;

	at(&pair->server, step_put, &zero, sizeof(zero));
	test_write(pair);
	test_fetch(pair);
	test_compare(pair);
}

int main(int argc, char **argv)
{
	static const struct setup setup = { 0 };

	return run_pair(argc, argv, &setup, test);
}
