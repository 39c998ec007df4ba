/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A process with connected endpoints forks while messages are in flight; the child continues
 * without executing a program, overwrites its copies of the buffers, opens its own endpoints, runs
 * its exit handlers, or closes everything that it inherited. The parent's messages arrive intact,
 * and it closes and frees in any order without waiting for the child.
 */
#include <rdma/fi_atomic.h>
#include "forks.h"
#include "steps.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LEN = 1 << 20, FREE_MS = 3000, STAY_MS = 20 };

static const struct setup setup = { .format = FI_CQ_FORMAT_TAGGED, .buf_size = LEN };

static struct pair new_pair(void)
{
	return (struct pair){
		.client = { .name = "client", .setup = &setup, .sock = -1 },
		.server = { .name = "server", .setup = &setup, .sock = -1 },
	};
}

static void post(struct pair *pair, struct part *part)
{
	fill_part(&pair->client, part);
	clear_part(&pair->server, part);
	post_recv(&pair->server, part);
	post_send(&pair->client, part);
}

static void reap(struct pair *pair, struct part *part)
{
	wait_context(pair->client.cq, (void *)(uintptr_t)part->context);
	reap_recv(&pair->server, part);
}

static void transfer(struct pair *pair, unsigned int seed)
{
	struct part part = { .len = LEN, .seed = seed, .context = seed };

	post(pair, &part);
	reap(pair, &part);
}

/* An atomic operation writes to memory of the library, too. */
static void add(struct pair *pair)
{
	const uint64_t one = 1;
	uint64_t limit = deadline();

	while (AGAIN(limit, fi_atomic(pair->client.ep, &one, 1, NULL, 0, pair->client.peer.addr,
				      pair->client.peer.key, FI_UINT64, FI_SUM, NULL)))
		;
	wait_context(pair->client.cq, NULL);
}

static void spoil(void *arg)
{
	struct pair *pair = arg;

	if (!fork_takes_pages()) {
		memset(pair->client.buf, 0xee, LEN);
		memset(pair->server.buf, 0xdd, LEN);
	}
	munmap(pair->client.buf, LEN);
	pause();
}

static void open_own(void *arg)
{
	struct pair own = new_pair();

	(void)arg;
	pair_open(&own);
	transfer(&own, 77);
	add(&own);
	pair_close(&own);
	pause();
}

static void leave(void *arg)
{
	(void)arg;
	exit(0);
}

static void close_all(void *arg)
{
	pair_close(arg);
	exit(0);
}

static void free_buf(struct end *end)
{
	uint64_t begin = now_ms();

	OK(fi_close(&end->mr->fid));
	munmap(end->buf, LEN);
	end->mr = NULL;
	end->buf = NULL;
	CHECK(now_ms() - begin < FREE_MS);
}

static void one(void (*child)(void *), bool free_first)
{
	bool exits = child == leave || child == close_all;
	struct part part = { .len = LEN, .seed = 2, .context = 2 };
	struct pair pair = new_pair();
	pid_t pid;

	pair_open(&pair);
	transfer(&pair, 1);
	post(&pair, &part);
	pid = fork_child(child, &pair);
	reap(&pair, &part);
	sleep_ms(STAY_MS);
	if (exits)
		fork_end(pid, true);
	transfer(&pair, 3);
	add(&pair);
	if (free_first) {
		free_buf(&pair.client);
		free_buf(&pair.server);
	}
	pair_close(&pair);
	if (!exits)
		fork_end(pid, false);
}

static void test_kinds(void *arg)
{
	(void)arg;
	one(spoil, false);
	one(spoil, true);
	one(leave, false);
	one(close_all, false);
#ifndef __SANITIZE_THREAD__ /* which does not let a forked child start threads */
	one(open_own, true);
	one(open_own, false);
#endif
}

int main(void)
{
	return fork_run(test_kinds);
}
