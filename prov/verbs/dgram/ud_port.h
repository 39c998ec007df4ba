/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The port, GID and partition that datagrams are sent from and received on. */
#ifndef VRB_UD_PORT_H
#define VRB_UD_PORT_H

#include <stdbool.h>
#include <stdint.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <rdma/fabric.h>

struct vrb_ud_port {
	uint8_t num;
	uint8_t link_layer; /* IBV_LINK_LAYER_* */
	uint16_t lid;
	uint16_t pkey, pkey_index;
	int gid_index;
	uint32_t gid_type; /* enum ibv_gid_type */
	union ibv_gid gid;
	uint32_t mtu; /* in bytes */
};

/*
 * Returns the largest size of a datagram in bytes. Elastic Fabric Adapters, whose ports have no
 * known link layer, have an MTU beyond the range of enum ibv_mtu and report it in max_msg_sz, which
 * applies to connections on other devices.
 */
static inline uint32_t vrb_ud_mtu(const struct ibv_port_attr *attr)
{
	enum ibv_mtu mtu = attr->active_mtu;
	uint32_t bytes = mtu >= IBV_MTU_256 && mtu <= IBV_MTU_4096 ? 128u << mtu : 256;
	bool efa = attr->link_layer == IBV_LINK_LAYER_UNSPECIFIED && attr->max_msg_sz <= UINT16_MAX;

	return efa && attr->max_msg_sz > bytes ? attr->max_msg_sz : bytes;
}

/*
 * Returns the MTU in bytes of the path that the connection manager has found, which may be less
 * than that of the ports at both ends; UINT32_MAX if it has found none.
 */
static inline uint32_t vrb_ud_route_mtu(const struct rdma_cm_id *id)
{
	int mtu = id && id->route.num_paths > 0 ? id->route.path_rec->mtu : 0;

	return mtu >= IBV_MTU_256 && mtu <= IBV_MTU_4096 ? 128u << mtu : UINT32_MAX;
}

/*
 * Finds the port that the source address of an fi_info names, or else the first active one. Returns
 * 0, or -FI_E* logged for `call`.
 */
int vrb_ud_port_find(const char *call, struct ibv_context *ctx, const struct fi_info *info,
		     struct vrb_ud_port *port);

#endif
