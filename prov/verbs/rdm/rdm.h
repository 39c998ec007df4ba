/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The reliable-datagram endpoint on verbs: one shared receive queue, one CQ for everything, one RC
 * queue pair per peer, connected at first use. The protocol is proto.h's; this is what carries it.
 *
 * Locks, in the order they are taken: all->lock, cq->eps_lock, av->lock, ep->lock, cq->lock.
 * ep->lock guards the endpoint, its peers and all of the protocol; the event thread takes it too,
 * by vrb_rdm_lock(): see lock.h.
 */
#ifndef VRB_RDM_H
#define VRB_RDM_H

#include <stdbool.h>
#include <stdint.h>
#include <netinet/in.h>
#include <sys/queue.h>
#include <infiniband/verbs.h>
#include <rdma/fi_endpoint.h>
#include "src/ds/bias.h"
#include "prov/base/cntr.h"
#include "src/ds/lock.h"
#include "prov/base/ref.h"
#include "prov/base/stats.h"
#include "buf.h"
#include "conns.h"
#include "prov/verbs/provider/domain.h"
#include "prov/verbs/queue/wq.h"
#include "prov/rdm/proto.h"

#define VRB_RDM_QP_BUCKETS 1024u
#define VRB_RDM_NO_QP	   UINT32_MAX
#define VRB_RDM_BATCH	   16 /* work completions of a poll */

struct vrb_rdm_av;
struct vrb_rdm_calls;
struct vrb_rdm_coll;
struct vrb_rdm_cq;
struct vrb_rdm_lease;
struct vrb_rdm_link;
struct vrb_rdm_peer;
struct vrb_rdm_proof;
struct vrb_rdm_secret;
struct ofi_stx;

/* An operation that waits in peer->fenced. */
struct vrb_rdm_fenced {
	STAILQ_ENTRY(vrb_rdm_fenced) link;
	bool is_out;   /* else a vrb_rdm_op */
	bool fence;    /* for all that are before it; else for what the one before it waits for */
	uint8_t kinds; /* its own, where the endpoint is ordered; order.h */
};

/* The operations of the application, and what they carry besides the protocol's part. */
struct vrb_rdm_out {
	struct ofi_rdm_proto_out proto; /* first */
	struct vrb_rdm_fenced fenced;
	uint64_t flags; /* of the completion, VRB_SILENT */
	void *copy;	/* the data of an injected message */
	SLIST_ENTRY(vrb_rdm_out) link;
};

/*
 * In vrb_rdm_recv.flags, beside the FI_* of the completion. ODD: whatever is not one buffer that
 * takes one message, with an entry and no counter.
 */
#define VRB_RDM_RECV_SLOW   (1ULL << 63)
#define VRB_RDM_RECV_SILENT (1ULL << 62)
#define VRB_RDM_RECV_BITS   (VRB_RDM_RECV_SLOW | VRB_RDM_RECV_SILENT)

/* Of one that is free space is set, count is 1, and the protocol's own fields but len are 0. */
struct vrb_rdm_recv {
	struct ofi_rdm_proto_recv proto; /* first */
	uint64_t flags;
	SLIST_ENTRY(vrb_rdm_recv) link;
};

SLIST_HEAD(vrb_rdm_outs, vrb_rdm_out);
SLIST_HEAD(vrb_rdm_recvs, vrb_rdm_recv);

enum {
	VRB_RDM_SEND,
	VRB_RDM_RECV,
	VRB_RDM_RMA_READ,
	VRB_RDM_RMA_WRITE,
	VRB_RDM_REMOTE_READ,
	VRB_RDM_REMOTE_WRITE,
	VRB_RDM_COUNTS
};

/* An address as the AV keeps it and as peers are found by. */
struct vrb_rdm_addr {
	union {
		struct sockaddr sa;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	};
};

/*
 * Where a thread that reads a CQ wants completions of what it has polled. Of use from its poll
 * until it releases the endpoint's lock, and stale then.
 */
#define VRB_RDM_NO_DIRECT \
	((struct vrb_rdm_cq *)1) /* no thread does; it differs from a CQ that there is not */
struct vrb_rdm_direct {
	struct vrb_rdm_cq *cq;
	void *at;	/* for the next entry of the CQ's format */
	fi_addr_t *src; /* NULL but in fi_cq_readfrom */
	size_t left;
};

/* Templates of an eager packet, and of a transfer by fi_write or fi_read. */
struct vrb_rdm_fast {
	struct ofi_rdm_wire_fast head;
	struct ibv_sge sge[2];
	struct ibv_send_wr wr;
	uint64_t flags; /* of the completion by fi_send or fi_tsend */
	size_t end;	/* they send less than this so */
};

struct vrb_rdm_fast_rma {
	struct ibv_sge sge;
	struct ibv_send_wr wr;
	uint64_t flags;
	size_t end;	       /* less than this goes inline */
	size_t registered_end; /* less than this goes from or to memory with a descriptor */
};

/* How an endpoint and its aliases begin. */
struct vrb_rdm_fid {
	struct fid_ep fid;
	struct vrb_rdm *endpoint;
};

struct vrb_rdm {
	struct fid_ep fid;
	struct vrb_rdm *endpoint; /* as vrb_rdm_fid */
	struct ofi_lock lock;
	struct ofi_bias bias; /* to the application's thread */
	bool biased;	      /* it is used; constant */
	bool with_domain; /* whatever the application does in the domain is serialized; constant */
	bool enabled;
	int dead; /* FI_E* of a lost device, else 0 */

