/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Makes each RDMA device look like an Elastic Fabric Adapter, preloaded or linked into a test: its
 * vendor, its attributes and limits, what it refuses, and completions in any order. The data path
 * remains that of the device, whose UD queue pairs work alike.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <infiniband/efadv.h>
#include <infiniband/verbs.h>

#undef ibv_query_port
#undef ibv_reg_mr

enum { VENDOR = 0x1d0f, QUEUE_MAX = 512, SQ_SGE = 2, RQ_SGE = 3, INLINE_MAX = 32 };

/* Those of the device's driver, the same for all devices. */
static int (*real_query_port)(struct ibv_context *, uint8_t, struct ibv_port_attr *, size_t);
static int (*real_poll_cq)(struct ibv_cq *, int, struct ibv_wc *);
static int (*real_post_send)(struct ibv_qp *, struct ibv_send_wr *, struct ibv_send_wr **);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *real(const char *name)
{
	void *symbol = dlsym(RTLD_NEXT, name);

	if (symbol)
		return symbol;
	fprintf(stderr, "fake efa: there is no %s\n", name);
	abort();
}

/* An adapter has no link layer that verbs knows, and its longest message is its MTU. */
static int fake_query_port(struct ibv_context *ctx, uint8_t port, struct ibv_port_attr *attr,
			   size_t len)
{
	int err = real_query_port(ctx, port, attr, len);

	if (err)
		return err;
	attr->link_layer = IBV_LINK_LAYER_UNSPECIFIED;
	attr->max_msg_sz = 128u << attr->active_mtu;
	return 0;
}

/* Shuffles what is there. */
static int fake_poll_cq(struct ibv_cq *cq, int count, struct ibv_wc *wc)
{
	static __thread unsigned int seed = 1;
	int n = real_poll_cq(cq, count, wc), i, j;
	struct ibv_wc other;

	for (i = n - 1; i > 0; i--) {
		j = rand_r(&seed) % (i + 1);
		other = wc[i];
		wc[i] = wc[j];
		wc[j] = other;
	}
	return n;
}

static int fake_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	const unsigned int known = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
	struct ibv_send_wr *at;

	for (at = wr; at; at = at->next) {
		if ((at->opcode == IBV_WR_SEND || at->opcode == IBV_WR_SEND_WITH_IMM) &&
		    !(at->send_flags & ~known)) {
			/* A device completes each one, asked or not. */
			at->send_flags |= IBV_SEND_SIGNALED;
			continue;
		}
		fprintf(stderr, "fake efa: opcode %d, flags 0x%x\n", at->opcode, at->send_flags);
		abort();
	}
	return real_post_send(qp, wr, bad);
}

static void take_over(struct ibv_context *ctx)
{
	struct verbs_context *verbs = verbs_get_ctx(ctx);

	pthread_mutex_lock(&lock);
	if (verbs->query_port != fake_query_port) {
		real_query_port = verbs->query_port;
		real_poll_cq = ctx->ops.poll_cq;
		real_post_send = ctx->ops.post_send;
		verbs->query_port = fake_query_port;
		ctx->ops.poll_cq = fake_poll_cq;
		ctx->ops.post_send = fake_post_send;
	}
	pthread_mutex_unlock(&lock);
}

/* These replace the functions of libibverbs and libefa. */
#pragma GCC visibility push(default)

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct ibv_context *(*call)(struct ibv_device *) = real("ibv_open_device");
	struct ibv_context *ctx = call(device);

	if (ctx)
		take_over(ctx);
	return ctx;
}

int ibv_query_device(struct ibv_context *ctx, struct ibv_device_attr *attr)
{
	int (*call)(struct ibv_context *, struct ibv_device_attr *) = real("ibv_query_device");
	int err = call(ctx, attr);

	if (err)
		return err;
	attr->vendor_id = VENDOR;
	attr->max_qp_wr = QUEUE_MAX;
	attr->max_sge = SQ_SGE;
	attr->atomic_cap = IBV_ATOMIC_NONE;
	attr->max_qp_rd_atom = attr->max_qp_init_rd_atom = 0;
	attr->max_srq = attr->max_srq_wr = attr->max_srq_sge = attr->max_mw = 0;
	return 0;
}

int efadv_query_device(struct ibv_context *ctx, struct efadv_device_attr *attr, uint32_t len)
{
	(void)ctx;
	if (len < sizeof(*attr))
		return EINVAL;
	*attr = (struct efadv_device_attr){
		.max_sq_wr = QUEUE_MAX,
		.max_rq_wr = QUEUE_MAX,
		.max_sq_sge = SQ_SGE,
		.max_rq_sge = RQ_SGE,
		.inline_buf_size = INLINE_MAX,
	};
	return 0;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp *(*call)(struct ibv_pd *, struct ibv_qp_init_attr *) = real("ibv_create_qp");
	const struct ibv_qp_cap *cap = &attr->cap;

	if (attr->qp_type != IBV_QPT_UD || attr->srq) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	if (cap->max_inline_data > INLINE_MAX || cap->max_send_sge > SQ_SGE ||
	    cap->max_recv_sge > RQ_SGE || cap->max_send_wr > QUEUE_MAX ||
	    cap->max_recv_wr > QUEUE_MAX) {
		errno = EINVAL;
		return NULL;
	}
	return call(pd, attr);
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t len, int access)
{
	struct ibv_mr *(*call)(struct ibv_pd *, void *, size_t, int) = real("ibv_reg_mr");

	if (!(access & ~IBV_ACCESS_LOCAL_WRITE))
		return call(pd, addr, len, access);
	errno = EOPNOTSUPP;
	return NULL;
}

int ibv_resize_cq(struct ibv_cq *cq, int cqe)
{
	(void)cq;
	(void)cqe;
	return EOPNOTSUPP;
}

#pragma GCC visibility pop
