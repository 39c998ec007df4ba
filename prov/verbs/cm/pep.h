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
	struct ofi_ref own; /* records the process that opened it */
	struct vrb_fabric *fabric;
	struct fi_info *info;	       /* the attributes that it was opened with */
	struct ofi_lock lock;	       /* guards id, local, backlog and listening */
	struct ofi_eq *eq;	       /* set once, before listening; atomic */
	struct rdma_cm_id *id;	       /* NULL after an endpoint has taken over the address */
	struct sockaddr_storage local; /* family 0 if not bound */
	int backlog;
	bool listening;
	LIST_ENTRY(vrb_pep) link; /* cm->peps, guarded by cm->lock */
};

int vrb_pep_open(struct fid_fabric *fabric, struct fi_info *info, struct fid_pep **pep,
		 void *context);
/* Returns the passive endpoint of a handle, or NULL if the handle is not one of the fabric's. */
struct vrb_pep *vrb_pep_find(struct vrb_cm *cm, const struct fid *handle);
/*
 * Passes the id, which is bound and does not listen, to an endpoint created from the passive one.
 * Returns NULL if there is no such id.
 */
struct rdma_cm_id *vrb_pep_take(struct vrb_pep *pep, struct vrb_owner *owner);

#endif
