/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connections on unreliable datagrams, private to ud*.c. The endpoint's lock guards everything. */
#ifndef VRB_RDM_UD_INT_H
#define VRB_RDM_UD_INT_H

#include <string.h>
#include <sys/queue.h>
#include <infiniband/verbs.h>
#include "prov/rdm/ack.h"
#include "prov/rdm/cwnd.h"
#include "prov/rdm/due.h"
#include "prov/rdm/peer.h"
#include "prov/rdm/task.h"
#include "prov/verbs/dgram/ud_name.h"
#include "prov/verbs/dgram/ud_port.h"
#include "prov/verbs/queue/ah.h"
#include "src/ds/min.h"
#include "rc_conn.h"
#include "ud.h"
#include "ud_wire.h"

enum {
	/* How often an endpoint is polled while a peer waits for its first packet to be taken. */
	VRB_UD_FRESH_MS = 10,
	VRB_UD_GRH = 40,
	VRB_UD_SQ = 1024,  /* depth of the device's send queue */
	VRB_UD_RQ = 2048,  /* of its receive queue */
	VRB_UD_READS = 16, /* reads of a connection in flight */
	VRB_UD_JOBS = 64,  /* reads of a peer that wait for their turn */
	/*
	 * A message is acknowledged at the end of the poll, because the process may not poll again
	 * soon, unless an acknowledgment was sent within this time in us, or a packet is likely to
	 * carry it: so many packets in a row were sent soon after a message had arrived.
	 */
	VRB_UD_PROMPT_US = 50,
	VRB_UD_SOON_US = 200,
	VRB_UD_CHATS = 8, /* at first; doubled each time nothing was sent */
	VRB_UD_CHATS_MAX = 128,
	VRB_UD_LETTER_US = 100000, /* until a letter is sent again the first time */
	VRB_UD_LETTER_MOST_US = 1600000,
	VRB_UD_REQUESTS = 1024,	   /* that wait to be handled; the others are sent again */
	VRB_UD_PACE_US = 20000,	   /* between packets if nothing is in flight */
	VRB_UD_SILENT_US = 200000, /* until the peer's host is asked */
	VRB_UD_ASK_US = 1000000,   /* until it is asked again */
	VRB_UD_BATCH = 16,	   /* completions that a poll takes at once */
	VRB_UD_FEW = 8,		   /* early packets that a peer may have when many are kept */
	VRB_UD_KEPT = 64,	   /* connections that stay awake in any case */
	VRB_UD_SHARE = 256,	   /* and one more for so many connections */
	VRB_UD_LOOKS_WAKING = 4,   /* looks for each connection that wakes */
	VRB_UD_RC_BUCKETS = 1024,
	VRB_UD_RC_KEEP_US = 500000, /* a connection keeps its queue pair for so long at least */
	VRB_UD_RESERVE = 32,	    /* of the device's send queue, for packets without a number */
	VRB_UD_RANDOM = 32,	    /* random numbers that are drawn at once */
	VRB_UD_RING = OFI_RDM_WIRE_WINDOW,
};

/* The times of struct ofi_rdm_ack_params, but for the silence. */
#define VRB_UD_ACK_TIMES .first = 50000, .min = 5000, .max = 400000, .delay = 200, .every = 8
#define VRB_UD_CWND_PARAMS                                              \
	{                                                               \
		.target = 5000, .first = 16, .most = OFI_RDM_SEQ_WINDOW \
	}

struct vrb_ud_rc;

/* A packet that is being sent, in a buffer of the pool, whose rest has the bytes. */
struct vrb_ud_tx {
	struct ofi_rdm_ack_node node; /* first */
	struct vrb_rdm_buf *buf;
	struct vrb_ud_wr *wr; /* what it is a part of, or NULL */
	uint32_t len;
	uint32_t posted; /* copies in the device's send queue */
	bool done;	 /* nobody needs it once none is posted */
	bool reads;	 /* no packet: a read of that length by the device, in ud->reading */
	bool not_ready;	 /* the peer's device had no receive for it: in ud->not_ready */
	uint32_t writer; /* the number of the connection whose ASK or ANSWER it is; 0: none */
	struct vrb_ud_conn *ud;
	TAILQ_ENTRY(vrb_ud_tx) link;
	uint8_t bytes[] __attribute__((aligned(8)));
};

