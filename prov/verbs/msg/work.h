/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Operations that wait for a counter: triggered operations, and the domain's deferred work. */
#ifndef VRB_WORK_H
#define VRB_WORK_H

#include "prov/base/work.h"
#include "prov/verbs/queue/post.h"
#include "ep.h"

extern const struct ofi_work_ops vrb_work_ops;
ofi_work_find vrb_work_find;

/* Implement calls with FI_TRIGGER. Return -FI_EBADFLAGS for other flags that are not allowed. */
ssize_t vrb_trigger_msg(struct vrb_ep *ep, enum fi_op_type type, const struct fi_msg *msg,
			uint64_t flags);
ssize_t vrb_trigger_rma(struct vrb_ep *ep, enum fi_op_type type, const struct fi_msg_rma *msg,
			uint64_t flags);
ssize_t vrb_trigger_atomic(struct vrb_ep *ep, enum fi_op_type type, struct ofi_atomic_args args,
			   uint64_t flags);

/*
 * Check a call and fill the work request, whose sg_list has room for VRB_IOV_MAX elements. Return 0
 * or -FI_E*.
 */
ssize_t vrb_send_build(const struct vrb_ep *ep, const struct fi_msg *msg, uint64_t flags,
		       struct ibv_send_wr *wr, size_t *len, struct vrb_tx_mode *mode);
ssize_t vrb_rma_build(const struct vrb_ep *ep, const struct fi_msg_rma *msg, uint64_t flags,
		      bool read, struct ibv_send_wr *wr, size_t *len, struct vrb_tx_mode *mode);

static inline bool vrb_ep_triggers(const struct vrb_ep *ep)
{
	return ep->info->caps & FI_TRIGGER;
}

/* Returns the address of the single element of a local vector, NULL if there is none. */
static inline void *vrb_ioc_addr(const struct fi_ioc *iov, size_t count)
{
	return iov && count == 1 && iov[0].count == 1 ? iov[0].addr : NULL;
}

/* Returns the number of elements of a local vector, or of its buffers if these are several. */
static inline size_t vrb_ioc_count(const struct fi_ioc *iov, size_t count)
{
	return iov && count == 1 ? iov[0].count : count;
}

static inline void *vrb_first_desc(void *const *desc)
{
	return desc ? desc[0] : NULL;
}

#endif
