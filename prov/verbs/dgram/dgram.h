/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Endpoints of type FI_EP_DGRAM, based on a UD queue pair. The device writes a 40-byte header, the
 * GRH, in front of each received datagram, which tells where it came from. With FI_MSG_PREFIX the
 * application leaves room for it; otherwise it goes to a spill buffer, of which each slot of the
 * receive queue has its own.
 */
#ifndef VRB_DGRAM_H
#define VRB_DGRAM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <infiniband/verbs.h>
#include <rdma/fi_cm.h>
#include "av.h"
#include "prov/verbs/msg/ep.h"
#include "prov/verbs/cm/sidr.h"
#include "ud_name.h"
#include "ud_port.h"

#define VRB_GRH_SIZE 40

struct vrb_grh {
	uint8_t raw[VRB_GRH_SIZE];
};

struct vrb_dgram {
	struct vrb_ep ep;
	struct vrb_av *av; /* the bound AV */
	size_t prefix;	   /* VRB_GRH_SIZE with FI_MSG_PREFIX, else 0; constant */
	size_t recv_max;   /* bytes that a segment of a receive has, less the prefix; constant */
	/*
	 * Limits for the fast path of sends and injects. Both are 0 until the endpoint is enabled,
	 * and while the address handles in av cannot be used as they are, so that the slow path is
	 * taken.
	 */
	size_t send_max, inject_max;
	/*
	 * Templates of a receive: the GRH's segment, whose lkey is set once, and the message's
	 * segment.
	 */
	struct ibv_sge rx_sge[2];
	/* One of these is used, indexed by slot: */
	struct vrb_grh *spill;
	size_t spill_len;
	const struct vrb_grh **headers; /* with prefix: the application's buffers */
	struct ibv_mr *spill_mr;
	struct vrb_ud_port port;
	struct vrb_tclass tclass;
	bool other_tclass; /* the address handles in av have a different traffic class */
	uint32_t qkey;
	struct vrb_ud_name name;     /* complete once the endpoint is enabled */
	struct vrb_sidr_server sidr; /* answers queries for the name at an IP address */
	struct ofi_ref ref;	     /* counts joined multicast groups */
	bool broken;		     /* the queue pair is in the error state; atomic */
	struct ofi_lock mc_lock;     /* guards `receiving` */
	/* The joins that the queue pair is attached for. */
	LIST_HEAD(, vrb_mc) receiving;
};

static inline struct vrb_dgram *vrb_dgram(struct fid_ep *fid)
{
	return (struct vrb_dgram *)fid;
}

static inline struct vrb_dgram *vrb_dgram_of(struct vrb_ep *ep)
{
	return (struct vrb_dgram *)ep;
}

/*
 * Initializes the datagram part of an endpoint. Returns 0 or -FI_E*; vrb_dgram_fini() releases
 * whatever was initialized.
 */
int vrb_dgram_init(struct vrb_dgram *ep, const struct fi_info *info);
void vrb_dgram_fini(struct vrb_dgram *ep); /* call after destroying the queue pair */
int vrb_dgram_bind(struct vrb_dgram *ep, struct vrb_av *av, uint64_t flags);
/*
 * Called when the queue pair can receive and send: the endpoint gets its name, until ep->sidr is
 * closed. Returns 0 or -FI_E*.
 */
int vrb_dgram_start(struct vrb_dgram *ep);
/* Copies the fields that posting through an alias needs, except the flags. */
void vrb_dgram_mirror(struct vrb_dgram *alias, const struct vrb_dgram *self);
/* Called when the operation flags have changed or the endpoint is enabled. */
void vrb_dgram_set_modes(struct vrb_dgram *ep);
/*
 * Posts a datagram that is dropped by its receiver: when it completes, all earlier sends are on the
 * wire. Returns false on failure.
 */
bool vrb_dgram_post_marker(struct vrb_dgram *ep);

/*
 * Called after a local error (a bad descriptor, a receive that is too small), which stops the queue
 * pair. Outstanding operations fail; once the application has read their errors, posting restarts
 * the queue pair.
 */
void vrb_dgram_failed(struct vrb_dgram *ep);
/*
 * Called when posting to a queue finds the endpoint shut; the caller holds the lock of a send
 * queue. Restarts the queue pair if everything outstanding has completed. Returns true if posting
 * can go on.
 */
bool vrb_dgram_mend(struct vrb_dgram *ep, const struct vrb_wq *posting);

static inline bool vrb_dgram_is_broken(const struct vrb_dgram *ep)
{
	return __atomic_load_n(&ep->broken, __ATOMIC_ACQUIRE);
}

/*
 * Called when a receive has completed and its slot is not yet retired. Subtracts the length of the
 * header unless it is the application's prefix, and stores the sender in *src unless src is NULL.
 * Returns FI_MULTICAST if the datagram was sent to a group, or 0.
 */
uint64_t vrb_dgram_arrived(struct ibv_wc *wc, fi_addr_t *src);

/*
 * Implements fi_join. The address is an IPv4 or IPv6 address in the endpoint's format; with
 * FI_ADDR_IB_UD it may also be a name with the group's GID.
 */
OFI_CALL(fi_ops_cm, join) vrb_mc_join;

extern const struct fi_ops_cm vrb_dgram_cm_ops;
extern const struct fi_ops_msg vrb_dgram_ops, vrb_dgram_nolock_ops;
/* The same for aliases. */
extern const struct fi_ops_msg vrb_dgram_alias_ops, vrb_dgram_alias_nolock_ops;

#endif