/* A work request of the transport. */
struct vrb_ud_wr {
	STAILQ_ENTRY(vrb_ud_wr) link;
	uint64_t wr_id;
	enum vrb_ud_kind kind;
	bool signaled, packed, done;
	bool direct;	 /* a read that the device carries out */
	uint32_t posted; /* its parts in the device's send queue */
	int num_sge;
	struct ibv_sge sge[1 + OFI_RDM_PROTO_IOV];
	uint64_t remote;
	uint32_t rkey, id;
	uint32_t len, sent;	/* bytes, and how many of them are in packets */
	uint32_t got;		/* bytes of a read that have arrived */
	uint32_t last;		/* the number of its last packet */
	bool arrived;		/* a write that has arrived, and that the peer has not handled */
	uint32_t flying;	/* packets that are not acknowledged */
	struct vrb_ud_tx *copy; /* its only packet, until it is sent */
};

/* A read of the peer that is being answered. */
struct vrb_ud_job {
	STAILQ_ENTRY(vrb_ud_job) link;
	uint64_t addr;
	uint32_t key, len, id, sent;
};

/* A packet of the device's receive queue. */
struct vrb_ud_rx {
	struct ofi_rdm_seq_node node; /* first */
	struct ibv_recv_wr wr;
	struct ibv_sge sge;
	struct vrb_ud_packet packet;
	STAILQ_ENTRY(vrb_ud_rx) stalled;
};

/* What is sent again until the peer has answered, or has sent its first packet. */
struct vrb_ud_letter {
	enum vrb_ud_kind kind; /* VRB_UD_ASK or VRB_UD_ANSWER */
	uint64_t at, wait;     /* in us: when it is sent again, and how long after the last time */
	uint32_t key;	       /* in the peer's name */
	uint32_t carried;      /* so many bytes of the payload are of a message */
	uint8_t times;	       /* it was sent, or 255 */
	bool posted;	       /* a copy is in the queue of a device without order */
	uint32_t len;
	uint8_t data[]; /* the payload */
};

SLIST_HEAD(vrb_ud_rcs, vrb_ud_rc);

/* A connection that sleeps keeps this besides; see ud_sleep.c. */
struct vrb_ud_rest {
	struct vrb_ah *path;
	uint32_t out, in, order, echo, srtt, rttvar, window, traffic;
	uint16_t doubles, its_doubles;
	uint8_t reorder, chats, chats_needed;
	bool fresh;
};

/* A peer's end of a connection. */
struct vrb_ud_end {
	uint32_t number, qpn;
};

/* How a queue pair is reached. */
struct vrb_ud_way {
	struct vrb_ah *path;
	uint32_t qpn, qkey;
};

/* Lists of connections that the next poll looks at. */
enum vrb_ud_list {
	VRB_UD_BUSY,	/* something waits to be sent, once there is room */
	VRB_UD_LATE,	/* a timer has expired; only while timers run */
	VRB_UD_DONE,	/* the oldest work request has completed */
	VRB_UD_FAILING, /* work requests fail */
	VRB_UD_STALLED, /* packets wait for a buffer */
	VRB_UD_PROMPT,	/* messages arrived that may have to be acknowledged at once */
	VRB_UD_LISTS
};

