/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One connection to a peer: the queue pair, the connection manager's id, and the ring of what was
 * posted. A peer has one that it sends by; an old one may still be flushing, and an endpoint that
 * is its own peer has one for each end.
 */
#ifndef VRB_RDM_LINK_H
#define VRB_RDM_LINK_H

#include <stdbool.h>
#include <rdma/rdma_cma.h>
#include "buf.h"
#include "prov/verbs/cm/cm.h"
#include "rc.h"
#include "window.h"

/*
 * What a work request is, in vrb_rdm_slot.flags above the FI_* of its completion.
 */
enum vrb_rdm_kind {
	VRB_RDM_FAST,	/* a message sent past the protocol; context is the application's */
	VRB_RDM_PACKET, /* context: ofi_rdm_proto_out or NULL */
	VRB_RDM_READ,	/* context: ofi_rdm_proto_in */
	VRB_RDM_WRITE,	/* context: ofi_rdm_proto_out */
	VRB_RDM_OP,	/* context: ofi_rdm_op */
	VRB_RDM_PROBE,	/* nothing: it retires what is before it; with a buffer: handshake */
	VRB_RDM_BIND,	/* of a window */
	VRB_RDM_REVOKE, /* context: ofi_rdm_proto_item */
};

/* A work request, by its address as wr_id. */
struct vrb_rdm_slot {
	void *context;
	uint64_t flags;
	struct vrb_rdm_buf *bounce; /* what it sends, given back when it is complete */
	struct vrb_rdm_link *link;
	uint32_t seq; /* link->head when it was posted */
};

STAILQ_HEAD(vrb_rdm_early, vrb_rdm_rx);

/* In order: a link only moves on. */
enum vrb_rdm_link_state {
	VRB_RDM_LINK_NEW,
	VRB_RDM_LINK_CALLING,  /* active: resolving, or request sent */
	VRB_RDM_LINK_ACCEPTED, /* passive: accepted, not yet established */
	VRB_RDM_LINK_UP,
	VRB_RDM_LINK_ENDED, /* what was posted flushes */
	VRB_RDM_LINK_DEAD,  /* in ep->conn.dead_links: to be freed by the event thread */
};

struct vrb_rdm_link {
	struct vrb_owner owner; /* of id and qp */
	enum vrb_rdm_link_state state;
	struct ofi_rdm_ep *ep;
	struct ofi_rdm_peer *peer;
	struct rdma_cm_id *id;
	struct ibv_qp *qp;
	uint32_t qp_num;
	bool active; /* we asked for the connection */
	bool mirror; /* the other end of an endpoint's connection to itself: only received from */
	bool live;   /* packets are for the peer's protocol: it is peer->link, or a mirror */
	bool used;   /* something came; who looks clears it */
	bool asked;  /* the work request `asked_at` is to tell whether the peer's end is there */
	uint32_t asked_at;
	int err;	 /* FI_E*: why it ended */
	int fault;	 /* FI_E*: why it is to end, as soon as the event thread looks */
	size_t eager;	 /* payload that the peer has room for */
	bool notes;	 /* it is to be told of RMA on its memory */
	bool takes;	 /* the queue pair was connected: it may have taken receives of the SRQ */
	bool let_go;	 /* and has them no more: their completions are in the CQ */
	uint64_t linger; /* ms: when it goes whether or not it has let go; set when it is dead */
	struct vrb_rdm_proof *proof; /* NULL: without a job secret, and to the endpoint itself */
	struct vrb_rdm_early early;  /* came while peer->link was another, which flushes */
	uint32_t early_count;
	struct vrb_rdm_slot last; /* of the work request behind all others, when it ended */
	uint32_t size, mask;	  /* work requests it holds, a power of two */
	uint32_t quiet;	     /* silent ones in a row, less one: then one is signalled; 0: all are */
	uint32_t head, tail; /* count those posted and completed */
	struct vrb_rdm_slot *slots;
	struct vrb_rdm_windows windows;
	struct vrb_rdm_spare_windows spare_windows;
	struct vrb_rdm_link *qp_next;	      /* ep->by_qp */
	SLIST_ENTRY(vrb_rdm_link) dead_entry; /* ep->conn.dead_links */
};

