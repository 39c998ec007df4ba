/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Operations that wait for a counter: calls with FI_TRIGGER, and a domain's deferred work. The
 * arguments are kept; the provider makes the call when the counter reaches the threshold.
 */
#ifndef OFI_WORK_H
#define OFI_WORK_H

#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <rdma/fi_trigger.h>
#include "domain.h"

struct ofi_cntr;
struct ofi_work;

/* The arguments of fi_atomic and its variants. */
struct ofi_atomic_args {
	struct fi_msg_atomic msg;
	const struct fi_ioc *compare, *result;
	size_t compare_count, result_count;
	void **compare_desc, **result_desc;
};

/* Returns the arguments of fi_compare_atomicmsg; those that a variant does not have are NULL. */
static inline struct ofi_atomic_args ofi_atomic_args(const struct fi_msg_atomic *msg,
						     const struct fi_ioc *compare,
						     void **compare_desc, size_t compare_count,
						     const struct fi_ioc *result,
						     void **result_desc, size_t result_count)
{
	return (struct ofi_atomic_args){ .msg = *msg,
					 .compare = compare,
					 .compare_desc = compare_desc,
					 .compare_count = compare_count,
					 .result = result,
					 .result_desc = result_desc,
					 .result_count = result_count };
}

/*
 * Returns true if an atomic operation only reads: it has no operands, and its operand arguments are
 * ignored.
 */
static inline bool ofi_atomic_only_reads(enum fi_op_type type, const struct ofi_atomic_args *args)
{
	return type == FI_OP_FETCH_ATOMIC && args->msg.op == FI_ATOMIC_READ;
}

/* A posting call. */
struct ofi_call {
	enum fi_op_type type;
	uint64_t flags;
	union {
		struct fi_msg_tagged msg; /* for untagged messages, too */
		struct fi_msg_rma rma;
		struct ofi_atomic_args atomic;
	};
};

static inline struct fi_msg_tagged ofi_untagged(const struct fi_msg *msg)
{
	return (struct fi_msg_tagged){ msg->msg_iov, msg->desc, msg->iov_count, msg->addr, 0, 0,
				       msg->context, msg->data };
}

/* Returns the address of the call's context. */
void **ofi_call_context(struct ofi_call *call);

/* The endpoint that makes the call. It is not an alias, which the work may outlive. */
struct ofi_work_ep {
	void *ep;
	struct ofi_domain *domain;
	const struct fi_info *info;
};

/* Fills ep and info. Returns false if the fid is not an endpoint of the domain. */
typedef bool ofi_work_find(const struct ofi_domain *domain, struct fid_ep *fid,
			   struct ofi_work_ep *on);

struct ofi_work_ops {
	size_t size;	  /* size of the provider's struct, which begins with a struct ofi_work */
	size_t limit;	  /* maximum length of a list of buffers */
	bool reads_desc;  /* descriptors of messages and atomic operations, also without FI_HMEM */
	bool copies_hmem; /* injected data may be in device memory; else prepare() refuses that */
	/* Checks the call, and allocates the resources to make it. Returns 0 or -FI_E*. */
	ssize_t (*prepare)(struct ofi_work *work);
	/*
	 * Makes the call, whose errors are reported as completions. Returns 0, or -FI_EAGAIN if
	 * nothing was done and it must be made again.
	 */
	int (*fire)(struct ofi_work *work);
	/* Frees what prepare() allocated; may be NULL. Takes no lock. */
	void (*release)(struct ofi_work *work);
	/*
	 * Makes the endpoint progress when the completion counter is read. Called after prepare(),
	 * which has found the endpoint enabled. Returns 0 or -FI_E*.
	 */
	int (*watch)(struct ofi_work *work, struct ofi_cntr *cntr);
};

struct ofi_work {
	struct ofi_trigger trigger;
	const struct ofi_work_ops *ops;
	struct ofi_work_ep on;
	struct ofi_call call; /* its lists are copies */
	bool deferred; /* reported to the completion counter, and elsewhere only on request */
	struct ofi_cntr *completion; /* referenced; NULL if it was handed on */
	struct iovec *iov;	     /* lists of `call` */
	struct fi_ioc *ioc, *compare;
	uint8_t *room; /* memory after the provider's struct that the next list is copied to */
	void *copy;    /* copy of the data with FI_INJECT, else NULL */
};

/*
 * Handles a call with flags that the fast path does not support: queues it with FI_TRIGGER;
 * otherwise returns -FI_EBADFLAGS.
 */
ssize_t ofi_work_trigger(const struct ofi_work_ops *ops, const struct ofi_work_ep *on,
			 const struct ofi_call *call);
/* Implements fi_control of a domain: FI_QUEUE_WORK, FI_CANCEL_WORK, FI_FLUSH_WORK. */
int ofi_work_control(struct ofi_domain *domain, const struct ofi_work_ops *ops, ofi_work_find *find,
		     int command, void *arg);

#endif
