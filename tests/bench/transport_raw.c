/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The exchanges over raw verbs. */
#include <stdlib.h>
#include <string.h>
#include "raw.h"
#include "transport.h"

#define POLL	   16
#define MAX_INLINE 64

static void check(int err, const char *what)
{
	if (err)
		bench_die(what, strerror(err));
}

static void wait_for(struct ibv_cq *cq, int count)
{
	struct ibv_wc wc[POLL];
	int i, n;

	while (count > 0) {
		n = ibv_poll_cq(cq, count < POLL ? count : POLL, wc);
		for (i = 0; i < n; i++) {
			if (wc[i].status != IBV_WC_SUCCESS)
				bench_die("ibv_poll_cq", ibv_wc_status_str(wc[i].status));
		}
		if (n < 0)
			bench_die("ibv_poll_cq", "failed");
		count -= n;
	}
}

/* count work requests with one doorbell. */
static void send_list(struct raw_side *side, size_t size, int count)
{
	struct ibv_sge sge = { (uintptr_t)side->buf, (uint32_t)size, side->mr->lkey };
	struct ibv_send_wr wr[WINDOW], *bad;
	int i;

	for (i = 0; i < count; i++) {
		wr[i].wr_id = i;
		wr[i].next = i + 1 < count ? &wr[i + 1] : NULL;
		wr[i].sg_list = &sge;
		wr[i].num_sge = 1;
		wr[i].opcode = IBV_WR_SEND;
		wr[i].send_flags = IBV_SEND_SIGNALED | (size <= MAX_INLINE ? IBV_SEND_INLINE : 0);
	}
	check(ibv_post_send(side->id->qp, wr, &bad), "ibv_post_send");
}

/* The upper half of the buffer receives. */
static void recv_one(struct raw_side *side, size_t size)
{
	struct ibv_sge sge = {
		(uintptr_t)side->buf + RAW_BUF_SIZE / 2,
		(uint32_t)size,
		side->mr->lkey,
	};
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	check(ibv_post_recv(side->id->qp, &wr, &bad), "ibv_post_recv");
}

static void pingpong(void *data, size_t size, int count)
{
	struct raw_pair *pair = data;
	struct raw_side *a = &pair->a, *b = &pair->b;
	int i;

	for (i = 0; i < count; i++) {
		recv_one(b, size);
		recv_one(a, size);
		send_list(a, size, 1);
		wait_for(b->rx, 1);
		send_list(b, size, 1);
		wait_for(a->rx, 1);
		wait_for(a->tx, 1);
		wait_for(b->tx, 1);
	}
}

static void ready(void *data, size_t size)
{
	struct raw_pair *pair = data;
	int i;

	for (i = 0; i < WINDOW; i++)
		recv_one(&pair->b, size);
}

static void burst(void *data, size_t size, int batch)
{
	struct raw_pair *pair = data;
	int i;

	for (i = 0; i < WINDOW; i += batch)
		send_list(&pair->a, size, batch);
	wait_for(pair->b.rx, WINDOW);
	wait_for(pair->a.tx, WINDOW);
}

static void reconnect(void *data)
{
	raw_disconnect(data);
	raw_connect(data);
}

void transport_open_raw(struct transport *transport, const char *address)
{
	struct raw_pair *pair = malloc(sizeof(*pair));

	if (!pair)
		bench_die("pair", "out of memory");
	raw_open(pair, address, 2 * WINDOW, MAX_INLINE);
	*transport = (struct transport){ pair, pingpong, ready, burst, reconnect };
}
