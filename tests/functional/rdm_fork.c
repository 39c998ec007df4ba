/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A process forks while large messages are in flight; the child continues without executing a
 * program, overwrites its copies of the buffers, frees them, opens its own endpoints, runs its exit
 * handlers, or closes everything that it inherited. The parent's messages arrive intact, and it
 * closes and frees in any order without waiting for the child.
 */
#include "forks.h"
#include "rdm.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LEN = 1 << 20, FREE_MS = 3000 };

struct buffers {
	uint8_t *out, *in;
};

/* What a child inherits. */
struct heritage {
	struct rdm_pair pair;
	struct buffers buffers;
};

static struct buffers map(void)
{
	uint8_t *at =
		mmap(NULL, 2 * LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(at != MAP_FAILED);
	return (struct buffers){ at, at + LEN };
}

static void post(struct rdm_pair *pair, const struct buffers *buffers)
{
	OK(fi_trecv(pair->side[1].ep, buffers->in, LEN, NULL, FI_ADDR_UNSPEC, 1, 0, NULL));
	OK(fi_tsend(pair->side[0].ep, buffers->out, LEN, NULL, pair->side[0].peer, 1, NULL));
}

static void reap(struct rdm_pair *pair, const struct buffers *buffers, unsigned int seed)
{
	rdm_wait(pair, 1);
	rdm_wait(pair, 0);
	CHECK_FILLED(buffers->in, LEN, seed);
}

static void exchange(struct rdm_pair *pair, const struct buffers *buffers, unsigned int seed)
{
	memset(buffers->in, 0, LEN);
	rdm_exchange(pair, buffers->out, buffers->in, LEN, seed);
}

static void spoil(void *arg)
{
	const struct heritage *heritage = arg;

	if (!fork_takes_pages())
		memset(heritage->buffers.out, 0xee, 2 * LEN);
	munmap(heritage->buffers.out, 2 * LEN);
	pause();
}

static void open_own(void *arg)
{
	const struct heritage *heritage = arg;
	const struct buffers used = fork_takes_pages() ? map() : heritage->buffers;
	struct rdm_pair own;

	rdm_open(&own, RDM_PROV_KEYS);
	exchange(&own, &used, 77);
	munmap(used.out, 2 * LEN);
	rdm_close(&own);
	pause();
}

static void leave(void *arg)
{
	(void)arg;
	exit(0);
}

static void close_all(void *arg)
{
	struct heritage *heritage = arg;

	rdm_close(&heritage->pair);
	exit(0);
}

/* A buffer that stayed registered is freed at once, before or after the domain is closed. */
static void unmap(const struct buffers *buffers)
{
	uint64_t begin = now_ms();

	munmap(buffers->out, 2 * LEN);
	CHECK(now_ms() - begin < FREE_MS);
}

static void one(void (*child)(void *), bool free_first)
{
	bool exits = child == leave || child == close_all;
	struct heritage heritage = { .buffers = map() };
	const struct buffers *buffers = &heritage.buffers;
	struct rdm_pair *pair = &heritage.pair;
	pid_t pid;

	rdm_open(pair, RDM_PROV_KEYS);
	exchange(pair, buffers, 1);
	fill(buffers->out, LEN, 2);
	post(pair, buffers);
	pid = fork_child(child, &heritage);
	reap(pair, buffers, 2);
	if (exits)
		fork_end(pid, true);
	exchange(pair, buffers, 3);
	if (free_first)
		unmap(buffers);
	rdm_close(pair);
	if (!free_first)
		unmap(buffers);
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
