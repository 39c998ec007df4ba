/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A process forks while large messages are under way; the child lives on without executing
 * anything, writes to its copies of the buffers, frees them, opens its own endpoints, runs its exit
 * handlers, or closes all that it inherited. The parent's messages arrive whole, and it closes and
 * frees in any order without waiting for the child.
 */
#include "rdm.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LEN = 1 << 20, FREE_MS = 3000 };

struct buffers {
	uint8_t *out, *in;
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
	fill(buffers->out, LEN, seed);
	memset(buffers->in, 0, LEN);
	post(pair, buffers);
	reap(pair, buffers, seed);
}

/* With RDMAV_FORK_SAFE libibverbs takes the pages of registered memory from the child. */
static bool pages_are_gone(void)
{
	return getenv("RDMAV_FORK_SAFE");
}

static void spoil(struct rdm_pair *pair, const struct buffers *buffers)
{
	(void)pair;
	if (!pages_are_gone())
		memset(buffers->out, 0xee, 2 * LEN);
	munmap(buffers->out, 2 * LEN);
	pause();
}

static void open_own(struct rdm_pair *pair, const struct buffers *buffers)
{
	const struct buffers used = pages_are_gone() ? map() : *buffers;
	struct rdm_pair own;

	(void)pair;
	rdm_open(&own, RDM_PROV_KEYS);
	exchange(&own, &used, 77);
	munmap(used.out, 2 * LEN);
	rdm_close(&own);
	pause();
}

static void leave(struct rdm_pair *pair, const struct buffers *buffers)
{
	(void)pair;
	(void)buffers;
	exit(0);
}

static void close_all(struct rdm_pair *pair, const struct buffers *buffers)
{
	(void)buffers;
	rdm_close(pair);
	exit(0);
}

typedef void child_fn(struct rdm_pair *pair, const struct buffers *buffers);

static pid_t start(child_fn *child, struct rdm_pair *pair, const struct buffers *buffers)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid)
		return pid;
	alarm(WAIT_MS / 1000);
	allow_leaks();
	child(pair, buffers);
	_exit(0);
}

/* A buffer that was kept registered is freed at once, before or after the domain is closed. */
static void unmap(const struct buffers *buffers)
{
	uint64_t begin = now_ms();

	munmap(buffers->out, 2 * LEN);
	CHECK(now_ms() - begin < FREE_MS);
}

static void end_child(pid_t pid, bool exits)
{
	int status;

	if (!exits) {
		EQUAL(waitpid(pid, &status, WNOHANG), 0);
		kill(pid, SIGKILL);
	}
	EQUAL(waitpid(pid, &status, 0), pid);
	EQUAL(status, exits ? 0 : SIGKILL);
}

static void one(child_fn *child, bool free_first)
{
	bool exits = child == leave || child == close_all;
	struct buffers buffers = map();
	struct rdm_pair pair;
	pid_t pid;

	rdm_open(&pair, RDM_PROV_KEYS);
	exchange(&pair, &buffers, 1);
	fill(buffers.out, LEN, 2);
	post(&pair, &buffers);
	pid = start(child, &pair, &buffers);
	reap(&pair, &buffers, 2);
	if (exits)
		end_child(pid, true);
	exchange(&pair, &buffers, 3);
	if (free_first)
		unmap(&buffers);
	rdm_close(&pair);
	if (!free_first)
		unmap(&buffers);
	if (!exits)
		end_child(pid, false);
}

static void test_kinds(void *arg)
{
	(void)arg;
	one(spoil, false);
	one(spoil, true);
	one(leave, false);
	one(close_all, false);
#ifndef __SANITIZE_THREAD__ /* it does not let a forked child start threads */
	one(open_own, true);
	one(open_own, false);
#endif
}

int main(void)
{
	int ret = run_apart("plain", test_kinds, NULL);

	if (ret)
		return ret;
	setenv("FI_FORK_UNSAFE", "1", 1);
	ret = run_apart("FI_FORK_UNSAFE", test_kinds, NULL);
	if (ret)
		return ret;
	unsetenv("FI_FORK_UNSAFE");
	setenv("RDMAV_FORK_SAFE", "1", 1);
	return run_apart("RDMAV_FORK_SAFE", test_kinds, NULL);
}
