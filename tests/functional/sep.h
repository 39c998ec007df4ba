/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Scalable endpoints, each with a completion queue for each index. */
#ifndef SEP_H
#define SEP_H

#include "rdm.h"

enum { SEP_MANY = 4, SEP_BITS = 3 };

struct sep_side {
	struct fid_ep *sep, *tx[SEP_MANY], *rx[SEP_MANY];
	struct fid_cq *cq[SEP_MANY];
	struct fid_av *av;
	fi_addr_t peer; /* the other side */
};

struct sep_pair {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct sep_side side[2];
	int bits; /* rx_ctx_bits of the address vectors */
};

/* Opens two scalable endpoints with SEP_MANY contexts of each direction that know each other. */
void sep_open(struct sep_pair *pair, enum fi_threading threading);
/* Closes the contexts of an index and opens them with these queues, but enables none. */
void sep_contexts(struct sep_pair *pair, int side, int index, struct fid_cq *tx, struct fid_cq *rx);
/* The same with these capabilities instead of all. */
void sep_open_caps(struct sep_pair *pair, enum fi_threading threading, uint64_t caps);
/* The same with these bits for the index in an address. */
void sep_open_bits(struct sep_pair *pair, enum fi_threading threading, uint64_t caps, int bits);
void sep_close(struct sep_pair *pair);
/* Opens a transmit context of an index again, and enables it. */
void sep_open_tx(struct sep_side *side, int index);
/* Inserts the address of a scalable endpoint. */
fi_addr_t sep_introduce(struct fid_av *av, struct fid_ep *sep);
/* Closes a context while another thread polls a queue, which it does after `late` milliseconds. */
void sep_close_polled(struct fid_ep *context, struct fid_cq *cq, int late);
/* The address of a context of the other side. */
fi_addr_t sep_addr(const struct sep_pair *pair, int side, int index);
/* Waits for a completion on one queue; all queues make progress. */
struct fi_cq_tagged_entry sep_wait(struct sep_pair *pair, int side, int index, fi_addr_t *source);

#endif