/* With a ring of what the endpoint's CQ has room for. NULL when there is none, logged. */
struct vrb_rdm_link *vrb_rdm_link_new(struct ofi_rdm_ep *ep);
/* A quarter of the room is left, which strangers don't get. */
bool vrb_rdm_link_plenty(const struct ofi_rdm_ep *ep);
/* The id and the queue pair are destroyed, or not the link's. */
void vrb_rdm_link_free(struct vrb_rdm_link *link);
/* Makes the queue pair, in INIT. 0 or -FI_E*. */
int vrb_rdm_link_create_qp(struct vrb_rdm_link *link);
/*
 * INIT to RTR to RTS, with what the id knows of the peer. 0 or -FI_E*; -FI_ECONNABORTED, not
 * logged, when the request or the answer that the id is about is no more, since the other side gave
 * it up.
 */
int vrb_rdm_link_connect(struct vrb_rdm_link *link);
/* The peer gets its remote rights. 0 or FI_E*. */
int vrb_rdm_link_open(struct vrb_rdm_link *link);
/*
 * Everything posted completes, with errors, and then link->last. False: it may not, and the queue
 * pair has to be destroyed.
 */
bool vrb_rdm_link_break(struct vrb_rdm_link *link);
/*
 * Has the silent ones that were posted last complete, if there is a credit for what that takes. It
 * is taken from the flow of the peer.
 */
void vrb_rdm_link_probe(struct vrb_rdm_link *link, struct ofi_rdm_flow *flow);
/*
 * With the lock held: every link tells of each of its work requests from now on, as a counter wants
 * it.
 */
void vrb_rdm_link_signal_all(struct ofi_rdm_ep *ep);
/*
 * The same whatever was posted: it fails if the peer's device does not answer. False if nothing
 * could be posted.
 */
bool vrb_rdm_link_touch(struct vrb_rdm_link *link, struct ofi_rdm_flow *flow);
/*
 * The queue pair ends. It is not destroyed before it is ripe: the device has said that it has let
 * go of the SRQ, or was waited for in vain, since some devices forget its completions then, and
 * with them the receives that they are of.
 */
void vrb_rdm_link_halt(struct vrb_rdm_link *link, uint64_t now);
bool vrb_rdm_link_ripe(const struct vrb_rdm_link *link, uint64_t now);
/* Afterwards nothing more comes of it but what is in the CQ. Without the endpoint's lock. */
void vrb_rdm_link_destroy_qp(struct vrb_rdm_link *link);

static inline struct vrb_rdm_link *vrb_rdm_link_find(const struct ofi_rdm_ep *ep, uint32_t qp_num)
{
	struct vrb_rdm_link *link = vrb_rc(ep)->by_qp[qp_num % VRB_RDM_QP_BUCKETS];

	while (link && link->qp_num != qp_num)
		link = link->qp_next;
	return link;
}

static inline bool vrb_rdm_link_idle(const struct vrb_rdm_link *link)
{
	return link->head == link->tail;
}

/*
 * Posts a work request; the peer's flow has a credit. Those that are not signalled are seen with
 * the next that is, one in each quarter of the ring, or all are signalled. 0 or an errno.
 */
static inline int vrb_rdm_link_post(struct vrb_rdm_link *link, struct ibv_send_wr *wr,
				    uint64_t flags, void *context, struct vrb_rdm_buf *bounce)
{
	struct vrb_rdm_slot *slot = &link->slots[link->head & link->mask];
	struct ibv_send_wr *bad;
	int err;

	slot->context = context;
	slot->flags = flags;
	slot->bounce = bounce;
	slot->seq = link->head;
	wr->wr_id = (uintptr_t)slot;
	if (!(flags & OFI_RDM_SILENT) || !((link->head + 1) & link->quiet))
		wr->send_flags |= IBV_SEND_SIGNALED;
	err = ibv_post_send(link->qp, wr, &bad);
	if (ofi_likely(!err))
		link->head++;
	return err;
}

#endif
