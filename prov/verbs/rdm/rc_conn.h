/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One connection to a peer: the queue pair, the connection manager's id, and the ring of posted
 * work requests. A peer has one connection for sending; an old one may still be flushing. An
 * endpoint that is its own peer has one for each end.
 */
#ifndef VRB_RC_CONN_H
#define VRB_RC_CONN_H

#include <stdbool.h>
#include <rdma/rdma_cma.h>
#include "buf.h"
#include "prov/verbs/cm/cm.h"
#include "prov/verbs/queue/qp.h"
#include "rc.h"
#include "window.h"

/* The kind of a work request, in vrb_rdm_slot.flags above the FI_* of its completion. */
enum vrb_rdm_kind {
	VRB_RDM_FAST,	/* a message sent on the fast path; context is the application's */
	VRB_RDM_PACKET, /* context: ofi_rdm_proto_out or NULL */
	VRB_RDM_READ,	/* context: ofi_rdm_proto_in */
	VRB_RDM_WRITE,	/* context: ofi_rdm_proto_out */
	VRB_RDM_OP,	/* context: ofi_rdm_op */
	/* Empty, only retires earlier ones; or with a context, a packet of the transport's own. */
	VRB_RDM_PROBE,
	VRB_RDM_BIND,	/* of a memory window */
	VRB_RDM_REVOKE, /* context: ofi_rdm_proto_item */
};

_Static_assert(VRB_RDM_REVOKE <= OFI_RDM_KIND >> OFI_RDM_KIND_SHIFT, "a kind is not a flag");

/* A work request; its address is the wr_id. */
struct vrb_rdm_slot {
	void *context;
	uint64_t flags;
	struct vrb_rdm_buf *bounce; /* the buffer it sends, freed when it completes */
	struct vrb_rc_conn *conn;
	uint32_t seq; /* value of conn->head when it was posted */
};

/* Returns the bits of the kind in the flags of a slot. */
static inline uint64_t vrb_rdm_kind_bits(enum vrb_rdm_kind kind)
{
	return (uint64_t)kind << OFI_RDM_KIND_SHIFT;
}

static inline enum vrb_rdm_kind vrb_rdm_kind_of(const struct vrb_rdm_slot *slot)
{
	return (slot->flags & OFI_RDM_KIND) >> OFI_RDM_KIND_SHIFT;
}

STAILQ_HEAD(vrb_rdm_early, vrb_rdm_rx);

/* States only increase, except that a connection whose accept failed returns to NEW and ends. */
enum vrb_rc_conn_state {
	VRB_RC_CONN_NEW,
	VRB_RC_CONN_CALLING,  /* active: resolving, or request sent */
	VRB_RC_CONN_ACCEPTED, /* passive: accepted, not yet established */
	VRB_RC_CONN_UP,
	VRB_RC_CONN_ENDED, /* posted work requests are being flushed */
	VRB_RC_CONN_DEAD,  /* in ep->conns.dead_conns or deferred: see conn_free.c */
};

struct vrb_rc_conn {
	struct vrb_owner owner; /* owner of id and qp */
	enum vrb_rc_conn_state state;
	uint32_t qp_num;
	struct ofi_rdm_ep *ep;
	struct ofi_rdm_peer *peer;
	struct rdma_cm_id *id;
	struct ibv_qp *qp;
	struct ibv_qp *sq; /* the queue pair to post to: qp, or its stand-in, see shm.h */
	struct vrb_shm_conn *shm;
	struct vrb_ud_conn *ud; /* the stand-in for the queue pair, or NULL; see ud.h */
	bool peer_shares;	/* the peer supports shared memory */
	bool mirror;	 /* the passive end of an endpoint's connection to itself: receives only */
	bool live;	 /* packets go to the peer's protocol: it is peer->conn, or a mirror */
	bool used;	 /* a packet arrived; cleared when it is checked */
	bool asked;	 /* the work request `asked_at` probes the peer's end */
	bool rma_events; /* the peer wants RMA events for operations on its memory */
	/* The queue pair was connected, so it may have taken receives of the SRQ. */
	bool takes;
	bool let_go; /* it holds none of them anymore: their completions are in the CQ */
	uint32_t asked_at;
	uint32_t early_count;
	int err;      /* FI_E*: why it has ended */
	int fault;    /* FI_E*: why the next tick must end it; the peer is in ep->conns.starved */
	size_t eager; /* payload that the peer's buffers hold */
	/* Time in ms when it is freed even if let_go is not set; set when it is dead. */
	uint64_t linger;
	/* NULL without a job secret, and for an endpoint's connection to itself. */
	struct vrb_rdm_proof *proof;
	/* Packets that arrived while peer->conn was an older connection being flushed. */
	struct vrb_rdm_early early;
	struct vrb_rdm_slot last; /* the last work request, posted when the connection ended */
	uint32_t size, mask;	  /* capacity in work requests, a power of two */
	/* One work request in each quiet + 1 is signaled even if it is silent; 0: all are. */
	uint32_t quiet;
	uint32_t head, tail; /* numbers of posted and completed work requests */
	struct vrb_rdm_slot *slots;
	struct vrb_rdm_windows windows;
	struct vrb_rdm_spare_windows spare_windows;
	struct vrb_rc_conn *qp_next;	     /* in ep->by_qp */
	SLIST_ENTRY(vrb_rc_conn) dead_entry; /* in ep->conns.dead_conns */
	/* News of a connection with ud, for the event thread. */
	struct {
		struct ofi_rdm_task task;
		bool queued;
		bool met;    /* its first packet has arrived */
		bool silent; /* the peer does not acknowledge packets */
		int err;     /* FI_E*: the connection has ended; or 0 */
	} news;
	struct vrb_rdm_deferred deferred;
};

