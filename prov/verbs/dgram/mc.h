/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Multicast groups: the connection manager joins the group, the queue pair is attached to it, and
 * the address vector gets an address for sending to it.
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
	struct sockaddr_storage addr; /* the group's address */
	bool receives;		      /* the queue pair must be attached */
	/* Set by the event thread, or `asked` by fi_join if it joins at once: */
	bool asked, attached;
	union ibv_gid gid;
	uint16_t lid;
};

/*
 * Implements fi_join. The address is an IPv4 or IPv6 address in the endpoint's format; with
 * FI_ADDR_IB_UD it may also be a name with the group's GID.
 */
int vrb_mc_join(struct fid_ep *ep, const void *addr, uint64_t flags, struct fid_mc **mc,
		void *context);

#endif
