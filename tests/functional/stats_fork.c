/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A forked child has its own statistics, and does not change its parent's. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "stats.h"
#include "steps.h"

static void transfer(struct pair *pair, int count)
{
	struct part part = { .len = 100, .context = 1 };

	while (count--) {
		at(&pair->server, post_recv, &part, sizeof(part));
		fill_part(&pair->client, &part);
		post_send(&pair->client, &part);
		wait_context(pair->client.cq, (void *)1);
		at(&pair->server, reap_recv, &part, sizeof(part));
	}
}

static _Noreturn void child(const struct setup *setup)
{
	struct pair pair = {
		.client = { .name = "child's client", .setup = setup, .sock = -1 },
		.server = { .name = "child's server", .setup = setup, .sock = -1 },
	};
	struct fid *fid;
	int count;

	RETURNS(fi_open(FI_VERSION(2, 6), "stats", NULL, 0, 0, &fid, NULL), -FI_ENODATA);
	pair_open(&pair);
	transfer(&pair, 3);
	EQUAL(stats_sum(0, FI_CLASS_TX_CTX, "sends", &count), 3);
	EQUAL(count, 2);
	pair_close(&pair);
	EQUAL(stats_sum(0, FI_CLASS_DOMAIN, "registrations", &count), 0);
	EQUAL(count, 0);
	_exit(0);
}

static void test(struct pair *pair)
{
	int status, count;
	pid_t pid;

	transfer(pair, 7);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid)
		child(pair->client.setup);
	transfer(pair, 2);
	EQUAL(waitpid(pid, &status, 0), pid);
	EQUAL(status, 0);
	transfer(pair, 1);
	EQUAL(stats_of(&pair->client.ep->fid, "sends"), 10);
	EQUAL(stats_sum(0, FI_CLASS_TX_CTX, "sends", &count), 10);
}

int main(int argc, char **argv)
{
	static const struct setup setup = { 0 };

#ifdef __SANITIZE_THREAD__
	skip("ThreadSanitizer does not let a forked child start threads");
#endif
	return run_pair(argc, argv, &setup, test);
}
