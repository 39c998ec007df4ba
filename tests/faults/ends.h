/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Two reliable-datagram endpoints that know each other, and the progress of a script with them. */
#ifndef ENDS_H
#define ENDS_H

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include "script.h"

enum { ENDS_LEN = 200000, ENDS_KEY = 7 };

struct ends {
	struct outcome *outcome;
	struct fi_info *hints, *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_mr *mr; /* for target, with ENDS_KEY */
	struct fid_cq *cq[2];
	struct fid_av *av[2];
	struct fid_ep *ep[2];
	fi_addr_t to[2]; /* address of the other endpoint */
	char av_name[32];
	char out[ENDS_LEN], in[ENDS_LEN], target[ENDS_LEN];
};

/* Retries a call that was temporarily out of memory. */
#define AGAIN(call)                                          \
	({                                                   \
		ssize_t ret_ = (call);                       \
		ret_ == -FI_EAGAIN ? (ssize_t)(call) : ret_; \
	})

/*
 * Records the current step and the first error. Returns true if there was an error, as do all
 * functions below.
 */
int ends_step(struct ends *s, const char *name, ssize_t ret);
long ends_now_ms(void);
/* Opens the fabric; caps are those to request, 0 for any. */
int ends_open_fabric(struct ends *s, uint64_t caps);
int ends_open_domain(struct ends *s); /* also registers target */
int ends_open(struct ends *s, int i); /* opens an endpoint */
int ends_introduce(struct ends *s, int i);
/* Returns 1 if there is an entry, 0 if none. */
int ends_take(struct ends *s, int i, const char *name);
/* Waits for one completion, without polling the other endpoint. */
int ends_receive(struct ends *s, int i, const char *name);
/* Waits for the given numbers of completions. */
int ends_complete(struct ends *s, const char *name, int first, int second);
/* Records that nothing arrived in time. */
int ends_time_out(struct ends *s, const char *name);
void ends_close_one(struct ends *s, void *object);
void ends_close(struct ends *s);

#endif
