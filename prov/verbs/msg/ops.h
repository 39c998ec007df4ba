/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The ops tables of the data path, chosen when an endpoint is opened: those that take the queues'
 * locks, and those of FI_THREAD_DOMAIN, COMPLETION and FID, which do not.
 */
#ifndef VRB_OPS_H
#define VRB_OPS_H

struct fi_ops_msg;
struct fi_ops_rma;
struct fi_ops_atomic;
struct fi_ops_mr;

extern const struct fi_ops_msg vrb_msg_ops;
extern const struct fi_ops_msg vrb_msg_srx_ops; /* of endpoints whose receives are shared */
extern const struct fi_ops_rma vrb_rma_ops;
extern const struct fi_ops_atomic vrb_atomic_ops;
extern const struct fi_ops_msg vrb_msg_nolock_ops;
extern const struct fi_ops_msg vrb_msg_srx_nolock_ops;
extern const struct fi_ops_msg vrb_msg_multi_ops; /* of endpoints with FI_MULTI_RECV */
extern const struct fi_ops_msg vrb_msg_multi_nolock_ops;
extern const struct fi_ops_rma vrb_rma_nolock_ops;
extern const struct fi_ops_atomic vrb_atomic_nolock_ops;
extern const struct fi_ops_mr vrb_mr_ops;

#endif