/* While the connection sleeps, it ends before qp, and `rest` follows instead. */
struct vrb_ud_conn {
	struct vrb_rc_conn *conn;
	/* How the peer is reached; NULL until the first packet has arrived, and asleep. */
	struct vrb_ah *path;
	struct vrb_ud_letter *letter;
	struct vrb_ud_rc *rc; /* NULL: none */
	union {
		struct vrb_ud_end end;
		struct {
			uint32_t to;  /* the peer's number */
			uint32_t qpn; /* the peer's queue pair */
		};
	};
	int end_err; /* FI_E*: the end, told once nothing is stalled; 0: it has not ended */
	bool asleep;
	bool used;	    /* a packet has arrived */
	bool heard;	    /* what the peer says about itself is known */
	bool over;	    /* the peer has ended the connection, or was told that it has ended */
	bool broken;	    /* what is posted fails */
	uint8_t listed;	    /* bits of enum vrb_ud_list: the lists that it is in */
	bool rc_met;	    /* the peer's VRB_UD_QP has arrived */
	bool told : 1;	    /* the owner was told that it has ended */
	bool rc_closed : 1; /* the connection gets no reliable queue pair */
	bool direct : 1;    /* the device of each end reads the other's memory */
	/* The peer was told this at the end. Unless it is 0 (closed), its data are dropped. */
	uint8_t reason; /* enum vrb_ud_reason */
	/* Bytes of a packet behind the longest header, which the ports of both ends take. */
	uint16_t payload;

	struct ibv_qp qp;   /* stands for the connection's queue pair */
	uint32_t first;	    /* our first sequence number; not kept */
	uint32_t delivered; /* what the peer has said when it made the connection; not kept */
	/* Packets to be sent again at that time in us, and how long the next ones wait. */
	TAILQ_HEAD(, vrb_ud_tx) not_ready;
	uint64_t ready_at, ready_wait;
	bool is_refused; /* the packet with the number `refused` was not carried out */
	uint32_t refused;
	bool settles;		   /* its silent work requests are to be reported */
	bool rc_due;		   /* VRB_UD_QP is to be sent */
	enum ibv_wc_status status; /* of the first failure */
	uint32_t vendor_err;	   /* the device's code of what it reported last */
	uint64_t ask;		   /* in us: when the peer's host may be asked again */
	uint64_t acked;		   /* in us: when an acknowledgment was last sent alone */
	uint64_t met;		   /* in us: when the last message arrived */
	/* Packets in a row that were sent soon after one had arrived, and how many it takes. */
	uint8_t chats, chats_needed;
	uint64_t arrived; /* the earliest time at which the newest packet may have arrived, in us */
	uint32_t flying, reads, next_id, job_count;
	uint32_t unhandled; /* writes that have arrived, and that the peer has not handled */
	TAILQ_HEAD(, vrb_ud_tx) reading; /* reads in the device's send queue */
	struct vrb_ud_wr *alone;	 /* a read by the device that no other may overtake */
	struct ofi_rdm_ack ack;
	struct ofi_rdm_seq_in in;
	struct ofi_rdm_cwnd cwnd;
	STAILQ_HEAD(, vrb_ud_wr) wrs;
	struct vrb_ud_wr *turn; /* the first that is not packed */
	STAILQ_HEAD(, vrb_ud_job) jobs;
	STAILQ_HEAD(, vrb_ud_rx) stalled; /* in order, but there was no buffer */
	struct vrb_rdm_rx *part;	  /* a message of which a part has arrived */
	uint32_t part_len;
	bool is_apart; /* the part is not in a receive buffer, but in memory of its own */
	TAILQ_ENTRY(vrb_ud_conn) entry[VRB_UD_LISTS], awake;
	struct ofi_rdm_due_node due;  /* in all->due, not after the next timer expires */
	uint32_t seen_order, seen_in; /* what had been sent and had arrived at the last look */
	/*
	 * Packets before `ordered` must be handled by the peer before a queue pair, or a read by
	 * the device, may overtake them; those before `handled` are, as far as is known.
	 */
	uint32_t ordered, handled;
	uint32_t traffic; /* what the work requests are worth that were posted */
	/* The score tells what both ends have posted lately, as of the time `scored` in us. */
	uint64_t score, scored;
	uint64_t rc_again;   /* in us: until then no queue pair is asked for */
	uint64_t rc_rest;    /* in us: until then there is none, as one was given back */
	uint8_t rc_refusals; /* in a row */
	struct {
		uint32_t number, psn, reads;
		enum ibv_mtu mtu;
		bool gives;			/* the peer knows VRB_UD_BACK */
	} rc_peer;				/* the peer's queue pair */
	struct vrb_rdm_slot slots[VRB_UD_RING]; /* the connection's ring */
};

