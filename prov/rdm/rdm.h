/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The reliable-datagram endpoint. Its transport (xport.h) moves what proto.h decides; the endpoint
 * is the last part of the transport's own object.
 *
 * Locks, in the order they are taken: all->lock, cq->eps_lock, av->lock, ep->lock, cq->lock.
 * ep->lock guards the endpoint, its peers and all of the protocol; the event thread takes it too,
 * by ofi_rdm_lock(): see lock.h.
 */
#ifndef OFI_RDM_H
#define OFI_RDM_H

#include <stdbool.h>
#include <stdint.h>
#include <netinet/in.h>
#include <sys/queue.h>
#include <rdma/fi_endpoint.h>
#include "src/ds/bias.h"
#include "prov/base/cntr.h"
#include "src/ds/lock.h"
#include "prov/base/ref.h"
#include "prov/base/stats.h"
#include "prov/base/domain.h"
#include "prov/base/eq.h"
#include "proto.h"

struct ofi_rdm_av;
struct ofi_rdm_work_calls;
struct ofi_rdm_coll;
struct ofi_rdm_cq;
struct ofi_rdm_peer;
struct ofi_stx;

/* An operation that waits in peer->fenced. */
struct ofi_rdm_fenced {
	STAILQ_ENTRY(ofi_rdm_fenced) link;
	bool is_out;   /* else a ofi_rdm_op */
	bool fence;    /* for all that are before it; else for what the one before it waits for */
	uint8_t kinds; /* its own, where the endpoint is ordered; order.h */
};

/* The operations of the application, and what they carry besides the protocol's part. */
struct ofi_rdm_out {
	struct ofi_rdm_proto_out proto; /* first */
	struct ofi_rdm_fenced fenced;
	uint64_t flags; /* of the completion, OFI_RDM_SILENT */
	void *copy;	/* the data of an injected message */
	SLIST_ENTRY(ofi_rdm_out) link;
};

/*
 * In ofi_rdm_recv.flags, beside the FI_* of the completion. ODD: whatever is not one buffer that
 * takes one message, with an entry and no counter.
 */
#define OFI_RDM_RECV_SLOW   (1ULL << 63)
#define OFI_RDM_RECV_SILENT (1ULL << 62)
#define OFI_RDM_RECV_BITS   (OFI_RDM_RECV_SLOW | OFI_RDM_RECV_SILENT)

/* Of one that is free space is set, count is 1, and the protocol's own fields but len are 0. */
struct ofi_rdm_recv {
	struct ofi_rdm_proto_recv proto; /* first */
	uint64_t flags;
	SLIST_ENTRY(ofi_rdm_recv) link;
};

SLIST_HEAD(ofi_rdm_outs, ofi_rdm_out);
SLIST_HEAD(ofi_rdm_recvs, ofi_rdm_recv);

enum {
	OFI_RDM_SEND,
	OFI_RDM_RECV,
	OFI_RDM_RMA_READ,
	OFI_RDM_RMA_WRITE,
	OFI_RDM_REMOTE_READ,
	OFI_RDM_REMOTE_WRITE,
	OFI_RDM_COUNTS
};

/* An address as the AV keeps it and as peers are found by. */
struct ofi_rdm_addr {
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
#define OFI_RDM_NO_DIRECT \
	((struct ofi_rdm_cq *)1) /* no thread does; it differs from a CQ that there is not */
struct ofi_rdm_direct {
	struct ofi_rdm_cq *cq;
	void *at;	/* for the next entry of the CQ's format */
	fi_addr_t *src; /* NULL but in fi_cq_readfrom */
	size_t left;
};

/* How an endpoint and its aliases begin. */
struct ofi_rdm_fid {
	struct fid_ep fid;
	struct ofi_rdm_ep *endpoint;
};

struct ofi_rdm_ep {
	struct fid_ep fid;
	struct ofi_rdm_ep *endpoint; /* as ofi_rdm_fid */
	struct ofi_lock lock;
	struct ofi_bias bias; /* to the application's thread */
	bool biased;	      /* it is used; constant */
	bool with_domain; /* whatever the application does in the domain is serialized; constant */
	bool enabled;
	int dead; /* FI_E* of a lost device, else 0 */

