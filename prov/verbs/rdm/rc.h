/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The RC transport of the engine: its parts of endpoints and peers. An endpoint has one shared
 * receive queue, one CQ for everything, and one RC queue pair per peer, connected at first use; on
 * datagrams it has stand-ins for these, see ud.h.
 */
#ifndef VRB_RDM_RC_H
#define VRB_RDM_RC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <infiniband/verbs.h>
#include "prov/base/ops.h"
#include "buf.h"
#include "prov/rdm/admit.h"
#include "prov/rdm/peer.h"
#include "prov/rdm/policy.h"
#include "prov/rdm/task.h"
#include "prov/verbs/cm/cm.h"
#include "prov/verbs/provider/domain.h"
#include "prov/rdm/rdm.h"

#define VRB_RDM_NO_QP UINT32_MAX
#define VRB_RDM_BATCH 16 /* completions polled at once */

struct vrb_rdm_lease;
struct vrb_rdm_secret;
struct vrb_shm;
struct vrb_ud;
struct vrb_rc_conn;
struct vrb_rc_peer;

/* Connections found by their numbers, in lists that hold about one each (conn_table.c). */

/* A zeroed table is empty and owns no memory. */
struct vrb_rc_table {
	struct vrb_rc_conn **lists;
	uint32_t size; /* number of lists: a power of 2, or 0 */
	uint32_t used;
};

/* Returns the list for a number. The size must not be 0. */
static inline struct vrb_rc_conn **vrb_rc_table_list(const struct vrb_rc_table *table,
						     uint32_t number)
{
	return &table->lists[number & (table->size - 1)];
}

/* Makes room for one more connection. Returns false when out of memory. */
bool vrb_rc_table_reserve(struct vrb_rc_table *table);
/* Adds a connection, for which there is room. */
void vrb_rc_table_add(struct vrb_rc_table *table, struct vrb_rc_conn *conn);
/* Does nothing if the connection was not added. */
void vrb_rc_table_remove(struct vrb_rc_table *table, struct vrb_rc_conn *conn);
/* Returns the connection after one, or the first one after NULL; NULL if there is none. */
struct vrb_rc_conn *vrb_rc_table_next(const struct vrb_rc_table *table,
				      const struct vrb_rc_conn *conn);

struct vrb_rdm_listener {
	struct vrb_owner owner; /* owner of id */
	struct ofi_rdm_ep *ep;
	struct rdma_cm_id *id;
};

SLIST_HEAD(vrb_rdm_dead_conns, vrb_rc_conn);
LIST_HEAD(vrb_rdm_host_probes, vrb_rdm_host_probe);
SLIST_HEAD(vrb_rdm_deferred_list, vrb_rdm_deferred);
TAILQ_HEAD(vrb_rdm_starved, vrb_rc_peer);

/* An object that the event thread frees without the endpoint's lock, between events. */
struct vrb_rdm_deferred {
	SLIST_ENTRY(vrb_rdm_deferred) link;
	/* Destroys the id or the queue pair. */
	void (*destroy)(struct vrb_rdm_deferred *deferred);
	struct ofi_rdm_task end; /* runs afterward and frees the object */
};

/*
 * The times when a host last answered anything, when a probe of it last began, and when one was
 * last sent. Hosts whose addresses have the same hash share a record, which is that of the latest
 * one.
 */
struct vrb_rdm_host {
	uint8_t ip[16];
	uint64_t heard, begun, asked; /* in ms; 0: not yet */
};

/* An endpoint's state for its connections, owned by conn*.c. */
struct vrb_rdm_conns {
	uint32_t scope;	 /* IPv6: the interface number of the endpoint's address */
	bool known_only; /* peers that are not in the address vector are refused */
	struct ofi_rdm_admit admit;
	uint64_t host_key;	       /* random key that distributes hosts over set.hosts */
	struct vrb_rdm_secret *secret; /* NULL if there is none */
	struct ofi_rdm_conn_set set;
	bool rx_short; /* receives could not be posted; maybe no completion triggers a retry */
	/* Peers to which a post failed; maybe no completion triggers a retry. */
	struct vrb_rdm_starved starved;
	uint64_t probed; /* when all connections were last probed for bounce buffers, in ms */
	bool crowded;	 /* there are too many connections: checks again soon */
	uint64_t late;	 /* in ms: until then this process counts as delayed by others */
	struct ofi_lock armed_lock;
	uint64_t armed;	   /* when the timer expires, UINT64_MAX if it is not set */
	uint64_t wanted;   /* when the next tick is due, UINT64_MAX if none is */
	uint64_t expired;  /* when it expired for the tick that is queued; atomic */
	uint64_t watch;	   /* time of the next check of awaited peers */
	uint32_t watched;  /* the last one checked, index into ep->peers */
	unsigned int seed; /* random seed for the delays between attempts */
	struct vrb_rdm_listener listener;
	struct ofi_source timer;
	struct vrb_rdm_dead_conns dead_conns;
	struct vrb_rdm_host hosts[OFI_RDM_CONN_HOSTS];
	struct ofi_rdm_task lose; /* ends the endpoint with that error */
	int lose_err;
	struct ofi_rdm_task tick;      /* runs expired timers */
	bool ticking;		       /* the tick is queued; atomic */
	struct ofi_lock deferred_lock; /* guards `deferred`; taken last */
	struct vrb_rdm_deferred_list deferred;
};

