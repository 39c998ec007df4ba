/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Multicast groups: the connection manager joins them, the queue pair is attached, and the address
 * vector has an address to send to.
 */
#ifndef VRB_MC_H
#define VRB_MC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <rdma/rdma_cma.h>
#include <rdma/fi_cm.h>
#include "prov/base/eq.h"
#include "prov/verbs/cm/cm.h"

struct vrb_dgram;

struct vrb_mc {
	struct fid_mc fid; /* fi_addr is FI_ADDR_NOTAVAIL until the group is joined */
	struct vrb_owner owner;
	struct vrb_dgram *ep;
	struct ofi_eq *eq;
	struct rdma_cm_id *id;
	struct sockaddr_storage addr; /* of the group */
	bool receives;		      /* the queue pair is to be attached */
	/* Of the event thread, until rdma_destroy_id() has returned: */
	bool asked, attached;
	union ibv_gid gid;
	uint16_t lid;
};

/*
 * fi_join. The address is an IPv4 or IPv6 one in the format of the endpoint; where that is
 * FI_ADDR_IB_UD, also a name whose GID is the group's.
 */
int vrb_mc_join(struct fid_ep *ep, const void *addr, uint64_t flags, struct fid_mc **mc,
		void *context);

#endif
