/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Under FI_HOOK=perf;trace a connection works as without hooks, and the hooks report the calls that
 * were made.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "stats.h"
#include "steps.h"

#define N 20

static char dir[] = "/tmp/hook_calls.XXXXXX";

static char *output(void)
{
	static char text[1 << 20];
	char path[128];
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "%s/ofi_hook_%d.log", dir, (int)getpid());
	fd = open(path, O_RDONLY);
	CHECK(fd >= 0);
	len = read(fd, text, sizeof(text) - 1);
	CHECK(len > 0);
	text[len] = '\0';
	close(fd);
	return text;
}

static int count(const char *text, const char *what)
{
	int n = 0;

	for (; (text = strstr(text, what)); text++)
		n++;
	return n;
}

/* The row of a call in perf's table. */
static void perf_row(const char *text, const char *call, uint64_t *calls, uint64_t *again)
{
	char start[64];
	const char *row;

	snprintf(start, sizeof(start), "perf: %s ", call);
	row = strstr(text, start);
	CHECK(row);
	EQUAL(sscanf(row + strlen(start), "%" SCNu64 " %" SCNu64, calls, again), 2);
}

static void step_open_again(struct end *end, void *arg)
{
	struct fi_info *hints = hints_for(end->setup), *info;

	/* Open objects in the hints stand for the provider's objects. */
	(void)arg;
	hints->domain_attr->domain = end->domain;
	hints->fabric_attr->fabric = end->fabric;
	OK(fi_getinfo(FI_VERSION(2, 0), NULL, NULL, 0, hints, &info));
	CHECK(info->domain_attr->domain == end->domain);
	CHECK(info->fabric_attr->fabric == end->fabric);
	fi_freeinfo(info);
	fi_freeinfo(hints);
}

static void transfer(struct pair *pair)
{
	struct part part = { .len = 1000, .context = 1 };
	int i;

	for (i = 0; i < N; i++) {
		part.seed = (unsigned int)i;
		at(&pair->server, post_recv, &part, sizeof(part));
		fill_part(&pair->client, &part);
		post_send(&pair->client, &part);
		wait_context(pair->client.cq, (void *)1);
		at(&pair->server, reap_recv, &part, sizeof(part));
	}
	OK(fi_write(pair->client.ep, pair->client.buf, 100, pair->client.desc, FI_ADDR_UNSPEC,
		    pair->client.peer.addr, pair->client.peer.key, (void *)2));
	wait_context(pair->client.cq, (void *)2);
}

static void test(struct pair *pair)
{
	int eps = two_processes(pair) ? 1 : 2;
	uint64_t calls, again;
	const char *text;

	pair_open(pair);
	transfer(pair);
	at(&pair->server, step_open_again, NULL, 0);
	step_open_again(&pair->client, NULL);
	EQUAL(stats_of(&pair->client.ep->fid, "sends"), N);
	pair_close(pair);

	text = output();
	EQUAL(count(text, " fi_send("), N);
	EQUAL(count(text, " len 1000, desc"), N * eps);
	EQUAL(count(text, " fi_write("), 1);
	EQUAL(count(text, " fi_endpoint("), eps);
	EQUAL(count(text, " fi_enable("), eps);
	text = strstr(text, "at fi_close of the last fabric");
	CHECK(text);
	perf_row(text, "fi_send", &calls, &again);
	EQUAL(calls, N);
	EQUAL(again, 0);
	perf_row(text, "fi_write", &calls, &again);
	EQUAL(calls, 1);
	perf_row(text, "fi_cq_read", &calls, &again);
	EQUAL(calls - again, N * eps + 1);
}

int main(int argc, char **argv)
{
	static const struct setup setup = { 0 };
	char command[64];
	int ret;

	CHECK(mkdtemp(dir));
	setenv("FI_HOOK", "perf;trace", 1);
	setenv("FI_HOOK_FILE", dir, 1);
	ret = run_unconnected(argc, argv, &setup, test);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	shell(command);
	return ret;
}