TAILQ_HEAD(vrb_ud_conns, vrb_ud_conn);

/* A message that has arrived. */
struct vrb_ud_message {
	struct vrb_rdm_rx *rx;
	uint32_t len, number;
};

/* Counts what is permitted a limited number of times in a period. */
struct vrb_ud_quota {
	uint64_t since; /* when the period began, in us */
	uint32_t count; /* times since then */
};

struct vrb_ud {
	struct vrb_owner owner;	    /* of the queue pair */
	struct ibv_context context; /* of the objects that stand for others */
	struct ibv_cq cq;
	struct ibv_srq srq;
	const struct vrb_ud_calls *calls;
	struct ofi_rdm_ep *ep;
	struct vrb_ud_port port;
	struct ibv_qp *qp;
	struct ibv_qp_ex *reader;    /* the same, if the device reads */
	bool failed;		     /* the queue pair is in the error state; see ud_qp.c */
	bool lost;		     /* the owner was told that it cannot be used any more */
	struct ibv_recv_wr *flushed; /* receives that it has returned, which count as kept */
	uint32_t grh;		     /* bytes before a received packet */
	bool unordered;		     /* packets leave in any order, and each is reported */
	uint32_t sq_depth;	     /* of the device's send queue, VRB_UD_SQ at most */
	uint32_t rq_depth;	     /* of its receive queue, VRB_UD_RQ at most */
	uint32_t kept;		     /* receives whose packets are handled or kept */
	uint32_t key;		     /* of the name of the queue pair; 0: it has none */
	uint32_t random_left;	     /* of `random`, which are drawn together */
	uint32_t random[VRB_UD_RANDOM];
	uint32_t requests;   /* that have arrived and wait to be handled */
	uint32_t inline_max; /* packets up to this length are posted inline */

	/* Packets in the device's send queue. NULL means posted inline, or, without order, free. */
	struct vrb_ud_tx *sq[VRB_UD_SQ];
	uint64_t sq_head, sq_tail;
	uint64_t sq_reports; /* all before this one are reported as sent */
	struct vrb_rdm_pool pool;
	STAILQ_HEAD(, vrb_ud_wr) free_wrs;

	uint8_t *map; /* memory of the receive queue */
	size_t map_len;
	struct ibv_mr *mr;
	struct vrb_ud_rx *rxs;
	struct ibv_recv_wr *repost;

	/*
	 * Rings with a place for each buffer at least: the receives that the transport has posted
	 * to the SRQ, in order, and the messages that have arrived.
	 */
	struct vrb_rdm_rx **recvs;
	uint32_t recv_head, recv_tail;
	uint32_t parts; /* receives taken for messages of which only a part has arrived */
	struct vrb_ud_message *messages;
	uint32_t message_head, message_tail, ring_mask; /* the mask of both rings */

	struct ofi_index by_end; /* numbers of connections by the peer's end; see ud_words.c */

