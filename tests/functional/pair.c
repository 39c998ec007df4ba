/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Pairs: runs a test as one process and as two, and steps across them. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "fixture.h"

#define ARG_MAX_LEN 4096

/* Both processes are forks of one, so a function has the same address in both. */
struct request {
	step_fn *step;
	size_t len;
};

struct plan {
	struct setup setup;
	void (*test)(struct pair *pair);
	bool connect, apart;
};

static void put(int fd, const void *buf, size_t len)
{
	const char *at = buf;
	ssize_t n;

	for (; len; at += n, len -= (size_t)n) {
		n = send(fd, at, len, MSG_NOSIGNAL);
		if (n <= 0)
			FAIL("the other process has ended");
	}
}

static bool get(int fd, void *buf, size_t len)
{
	char *at = buf;
	ssize_t n;

	for (; len; at += n, len -= (size_t)n) {
		n = read(fd, at, len);
		if (n <= 0)
			return false;
	}
	return true;
}

void at_begin(struct end *end, step_fn *step, const void *arg, size_t len)
{
	struct request request = { step, len };

	CHECK(end->sock >= 0 && len <= ARG_MAX_LEN);
	put(end->sock, &request, sizeof(request));
	put(end->sock, arg, len);
}

void at_end(struct end *end, void *arg, size_t len)
{
	char done;

	if (!get(end->sock, &done, 1) || !get(end->sock, arg, len))
		FAIL("the process of the %s has ended", end->name);
}

void at(struct end *end, step_fn *step, void *arg, size_t len)
{
	if (end->sock < 0) {
		step(end, arg);
		return;
	}
	at_begin(end, step, arg, len);
	at_end(end, arg, len);
}

bool two_processes(const struct pair *pair)
{
	return pair->server.sock >= 0;
}

static _Noreturn void serve(struct end *end, int sock)
{
	char arg[ARG_MAX_LEN] __attribute__((aligned(16)));
	struct request request;

	while (get(sock, &request, sizeof(request)) && get(sock, arg, request.len)) {
		request.step(end, arg);
		put(sock, "", 1);
		put(sock, arg, request.len);
	}
	exit(0);
}

static void start_server(struct end *end)
{
	int sock[2];

	CHECK(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sock));
	end->pid = fork();
	CHECK(end->pid >= 0);
	if (!end->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		alarm(TEST_S);
		close(sock[0]);
		serve(end, sock[1]);
	}
	close(sock[1]);
	end->sock = sock[0];
}

static void stop_server(struct end *end)
{
	int status;

	if (end->sock < 0)
		return;
	close(end->sock);
	end->sock = -1;
	EQUAL(waitpid(end->pid, &status, 0), end->pid);
	if (status && !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL))
		FAIL("the process of the server ended with status 0x%x", status);
}

static void step_listen(struct end *end, void *arg)
{
	end_listen(end, local_addr(), arg);
}

static void step_accept(struct end *end, void *arg)
{
	struct fi_info *info = end_request(end, NULL, NULL);

	(void)arg;
	end->ep = end_ep(end, info);
	fi_freeinfo(info);
	if (end->setup->ready)
		end->setup->ready(end);
	OK(fi_accept(end->ep, NULL, 0));
}

static void step_connected(struct end *end, void *arg)
{
	(void)arg;
	wait_event(end->eq, FI_CONNECTED, &end->ep->fid, NULL, 0);
}

static void step_show(struct end *end, void *arg)
{
	struct target *target = arg;

	target->addr = (uintptr_t)end->buf;
	target->key = fi_mr_key(end->mr);
}

static void step_aim(struct end *end, void *arg)
{
	end->peer = *(struct target *)arg;
}

void step_end_close(struct end *end, void *arg)
{
	(void)arg;
	end_close(end);
}

static void open_dgrams(struct end *client, struct end *server)
{
	struct name theirs = { 0 }, ours = { 0 };

	at(server, step_open_dgram, &theirs, sizeof(theirs));
	step_open_dgram(client, &ours);
	at(server, step_insert, &ours, sizeof(ours));
	step_insert(client, &theirs);
	if (client->setup->ready)
		client->setup->ready(client);
}

void pair_open(struct pair *pair)
{
	struct end *client = &pair->client, *server = &pair->server;
	struct place place = { 0 };
	struct target target = { 0 };

	if (client->setup->type == FI_EP_DGRAM) {
		open_dgrams(client, server);
		return;
	}

	at(server, step_listen, &place, sizeof(place));
	end_aim(client, &place);
	if (client->setup->ready)
		client->setup->ready(client);
	OK(fi_connect(client->ep, client->info->dest_addr, NULL, 0));
	at(server, step_accept, NULL, 0);
	step_connected(client, NULL);
	at(server, step_connected, NULL, 0);

	at(server, step_show, &target, sizeof(target));
	client->peer = target;
	step_show(client, &target);
	at(server, step_aim, &target, sizeof(target));
}

void pair_close(struct pair *pair)
{
	end_close(&pair->client);
	at(&pair->server, step_end_close, NULL, 0);
}

static void run_plan(void *arg)
{
	const struct plan *plan = arg;
	struct pair pair = {
		.client = { .name = "client", .setup = &plan->setup, .sock = -1 },
		.server = { .name = "server", .setup = &plan->setup, .sock = -1 },
	};

	if (plan->apart)
		start_server(&pair.server);
	if (plan->connect)
		pair_open(&pair);
	plan->test(&pair);
	if (plan->connect)
		pair_close(&pair);
	stop_server(&pair.server);
}

static int run_both(int argc, char **argv, struct plan *plan)
{
	const char *only = argc > 1 ? argv[1] : "";
	int ret = 0;

	local_addr();
	if (!plan->setup.format)
		plan->setup.format = FI_CQ_FORMAT_TAGGED;
	if (!plan->setup.buf_size)
		plan->setup.buf_size = 64 << 10;
	if (strcmp(only, "-2"))
		ret = run_apart("as one process", run_plan, plan);
	plan->apart = true;
	if (!ret && strcmp(only, "-1"))
		ret = run_apart("as two processes", run_plan, plan);
	return ret;
}

int run_pair(int argc, char **argv, const struct setup *setup, void (*test)(struct pair *pair))
{
	struct plan plan = { .setup = *setup, .test = test, .connect = true };

	return run_both(argc, argv, &plan);
}

int run_unconnected(int argc, char **argv, const struct setup *setup,
		    void (*test)(struct pair *pair))
{
	struct plan plan = { .setup = *setup, .test = test };

	return run_both(argc, argv, &plan);
}

int run_two_processes(const struct setup *setup, void (*test)(struct pair *pair))
{
	char *argv[] = { "", "-2" };

	return run_unconnected(ARRAY_SIZE(argv), argv, setup, test);
}
