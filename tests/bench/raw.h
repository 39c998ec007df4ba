/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The counterpart of pair.h with plain libibverbs and librdmacm, for comparison with the library.
 */
#ifndef BENCH_RAW_H
#define BENCH_RAW_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#define RAW_BUF_SIZE (1 << 17)

struct raw_side {
	struct rdma_cm_id *id;
	struct ibv_cq *tx, *rx;
	struct ibv_mr *mr;
	char *buf; /* RAW_BUF_SIZE */
};

struct raw_pair {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener;
	struct ibv_pd *pd;
	uint32_t depth, max_inline;
	struct raw_side a, b; /* a has connected to b */
};

/* These end the program on failure. */
void raw_open(struct raw_pair *pair, const char *address, uint32_t depth, uint32_t max_inline);
void raw_close(struct raw_pair *pair);
void raw_connect(struct raw_pair *pair);
void raw_disconnect(struct raw_pair *pair);

#endif