	struct vrb_ud_conns lists[VRB_UD_LISTS];
	/* Connections that do not sleep, and their objects that are free; see ud_sleep.c. */
	struct vrb_ud_conns awake, spare;
	uint32_t awake_count, spare_count;
	uint32_t awake_least; /* so many do not sleep in any case */
	uint32_t looks;	      /* at connections that may sleep, at the next poll */
	struct ibv_context sleeping;
	struct ibv_qp sleeper; /* stands for the queue pairs of connections that sleep */
	struct ofi_rdm_ack_params ack_params;
	uint64_t polled, last;	/* in us: when the device was polled before, and last */
	uint64_t now, wake;	/* in us: the time, and when the endpoint's timer polls */
	struct ofi_rdm_due due; /* timers of connections, in us */
	uint32_t conns, fresh;	/* connections, and those of which nothing has arrived */
	uint32_t idle;		/* polls without anything to do since `last` */
	uint32_t behind;	/* completions taken in full batches: the device may have more */
	struct vrb_ud_quota refusals, refused_hosts; /* hosts that were unknown, without order */
	/* Reliable queue pairs of connections that carry much (FI_VERBS_RDM_TRANSPORT=auto). */
	struct {
		bool wanted;
		struct ibv_srq *srq; /* created with the first of them */
		uint32_t share;	     /* receives that are to be in the SRQ */
		uint32_t in_srq;     /* receives in it, and those that the device has lost */
		uint32_t lost;	     /* how many of them the device may have lost */
		uint32_t count, most;
		uint32_t cq_size, room;	       /* of the device's CQ, and how much of it is left */
		TAILQ_HEAD(, vrb_ud_rc) turns; /* as they are looked at for one to give back */
		/* Given back, not destroyed yet, and those that can be destroyed; they count. */
		struct vrb_ud_rcs old, gone;
		uint64_t look; /* in us: when to look next */
		/* The score of whom room was made for, until that time: others do not get it. */
		uint64_t score, until;
		struct vrb_ud_rcs by_qp[VRB_UD_RC_BUCKETS];
	} rcs;
};

static inline struct vrb_ud *vrb_ud_of(const struct vrb_ud_conn *ud)
{
	return vrb_rc(ud->conn->ep)->ud;
}

static inline bool vrb_ud_any(const struct vrb_ud *all, enum vrb_ud_list list)
{
	return !TAILQ_EMPTY(&all->lists[list]);
}

static inline bool vrb_ud_is_listed(const struct vrb_ud_conn *ud, enum vrb_ud_list list)
{
	return ud->listed & 1u << list;
}

/* Appends the connection to the list unless it is there. */
static inline void vrb_ud_list(struct vrb_ud *all, struct vrb_ud_conn *ud, enum vrb_ud_list list)
{
	if (vrb_ud_is_listed(ud, list))
		return;
	ud->listed |= (uint8_t)(1u << list);
	TAILQ_INSERT_TAIL(&all->lists[list], ud, entry[list]);
}

/* Removes the connection from the list if it is there. */
static inline void vrb_ud_unlist(struct vrb_ud *all, struct vrb_ud_conn *ud, enum vrb_ud_list list)
{
	if (!vrb_ud_is_listed(ud, list))
		return;
	ud->listed &= (uint8_t) ~(1u << list);
	TAILQ_REMOVE(&all->lists[list], ud, entry[list]);
}

/* Has the next poll send what waits to be sent, after what has waited longer for room. */
static inline void vrb_ud_send_soon(struct vrb_ud_conn *ud)
{
	vrb_ud_list(vrb_ud_of(ud), ud, VRB_UD_BUSY);
}

/* Returns the bytes of a packet behind the longest header to a port with that MTU; 0: unknown. */
static inline uint16_t vrb_ud_payload(const struct vrb_ud *all, uint32_t mtu)
{
	uint32_t most = mtu < VRB_UD_MTU_MIN ? (uint32_t)VRB_UD_MTU_MIN : mtu;

	return (uint16_t)(ofi_min(ofi_min(most, all->port.mtu), UINT16_MAX) - VRB_UD_HEAD_MAX);
}

/*
 * Returns the Q_Key of a queue pair with that name. Without order it is the key in the name, so
 * that only those who know the name reach the queue pair; others have one that is well known.
 */
static inline uint32_t vrb_ud_qkey(const struct vrb_ud *all, uint32_t key)
{
	return all->unordered && key ? key : VRB_UD_QKEY_CM;
}

