/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The exchanges over a library. */
#include <stdlib.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>
#include "pair.h"
#include "transport.h"

#define POLL 16

static struct fi_context contexts[WINDOW];

static void wait_for(struct pair *pair, struct fid_cq *cq, int count)
{
	struct fi_cq_data_entry entries[POLL];
	ssize_t n;

	while (count > 0) {
		n = fi_cq_read(cq, entries, count < POLL ? count : POLL);
		if (n > 0)
			count -= (int)n;
		else if (n != -FI_EAGAIN)
			bench_check(pair->lib, n, "fi_cq_read");
	}
}

static void send_one(struct pair *pair, struct side *side, size_t size)
{
	bench_check(pair->lib, fi_send(side->ep, side->buf, size, side->desc, 0, &contexts[0]),
		    "fi_send");
}

static void send_more(struct pair *pair, struct side *side, size_t size, uint64_t flags)
{
	struct iovec iov = { side->buf, size };
	struct fi_msg msg = {
		.msg_iov = &iov,
		.desc = &side->desc,
		.iov_count = 1,
		.context = &contexts[0],
	};

	bench_check(pair->lib, fi_sendmsg(side->ep, &msg, flags), "fi_sendmsg");
}

/* The upper half of the buffer receives. */
static void recv_one(struct pair *pair, struct side *side, size_t size)
{
	bench_check(
		pair->lib,
		fi_recv(side->ep, side->buf + PAIR_BUF_SIZE / 2, size, side->desc, 0, &contexts[1]),
		"fi_recv");
}

static void pingpong(void *data, size_t size, int count)
{
	struct pair *pair = data;
	struct side *a = &pair->a, *b = &pair->b;
	int i;

	for (i = 0; i < count; i++) {
		recv_one(pair, b, size);
		recv_one(pair, a, size);
		send_one(pair, a, size);
		wait_for(pair, b->rx, 1);
		send_one(pair, b, size);
		wait_for(pair, a->rx, 1);
		wait_for(pair, a->tx, 1);
		wait_for(pair, b->tx, 1);
	}
}

static void ready(void *data, size_t size)
{
	struct pair *pair = data;
	int i;

	for (i = 0; i < WINDOW; i++)
		recv_one(pair, &pair->b, size);
}

static void burst(void *data, size_t size, int batch)
{
	struct pair *pair = data;
	int i;

	for (i = 1; i <= WINDOW; i++) {
		if (batch == 1)
			send_one(pair, &pair->a, size);
		else
			send_more(pair, &pair->a, size, i % batch ? FI_MORE : 0);
	}
	wait_for(pair, pair->b.rx, WINDOW);
	wait_for(pair, pair->a.tx, WINDOW);
}

static void write_one(void *data, size_t size, int count)
{
	struct pair *pair = data;
	struct side *a = &pair->a, *b = &pair->b;
	int i;

	for (i = 0; i < count; i++) {
		bench_check(pair->lib,
			    fi_write(a->ep, a->buf, size, a->desc, 0, (uintptr_t)b->buf, b->key,
				     &contexts[0]),
			    "fi_write");
		wait_for(pair, a->tx, 1);
	}
}

static void fetch_add(void *data, size_t size, int count)
{
	struct pair *pair = data;
	struct side *a = &pair->a, *b = &pair->b;
	int i;

	(void)size;
	for (i = 0; i < count; i++) {
		bench_check(pair->lib,
			    fi_fetch_atomic(a->ep, a->buf, 1, a->desc, a->buf + 64, a->desc, 0,
					    (uintptr_t)b->buf, b->key, FI_UINT64, FI_SUM,
					    &contexts[0]),
			    "fi_fetch_atomic");
		wait_for(pair, a->tx, 1);
	}
}

static void reconnect(void *data)
{
	pair_disconnect(data);
	pair_connect(data);
}

void transport_open_fabric(struct transport *transport, const struct lib *lib, const char *address,
			   enum fi_threading threading)
{
	struct pair_options options = {
		.address = address,
		.threading = threading,
		.depth = 2 * WINDOW,
	};
	struct pair *pair = malloc(sizeof(*pair));

	if (!pair)
		bench_die("pair", "out of memory");
	pair_open(pair, lib, &options);
	*transport = (struct transport){
		.pair = pair,
		.pingpong = pingpong,
		.ready = ready,
		.burst = burst,
		.reconnect = reconnect,
		.write = write_one,
		.fetch_add = fetch_add,
	};
}
