/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Two reliable-datagram endpoints that know each other, and where a script is with them. */
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
	struct fid_mr *mr; /* of target, with ENDS_KEY */
	struct fid_cq *cq[2];
	struct fid_av *av[2];
	struct fid_ep *ep[2];
	fi_addr_t to[2]; /* the other */
	char av_name[32];
	char out[ENDS_LEN], in[ENDS_LEN], target[ENDS_LEN];
};

/* What was out of memory for a moment is to be tried again. */
#define AGAIN(call)                                          \
	({                                                   \
		ssize_t ret_ = (call);                       \
		ret_ == -FI_EAGAIN ? (ssize_t)(call) : ret_; \
	})

/* Notes where the script is, and the first error. Returns whether there was one, as all below. */
int ends_step(struct ends *s, const char *name, ssize_t ret);
long ends_now_ms(void);
/* The caps, 0 for any, of what is discovered. */
int ends_open_fabric(struct ends *s, uint64_t caps);
int ends_open_domain(struct ends *s); /* and registers target */
int ends_open(struct ends *s, int i); /* an endpoint */
int ends_introduce(struct ends *s, int i);
/* 1: there is an entry, 0: none. */
int ends_take(struct ends *s, int i, const char *name);
/* So many completions of each. */
int ends_complete(struct ends *s, const char *name, int first, int second);
/* Nothing came in time. */
int ends_time_out(struct ends *s, const char *name);
void ends_close_one(struct ends *s, void *object);
void ends_close(struct ends *s);

#endif