static inline struct vrb_ud_way vrb_ud_way_of(const struct vrb_ud_conn *ud)
{
	const struct ofi_rdm_addr *addr = &ud->conn->peer->addr;
	uint32_t key = ofi_rdm_addr_is_qp(addr) ? addr->qp.key : 0;

	return (struct vrb_ud_way){ ud->path, ud->qpn, vrb_ud_qkey(vrb_ud_of(ud), key) };
}

/* Returns the attributes of an address handle for a GID, by the port's own. */
struct ibv_ah_attr vrb_ud_attr_to(const struct vrb_ud *all, const uint8_t *gid);

/* Appends a receive that the transport has posted. */
static inline void vrb_ud_recv_add(struct vrb_ud *all, const struct ibv_recv_wr *wr)
{
	all->recvs[all->recv_head++ & all->ring_mask] = vrb_rdm_rx_at_id(wr->wr_id);
}

/* Appends a message that has arrived. */
static inline void vrb_ud_report(struct vrb_ud *all, struct vrb_rdm_rx *rx, uint32_t len,
				 uint32_t number)
{
	all->messages[all->message_head++ & all->ring_mask] =
		(struct vrb_ud_message){ rx, len, number };
}

static inline uint32_t vrb_ud_sq_room(const struct vrb_ud *all)
{
	return all->sq_depth - (uint32_t)(all->sq_head - all->sq_tail);
}

/* Returns true if the peer has handled whatever must not be overtaken. */
static inline bool vrb_ud_is_handled(const struct vrb_ud_conn *ud)
{
	return ofi_rdm_seq_distance(ud->handled, ud->ordered) <= 0;
}

/* Copies the bytes of a work request that begin at an offset to a packet, or from one. */
static inline void vrb_ud_copy(const struct vrb_ud_wr *wr, uint64_t at, uint8_t *bytes, size_t len,
			       bool to_packet)
{
	uint8_t *memory;
	size_t take;
	int i;

	for (i = 0; i < wr->num_sge && len; i++) {
		if (at >= wr->sge[i].length) {
			at -= wr->sge[i].length;
			continue;
		}
		memory = (uint8_t *)(uintptr_t)wr->sge[i].addr + at;
		take = wr->sge[i].length - at < len ? wr->sge[i].length - at : len;
		memcpy(to_packet ? bytes : memory, to_packet ? memory : bytes, take);
		bytes += take;
		len -= take;
		at = 0;
	}
}

uint64_t vrb_ud_clock(void);
/* Returns false if there are no random numbers. */
bool vrb_ud_random(struct vrb_ud *all, uint32_t *random);

/* The device's send queue (ud_sq.c). */
/* Returns a packet that is not sent yet. NULL when out of memory. */
struct vrb_ud_tx *vrb_ud_tx_new(struct vrb_ud *all);
/* Frees the packet, once the device does not read it any more. */
void vrb_ud_tx_put(struct vrb_ud *all, struct vrb_ud_tx *tx);
/* Moves sq_head to a free place, if there is room. Only devices without order need it. */
void vrb_ud_sq_seek(struct vrb_ud *all);
/* Posts a packet to the device. Returns false if it counts as lost because there is no room. */
bool vrb_ud_put(struct vrb_ud *all, const struct vrb_ud_way *way, struct ibv_sge sge,
		struct vrb_ud_tx *tx, bool report);
/* Takes completions of the device's send queue up to that work request. */
void vrb_ud_sent(struct vrb_ud *all, uint64_t index);

/* Sending (ud_send.c). */
int vrb_ud_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
/* Sends what may be sent now. */
void vrb_ud_pump(struct vrb_ud_conn *ud);
/* Retransmits what is due. Returns false if the peer was given up. */
bool vrb_ud_resend(struct vrb_ud_conn *ud);
/* Sends a packet without a number, with its payload. Returns false if it counts as lost. */
bool vrb_ud_put_bare(struct vrb_ud *all, const struct vrb_ud_way *way,
		     const struct vrb_ud_packet *packet);
