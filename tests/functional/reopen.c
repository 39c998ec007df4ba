/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Opening, connecting, using and closing everything 200 times leaves no memory and no descriptor
 * behind.
 */
#include <dirent.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <unistd.h>
#include "steps.h"

#define WARM_UP 20
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ROUNDS	  20
#define PAGES_MAX LONG_MAX /* freed memory is kept for some time */
#else
#define ROUNDS	  200
#define PAGES_MAX 50
#endif

struct usage {
	long pages;
	int fds;
};

static void step_usage(struct end *end, void *arg)
{
	struct usage *usage = arg;
	struct dirent *entry;
	FILE *file = fopen("/proc/self/statm", "r");
	DIR *dir = opendir("/proc/self/fd");
	long size;

	(void)end;
	malloc_trim(0);
	CHECK(file && dir);
	EQUAL(fscanf(file, "%ld %ld", &size, &usage->pages), 2);
	fclose(file);
	usage->fds = 0;
	while ((entry = readdir(dir)))
		usage->fds++;
	closedir(dir);
}

static void round_trip(struct pair *pair)
{
	struct part part = { .len = 1000, .seed = 5, .context = 5 };

	pair_open(pair);
	at(&pair->server, post_recv, &part, sizeof(part));
	fill_part(&pair->client, &part);
	post_send(&pair->client, &part);
	at(&pair->server, reap_recv, &part, sizeof(part));
	pair_close(pair);
}

static void compare(const struct usage *before, const struct usage *after)
{
	printf("%ld pages and %d descriptors, then %ld and %d\n", before->pages, before->fds,
	       after->pages, after->fds);
	EQUAL(after->fds, before->fds);
	CHECK(after->pages - before->pages < PAGES_MAX);
}

static void test(struct pair *pair)
{
	struct usage client, server, now;
	int i;

	for (i = 0; i < WARM_UP; i++)
		round_trip(pair);
	step_usage(&pair->client, &client);
	at(&pair->server, step_usage, &server, sizeof(server));
	for (i = 0; i < ROUNDS; i++)
		round_trip(pair);
	step_usage(&pair->client, &now);
	compare(&client, &now);
	at(&pair->server, step_usage, &now, sizeof(now));
	compare(&server, &now);
}

int main(void)
{
	static const struct setup setup = { .buf_size = 4096 };

	return run_two_processes(&setup, test);
}
