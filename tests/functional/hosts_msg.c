/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Between two hosts: the first listens, the second connects to it; messages, writes and data of all
 * sizes arrive intact in both directions, and a shutdown is reported.
 */
#include <stdio.h>
#include <rdma/fi_rma.h>
#include "hosts.h"
#include "sizes.h"

#define SERVICE "7471"
#define BIG	(1 << 20)

static struct setup setup = { .format = FI_CQ_FORMAT_TAGGED, .buf_size = SIZES_BUF };

/* Receives are posted late on purpose: the sender then retries until they are posted. */
static void echo_size(struct end *end, size_t len, unsigned int seed)
{
	struct part part = { .len = len, .seed = seed, .context = seed };

	post_recv(end, &part);
	reap_recv(end, &part);
	part.seed++;
	fill_part(end, &part);
	post_send(end, &part);
	wait_context(end->cq, (void *)(uintptr_t)seed);
}

static void ask_size(struct end *end, size_t len, unsigned int seed)
{
	struct part part = { .len = len, .seed = seed, .context = seed };

	printf("%zu bytes\n", len);
	fill_part(end, &part);
	post_send(end, &part);
	wait_context(end->cq, (void *)(uintptr_t)seed);
	part.seed++;
	clear_part(end, &part);
	part.context = 0;
	post_recv(end, &part);
	reap_recv(end, &part);
}

/* The peer has written into the buf. */
static void written(struct end *end)
{
	struct part nothing = { .len = 0 };
	struct fi_cq_tagged_entry entry;

	post_recv(end, &nothing);
	wait_comp(end->rxcq, &entry);
	EQUAL(entry.flags, FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA);
	EQUAL(entry.data, 4711);
	EQUAL(entry.len, BIG);
	CHECK_FILLED(end->buf, BIG, 99);
	fill(end->buf, BIG, 100);
	post_recv(end, &nothing);
	OK(fi_inject(end->ep, end->buf, 1, 0));
}

static void write_read(struct end *end)
{
	struct part one = { .len = 1 };
	struct fi_cq_tagged_entry entry;

	fill(end->buf, BIG, 99);
	OK(fi_writedata(end->ep, end->buf, BIG, end->desc, 4711, 0, end->peer.addr, end->peer.key,
			end));
	wait_context(end->cq, end);
	post_recv(end, &one);
	wait_comp(end->rxcq, &entry);
	OK(fi_read(end->ep, end->buf, BIG, end->desc, 0, end->peer.addr, end->peer.key, end));
	wait_context(end->cq, end);
	CHECK_FILLED(end->buf, BIG, 100);
}

static void serve(void)
{
	struct end end = { .name = "server", .setup = &setup, .sock = -1 };
	size_t i, n, sizes[SIZES_MAX];

	hosts_accept(&end, SERVICE);
	n = sizes_of(&end, SIZE_MAX, sizes);
	for (i = 0; i < n; i++)
		echo_size(&end, sizes[i], 2 * (unsigned int)i + 1);
	written(&end);
	wait_event(end.eq, FI_SHUTDOWN, &end.ep->fid, NULL, 0);
	end_close(&end);
}

static void ask(void)
{
	struct end end = { .name = "client", .setup = &setup, .sock = -1 };
	size_t i, n, sizes[SIZES_MAX];

	hosts_connect(&end, SERVICE);
	n = sizes_of(&end, SIZE_MAX, sizes);
	for (i = 0; i < n; i++)
		ask_size(&end, sizes[i], 2 * (unsigned int)i + 1);
	write_read(&end);
	OK(fi_shutdown(end.ep, 0));
	end_close(&end);
}

int main(void)
{
	return run_hosts(serve, ask);
}
