/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The reliable-datagram endpoint. Its transport (xport.h) carries out what the protocol (proto.h)
 * decides. The endpoint is the last member of the transport's own object.
 *
 * Locks, in the order in which they are taken: sep->lock, srx->join_lock, domain progress,
 * cq->eps_lock, av->base.lock, ep->lock, cq->lock. ep->lock guards the endpoint, its peers and the
 * whole protocol; the event thread takes it too, with ofi_rdm_lock(), see lock.h. The endpoints of
 * a shared receive context use the lock of the context.
 */
#ifndef OFI_RDM_H
#define OFI_RDM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>
#include "src/ds/bias.h"
#include "src/ds/container.h"
#include "src/ds/index.h"
#include "prov/base/cntr.h"
#include "src/ds/lock.h"
#include "prov/base/ref.h"
#include "prov/base/stats.h"
#include "prov/base/domain.h"
#include "prov/base/eq.h"
#include "prov/base/hmem.h"
#include "addr.h"
#include "task.h"
#include "proto.h"

struct ofi_rdm_av;
struct ofi_rdm_work_calls;
struct ofi_rdm_coll;
struct ofi_rdm_cq;
struct ofi_rdm_peer;
struct ofi_stx;

/* An operation queued in peer->fenced. */
struct ofi_rdm_fenced {
	STAILQ_ENTRY(ofi_rdm_fenced) link;
	bool is_out; /* part of an ofi_rdm_out, else of an ofi_rdm_op; constant */
	/* The operation waits for others before it; if false, it goes with the one before it. */
	bool fence;
	/* If the endpoint is ordered, see order.h: its kind, and the kinds that it waits for. */
	uint8_t kinds;
	uint8_t late; /* 0 with FI_FENCE, which waits for all */
};

/* A message being sent: the protocol's part, and what the completion needs. */
struct ofi_rdm_out {
	struct ofi_rdm_proto_out proto; /* first */
	struct ofi_rdm_fenced fenced;
	uint64_t flags; /* flags of the completion, and OFI_RDM_SILENT */
	void *copy;	/* copy of the data of an injected message */
	SLIST_ENTRY(ofi_rdm_out) link;
};

/*
 * Bits of ofi_rdm_recv.flags besides the FI_* of the completion. SLOW: anything but a single buffer
 * of host memory for a single message, with a CQ entry, no counter and no FI_SOURCE_ERR.
 */
#define OFI_RDM_RECV_SLOW   (1ULL << 63)
#define OFI_RDM_RECV_SILENT (1ULL << 62)
#define OFI_RDM_RECV_BITS   (OFI_RDM_RECV_SLOW | OFI_RDM_RECV_SILENT)

/*
 * In a free object `space` is set, `count` is 1, and the protocol's own fields except `len` are 0.
 */
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

/*
 * The array of the thread that reads a CQ, for direct completions. It is valid from the start of
 * the thread's poll until it releases the endpoint's lock.
 */
#define OFI_RDM_NO_DIRECT \
	((struct ofi_rdm_cq *)1) /* no thread reads; distinct from NULL, the missing CQ */
struct ofi_rdm_direct {
	struct ofi_rdm_cq *cq;
	void *at;	/* the next entry in the CQ's format */
	fi_addr_t *src; /* NULL except in fi_cq_readfrom */
	size_t left;
};

/* An endpoint in the list of a completion queue. */
struct ofi_rdm_cq_link {
	LIST_ENTRY(ofi_rdm_cq_link) entry;
	struct ofi_rdm_ep *ep;
};

/*
 * The directions of an endpoint, which contexts of a scalable endpoint enable and close one by one.
 * An endpoint stays started until it is closed.
 */
enum {
	OFI_RDM_TX = OFI_TRIGGER_SENDS,
	OFI_RDM_RX = OFI_TRIGGER_RECEIVES,
	OFI_RDM_BOTH = 3,
	OFI_RDM_STARTED = 4,
};

/* The calls for messages of an endpoint, alias or context that only sends or only receives. */
struct ofi_rdm_one_way {
	struct fi_ops_msg msg;
	struct fi_ops_tagged tagged;
};

