/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The ops tables of the fast path, chosen when an endpoint is opened: one set takes the queues'
 * locks; the nolock set, for threading models other than FI_THREAD_SAFE, does not.
 */
#ifndef VRB_OPS_H
#define VRB_OPS_H

struct fi_ops_msg;
struct fi_ops_rma;
struct fi_ops_atomic;
struct fi_ops_mr;

extern const struct fi_ops_msg vrb_msg_ops;
extern const struct fi_ops_msg vrb_msg_srx_ops; /* for endpoints with shared receives */
extern const struct fi_ops_rma vrb_rma_ops;
extern const struct fi_ops_atomic vrb_atomic_ops;
extern const struct fi_ops_msg vrb_msg_nolock_ops;
extern const struct fi_ops_msg vrb_msg_srx_nolock_ops;
extern const struct fi_ops_msg vrb_msg_multi_ops; /* for endpoints with FI_MULTI_RECV */
extern const struct fi_ops_msg vrb_msg_multi_nolock_ops;
extern const struct fi_ops_rma vrb_rma_nolock_ops;
extern const struct fi_ops_atomic vrb_atomic_nolock_ops;
extern const struct fi_ops_mr vrb_mr_ops;
/* Endpoints with FI_HMEM use these with any threading model; some of these calls always lock. */
extern const struct fi_ops_msg vrb_msg_hmem_ops, vrb_msg_hmem_srx_ops, vrb_msg_hmem_multi_ops;
extern const struct fi_ops_rma vrb_rma_hmem_ops;
extern const struct fi_ops_atomic vrb_atomic_hmem_ops;

#endif