/*
 * Allocates a connection whose ring fits in the endpoint's CQ. Returns NULL when out of memory, or
 * if there is no room, which is logged.
 */
struct vrb_rc_conn *vrb_rc_conn_new(struct ofi_rdm_ep *ep);
/* Returns true while more than a quarter of the room is left; strangers cannot use the rest. */
bool vrb_rc_conn_has_room(const struct ofi_rdm_ep *ep);
/* Frees a connection whose id and queue pair have been destroyed or passed on. */
void vrb_rc_conn_free(struct vrb_rc_conn *conn);
/* Creates the queue pair in INIT. Returns 0 or -FI_E*. */
int vrb_rc_conn_create_qp(struct vrb_rc_conn *conn);
/*
 * Moves the queue pair from INIT through RTR to RTS, with the attributes that the id has for the
 * peer. Returns 0 or -FI_E*; returns -FI_ECONNABORTED without logging if the request or the reply
 * no longer exists because the other side gave up.
 */
int vrb_rc_conn_connect(struct vrb_rc_conn *conn);
/* Grants the peer its remote access. Returns 0 or FI_E*. */
int vrb_rc_conn_open(struct vrb_rc_conn *conn);
/* Makes the device stop acknowledging the peer's packets. */
void vrb_rc_conn_stop(struct vrb_rc_conn *conn);
/*
 * Makes everything posted complete with errors, and then conn->last. Returns false if that may not
 * happen, so the queue pair must be destroyed.
 */
bool vrb_rc_conn_break(struct vrb_rc_conn *conn);
/*
 * Sends a packet of the transport's own, for which the ring has a slot outside of the peer's
 * credits. Returns 0 or FI_E*.
 */
int vrb_rc_conn_send(struct vrb_rc_conn *conn, const void *bytes, size_t len);
/*
 * Called when ibv_post_send has failed: ends the connection soon, unless the error means that the
 * queue is full.
 */
void vrb_rc_conn_refused(struct vrb_rc_conn *conn, int err);
/*
 * Makes the most recent silent work requests complete by posting another one, if the peer's flow
 * has a credit for that.
 */
void vrb_rc_conn_probe(struct vrb_rc_conn *conn, struct ofi_rdm_flow *flow);
/*
 * Probes all connections, because their silent work requests may hold all bounce buffers; at most
 * once per millisecond, because callers that find no buffer try again.
 */
void vrb_rc_conn_probe_all(struct ofi_rdm_ep *ep);
/*
 * Requests a completion for each work request on every connection from now on, because a counter
 * needs it. The caller holds the lock.
 */
void vrb_rc_conn_signal_all(struct ofi_rdm_ep *ep);
/* Returns true if a message of the fast path has the context. The caller holds the lock. */
bool vrb_rc_conn_has(struct ofi_rdm_ep *ep, const void *context);
/*
 * Posts the work request of vrb_rc_conn_probe() in any case: it fails if the peer's device does not
 * respond. Returns false if it could not be posted.
 */
bool vrb_rc_conn_touch(struct vrb_rc_conn *conn, struct ofi_rdm_flow *flow);
/* Ends the peer's rights to memory of messages. */
void vrb_rc_conn_drop_rights(struct vrb_rc_conn *conn);
/*
 * Puts the queue pair into the error state. It is destroyed only once the device has reported that
 * it no longer uses the SRQ, or has failed to do so in time: some devices discard the completions
 * of a destroyed queue pair, and with them its receives.
 */
void vrb_rc_conn_halt(struct vrb_rc_conn *conn, uint64_t now);
bool vrb_rc_conn_freeable(const struct vrb_rc_conn *conn, uint64_t now);
/*
 * Destroys the queue pair. Afterward only completions that are in the CQ already can arrive. Called
 * without the endpoint's lock.
 */
void vrb_rc_conn_destroy_qp(struct vrb_rc_conn *conn);