/* An alias or a context. An endpoint begins like it, and has the last member elsewhere. */
struct ofi_rdm_fid {
	struct fid_ep fid;
	struct ofi_rdm_ep *endpoint;
	uint64_t tx_op_flags, rx_op_flags; /* defaults for calls without a flags argument */
	struct ofi_rdm_one_way one_way;
};

/* Objects that are allocated in chunks and found by index, see objects.h. */
struct ofi_rdm_chunks {
	void **chunk;
	uint32_t count; /* of the objects */
};

struct ofi_rdm_ep {
	struct fid_ep fid;
	struct ofi_rdm_ep *endpoint; /* as in ofi_rdm_fid, like the op flags */
	uint64_t tx_op_flags, rx_op_flags;
	union {
		struct ofi_lock lock;
		struct ofi_lock_joined joined; /* to the lock of the shared receive context */
	};
	struct ofi_bias bias; /* toward the application's thread */
	bool biased;	      /* the bias is in use; constant */
	bool with_domain;     /* calls on all objects of the domain are serialized; constant */
	uint8_t enabled;      /* OFI_RDM_TX, OFI_RDM_RX, OFI_RDM_STARTED */
	bool receives;	      /* receives may be posted here, not to a shared receive context */
	int dead;	      /* FI_E* if the device was lost, else 0 */

	size_t inject_size;
	size_t min_multi_recv;
	/* Flags for completions of fi_recv and fi_trecv; 0: slow path. */
	uint64_t recv_flags[2];
	fi_addr_t undirected[2]; /* by tagged: ~0 unless receives can name a source */
	fi_addr_t any_source;	 /* FI_ADDR_UNSPEC, or no address if each has to name one */
	bool tx_selective, rx_selective;
	bool counts; /* counters are bound, or deferred work may have one */
	bool wants_source;
	bool source_err;  /* messages from sources that are not in the AV are errors */
	bool ordered;	  /* ordering beyond what a connection provides, see order.h */
	uint8_t order[4]; /* for each kind, the kinds that it must not overtake */
	bool prov_keys;	  /* keys of remote memory are rkeys */
	struct ofi_rdm_one_way one_way;
	/* The regions of the application used last, by whether the device writes, see local.h. */
	struct {
		const void *desc;
		uintptr_t start, end;
	} region[2];
	uint8_t *atomic_old; /* buffer for the values fetched by an atomic being performed */
	struct ofi_rdm_cq *tx_cq, *rx_cq;
	/* Set if the CQ has FI_CQ_FORMAT_TAGGED, else NULL. */
	struct ofi_rdm_cq *tx_tagged, *rx_tagged;
	struct ofi_cntr *cntrs[OFI_RDM_COUNTS];

	struct ofi_domain *domain;
	struct fi_info *info;
	struct ofi_rdm_av *av;
	struct ofi_eq *eq;
	struct ofi_stx *stx;
	int fd;		  /* readable when the transport has work; -1 until enabled */
	bool in_all;	  /* in the list of domain->progress */
	uint8_t attached; /* to the queues of OFI_RDM_TX and OFI_RDM_RX */
	struct ofi_rdm_proto proto;
	struct ofi_rdm_match_node **buckets;
	struct ofi_rdm_coll *coll; /* NULL without FI_COLLECTIVE */
	struct ofi_hmem_options hmem_options;
	bool hmem;     /* opened with FI_HMEM */
	bool begun;    /* the transport was asked to enable it */
	bool no_shm;   /* FI_OPT_SHARED_MEMORY_PERMITTED was set to false; constant once begun */
	bool collects; /* it has joined a group; atomic, written with the lock held */

	struct ofi_rdm_direct direct; /* of the thread that holds the lock */
	struct {
		struct ofi_rdm_outs free_outs;
		struct ofi_rdm_chunks outs, recvs;
	} objects;
	SLIST_HEAD(, ofi_rdm_op) free_ops;
	struct ofi_rdm_chunks ops;
	/* By match space: untagged, tagged. The last one is that of ofi_rdm_recvs_drop(). */
	struct ofi_rdm_recvs free_recvs[OFI_RDM_PROTO_SPACES + 1];