/* The same on a connection. */
void vrb_ud_send_bare(struct vrb_ud_conn *ud, enum vrb_ud_kind kind, enum vrb_ud_reason reason);
/* Sends an acknowledgment alone. */
void vrb_ud_send_ack(struct vrb_ud_conn *ud);
/* Handles acknowledged packets, linked by `next`. */
void vrb_ud_acked(struct vrb_ud_conn *ud, struct ofi_rdm_ack_node *node);
/* Has the connection polled when its next timer expires. */
void vrb_ud_watch(struct vrb_ud_conn *ud);

/* The ends of work requests (ud_done.c). */
void vrb_ud_wr_free(struct vrb_ud_conn *ud, struct vrb_ud_wr *wr);
/* Called when a part of a work request is complete, perhaps the last one. */
void vrb_ud_wr_done(struct vrb_ud_conn *ud, struct vrb_ud_wr *wr);
/* Called when the peer has handled all packets before that number. */
void vrb_ud_handled(struct vrb_ud_conn *ud, uint32_t next);
/* Ends the connection: what is posted fails, the first work request with that status. */
void vrb_ud_fail(struct vrb_ud_conn *ud, enum ibv_wc_status status);
/* Has the next poll report that what is posted has failed. */
void vrb_ud_fail_soon(struct vrb_ud_conn *ud);
/* Frees what has been sent and what waits to be. */
void vrb_ud_drop_sent(struct vrb_ud_conn *ud);

/* Reads by a reliable device, and what it reports (ud_read.c). */
/* Returns true if the device carries out the read. */
bool vrb_ud_is_direct(const struct vrb_ud_conn *ud, const struct vrb_ud_wr *wr);
/* Returns true if the read, by packets or by the device, does not overtake anything now. */
bool vrb_ud_may_read(const struct vrb_ud_conn *ud, const struct vrb_ud_wr *wr);
/* Posts a part of the read to the device. Returns 0, ENOMEM if there is no room, or an errno. */
int vrb_ud_read(struct vrb_ud_conn *ud, struct vrb_ud_wr *wr);
/* Called when the connection is freed before the device has reported its reads. */
void vrb_ud_reads_forget(struct vrb_ud_conn *ud);
/*
 * Handles what a reliable device reports of a packet: it is sent again later if its receiver was
 * not ready; a receiver that is gone ends the connection, one that exists may be stopped.
 */
void vrb_ud_reported(struct vrb_ud *all, const struct ibv_wc *wc);
/* Sends these packets again if it is time to. */
void vrb_ud_send_not_ready(struct vrb_ud_conn *ud);

/* Receiving (ud_recv.c). */
void vrb_ud_arrived(struct vrb_ud *all, const struct ibv_wc *wc);
/* Delivers what waited for a buffer. */
void vrb_ud_unstall(struct vrb_ud *all);
void vrb_ud_drop_received(struct vrb_ud_conn *ud);
/* Ends a connection and logs why: the peer violates the protocol, or there is no memory for it. */
void vrb_ud_break(struct vrb_ud_conn *ud, enum vrb_ud_reason reason);
/* Tells the connection's owner once that it has ended. */
void vrb_ud_tell(struct vrb_ud_conn *ud, int err);
/* Called when the peer has no such connection any more. */
void vrb_ud_over(struct vrb_ud_conn *ud, int err);

/* Sends a packet, or sends it again. */
void vrb_ud_transmit(struct vrb_ud_conn *ud, struct vrb_ud_tx *tx);

