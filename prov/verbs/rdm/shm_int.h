/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Shared memory of endpoints and connections, private to shm*.c. */
#ifndef VRB_RDM_SHM_INT_H
#define VRB_RDM_SHM_INT_H

#include <sys/queue.h>
#include <infiniband/verbs.h>
#include "prov/rdm/shm_ring.h"
#include "rc_conn.h"
#include "shm.h"
#include "shm_map.h"

#define VRB_SHM_NO_RING UINT32_MAX
#define VRB_SHM_WORDS	480u /* of bells: one bit for each ring of an endpoint */
#define VRB_SHM_RINGS	(VRB_SHM_WORDS * 64)

/* A send flag: the work request is an RDMA read whose bytes have been copied already. */
#define VRB_SHM_COPIED (1u << 30)

/* The wr_id of a packet that only wakes the peer; neither a slot nor a receive. */
#define VRB_SHM_WAKE_ID 2u

/*
 * Rings of an endpoint whose files are open at once. A stranger may ask for many rings, and each
 * file takes a descriptor of the process until the peer has mapped it.
 */
#define VRB_SHM_OFFERS 64u
/* A peer that does not map its ring for so long gives up its file to others. */
#define VRB_SHM_OFFER_MS 5000u

/*
 * More packets of one peer than can be waiting in the device: it has at most 32768 receives
 * (FI_VERBS_RDM_RX_BUFFERS), and the peer's queue is short.
 */
#define VRB_SHM_AHEAD 65536

/* The work that a poll begins with. */
enum vrb_shm_turn {
	VRB_SHM_TURN_RINGS,  /* packets in rings */
	VRB_SHM_TURN_DEVICE, /* the completion of the device that is held */
	VRB_SHM_TURN_SENT,   /* completions of the connection that waits longest for them */
	VRB_SHM_TURNS,
};

enum vrb_shm_sleep {
	VRB_SHM_AWAKE,
	VRB_SHM_TOLD,  /* the event thread polls for it soon */
	VRB_SHM_DOZES, /* it was told, and may sleep on */
	VRB_SHM_ASLEEP,
};

/* The second byte of this file's packets, which no packet of the engine has. */
enum vrb_shm_kind {
	VRB_SHM_OFFER = 0x80,
	VRB_SHM_START, /* answers an offer: the next packets may be in the ring */
	VRB_SHM_WAKE,
};

/*
 * A bitmap in which senders mark the rings of an endpoint that have packets. All senders can write
 * it, so it is only a hint: the endpoint also polls each ring in turn, and requests in each ring to
 * be woken. The mark of the ring that delivered last stays, and the ring is looked at.
 */
struct vrb_shm_bell {
	uint64_t token[2];
	uint64_t bells[VRB_SHM_WORDS] __attribute__((aligned(64)));
};

struct vrb_shm_conn {
	struct ibv_qp qp; /* stands for the connection's queue pair in ibv_post_send */
	struct vrb_rc_conn *conn;

	/* Receiving from the peer. */
	struct ofi_shm_ring_rx rx;
	int fd; /* the ring's file until the peer has mapped it, or -1; then in shm->offered */
	uint64_t offered; /* time in ms */
	bool waits;	  /* in shm->waiting: there is no ring yet */
	TAILQ_ENTRY(vrb_shm_conn) offer;
	uint32_t index;
	bool started;	  /* the peer has mapped the ring */
	uint64_t limit;	  /* while all->limited: the end of what is taken */
	uint32_t arrived; /* packets that arrived through the device since then */
	bool is_awake;	  /* in shm->awake: the peer is not asked to wake this side */
	TAILQ_ENTRY(vrb_shm_conn) awake;

	/* Long messages. */
	bool copies;	/* this side copies from the peer's memory */
	bool is_copied; /* the peer copies from this side's memory */
	struct {
		uint64_t at, token[2]; /* of the ring that it made */
		uint32_t pid;
	} theirs;		       /* the peer's process */
	uint32_t granted;	       /* a bit for each right of the peer */
	uint64_t keys[OFI_SHM_GRANTS]; /* the keys of these rights */

