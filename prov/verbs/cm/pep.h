/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The passive endpoint: a listening id whose connect requests become FI_CONNREQ events. */
#ifndef VRB_PEP_H
#define VRB_PEP_H

#include <stdbool.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <rdma/rdma_cma.h>
#include <rdma/fi_endpoint.h>
#include "prov/base/eq.h"
#include "src/ds/lock.h"
#include "cm.h"
#include "prov/verbs/provider/fabric.h"

struct vrb_pep {
	struct fid_pep fid;
	struct vrb_owner owner;
	struct ofi_ref own; /* who opened it */
	struct vrb_fabric *fabric;
	struct fi_info *info;	       /* what it was opened with */
	struct ofi_lock lock;	       /* guards what follows */
	struct ofi_eq *eq;	       /* constant once listening */
	struct rdma_cm_id *id;	       /* NULL once an endpoint has taken the address over */
	struct sockaddr_storage local; /* family 0 while not bound */
	int backlog;
	bool listening;
	LIST_ENTRY(vrb_pep) link; /* cm->peps, under cm->lock */
};

int vrb_pep_open(struct fid_fabric *fabric, struct fi_info *info, struct fid_pep **pep,
		 void *context);
/* The passive endpoint of a handle, NULL when it is none of the fabric's. */
struct vrb_pep *vrb_pep_find(struct vrb_cm *cm, const struct fid *handle);
/*
 * Gives the bound, not listening id to an endpoint made from the passive one. NULL when it has
 * none.
 */
struct rdma_cm_id *vrb_pep_take(struct vrb_pep *pep, struct vrb_owner *owner);

#endif
