/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A fake device: the calls of libibverbs that the data path uses. It records posted work requests
 * and completes them on request of the test; every call that creates something can be made to fail.
 */
#ifndef FAKE_VERBS_H
#define FAKE_VERBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <infiniband/verbs.h>

#define FAKE_SGE  64
#define FAKE_DATA 256

/* A work request as the device received it. */
struct fake_post {
	struct ibv_send_wr wr; /* for receives only wr_id, num_sge and sg_list */
	struct ibv_sge sge[FAKE_SGE];
	uint8_t data[FAKE_DATA]; /* data copied by IBV_SEND_INLINE */
	size_t len;		 /* total length of the segments */
};

/* Posted and incomplete work requests; `last` is the newest, even if it has completed. */
struct fake_queue {
	struct fake_post *posts, last;
	unsigned int first, count, room;
	unsigned long total;
};

struct fake_qp {
	struct ibv_qp ibv;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr; /* attributes of the last ibv_modify_qp */
	struct fake_queue sends, recvs;
	unsigned int doorbells; /* number of ibv_post_send calls */
	int post_err;		/* error of the next ibv_post_send or ibv_post_recv, once */
	unsigned int post_good; /* work requests of a chain accepted before post_err */
	bool deaf;		/* rejects everything once it is in error, and flushes nothing */
};

struct fake_srq {
	struct ibv_srq ibv;
	struct ibv_srq_init_attr init;
	struct fake_queue recvs;
	uint32_t limit;
	int post_err; /* error of the next work request of ibv_post_srq_recv, once */
	bool refuses; /* rejects receives beyond its capacity instead of failing the test */
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
	union { /* extended if its abi_compat says so */
		struct verbs_context ex;
		struct {
			char before[offsetof(struct verbs_context, context)];
			struct ibv_context ctx;
		};
	};
	struct ibv_device_attr attr;
	struct ibv_port_attr ports[3];			  /* by number; 0 is not used */
	int contexts, pds, mrs, cqs, qps, srqs, channels; /* numbers of live objects */
	int ahs, mcasts; /* numbers of live address handles and attached groups */
	int mws;	 /* number of live memory windows */
	unsigned int ahs_made;
	struct ibv_ah_attr ah_attr;   /* of the last address handle */
	struct ibv_gid_entry gids[2]; /* of port 1 */
	int gid_count;
	struct ibv_mr *mr; /* the last registration */
	int mr_access;
	int dmabufs, dmabuf_fd; /* registrations of dma-bufs; the last descriptor and offset */
	uint64_t dmabuf_offset;
	/* Errors of these calls while set. */
	int dereg_err, dealloc_mw_err, poll_err, resize_err, notify_err;
	unsigned int polls, resizes;
	bool resize_idle; /* ibv_resize_cq() reports success and does nothing */
	/*
	 * In order, without repetition: "error", "empty" (nothing polled), "destroy", and what a
	 * test adds.
	 */
	char ends[128];
	bool forgets;	/* ibv_destroy_qp and a reset discard the QP's completions, like mlx5 */
	bool flushes;	/* it flushes the QP, and polling fails at what is in CQs, like libefa */
	bool strict;	/* queue pairs accept posts in RTS only, like bnxt_re */
	bool no_events; /* CQs have no channel */
	void (*on_end)(void); /* called when a queue pair or a region ends */
	bool *dying;	      /* set when a shared receive queue has been created */
	unsigned int stale;   /* completions of such queue pairs, before all others */
	uint32_t ungranted;   /* inline data that queue pairs have less than asked for */
	uint8_t timers;	      /* timer values left by rdma_init_qp_attr */
	/* The call number fail_at, counted by calls from 1, fails with fail_errno. */
	unsigned int calls, fail_at;
	int fail_errno;	    /* -1: errno remains what it is */
	const char *failed; /* name of that call */
};

extern struct fake_device fake;

/* Resets the device; each test begins with this. */
void fake_reset(void);
/* Fails the test if any object of libibverbs is still open. */
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

/* Returns true if this call must fail. */
bool fake_fails(const char *call);
/* Sets the index-th GID of port 1 to that of an IPv4 address. */
void fake_gid(int index, const char *ip);

/* Completes the n oldest, in order. Unsignaled ones produce a completion only if they fail. */
/* Adds to fake.ends. */
void fake_note_end(const char *word);
void fake_complete_sends(struct ibv_qp *qp, unsigned int n, enum ibv_wc_status status);
/*
 * Completes the oldest receive, that of the SRQ if there is one; opcode is IBV_WC_RECV or
 * IBV_WC_RECV_RDMA_WITH_IMM.
 */
void fake_complete_recv(struct ibv_qp *qp, enum ibv_wc_status status, enum ibv_wc_opcode opcode,
			uint32_t len, const uint32_t *imm);
/* Shared between the sources of the fake: queues. */
void fake_queue_init(struct fake_queue *queue, unsigned int room);
struct fake_post *fake_add(struct fake_queue *queue, const struct ibv_sge *sge, int count,
			   int limit);
/* Type 2 memory windows; posting checks what is bound. */
void fake_mw_ops(struct ibv_context *ctx);
/* Discards or leaves the completions of a queue pair that is destroyed. */
void fake_orphan(struct ibv_qp *qp);
int fake_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);

/* Flushes everything outstanding, as when a queue pair enters the error state. */
void fake_flush(struct ibv_qp *qp);

#endif