	/* Deferred work. */
	struct {
		const struct ofi_rdm_work_calls *calls;
		LIST_HEAD(, ofi_rdm_done) dones; /* work that is under way */
		struct ofi_cntr_watches watches;
	} deferred;
	struct ofi_ref fids; /* its own fid and its aliases */

	/* Peers. */
	struct ofi_rdm_peer **by_addr; /* by fi_addr; NULL until first used */
	size_t by_addr_size;
	/*
	 * The same for contexts above 0 of scalable endpoints; indexed by fi_addr and context
	 * together.
	 */
	struct ofi_rdm_peer **by_context;
	size_t by_context_size;
	struct ofi_rdm_peer **peers; /* indexed by number, the peer's source in the protocol */
	uint32_t peer_count;
	struct {
		size_t size;		/* allocated size of ep->peers */
		uint8_t last_context;	/* the largest index of a context that a peer has */
		uint32_t looked;	/* number of the peer last checked for being gone */
		struct ofi_index index; /* numbers of peers by address */
		SLIST_HEAD(, ofi_rdm_peer) unused; /* unused peers, not in the index */
	} known;
	struct ofi_rdm_addr self;   /* the address it listens on */
	uint8_t context;	    /* its index in a scalable endpoint, else 0 */
	struct ofi_rdm_tasks tasks; /* work of the event thread */
	bool closing;

	/* Shared receive contexts; srx.h. */
	struct ofi_rdm_ep *srx;		 /* the context of this endpoint, or NULL */
	bool in_srx;			 /* it has joined the context */
	LIST_ENTRY(ofi_rdm_ep) srx_link; /* srx->members */
	bool is_srx;			 /* this is a context, without transport; constant */
	bool has_limits;		 /* endpoints may have only capabilities that it has */
	LIST_HEAD(, ofi_rdm_ep) members; /* endpoints that have joined it */
	struct ofi_lock join_lock;	 /* guards joining, leaving, and the address vector */
	struct ofi_ref users;		 /* endpoints that it is bound to */

	struct ofi_rdm_cq_link cq_links[2]; /* by direction: receive, transmit */
	LIST_ENTRY(ofi_rdm_ep) av_link, all_link;
	struct ofi_stats stats; /* last, as ofi_stats_alloc() requires */
};

/* Returns the error of calls on an endpoint that is not enabled, or whose device was lost. */
static inline int ofi_rdm_not_enabled(const struct ofi_rdm_ep *ep)
{
	return ep->dead ? -ep->dead : -FI_EOPBADSTATE;
}

/* Returns the endpoint that a protocol is part of. */
static inline struct ofi_rdm_ep *ofi_rdm_of_proto(struct ofi_rdm_proto *proto)
{
	return ofi_container(proto, struct ofi_rdm_ep, proto);
}

static inline struct ofi_rdm_ep *ofi_rdm(struct fid_ep *fid)
{
	return (struct ofi_rdm_ep *)fid;
}

static inline const struct ofi_rdm_fid *ofi_rdm_head(const struct fid_ep *fid)
{
	return (const struct ofi_rdm_fid *)fid;
}

/* Returns the endpoint of a fid from the application, which may be an alias. */
static inline struct ofi_rdm_ep *ofi_rdm_self(const struct fid_ep *fid)
{
	return ofi_rdm_head(fid)->endpoint;
}

/*
 * Returns the default flags for a call without a flags argument, masked by `allowed`. FI_COMPLETION
 * tells whether there will be a CQ entry.
 */
static inline uint64_t ofi_rdm_tx_flags(const struct fid_ep *fid, uint64_t allowed)
{
	const struct ofi_rdm_fid *head = ofi_rdm_head(fid);

	return (head->tx_op_flags & allowed) | (head->endpoint->tx_selective ? 0 : FI_COMPLETION);
}

/* Returns the flags of a call with a flags argument, with FI_COMPLETION as above. */
static inline uint64_t ofi_rdm_msg_flags(const struct ofi_rdm_ep *ep, uint64_t flags)
{
	return flags | (ep->tx_selective ? 0 : FI_COMPLETION);
}

#endif
