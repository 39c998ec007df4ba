/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connecting and closing endpoints 2,000 times on objects that stay open: memory does not grow. */
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include "steps.h"

#define WARM_UP 50
#define TIME_MS 25000 /* on a slow machine the number of rounds in this time suffices */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ROUNDS	  100
#define PAGES_MAX LONG_MAX /* freed memory is kept for some time */
#else
#define ROUNDS	  2000
#define PAGES_MAX 64
#endif

static const struct setup setup = {
	.format = FI_CQ_FORMAT_TAGGED,
	.buf_size = 4096,
	.tx_size = 16,
	.rx_size = 16,
};

static long pages(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	long size, resident;

	malloc_trim(0);
	CHECK(file);
	EQUAL(fscanf(file, "%ld %ld", &size, &resident), 2);
	fclose(file);
	return resident;
}

static void connect_ends(struct end *client, struct end *server)
{
	struct fi_info *info;

	client->ep = end_ep(client, client->info);
	OK(fi_connect(client->ep, client->info->dest_addr, NULL, 0));
	info = end_request(server, NULL, NULL);
	server->ep = end_ep(server, info);
	fi_freeinfo(info);
	OK(fi_accept(server->ep, NULL, 0));
	wait_event(client->eq, FI_CONNECTED, &client->ep->fid, NULL, 0);
	wait_event(server->eq, FI_CONNECTED, &server->ep->fid, NULL, 0);
}

static void one_round(struct end *client, struct end *server, unsigned int seed)
{
	struct part part = { .len = 1000, .seed = seed, .context = seed };

	connect_ends(client, server);
	if (seed % 4 == 0) { /* otherwise nothing is outstanding when it closes */
		post_recv(server, &part);
		post_recv(server, &part);
		fill_part(client, &part);
		post_send(client, &part);
		reap_recv(server, &part);
		wait_context(client->cq, (void *)(uintptr_t)seed);
	}
	OK(fi_close(&client->ep->fid));
	OK(fi_close(&server->ep->fid));
	client->ep = server->ep = NULL;
}

static void test(void)
{
	struct end client = { .name = "client", .setup = &setup, .sock = -1 };
	struct end server = { .name = "server", .setup = &setup, .sock = -1 };
	struct place place;
	uint64_t start = now_ms();
	unsigned int i;
	long before, after;

	end_listen(&server, local_addr(), &place);
	end_aim(&client, &place);
	OK(fi_close(&client.ep->fid));
	for (i = 0; i < WARM_UP && i < ROUNDS; i++)
		one_round(&client, &server, i);
	before = pages();
	while (i < ROUNDS && now_ms() - start < TIME_MS)
		one_round(&client, &server, i++);
	after = pages();
	CHECK(i > WARM_UP);
	printf("%ld pages, %ld after %u more connections\n", before, after, i - WARM_UP);
	CHECK(after - before < PAGES_MAX);
	end_close(&client);
	end_close(&server);
}

int main(void)
{
	return run_test(test);
}