	/* Sending to the peer. */
	bool answered;		   /* its offer */
	struct ofi_shm_ring_tx tx; /* without a map, packets go through the device only */
	struct vrb_shm_bell *bell;
	uint32_t to;   /* index of the ring at the peer */
	uint32_t sent; /* packets sent through the device since the ring is used */
	/* conn->head after the last work request and RDMA of the device; the tail if complete. */
	uint32_t device_end, rdma_end;
	uint32_t wakes; /* number of posted wakes that are not complete */
	bool wake_due;
	/* The slots whose packets are in the ring, and where they end there. */
	uint64_t in_ring[(OFI_RDM_WIRE_WINDOW + 63) / 64];
	uint64_t ends[OFI_RDM_WIRE_WINDOW];
	uint32_t reported; /* completions before this one have been reported */
	bool is_pending;   /* in shm->pending: some are not reported */
	TAILQ_ENTRY(vrb_shm_conn) pending;
};

struct vrb_shm {
	struct ibv_context context; /* of the stand-ins */
	struct ibv_cq cq;	    /* stands for the endpoint's CQ in ibv_poll_cq */
	struct ibv_cq *device;	    /* the CQ that was polled before */
	int first;		    /* and for how many completions at first */
	const struct vrb_shm_calls *calls;
	struct ofi_rdm_ep *ep;
	struct vrb_shm_bell *bell;
	struct vrb_shm_place place;  /* of the bell */
	struct vrb_shm_conn **conns; /* by index */
	uint32_t size;
	uint32_t count;		       /* number of connections with shared memory */
	bool used;		       /* a ring has been mapped: wakes may be in flight */
	uint32_t turn;		       /* index after the last ring that was left with packets */
	uint32_t polls;		       /* number of polls so far */
	uint32_t latest;	       /* index of the ring that delivered last, whose bell stays */
	uint32_t unasked;	       /* index of the ring that was last polled without a bell */
	uint32_t grants_given;	       /* number of rights granted so far */
	enum vrb_shm_sleep sleep;      /* of a thread until something that was sent completes */
	uint64_t ready[VRB_SHM_WORDS]; /* rings to be polled */
	bool limited;	/* only what has arrived by now is taken from the rings and the device */
	uint32_t quota; /* while `limited`: completions that are still taken from the device */
	bool has_held;
	bool starved;	    /* a packet in a ring waits for a buffer */
	struct ibv_wc held; /* a completion of the device that waits for packets before it */
	uint64_t held_end;  /* the end of these packets in the ring of its peer */
	enum vrb_shm_turn turn_of;
	/* The packets and completions that come before the completion whose turn it is. */
	struct {
		bool is_set;
		struct vrb_shm_conn *shm; /* its connection, if that has shared memory */
		uint64_t written;	  /* end of the peer's packets in the ring */
		uint32_t sent;		  /* its first work request that was not complete */
	} goal;
	TAILQ_HEAD(vrb_shm_pending, vrb_shm_conn) pending;
	TAILQ_HEAD(, vrb_shm_conn) awake;
	uint32_t files;			    /* number of rings in `offered` */
	TAILQ_HEAD(, vrb_shm_conn) offered; /* their files are open, the oldest first */
	TAILQ_HEAD(, vrb_shm_conn) waiting; /* for a place there */
};

static inline struct vrb_shm *vrb_shm_of(const struct vrb_shm_conn *shm)
{
	return vrb_rc(shm->conn->ep)->shm;
}

/* Returns the slot of the work request that the held completion is for, or NULL for a packet. */
static inline struct vrb_rdm_slot *vrb_shm_held_slot(const struct vrb_shm *all)
{
	bool received = all->held.wr_id & VRB_RDM_RX_BIT;

	return received ? NULL : (struct vrb_rdm_slot *)(uintptr_t)all->held.wr_id;
}

/* The functions of the stand-ins (shm_post.c, shm_poll.c). */
int vrb_shm_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int vrb_shm_poll_cq(struct ibv_cq *cq, int count, struct ibv_wc *wc);
/* Returns true if this side can copy from the memory of the process that made the ring. */
bool vrb_shm_try_copy(struct vrb_shm_conn *shm, const struct ofi_shm_ring_map *ring,
		      const struct vrb_shm_place *place);
/* Posts a packet that wakes the peer, or notes that it is due. */
void vrb_shm_wake(struct vrb_shm_conn *shm);
void vrb_shm_set_awake(struct vrb_shm_conn *shm, bool awake);
/* Returns true for the packet after which the peer uses its ring; a refusal is none. */
bool vrb_shm_is_start(const void *bytes, size_t len);

#endif
