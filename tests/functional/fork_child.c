/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A forked child opens and uses its own endpoints while its parent's connection continues to work:
 * the parent sends what it writes into registered memory after the fork.
 */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "steps.h"

static void transfer(struct pair *pair, unsigned int seed)
{
	struct part part = { .len = 20000, .seed = seed, .context = seed };

	at(&pair->server, post_recv, &part, sizeof(part));
	fill_part(&pair->client, &part);
	post_send(&pair->client, &part);
	wait_context(pair->client.cq, (void *)(uintptr_t)seed);
	at(&pair->server, reap_recv, &part, sizeof(part));
}

static _Noreturn void child(const struct setup *setup)
{
	struct pair pair = {
		.client = { .name = "child's client", .setup = setup, .sock = -1 },
		.server = { .name = "child's server", .setup = setup, .sock = -1 },
	};

	pair_open(&pair);
	transfer(&pair, 50);
	pair_close(&pair);
	_exit(0);
}

static void test(struct pair *pair)
{
	unsigned int i;
	int status;
	pid_t pid;

	transfer(pair, 1);
	for (i = 2; i < 5; i++) {
		pid = fork();
		CHECK(pid >= 0);
		if (!pid)
			child(pair->client.setup);
		transfer(pair, i);
		EQUAL(waitpid(pid, &status, 0), pid);
		EQUAL(status, 0);
		transfer(pair, i + 10);
	}
}

int main(int argc, char **argv)
{
	static const struct setup setup = { 0 };

#ifdef __SANITIZE_THREAD__
	skip("ThreadSanitizer does not let a forked child start threads");
#endif
	return run_pair(argc, argv, &setup, test);
}
