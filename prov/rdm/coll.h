/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Collective operations of endpoints that were opened with FI_COLLECTIVE: the engine of ofi/coll.h,
 * whose messages go by the protocol, in a match space of their own. The endpoint's lock guards all
 * of it.
 *
 * The protocol is not called from its own callbacks: what those say waits in a list for
 * ofi_rdm_coll_run(), which whoever may have caused it calls when the protocol has returned.
 */
#ifndef OFI_RDM_COLL_H
#define OFI_RDM_COLL_H

#include <rdma/fi_collective.h>
#include "prov/base/coll_mc.h"
#include "prov/base/loop.h"
#include "peer.h"
#include "rdm.h"

#define OFI_RDM_COLL_MAX ((size_t)PTRDIFF_MAX) /* bytes of a message */

enum { OFI_RDM_COLL_NAME = 18 }; /* bytes of an address and a port */

struct ofi_rdm_xfer;

struct ofi_rdm_coll {
	struct ofi_rdm_ep *ep;
	struct ofi_coll *engine;
	struct ofi_coll_owner owner;
	struct ofi_ref groups;
	struct ofi_rdm_match_node **buckets;
	LIST_HEAD(, ofi_rdm_xfer) xfers; /* in flight */
	STAILQ_HEAD(, ofi_rdm_xfer) over;
	bool running;
	uint8_t name[OFI_RDM_COLL_NAME]; /* the endpoint's */
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
int ofi_rdm_coll_open(struct ofi_rdm_ep *ep);
/* What is bound to the endpoint stays from now on. */
void ofi_rdm_coll_enable(struct ofi_rdm_ep *ep);
/* No connection is left. NULL-safe about what is not open. */
void ofi_rdm_coll_fini(struct ofi_rdm_ep *ep);
/* -FI_EBUSY, logged, when groups have not been closed. */
int ofi_rdm_coll_busy(const struct ofi_rdm_ep *ep);
/* ofi_coll_start() */
ssize_t ofi_rdm_coll_start(struct ofi_rdm_ep *ep, fi_addr_t group,
			   const struct ofi_coll_call *call);
/* Goes on with what has completed. Not from a callback of the protocol. */
void ofi_rdm_coll_run(struct ofi_rdm_ep *ep);
/*
 * Nothing more comes of the peer, whose part in the protocol is down: what waits for it fails with
 * err.
 */
void ofi_rdm_coll_lost(struct ofi_rdm_peer *peer, int err);
/* Callbacks of the protocol, of what is collective. */
void ofi_rdm_coll_out_done(struct ofi_rdm_ep *ep, struct ofi_rdm_out *out, int err);
void ofi_rdm_coll_recv_done(struct ofi_rdm_ep *ep, const struct ofi_rdm_proto_done *done);
/* Looks after groups that are being formed, by the event thread. */
void ofi_rdm_coll_attend(struct ofi_rdm_coll *coll);

/* coll_ops.c */
extern const struct fi_ops_collective ofi_rdm_coll_ops;
int ofi_rdm_coll_join(struct fid_ep *ep, const void *addr, uint64_t flags, struct fid_mc **mc,
		      void *context);
int ofi_rdm_query_collective(struct fid_domain *domain, enum fi_collective_op coll,
			     struct fi_collective_attr *attr, uint64_t flags);
/* What the members of a group know an address by. */
int ofi_rdm_coll_name(void *ep, fi_addr_t fi_addr, void *name, size_t *len);
size_t ofi_rdm_coll_name_of(const struct ofi_rdm_addr *addr, uint8_t *name);

#endif