	size_t inject_size;
	size_t inline_max; /* payload of an eager packet that the device takes inline */
	uint64_t tx_op_flags, rx_op_flags;
	size_t min_multi_recv;
	uint64_t recv_flags
		[2]; /* of the completion by fi_recv and fi_trecv; 0: not the common case */
	fi_addr_t undirected; /* all bits unless receives can ask for a source */
	bool tx_selective, rx_selective;
	bool counts; /* there are counters, or may be of deferred work */
	bool wants_source;
	bool source_err;     /* messages of strangers to the AV are errors */
	bool ordered;	     /* more than a connection keeps by itself; order.h */
	uint8_t order[4];    /* by kind: the kinds that it must not overtake */
	bool prov_keys;	     /* keys of remote memory are rkeys */
	uint8_t *atomic_old; /* values fetched by the atomic that is performed */
	struct vrb_rdm_cq *tx_cq, *rx_cq;
	struct vrb_rdm_cq *tx_tagged, *rx_tagged; /* of FI_CQ_FORMAT_TAGGED, else NULL */
	struct ofi_cntr *cntrs[VRB_RDM_COUNTS];

	struct vrb_domain *domain;
	struct fi_info *info;
	struct vrb_rdm_av *av;
	struct ofi_eq *eq;
	struct ofi_stx *stx;
	bool in_all;  /* of domain->base.progress */
	int attached; /* to tx_cq, to rx_cq */
	struct ofi_rdm_proto proto;
	struct ofi_rdm_match_node **buckets;
	struct vrb_rdm_coll *coll; /* NULL: without FI_COLLECTIVE */
	bool collects;		   /* has joined a group; atomic, written with the lock held */

	/* Of the device. */
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct vrb_rdm_direct direct;	 /* of the thread that has the lock */
	struct ibv_wc wc[VRB_RDM_BATCH]; /* what it polled */
	struct {
		uint32_t left; /* work requests that may still be added to the CQ's burden */
		uint32_t size; /* of the CQ, as asked for */
		bool fixed;    /* it can't grow any more */
	} room;
	unsigned int unacked; /* channel events */
	struct ibv_srq *srq;

	struct vrb_rdm_fast fast[2]; /* untagged, tagged */
	struct vrb_rdm_fast_rma write, read;

	/* Memory. */
	struct vrb_rdm_pool tx_bufs; /* bounce buffers */
	struct vrb_rdm_rx_ring rx;   /* receive buffers */
	struct vrb_rdm_lease *lease; /* the last that a peer reads by, or NULL */
	SLIST_HEAD(, vrb_rdm_lease) spare_leases;
	struct {
		struct vrb_rdm_outs free_outs;
		struct vrb_rdm_out **outs; /* chunks, by index */
		uint32_t out_count;
		struct vrb_rdm_recv **recv_chunks;
		uint32_t recv_chunk_count;
	} objects;
	SLIST_HEAD(, vrb_rdm_op) free_ops;
	struct vrb_rdm_op **ops; /* chunks, by index */
	uint32_t op_count;
	struct vrb_rdm_recvs free_recvs[2]; /* of each space its own; untagged, tagged */

	/* Deferred work. */
	struct {
		const struct vrb_rdm_calls *calls;
		LIST_HEAD(, vrb_rdm_done) dones; /* that are under way */
		struct ofi_lock lock;		 /* guards the watches */
		struct ofi_cntr_watches watches;
	} deferred;
	struct ofi_ref fids; /* its own, and aliases */

	/* Peers. */
	struct vrb_rdm_peer **by_addr; /* by fi_addr; NULL until first used */
	size_t by_addr_size;
	struct vrb_rdm_peer **peers; /* by number, which is their source in the protocol */
	uint32_t peer_count;
	struct {
		size_t size;	 /* of ep->peers */
		uint32_t looked; /* the last that was looked at whether it is gone */
		void *tree;	 /* tsearch(3) by address */
		LIST_HEAD(, vrb_rdm_peer) vacant; /* not in the tree */
	} known;
	struct vrb_rdm_link *by_qp[VRB_RDM_QP_BUCKETS];
	uint32_t recent_qp;  /* of a live link of a peer that is up, marked as used; or none */
	uint32_t recent_src; /* the peer's number */

	/* Connections. */
	struct vrb_rdm_addr self; /* where it listens */
	struct vrb_rdm_conns conn;
	bool closing;

	LIST_ENTRY(vrb_rdm) tx_link, rx_link, av_link, all_link;
	struct ofi_stats stats; /* at the end, as ofi_stats_alloc() wants it */
};

static inline struct vrb_rdm *vrb_rdm(struct fid_ep *fid)
{
	return (struct vrb_rdm *)fid;
}

/* What a fid from the application, maybe an alias, means. */
static inline struct vrb_rdm *vrb_rdm_self(struct fid_ep *fid)
{
	return ((struct vrb_rdm_fid *)fid)->endpoint;
}

/*
 * The flags of a call that has none, of those allowed; FI_COMPLETION says whether there will be an
 * entry.
 */
static inline uint64_t vrb_rdm_tx_flags(const struct vrb_rdm *ep, uint64_t allowed)
{
	return (ep->tx_op_flags & allowed) | (ep->tx_selective ? 0 : FI_COMPLETION);
}

/* Of a call that has flags. */
static inline uint64_t vrb_rdm_msg_flags(const struct vrb_rdm *ep, uint64_t flags)
{
	return flags | (ep->tx_selective ? 0 : FI_COMPLETION);
}

#endif
