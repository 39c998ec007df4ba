/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Between two hosts: the first listens, the second connects to it; messages and writes of all sizes go each way
 * unharmed, data with them, and a shutdown is seen.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_rma.h>
#include "sizes.h"

#define SERVICE "7471"
#define BIG	(1 << 20)

static struct setup setup = { .format = FI_CQ_FORMAT_TAGGED, .buf_size = SIZES_BUF };

/* Receives are posted late on purpose: the sender then tries again until they are there. */
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

static void accept_one(struct end *end)
{
	struct fi_info *info;
	struct target target;

	end_open(end, info_for(&setup, local_addr(), SERVICE, FI_SOURCE));
	OK(fi_passive_ep(end->fabric, end->info, &end->pep, end));
	OK(fi_pep_bind(end->pep, &end->eq->fid, 0));
	OK(fi_listen(end->pep));
	info = end_request(end, NULL, NULL);
	end->ep = end_ep(end, info);
	fi_freeinfo(info);
	target = (struct target){ (uintptr_t)end->buf, fi_mr_key(end->mr) };
	OK(fi_accept(end->ep, &target, sizeof(target)));
	wait_event(end->eq, FI_CONNECTED, &end->ep->fid, NULL, 0);
}

/* The other host may not listen yet. */
static void connect_one(struct end *end, const char *node)
{
	uint64_t limit = deadline();
	struct fi_eq_err_entry error;
	struct fi_eq_cm_entry *entry;
	uint8_t data[256];
	uint32_t event;
	ssize_t ret;

	end_open(end, info_for(&setup, node, SERVICE, 0));
	for (;;) {
		end->ep = end_ep(end, end->info);
		OK(fi_connect(end->ep, end->info->dest_addr, NULL, 0));
		ret = fi_eq_sread(end->eq, &event, data, sizeof(data), WAIT_MS, 0);
		if (ret >= 0)
			break;
		RETURNS(ret, -FI_EAVAIL);
		RETURNS(fi_eq_readerr(end->eq, &error, 0), sizeof(error));
		OK(fi_close(&end->ep->fid));
		sleep_ms(100);
		pause_until(limit, "a connection");
	}
	EQUAL(event, FI_CONNECTED);
	EQUAL(ret, sizeof(*entry) + sizeof(end->peer));
	entry = (struct fi_eq_cm_entry *)data;
	memcpy(&end->peer, entry->data, sizeof(end->peer));
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

	accept_one(&end);
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

	connect_one(&end, need_env("WEFT_PEER_ADDRS"));
	n = sizes_of(&end, SIZE_MAX, sizes);
	for (i = 0; i < n; i++)
		ask_size(&end, sizes[i], 2 * (unsigned int)i + 1);
	write_read(&end);
	OK(fi_shutdown(end.ep, 0));
	end_close(&end);
}

int main(void)
{
	const char *guest = getenv("WEFT_GUEST"), *guests = getenv("WEFT_GUESTS");

	if (!guest || !guests || strcmp(guests, "2")) {
		puts("needs two hosts: run this with tests/vm/run -n 2");
		return 77;
	}
	return run_test(strcmp(guest, "0") ? ask : serve);
}
