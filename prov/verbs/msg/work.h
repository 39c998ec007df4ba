/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Operations that wait for a counter: triggered ones, and the domain's deferred work. */
#ifndef VRB_WORK_H
#define VRB_WORK_H

#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_trigger.h>
#include "prov/base/trigger.h"
#include "ep.h"

/* A copy of the call's arguments: arrays are the caller's again when the call returns. */
struct vrb_work {
	struct ofi_trigger trigger;
	struct vrb_ep *ep; /* NULL for counter operations */
	enum fi_op_type type;
	uint64_t flags; /* of the call, without FI_TRIGGER */
	bool deferred;	/* reports to the completion counter, and to nobody else unasked */
	struct ofi_cntr *completion; /* has a reference; may be NULL */
	struct ofi_cntr *target;     /* of counter operations; has a reference */
	uint64_t value;
	void *context;
	uint64_t data, addr, key, remote_len;
	enum fi_datatype datatype; /* of atomics, as what follows */
	enum fi_op op;
	size_t elements;
	void *operand, *operand_desc, *compare, *result, *result_desc;
	uint64_t word; /* the operand, where FI_INJECT lets go of the caller's */
	size_t count;
	struct iovec *iov; /* behind the structure, as what follows */
	void **desc;
	uint8_t *inject; /* room for ep->inject_size bytes */
};

/* 0, or what is wrong with the operation. */
ssize_t vrb_work_check(struct vrb_work *work);
/* Takes the data of FI_INJECT over. It was checked. */
void vrb_work_inject(struct vrb_work *work);
/* Posts it; where the connection is over it completes in error. 0 or -FI_EAGAIN. */
int vrb_work_post(struct vrb_work *work);

/* Calls with FI_TRIGGER (trigger.c); for other flags -FI_EBADFLAGS. */
ssize_t vrb_trigger_msg(struct vrb_ep *ep, enum fi_op_type type, const struct fi_msg *msg,
			uint64_t flags);
ssize_t vrb_trigger_rma(struct vrb_ep *ep, enum fi_op_type type, const struct fi_msg_rma *msg,
			uint64_t flags);
ssize_t vrb_trigger_atomic(struct vrb_ep *ep, enum fi_op_type type, const struct fi_msg_atomic *msg,
			   const struct fi_msg_compare *compare, const struct fi_msg_fetch *fetch,
			   uint64_t flags);
/* fi_control of a domain: FI_QUEUE_WORK, FI_CANCEL_WORK, FI_FLUSH_WORK. */
int vrb_domain_control(struct fid *domain, int command, void *arg);

static inline bool vrb_ep_triggers(const struct vrb_ep *ep)
{
	return ep->info->caps & FI_TRIGGER;
}

#endif
