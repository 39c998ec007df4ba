/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Collective operations of endpoints that were opened with FI_COLLECTIVE: the engine of ofi/coll.h,
 * whose messages go by the protocol, in a match space of their own. The endpoint's lock guards all
 * of it.
 *
 * The protocol is not called from its own callbacks: what those say waits in a list for
 * vrb_rdm_coll_run(), which whoever may have caused it calls when the protocol has returned.
 */
#ifndef VRB_RDM_COLL_H
#define VRB_RDM_COLL_H

#include <rdma/fi_collective.h>
#include "prov/base/coll_mc.h"
#include "peer.h"
#include "rdm.h"

#define VRB_RDM_COLL_MAX ((size_t)PTRDIFF_MAX) /* bytes of a message */

enum { VRB_RDM_COLL_NAME = 18 }; /* bytes of an address and a port */

struct vrb_rdm_xfer;

struct vrb_rdm_coll {
	struct vrb_rdm *ep;
	struct ofi_coll *engine;
	struct ofi_coll_owner owner;
	struct ofi_ref groups;
	struct ofi_rdm_match_node **buckets;
	LIST_HEAD(, vrb_rdm_xfer) xfers; /* in flight */
	STAILQ_HEAD(, vrb_rdm_xfer) over;
	bool running;
	uint8_t name[VRB_RDM_COLL_NAME]; /* the endpoint's */
	/*
	 * While groups are formed, which does not wait for the application, or peers are waited
	 * for.
	 */
	struct ofi_source tick;
	uint64_t tick_ms; /* 0: not needed */
};

/*
 * 0 or -FI_E*; the endpoint has none, ep->coll is NULL, if it was not asked for. Without the lock,
 * as _fini.
 */
int vrb_rdm_coll_open(struct vrb_rdm *ep);
/* What is bound to the endpoint stays from now on. */
void vrb_rdm_coll_enable(struct vrb_rdm *ep);
/* No connection is left. NULL-safe about what is not open. */
void vrb_rdm_coll_fini(struct vrb_rdm *ep);
/* -FI_EBUSY, logged, when groups have not been closed. */
int vrb_rdm_coll_busy(const struct vrb_rdm *ep);
/* ofi_coll_start() */
ssize_t vrb_rdm_coll_start(struct vrb_rdm *ep, fi_addr_t group, const struct ofi_coll_call *call);
/* Goes on with what has completed. Not from a callback of the protocol. */
void vrb_rdm_coll_run(struct vrb_rdm *ep);
/*
 * Nothing more comes of the peer, whose part in the protocol is down: what waits for it fails with
 * err.
 */
void vrb_rdm_coll_lost(struct vrb_rdm_peer *peer, int err);
/* Callbacks of the protocol, of what is collective. */
void vrb_rdm_coll_out_done(struct vrb_rdm *ep, struct vrb_rdm_out *out, int err);
void vrb_rdm_coll_recv_done(struct vrb_rdm *ep, const struct ofi_rdm_proto_done *done);
/* Looks after groups that are being formed, by the event thread. */
void vrb_rdm_coll_attend(struct vrb_rdm_coll *coll);

/* coll_ops.c */
extern const struct fi_ops_collective vrb_rdm_coll_ops;
int vrb_rdm_coll_join(struct fid_ep *ep, const void *addr, uint64_t flags, struct fid_mc **mc,
		      void *context);
int vrb_rdm_av_set(struct fid_av *av, struct fi_av_set_attr *attr, struct fid_av_set **set,
		   void *context);
int vrb_rdm_query_collective(struct fid_domain *domain, enum fi_collective_op coll,
			     struct fi_collective_attr *attr, uint64_t flags);
/* What the members of a group know an address by. */
int vrb_rdm_coll_name(void *ep, fi_addr_t fi_addr, void *name, size_t *len);
size_t vrb_rdm_coll_name_of(const struct vrb_rdm_addr *addr, uint8_t *name);

#endif
