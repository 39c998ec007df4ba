/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Operations that wait for a counter: triggered operations, and the domain's deferred work. */
#ifndef VRB_WORK_H
#define VRB_WORK_H

#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_trigger.h>
#include "prov/base/trigger.h"
#include "ep.h"

/* A copy of the arguments of a call, whose arrays the caller may reuse afterward. */
struct vrb_work {
	struct ofi_trigger trigger;
	struct vrb_ep *ep; /* NULL for counter operations */
	enum fi_op_type type;
	uint64_t flags; /* flags of the call without FI_TRIGGER */
	bool deferred;	/* reports to the completion counter, and elsewhere only on request */
	struct ofi_cntr *completion; /* referenced; may be NULL */
	struct ofi_cntr *target;     /* for counter operations; referenced */
	uint64_t value;
	void *context;
	uint64_t data, addr, key, remote_len;
	enum fi_datatype datatype; /* for atomics, like the following */
	enum fi_op op;
	size_t elements;
	void *operand, *operand_desc, *compare, *result, *result_desc;
	uint64_t word; /* copy of the operand if FI_INJECT is set */
	size_t count;
	struct iovec *iov; /* stored after the structure, like the following */
	void **desc;
	uint8_t *inject; /* room for ep->inject_size bytes */
};

/* Checks the operation. Returns 0 or -FI_E*. */
ssize_t vrb_work_check(struct vrb_work *work);
/* Copies the data for FI_INJECT. The operation has been checked. */
void vrb_work_inject(struct vrb_work *work);
/*
 * Posts the operation; if the connection has ended it completes with an error. Returns 0 or
 * -FI_EAGAIN.
 */
int vrb_work_post(struct vrb_work *work);

/* Calls with FI_TRIGGER (trigger.c); -FI_EBADFLAGS for other flags. */
ssize_t vrb_trigger_msg(struct vrb_ep *ep, enum fi_op_type type, const struct fi_msg *msg,
			uint64_t flags);
ssize_t vrb_trigger_rma(struct vrb_ep *ep, enum fi_op_type type, const struct fi_msg_rma *msg,
			uint64_t flags);
ssize_t vrb_trigger_atomic(struct vrb_ep *ep, enum fi_op_type type, const struct fi_msg_atomic *msg,
			   const struct fi_msg_compare *compare, const struct fi_msg_fetch *fetch,
			   uint64_t flags);
/* Implements fi_control of a domain: FI_QUEUE_WORK, FI_CANCEL_WORK, FI_FLUSH_WORK. */
int vrb_domain_control(struct fid *domain, int command, void *arg);

static inline bool vrb_ep_triggers(const struct vrb_ep *ep)
{
	return ep->info->caps & FI_TRIGGER;
}

/* Returns the address of the single element of a local vector, NULL if there is none. */
static inline void *vrb_ioc_addr(const struct fi_ioc *iov, size_t count)
{
	return iov && count == 1 && iov[0].count == 1 ? iov[0].addr : NULL;
}

#endif
