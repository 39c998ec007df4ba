/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Queue pair life: creation, the way to RTS with timers set on purpose, and flushing. */
#ifndef VRB_QP_H
#define VRB_QP_H

struct fi_info;
struct ibv_qp_attr;
struct rdma_cm_id;
struct vrb_dgram;
struct vrb_domain;
struct vrb_ep;

/* In INIT, where receives can be posted; one of datagrams in RTS. */
int vrb_qp_create(struct vrb_ep *ep);
void vrb_qp_destroy(struct vrb_ep *ep); /* NULL-safe */
/*
 * INIT to RTR to RTS with the attributes of the id's connection and vrb_params' timers. 0 or
 * -FI_E*.
 */
int vrb_qp_connect(struct vrb_ep *ep, struct rdma_cm_id *id);
/* From RESET or an error to RTS. 0 or -FI_E*, logged for `call`. */
int vrb_qp_start_ud(struct vrb_dgram *ep, const char *call);
/*
 * What the connection manager chose, as it is to be: it leaves min_rnr_timer at 0, which means 655
 * ms, a time-out of the parameter replaces its own, a peer may ask for more than this device has,
 * and the traffic class is the one of the endpoint that was opened with `info`.
 */
void vrb_qp_settle(const struct vrb_domain *domain, const struct fi_info *info,
		   struct ibv_qp_attr *attr, int mask);
void vrb_qp_flush(struct vrb_ep *ep); /* to ERR: all that is outstanding completes */

#endif