/* Connections that sleep (ud_sleep.c). */
void vrb_ud_sleep_init(struct vrb_ud *all);
void vrb_ud_sleep_fini(struct vrb_ud *all);
/* Gives a connection an object, which is all 0, and its ring. Returns NULL when out of memory. */
struct vrb_ud_conn *vrb_ud_awake_new(struct vrb_rc_conn *conn);
/* Takes the object back, whether or not the connection sleeps. */
void vrb_ud_conn_put(struct vrb_ud_conn *ud);
/* Lets some of the connections sleep that have nothing to do. */
void vrb_ud_look(struct vrb_ud *all);
/* Wakes a connection that sleeps. Returns its object, NULL when out of memory. */
struct vrb_ud_conn *vrb_ud_wake(struct vrb_ud_conn *ud);
/* Sets what is not 0 in an object that is awake; `first` is the number of the next packet. */
void vrb_ud_conn_begin(struct vrb_ud_conn *ud, uint32_t first);

/* Letters (ud_meet.c). */
/* Handles a letter. */
void vrb_ud_met(struct vrb_ud *all, const struct ibv_wc *wc, const struct vrb_ud_rx *rx);
/* Logs a request of another version, which is not parsed. */
void vrb_ud_met_other(const struct vrb_ud *all, const uint8_t *bytes, size_t len);
/*
 * Frees the letter, if there is one. An unanswered request may have used an old hint, which is
 * forgotten.
 */
void vrb_ud_letter_free(struct vrb_ud_conn *ud);
/* Sends the letter again if it is time to. */
void vrb_ud_letter_again(struct vrb_ud_conn *ud);
/* Called when the device reports the letter of that connection; `nobody`: there was no receiver. */
void vrb_ud_letter_left(struct vrb_ud *all, uint32_t number, bool nobody);
/* Sets the queue pair's name, or the hint of an IP address that is the GID. Returns 0 or -FI_E*. */
int vrb_ud_set_name(struct vrb_ud *all);
/* Draws the key of the name. Returns 0 or -FI_EIO. */
int vrb_ud_draw_key(struct vrb_ud *all);

/* What the ends of a connection say about themselves (ud_words.c). */
/* Returns the connection that has such a request, NULL for none. */
struct vrb_rc_conn *vrb_ud_known(struct ofi_rdm_ep *ep, const struct rdma_cm_event *event);
/* Removes the connection from those that vrb_ud_known() finds. */
void vrb_ud_unknow(struct vrb_ud_conn *ud);

/* Polling (ud_poll.c). */
int vrb_ud_poll_cq(struct ibv_cq *cq, int count, struct ibv_wc *wc);
/* Returns receives to the device. */
void vrb_ud_repost(struct vrb_ud *all);

/* Paths (ud_path.c): vrb_ud_path_leave() ends the use of one. */
/* The attributes of the way back lack the packet's mark of congestion. */
bool vrb_ud_attr_from(const struct vrb_ud *all, const struct ibv_wc *wc, const struct vrb_ud_rx *rx,
		      struct ibv_ah_attr *attr);
struct vrb_ah *vrb_ud_path_get(struct vrb_ud *all, const struct ibv_ah_attr *attr);
/* Returns a path for a stranger, or NULL; strangers' hosts do not get all handles. */
struct vrb_ah *vrb_ud_path_new(struct vrb_ud *all, const struct ibv_ah_attr *attr);
/* Returns a path to the connection's peer, or NULL. */
struct vrb_ah *vrb_ud_path_of(const struct vrb_ud_conn *ud, const struct ibv_ah_attr *attr);
/* Returns true if one of the domain's paths leads from this port to that GID. */
bool vrb_ud_has_path(struct vrb_ud *all, const uint8_t *gid);
/* Returns such a path to the sender of a packet, which only its LID may identify, or NULL. */
struct vrb_ah *vrb_ud_path_back(struct vrb_ud *all, const struct ibv_ah_attr *attr);
/* Returns a path like one of the domain's to that GID, in the endpoint's traffic class, or NULL. */
struct vrb_ah *vrb_ud_path_like(struct vrb_ud *all, const uint8_t *gid);
void vrb_ud_path_leave(struct vrb_ud *all, struct vrb_ah *path);

#endif