static inline struct vrb_rc_conn *vrb_rc_conn_find(const struct ofi_rdm_ep *ep, uint32_t qp_num)
{
	const struct vrb_rc_table *table = &vrb_rc(ep)->by_qp;
	struct vrb_rc_conn *conn = table->size ? *vrb_rc_table_list(table, qp_num) : NULL;

	while (conn && conn->qp_num != qp_num)
		conn = conn->qp_next;
	return conn;
}

/*
 * Returns true if devices of peers may read the memory of the endpoint. With a job secret none may,
 * because a device does not check it.
 */
static inline bool vrb_rdm_conn_reads(const struct ofi_rdm_ep *ep)
{
	return vrb_rc_domain(ep)->max_read && !vrb_rc(ep)->conns.secret;
}

/*
 * Doubles the device's CQ of that size, as far as the device permits. Returns the new size, or the
 * same size if it cannot grow, also if a driver reports success without growing it.
 */
static inline uint32_t vrb_rc_cq_grow(const struct ofi_rdm_ep *ep, uint32_t size)
{
	uint32_t max = (uint32_t)vrb_rc_domain(ep)->attr.max_cqe;
	uint32_t wanted = size < max / 2 ? 2 * size : max;

	if (wanted <= size || ibv_resize_cq(vrb_rc(ep)->cq, (int)wanted))
		return size;
	return (uint32_t)vrb_rc(ep)->cq->cqe < wanted ? size : wanted;
}

/* Creates an RC queue pair of the endpoint with so many work requests. Sets errno on NULL. */
static inline struct ibv_qp *vrb_rc_qp_new(const struct ofi_rdm_ep *ep, struct vrb_owner *owner,
					   struct ibv_srq *srq, uint32_t wrs)
{
	const struct vrb_rc_ep *rc = vrb_rc(ep);
	struct ibv_qp_init_attr attr = {
		.qp_context = owner,
		.send_cq = rc->cq,
		.recv_cq = rc->cq,
		.srq = srq,
		.qp_type = IBV_QPT_RC,
		.cap = {
			.max_send_wr = wrs,
			.max_send_sge = (uint32_t)rc->packet.max_sge,
			.max_inline_data =
				(uint32_t)(rc->inline_max + sizeof(struct ofi_rdm_wire_fast)),
		},
	};

	return vrb_qp_new(vrb_rc_domain(ep)->pd, &attr);
}

static inline bool vrb_rc_conn_idle(const struct vrb_rc_conn *conn)
{
	return conn->head == conn->tail;
}

/*
 * Returns true if nothing shows that the peer's device still answers: silent work requests do not
 * complete by themselves.
 */
static inline bool vrb_rc_conn_is_quiet(const struct vrb_rc_conn *conn)
{
	return vrb_rc_conn_idle(conn) ||
	       conn->slots[(conn->head - 1) & conn->mask].flags & OFI_RDM_SILENT;
}

/* Returns the completion of a work request that the library has carried out. */
static inline struct ibv_wc vrb_rdm_wc_sent(uint64_t wr_id, uint32_t number)
{
	return (struct ibv_wc){
		.wr_id = wr_id,
		.status = IBV_WC_SUCCESS,
		.opcode = IBV_WC_SEND,
		.qp_num = number,
	};
}

/* Returns the completion of a receive for a packet that the library put into its buffer. */
static inline struct ibv_wc vrb_rdm_wc_arrived(const struct vrb_rdm_rx *rx, uint32_t len,
					       uint32_t number)
{
	return (struct ibv_wc){
		.wr_id = (uintptr_t)rx | VRB_RDM_RX_BIT,
		.status = IBV_WC_SUCCESS,
		.opcode = IBV_WC_RECV,
		.byte_len = len,
		.qp_num = number,
	};
}

/*
 * Posts a work request, for which the peer's flow has a credit. Unsignaled ones are retired with
 * the next signaled one, of which there is one in each quarter of the ring, unless all are
 * signaled. Returns 0 or an errno.
 */
static inline int vrb_rc_conn_post(struct vrb_rc_conn *conn, struct ibv_send_wr *wr, uint64_t flags,
				   void *context, struct vrb_rdm_buf *bounce)
{
	struct vrb_rdm_slot *slot = &conn->slots[conn->head & conn->mask];
	struct ibv_send_wr *bad;
	int err;

	slot->context = context;
	slot->flags = flags;
	slot->bounce = bounce;
	slot->seq = conn->head;
	wr->wr_id = (uintptr_t)slot;
	if (!(flags & OFI_RDM_SILENT) || !((conn->head + 1) & conn->quiet))
		wr->send_flags |= IBV_SEND_SIGNALED;
	err = ibv_post_send(conn->sq, wr, &bad);
	if (ofi_likely(!err))
		conn->head++;
	return err;
}

#endif
