/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The exchanges over the FI_EP_RDM of a library, with tags. Both ends make progress. */
#include <stdlib.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include "pair.h"
#include "transport.h"

#define POLL 16
#define TAG  7

static struct fi_context contexts[WINDOW];
enum { A_TX, A_RX, B_TX, B_RX };

struct rdm {
	struct pair pair; /* first */
	int seen[4];
};

static void look(struct rdm *rdm, int which)
{
	struct fid_cq *cqs[] = { rdm->pair.a.tx, rdm->pair.a.rx, rdm->pair.b.tx, rdm->pair.b.rx };
	struct fi_cq_tagged_entry entries[POLL];
	ssize_t n = fi_cq_read(cqs[which], entries, POLL);

	if (n != -FI_EAGAIN)
		rdm->seen[which] += (int)bench_check(rdm->pair.lib, n, "fi_cq_read");
}

/* The other end is polled now and then, because it may have work for the transfer. */
static void wait_for(struct rdm *rdm, int which, int count)
{
	int i;

	for (i = 1; rdm->seen[which] < count; i++) {
		look(rdm, which);
		if (i % 16 == 0)
			look(rdm, which < B_TX ? B_RX : A_TX);
	}
	rdm->seen[which] -= count;
}

static void recv_one(struct rdm *rdm, struct side *side, size_t size)
{
	bench_check(rdm->pair.lib,
		    fi_trecv(side->ep, side->buf + PAIR_BUF_SIZE / 2, size, side->desc, side->to,
			     TAG, 0, &contexts[1]),
		    "fi_trecv");
}

static void send_one(struct rdm *rdm, struct side *side, size_t size)
{
	ssize_t ret;
	int i;

	do {
		ret = fi_tsend(side->ep, side->buf, size, side->desc, side->to, TAG, &contexts[0]);
		for (i = 0; ret == -FI_EAGAIN && i < 4; i++)
			look(rdm, i);
	} while (ret == -FI_EAGAIN);
	bench_check(rdm->pair.lib, ret, "fi_tsend");
}

static void pingpong(void *data, size_t size, int count)
{
	struct rdm *rdm = data;
	struct side *a = &rdm->pair.a, *b = &rdm->pair.b;
	int i;

	for (i = 0; i < count; i++) {
		recv_one(rdm, b, size);
		recv_one(rdm, a, size);
		send_one(rdm, a, size);
		wait_for(rdm, B_RX, 1);
		send_one(rdm, b, size);
		wait_for(rdm, A_RX, 1);
		wait_for(rdm, A_TX, 1);
		wait_for(rdm, B_TX, 1);
	}
}

static void ready(void *data, size_t size)
{
	struct rdm *rdm = data;
	int i;

	for (i = 0; i < WINDOW; i++)
		recv_one(rdm, &rdm->pair.b, size);
}

static void burst(void *data, size_t size, int batch)
{
	struct rdm *rdm = data;
	int i;

	(void)batch;
	for (i = 0; i < WINDOW; i++)
		send_one(rdm, &rdm->pair.a, size);
	wait_for(rdm, B_RX, WINDOW);
	wait_for(rdm, A_TX, WINDOW);
}

static void reconnect(void *data)
{
	struct rdm *rdm = data;

	pair_disconnect(&rdm->pair);
	pair_connect(&rdm->pair);
}

static void reconnect_by_ip(void *data)
{
	struct rdm *rdm = data;

	rdm->pair.by_ip = true;
	reconnect(data);
	rdm->pair.by_ip = false;
}

static void first(void *data, size_t size)
{
	struct rdm *rdm = data;

	recv_one(rdm, &rdm->pair.b, size);
	send_one(rdm, &rdm->pair.a, size);
	wait_for(rdm, B_RX, 1);
	wait_for(rdm, A_TX, 1);
}

static void write_one(void *data, size_t size, int count)
{
	struct rdm *rdm = data;
	struct side *a = &rdm->pair.a, *b = &rdm->pair.b;
	int i;

	for (i = 0; i < count; i++) {
		bench_check(rdm->pair.lib,
			    fi_write(a->ep, a->buf, size, a->desc, a->to, (uintptr_t)b->buf, b->key,
				     &contexts[0]),
			    "fi_write");
		wait_for(rdm, A_TX, 1);
	}
}

static void fetch_add(void *data, size_t size, int count)
{
	struct rdm *rdm = data;
	struct side *a = &rdm->pair.a, *b = &rdm->pair.b;
	int i;

	(void)size;
	for (i = 0; i < count; i++) {
		bench_check(rdm->pair.lib,
			    fi_fetch_atomic(a->ep, a->buf, 1, a->desc, a->buf + 64, a->desc, a->to,
					    (uintptr_t)b->buf, b->key, FI_UINT64, FI_SUM,
					    &contexts[0]),
			    "fi_fetch_atomic");
		wait_for(rdm, A_TX, 1);
	}
}

void transport_open_rdm(struct transport *transport, const struct lib *lib, const char *address,
			enum fi_threading threading)
{
	struct pair_options options = {
		.address = address,
		.threading = threading,
		.depth = 2 * WINDOW,
		.type = FI_EP_RDM,
	};
	struct rdm *rdm = calloc(1, sizeof(*rdm));

	if (!rdm)
		bench_die("pair", "out of memory");
	pair_open(&rdm->pair, lib, &options);
	*transport = (struct transport){
		.pair = rdm,
		.pingpong = pingpong,
		.ready = ready,
		.burst = burst,
		.reconnect = reconnect,
		.reconnect_by_ip = reconnect_by_ip,
		.first = first,
		.write = write_one,
		.fetch_add = fetch_add,
	};
}