/*
 * Templates of an eager packet, of any other packet, and of a transfer by RDMA. They are filled in
 * while the endpoint's lock is held.
 */
struct vrb_rdm_fast {
	struct ofi_rdm_wire_fast head;
	struct ibv_sge sge[2];
	struct ibv_send_wr wr;
	uint64_t flags; /* flags for the completion of fi_send or fi_tsend */
	size_t end;	/* shorter messages of these calls take the fast path */
};

struct vrb_rdm_packet {
	struct ibv_sge sge[1 + OFI_RDM_PROTO_IOV]; /* the header, the payload */
	struct ibv_send_wr wr;
	int max_sge; /* of a connection's queue pair; a packet with more segments is copied */
};

struct vrb_rdm_fast_rma {
	struct ibv_sge sge;
	struct ibv_send_wr wr;
	uint64_t flags;
	size_t end; /* shorter transfers are posted inline */
	/* Shorter transfers are posted from or to memory with a descriptor. */
	size_t registered_end;
};

struct vrb_rc_ep {
	struct ibv_comp_channel *channel;
	bool deaf; /* the device has no completion events: the channel never becomes readable */
	struct ibv_cq *cq;
	struct ibv_cq *poll_cq;		 /* the CQ to poll: cq, or its stand-in, see shm.h */
	int first;			 /* number of completions that a reader polls at first */
	struct vrb_shm *shm;		 /* NULL: no peer has shared memory */
	struct vrb_ud *ud;		 /* NULL: connections have queue pairs */
	struct ibv_wc wc[VRB_RDM_BATCH]; /* polled by the thread that holds the lock */
	struct {
		uint32_t left; /* work requests for which the CQ still has room */
		uint32_t size; /* size of the CQ as requested */
		bool fixed;    /* the CQ cannot grow anymore */
	} room;
	unsigned int unacked; /* unacknowledged channel events */
	struct ibv_srq *srq;
	/* Largest payload of an eager packet that the device accepts inline. */
	size_t inline_max;
	struct vrb_rdm_fast fast[2]; /* untagged, tagged */
	struct vrb_rdm_packet packet;
	struct vrb_rdm_fast_rma write, read;

	/* Memory. */
	struct vrb_rdm_pool tx_bufs; /* bounce buffers */
	struct vrb_rdm_rx_ring rx;   /* receive buffers */
	struct vrb_rdm_lease *lease; /* the latest registration for a peer's reads, or NULL */
	SLIST_HEAD(, vrb_rdm_lease) spare_leases;

	/* Connections. */
	struct vrb_rc_table by_qp;
	uint32_t recent_qp;  /* live connection of a peer that is up and marked as used, or none */
	uint32_t recent_src; /* the source of the peer's messages in matching */
	/* The peer's own number; the contexts of a scalable endpoint share recent_src. */
	uint32_t recent_number;
	struct vrb_rdm_conns conns;

	struct ofi_rdm_ep rdm; /* last, as ofi_stats_alloc() requires for its record */
};

struct vrb_rc_peer {
	struct ofi_rdm_conn policy; /* decides on conn and next */
	uint32_t conns;		    /* number of its connections in any state */
	uint32_t seen;		    /* value of conn->head when its use was last checked */
	/*
	 * Marks of messages in connection requests on datagrams, see conn_first.c: of the one that
	 * may have been delivered to the peer, and of the peer's last one delivered here; or 0.
	 */
	uint32_t doubt, delivered;
	/* Used for sending, or being flushed; NULL if there is none. */
	struct vrb_rc_conn *conn;
	struct vrb_rc_conn *next;	   /* being set up */
	struct vrb_rdm_host_probes probes; /* unanswered probes of its host */
	struct vrb_rdm_host_probes asks;   /* probes about a connection on datagrams */
	TAILQ_ENTRY(vrb_rc_peer) starving;
	bool starved;		 /* in the endpoint's conns.starved */
	uint32_t bounces;	 /* bounce buffers held by queued operations */
	struct ofi_rdm_peer rdm; /* last, as ofi_stats_peer_alloc() requires for its record */
};