	size_t inject_size;
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
	struct ofi_rdm_cq *tx_cq, *rx_cq;
	struct ofi_rdm_cq *tx_tagged, *rx_tagged; /* of FI_CQ_FORMAT_TAGGED, else NULL */
	struct ofi_cntr *cntrs[OFI_RDM_COUNTS];

	struct ofi_domain *domain;
	struct fi_info *info;
	struct ofi_rdm_av *av;
	struct ofi_eq *eq;
	struct ofi_stx *stx;
	int fd;	      /* readable when the transport has something; -1 before */
	bool in_all;  /* of domain->progress */
	int attached; /* to tx_cq, to rx_cq */
	struct ofi_rdm_proto proto;
	struct ofi_rdm_match_node **buckets;
	struct ofi_rdm_coll *coll; /* NULL: without FI_COLLECTIVE */
	bool collects;		   /* has joined a group; atomic, written with the lock held */

	struct ofi_rdm_direct direct; /* of the thread that has the lock */
	struct {
		struct ofi_rdm_outs free_outs;
		struct ofi_rdm_out **outs; /* chunks, by index */
		uint32_t out_count;
		struct ofi_rdm_recv **recv_chunks;
		uint32_t recv_chunk_count;
	} objects;
	SLIST_HEAD(, ofi_rdm_op) free_ops;
	struct ofi_rdm_op **ops; /* chunks, by index */
	uint32_t op_count;
	struct ofi_rdm_recvs free_recvs[2]; /* of each space its own; untagged, tagged */

	/* Deferred work. */
	struct {
		const struct ofi_rdm_work_calls *calls;
		LIST_HEAD(, ofi_rdm_done) dones; /* that are under way */
		struct ofi_lock lock;		 /* guards the watches */
		struct ofi_cntr_watches watches;
	} deferred;
	struct ofi_ref fids; /* its own, and aliases */

	/* Peers. */
	struct ofi_rdm_peer **by_addr; /* by fi_addr; NULL until first used */
	size_t by_addr_size;
	struct ofi_rdm_peer **peers; /* by number, which is their source in the protocol */
	uint32_t peer_count;
	struct {
		size_t size;	 /* of ep->peers */
		uint32_t looked; /* the last that was looked at whether it is gone */
		void *tree;	 /* tsearch(3) by address */
		LIST_HEAD(, ofi_rdm_peer) vacant; /* not in the tree */
	} known;
	struct ofi_rdm_addr self; /* where it listens */
	bool closing;

	LIST_ENTRY(ofi_rdm_ep) tx_link, rx_link, av_link, all_link;
	struct ofi_stats stats; /* at the end, as ofi_stats_alloc() wants it */
};

static inline struct ofi_rdm_ep *ofi_rdm(struct fid_ep *fid)
{
	return (struct ofi_rdm_ep *)fid;
}

/* What a fid from the application, maybe an alias, means. */
static inline struct ofi_rdm_ep *ofi_rdm_self(struct fid_ep *fid)
{
	return ((struct ofi_rdm_fid *)fid)->endpoint;
}

/*
 * The flags of a call that has none, of those allowed; FI_COMPLETION says whether there will be an
 * entry.
 */
static inline uint64_t ofi_rdm_tx_flags(const struct ofi_rdm_ep *ep, uint64_t allowed)
{
	return (ep->tx_op_flags & allowed) | (ep->tx_selective ? 0 : FI_COMPLETION);
}

/* Of a call that has flags. */
static inline uint64_t ofi_rdm_msg_flags(const struct ofi_rdm_ep *ep, uint64_t flags)
{
	return flags | (ep->tx_selective ? 0 : FI_COMPLETION);
}

#endif
