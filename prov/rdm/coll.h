/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Collective operations of endpoints opened with FI_COLLECTIVE. The collective engine of prov/base
 * sends its messages through the protocol, in a match space of their own. The endpoint's lock
 * guards all of it.
 *
 * The protocol must not be called from its own callbacks. The callbacks therefore only queue what
 * happened; ofi_rdm_coll_run() processes the queue and is called after the protocol has returned.
 */
#ifndef OFI_RDM_COLL_H
#define OFI_RDM_COLL_H

#include "prov/base/ops.h"
#include "prov/base/coll.h"
#include "prov/base/loop.h"
#include "peer.h"
#include "rdm.h"

#define OFI_RDM_COLL_MAX ((size_t)PTRDIFF_MAX) /* largest message in bytes */

struct ofi_rdm_xfer;

struct ofi_rdm_coll {
	struct ofi_rdm_ep *ep;
	struct ofi_coll *engine;
	struct ofi_ref groups;
	struct ofi_rdm_match_node **buckets;
	LIST_HEAD(, ofi_rdm_xfer) xfers; /* in flight */
	STAILQ_HEAD(, ofi_rdm_xfer) over;
	bool running;
	/*
	 * A timer. It runs while groups are being formed, which must progress without the
	 * application, and while messages from peers are outstanding.
	 */
	struct ofi_source tick;
	uint64_t tick_ms; /* interval; 0 if no timer is needed */
};

/*
 * Opens the collective part if the endpoint was opened with FI_COLLECTIVE; otherwise ep->coll stays
 * NULL. Call open and fini without the lock. Returns 0 or -FI_E*.
 */
int ofi_rdm_coll_open(struct ofi_rdm_ep *ep);
/* Frees the collective part after all connections have ended. Does nothing if it is not open. */
void ofi_rdm_coll_fini(struct ofi_rdm_ep *ep);
/* Returns -FI_EBUSY and logs it if groups are still open. */
int ofi_rdm_coll_busy(const struct ofi_rdm_ep *ep);
/* Starts a collective operation, see ofi_coll_start(). */
ssize_t ofi_rdm_coll_start(struct ofi_rdm_ep *ep, fi_addr_t group,
			   const struct ofi_coll_call *call);
/* Processes completed messages. Must not be called from a callback of the protocol. */
void ofi_rdm_coll_run(struct ofi_rdm_ep *ep);
/* Fails everything that waits for the peer, whose protocol state is down already. */
void ofi_rdm_coll_lost(struct ofi_rdm_peer *peer, int err);
/* Callbacks of the protocol for collective messages. */
void ofi_rdm_coll_out_done(struct ofi_rdm_ep *ep, struct ofi_rdm_out *out, int err);
void ofi_rdm_coll_recv_done(struct ofi_rdm_ep *ep, const struct ofi_rdm_proto_done *done);
/* The event thread calls this to make progress on groups that are being formed. */
void ofi_rdm_coll_attend(struct ofi_rdm_coll *coll);

/* in coll_ops.c */
extern const struct fi_ops_collective ofi_rdm_coll_ops;
OFI_CALL(fi_ops_cm, join) ofi_rdm_coll_join;
OFI_CALL(fi_ops_domain, query_collective) ofi_rdm_query_collective;

/* in coll_mc.c: the fid_mc of a group, and the event that reports that it has formed */
struct fi_collective_addr;
/* Implements fi_join with FI_COLLECTIVE. The group holds a reference on coll->groups. */
int ofi_rdm_coll_form(struct ofi_rdm_ep *ep, const struct fi_collective_addr *addr, uint64_t flags,
		      struct fid_mc **mc, void *context);
/* Handles the end of a join for the engine's done(). The lock is held. */
void ofi_rdm_coll_formed(const struct ofi_coll_done *done);

#endif
