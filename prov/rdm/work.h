/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Operations of reliable-datagram endpoints that wait for a counter: calls with FI_TRIGGER, and the
 * domain's deferred work. The arguments are kept; when the counter reaches the threshold the call
 * is made, and repeated if it returns -FI_EAGAIN.
 */
#ifndef OFI_RDM_WORK_H
#define OFI_RDM_WORK_H

#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <rdma/fi_trigger.h>
#include "prov/base/work.h"

/*
 * In the flags of an operation: it is deferred work and its context is an ofi_rdm_done. The bit is
 * above the FI_* flags of operations and below OFI_RDM_KIND.
 */
#define OFI_RDM_DEFERRED (1ULL << 59)

struct ofi_cq_item;
struct ofi_rdm_ep;
struct ofi_rdm_cq;

extern const struct ofi_work_ops ofi_rdm_work_ops;
ofi_work_find ofi_rdm_work_find;

/*
 * Handles calls with flags that their normal path does not know: FI_TRIGGER, or else -FI_EBADFLAGS.
 */
ssize_t ofi_rdm_trigger(struct ofi_rdm_ep *ep, const struct ofi_call *call);

/*
 * Completes deferred work: updates its counter, and writes a CQ entry only if one was requested or
 * the work failed.
 */
void ofi_rdm_work_done(struct ofi_rdm_ep *ep, struct ofi_rdm_cq *cq,
		       const struct ofi_cq_item *item);
/* Cancels a posted deferred receive with the context. The caller holds the lock. */
bool ofi_rdm_work_cancel(struct ofi_rdm_ep *ep, const void *context);
/* Returns true if deferred work with the context is under way. The caller holds the lock. */
bool ofi_rdm_work_has(const struct ofi_rdm_ep *ep, const void *context);
/* Cancels a triggered operation with the context that has not begun. */
bool ofi_rdm_trigger_cancel(struct ofi_rdm_ep *ep, const void *context);
/* Frees the work of an endpoint that is closed; none of it is under way any more. */
void ofi_rdm_work_fini(struct ofi_rdm_ep *ep);

/*
 * The calls that are made later, with the mark of deferred work. With `check`, they only check
 * their arguments. FI_COMPLETION requests a CQ entry.
 */
typedef ssize_t ofi_rdm_msg_work_fn(struct ofi_rdm_ep *ep, const struct fi_msg_tagged *msg,
				    uint64_t flags, bool tagged, uint64_t mark, bool check);
typedef ssize_t ofi_rdm_rma_work_fn(struct ofi_rdm_ep *ep, const struct fi_msg_rma *msg,
				    uint64_t flags, bool read, uint64_t mark, bool check);
typedef ssize_t ofi_rdm_atomic_work_fn(struct ofi_rdm_ep *ep, enum fi_op_type type,
				       const struct ofi_atomic_args *args, uint64_t flags,
				       uint64_t mark, bool check);

struct ofi_rdm_work_calls {
	ofi_rdm_msg_work_fn *send, *recv;
	ofi_rdm_rma_work_fn *rma;
	ofi_rdm_atomic_work_fn *atomic;
};

ofi_rdm_msg_work_fn ofi_rdm_send_work, ofi_rdm_recv_work;
ofi_rdm_rma_work_fn ofi_rdm_rma_work;
ofi_rdm_atomic_work_fn ofi_rdm_atomic_work;

#endif
