/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Two endpoints of one process on one device, each with its CQs and registered memory. */
#ifndef BENCH_PAIR_H
#define BENCH_PAIR_H

#include <stdbool.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include "lib.h"

#define PAIR_BUF_SIZE (1 << 21)

struct side {
	struct fid_ep *ep;
	struct fid_cq *tx, *rx;
	struct fid_mr *mr;
	void *desc;
	uint64_t key;
	char *buf;	   /* PAIR_BUF_SIZE */
	struct fid_av *av; /* not of a connected endpoint */
	fi_addr_t to;	   /* the other side */
};

struct pair {
	const struct lib *lib;
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_eq *eq;
	struct fid_pep *pep;
	uint64_t tx_flags; /* of binding a transmit CQ */
	size_t ep_size;	   /* of the queues of endpoints, 0 is what discovery says */
	struct side a, b;  /* a has connected to b */
	bool used;	   /* for the user: not so at first */
};

struct pair_options {
	const char *address; /* of the device */
	enum fi_threading threading;
	bool selective;	      /* FI_SELECTIVE_COMPLETION on the transmit CQs */
	size_t depth;	      /* of the queues */
	enum fi_ep_type type; /* FI_EP_UNSPEC is FI_EP_MSG */
};

/* Hints for an endpoint of the verbs provider; lib->freeinfo() frees them. */
struct fi_info *pair_hints(const struct lib *lib, const struct pair_options *options);
/* Discovery by them: 0 or -FI_E*. */
int pair_find(const struct lib *lib, const struct pair_options *options, const char *service,
	      uint64_t flags, struct fi_info **info);
/* Whether the library has endpoints of the type, and of FI_EP_DGRAM those that need no prefix. */
bool pair_has(const struct lib *lib, const struct pair_options *options);
/* They end the program when something fails. */
void pair_open(struct pair *pair, const struct lib *lib, const struct pair_options *options);
void pair_close(struct pair *pair);
/* The endpoints alone: pair_open() has connected them, pair_close() disconnects. */
void pair_connect(struct pair *pair);
void pair_disconnect(struct pair *pair);

#endif