static inline struct vrb_rc_ep *vrb_rc(const struct ofi_rdm_ep *ep)
{
	return (struct vrb_rc_ep *)((char *)(uintptr_t)ep - offsetof(struct vrb_rc_ep, rdm));
}

/* Readers poll the CQ, for so many completions at first. */
static inline void vrb_rdm_poll_from(struct vrb_rc_ep *rc, struct ibv_cq *cq, int first)
{
	rc->poll_cq = cq;
	rc->first = first;
}

static inline struct vrb_rc_peer *vrb_rc_peer(const struct ofi_rdm_peer *peer)
{
	return (struct vrb_rc_peer *)((char *)(uintptr_t)peer - offsetof(struct vrb_rc_peer, rdm));
}

static inline struct ofi_rdm_peer *vrb_rc_peer_of(const struct ofi_rdm_proto_peer *peer)
{
	return (struct ofi_rdm_peer *)(uintptr_t)peer;
}

static inline struct vrb_domain *vrb_rc_domain(const struct ofi_rdm_ep *ep)
{
	return (struct vrb_domain *)ep->domain;
}

/* Returns true if packets to peers on the same host may use shared memory. */
static inline bool vrb_rc_shares(const struct ofi_rdm_ep *ep)
{
	return vrb_rc_domain(ep)->shares && !ep->no_shm;
}

/* Returns the transport with the properties of the device. */
struct ofi_rdm_xport vrb_rdm_rc(const struct vrb_domain *domain, const struct fi_info *info);
/* Opens an endpoint that uses this transport. */
int vrb_rc_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep, void *context);
OFI_CALL(fi_ops_domain, scalable_ep) vrb_rc_sep_open;
OFI_CALL(fi_ops_domain, srx_ctx) vrb_rc_srx_open;
OFI_CALL(fi_ops_domain, cq_open) vrb_rc_cq_open;
/* The device, queues and buffers of an endpoint (ep.c). */
int vrb_rc_init(struct ofi_rdm_ep *ep);
int vrb_rc_enable(struct ofi_rdm_ep *ep);
void vrb_rc_fini(struct ofi_rdm_ep *ep);
void vrb_rc_free(struct ofi_rdm_ep *ep);
/* Configures the fast-path calls according to the endpoint's default flags. */
void vrb_rc_set_modes(struct ofi_rdm_ep *ep, uint64_t flags);
/*
 * The protocol's memory (mem.c). Buffers that only the local device uses have cached registrations.
 * A peer gets a memory window to the bytes that it may read or write; without windows it gets a
 * registration of exactly these bytes, which ends with the message.
 */
OFI_CALL(ofi_rdm_xport_ops, reg) vrb_rdm_mem_reg;
int vrb_rdm_mem_bind(struct ofi_rdm_proto_peer *peer, struct ofi_rdm_proto_mr *mr);
OFI_CALL(ofi_rdm_xport_ops, revoke) vrb_rdm_mem_revoke;
void vrb_rdm_mem_dereg(struct ofi_rdm_proto_peer *peer, struct ofi_rdm_proto_mr *mr);
/* Frees unused objects. Called when no peer has a right to memory anymore. */
void vrb_rdm_mem_fini(struct ofi_rdm_ep *ep);
/* The transport's part of a peer (peer.c). */
struct ofi_rdm_peer *vrb_rc_peer_new(void);
void vrb_rc_peer_free(struct ofi_rdm_peer *peer);
void vrb_rc_peer_init(struct ofi_rdm_peer *peer);
bool vrb_rc_peer_is_gone(const struct ofi_rdm_peer *peer);
void vrb_rc_peer_met(struct ofi_rdm_peer *peer);
/* Fast-path calls that post a work request directly (fast.c, fast_rma.c). */
extern const struct ofi_rdm_calls vrb_rc_calls, vrb_rc_nolock_calls;
extern const struct fi_ops_rma vrb_rc_rma_ops, vrb_rc_rma_nolock_ops;

#endif
