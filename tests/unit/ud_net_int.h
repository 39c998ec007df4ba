/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Between the files of the fake network: ud_net.c has packets, ud_net_rc.c reliable queue pairs,
 * ud_net_read.c reads by the devices.
 */
#ifndef UD_NET_INT_H
#define UD_NET_INT_H

#include <stdbool.h>
#include <stdint.h>
#include <infiniband/verbs.h>

struct ud_net_params;
struct ud_node;
struct vrb_fabric;

const struct ud_net_params *ud_net_params(void);
uint64_t ud_net_now(void);
/* Appends to the CQ of a node. */
void ud_net_complete(unsigned int node, const struct ibv_wc *wc);

/* Returns the node that is being opened. */
unsigned int ud_net_opening(void);
/* Returns true if the queue pair of the node has that number and Q_Key. */
bool ud_net_is_reached(unsigned int to, uint32_t qpn, uint32_t qkey);

struct vrb_fabric *ud_net_fabric(bool srd);
/* Gives the node its region, its receive buffers, and room for address handles. */
void ud_net_memory(struct ud_node *node);
/* Frees the address handles, which have no users any more. */
void ud_net_free_paths(void **tree);
/* Returns true if only packets that the device still sends have bounce buffers. */
bool ud_net_has_buffers(const struct ud_node *node);

void ud_net_rc_begin(void);
struct ibv_qp *ud_net_rc_create(unsigned int node, struct ibv_context *ctx,
				const struct ibv_qp_init_attr *init);
void ud_net_rc_destroy(struct ibv_qp *qp);
int ud_net_rc_modify(struct ibv_qp *qp, const struct ibv_qp_attr *attr);
int ud_net_rc_post(struct ibv_qp *qp, const struct ibv_send_wr *wr);
int ud_net_srq_post(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
/* Delivers what is due. */
void ud_net_rc_pass(void);

/* Completes a packet once no host is down. Returns 0. */
int ud_net_hold(unsigned int node, const struct ibv_wc *wc);
void ud_net_read_begin(void);
/* Carries out what is due. */
void ud_net_read_pass(void);
/* The node's queue pair has failed, and its reads with it. */
void ud_net_read_flush(unsigned int node);

#endif
