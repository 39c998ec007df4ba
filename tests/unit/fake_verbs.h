/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A device without hardware: libibverbs' calls as far as the data path uses them. It records what
 * is posted and completes it as the test says; every call that creates something can be made to
 * fail.
 */
#ifndef FAKE_VERBS_H
#define FAKE_VERBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <infiniband/verbs.h>

#define FAKE_SGE  64
#define FAKE_DATA 256

/* A work request as the device got it. */
struct fake_post {
	struct ibv_send_wr wr; /* of receives only wr_id, num_sge and sg_list */
	struct ibv_sge sge[FAKE_SGE];
	uint8_t data[FAKE_DATA]; /* what IBV_SEND_INLINE copied */
	size_t len;		 /* sum of the segments */
};

/* What is posted and not completed; last is the newest, also when it has completed. */
struct fake_queue {
	struct fake_post *posts, last;
	unsigned int first, count, room;
	unsigned long total;
};

struct fake_qp {
	struct ibv_qp ibv;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr; /* what ibv_modify_qp set last */
	struct fake_queue sends, recvs;
	unsigned int doorbells; /* calls of ibv_post_send */
	int post_err;		/* of the next ibv_post_send or ibv_post_recv, once */
	unsigned int post_good; /* work requests of a chain taken before post_err */
	bool deaf;		/* refuses all once it is in error, flushes nothing */
};

struct fake_srq {
	struct ibv_srq ibv;
	struct ibv_srq_init_attr init;
	struct fake_queue recvs;
	uint32_t limit;
	int post_err; /* of the next work request of ibv_post_srq_recv, once */
	bool refuses; /* more than it has room for, rather than to end the test */
};

struct fake_cq {
	struct ibv_cq ibv;
	struct ibv_wc *wc;
	unsigned int first, count;
	unsigned int vector, requested;
	bool armed;
	unsigned int events, acked;
};

struct fake_device {
	struct ibv_device device;
	union { /* extended when its abi_compat says so */
		struct verbs_context ex;
		struct {
			char before[offsetof(struct verbs_context, context)];
			struct ibv_context ctx;
		};
	};
	struct ibv_device_attr attr;
	struct ibv_port_attr ports[3];			  /* by number, 0 is not used */
	int contexts, pds, mrs, cqs, qps, srqs, channels; /* live */
	int ahs, mcasts; /* live address handles, attached groups */
	int mws;	 /* live memory windows */
	unsigned int ahs_made;
	struct ibv_ah_attr ah_attr;   /* of the last one */
	struct ibv_gid_entry gids[2]; /* of port 1 */
	int gid_count;
	struct ibv_mr *mr; /* registered last */
	int mr_access;
	/* Of each such call while set. */
	int dereg_err, dealloc_mw_err, poll_err, resize_err, notify_err;
	unsigned int polls, resizes;
	char ends
		[128]; /* in order, once each in a row: "error", "empty" (nothing polled), "destroy", what a test adds */
	bool forgets;	/* ibv_destroy_qp takes the QP's completions with it, as mlx5's does */
	uint8_t timers; /* values that rdma_init_qp_attr leaves in the timers */
	/* The call number fail_at, counted by calls from 1, fails with fail_errno. */
	unsigned int calls, fail_at;
	int fail_errno;
	const char *failed; /* its name */
};

extern struct fake_device fake;

/* A fresh device; each test begins with it. */
void fake_reset(void);
/* Fails the test when something of libibverbs is still open. */
void fake_all_closed(void);

static inline struct fake_qp *fake_qp(struct ibv_qp *qp)
{
	return (struct fake_qp *)qp;
}

static inline struct fake_srq *fake_srq(struct ibv_srq *srq)
{
	return (struct fake_srq *)srq;
}

static inline struct fake_cq *fake_cq(struct ibv_cq *cq)
{
	return (struct fake_cq *)cq;
}

/* Whether this call is the one to fail. */
bool fake_fails(const char *call);
/* The index-th GID of port 1 becomes that of an IPv4 address. */
void fake_gid(int index, const char *ip);

/* Completes the n oldest, in order. Those not signalled leave no trace unless they fail. */
/* Adds to fake.ends. */
void fake_note_end(const char *word);
void fake_complete_sends(struct ibv_qp *qp, unsigned int n, enum ibv_wc_status status);
/*
 * Completes the oldest receive, of the SRQ where it has one; opcode IBV_WC_RECV or
 * IBV_WC_RECV_RDMA_WITH_IMM.
 */
void fake_complete_recv(struct ibv_qp *qp, enum ibv_wc_status status, enum ibv_wc_opcode opcode,
			uint32_t len, const uint32_t *imm);
/* Between the sources of the fake: queues. */
void fake_queue_init(struct fake_queue *queue, unsigned int room);
struct fake_post *fake_add(struct fake_queue *queue, const struct ibv_sge *sge, int count,
			   int limit);
/* Memory windows of type 2; who posts looks at what is bound. */
void fake_mw_ops(struct ibv_context *ctx);
int fake_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);

/* All that is outstanding, as when a queue pair enters the error state. */
void fake_flush(struct ibv_qp *qp);

#endif
