/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The life of a queue pair: creation, transition to RTS with explicit timers, and flushing. */
#ifndef VRB_QP_H
#define VRB_QP_H

#include <infiniband/verbs.h>

struct fi_info;
struct rdma_cm_id;
struct vrb_dgram;
struct vrb_domain;
struct vrb_ep;

/*
 * Like ibv_create_qp(), but returns NULL with EOPNOTSUPP if the device grants less inline data than
 * requested, because posts of more inline data would fail. On NULL, errno is never that of before.
 */
struct ibv_qp *vrb_qp_new(struct ibv_pd *pd, struct ibv_qp_init_attr *attr);
/* Creates a queue pair in INIT, so that receives can be posted; one for datagrams in RTS. */
int vrb_qp_create(struct vrb_ep *ep);
void vrb_qp_destroy(struct vrb_ep *ep); /* NULL-safe */
/*
 * Moves the queue pair from INIT through RTR to RTS with the attributes of the id's connection and
 * the timers of vrb_params. Returns 0 or -FI_E*.
 */
int vrb_qp_connect(struct vrb_ep *ep, struct rdma_cm_id *id);
/* Moves the queue pair from RESET or an error to RTS. Returns 0, or -FI_E* logged for `call`. */
int vrb_qp_start_ud(struct vrb_dgram *ep, const char *call);
/*
 * Corrects the attributes chosen by the connection manager: it leaves min_rnr_timer at 0, which
 * means 655 ms; parameters override its timeout and retry counts; a peer may request more RDMA
 * reads than this device supports; and the traffic class is that of the endpoint opened with
 * `info`.
 */
void vrb_qp_settle(const struct vrb_domain *domain, const struct fi_info *info,
		   struct ibv_qp_attr *attr, int mask);
/*
 * Moves the queue pair to the error state, in which everything outstanding completes. Returns 0 or
 * an errno.
 */
static inline int vrb_qp_stop(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE);
}

void vrb_qp_flush(struct vrb_ep *ep); /* stops its queue pair, if it has one */

#endif
