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
	struct fid_av *av; /* not for a connected endpoint */
	fi_addr_t to;	   /* the other side */
};

struct pair {
	const struct lib *lib;
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_eq *eq;
	struct fid_pep *pep;
	uint64_t tx_flags; /* for binding the transmit CQ */
	size_t ep_size;	   /* queue size of endpoints, 0 for the default */
	struct side a, b;  /* a has connected to b */
	bool used;	   /* for the user; initially false */
	bool by_ip;	   /* endpoints know only each other's address and port */
};

struct pair_options {
	const char *address; /* of the device */
	enum fi_threading threading;
	bool selective;	      /* FI_SELECTIVE_COMPLETION on the transmit CQs */
	size_t depth;	      /* queue depth */
	enum fi_ep_type type; /* FI_EP_UNSPEC is FI_EP_MSG */
};

/* Returns hints for a verbs endpoint, to be freed with lib->freeinfo(). */
struct fi_info *pair_hints(const struct lib *lib, const struct pair_options *options);
/* Calls fi_getinfo with these hints. Returns 0 or -FI_E*. */
int pair_find(const struct lib *lib, const struct pair_options *options, const char *service,
	      uint64_t flags, struct fi_info **info);
/* Returns true if the library has endpoints of this type; for FI_EP_DGRAM, without a prefix. */
bool pair_has(const struct lib *lib, const struct pair_options *options);
/* These end the program on failure. */
void pair_open(struct pair *pair, const struct lib *lib, const struct pair_options *options);
void pair_close(struct pair *pair);
/*
 * Opens and connects the endpoints only, or opens those that need no connection, with their address
 * vectors; pair_open() and pair_close() do so themselves.
 */
void pair_connect(struct pair *pair);
void pair_disconnect(struct pair *pair);

#endif
