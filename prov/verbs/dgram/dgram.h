/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Endpoints of type FI_EP_DGRAM: a UD queue pair. In front of what it receives the device writes 40
 * bytes, the GRH, which tell where the datagram comes from. With FI_MSG_PREFIX the application
 * leaves room for them, else they go to the spill, of which each slot of the receive queue has its
 * own.
 */
#ifndef VRB_DGRAM_H
#define VRB_DGRAM_H

#include <stdbool.h>
#include <stdint.h>
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
	struct vrb_av *av; /* bound */
	size_t prefix;	   /* VRB_GRH_SIZE with FI_MSG_PREFIX, else 0; constant */
	/*
	 * Largest send and injection: 0 before the endpoint is enabled, and where address handles
	 * are not to be had from av as they are, so that the usual way is not taken.
	 */
	size_t send_max, inject_max;
	/* Templates of a receive: the GRH's segment, whose lkey is set once, and the message's. */
	struct ibv_sge rx_sge[2];
	/* By the index of the slot, one of both: */
	struct vrb_grh *spill;
	size_t spill_len;
	const struct vrb_grh **headers; /* with prefix: where the application's buffer is */
	struct ibv_mr *spill_mr;
	struct vrb_ud_port port;
	struct vrb_tclass tclass;
	bool other_tclass; /* the address handles of av are of another class */
	uint32_t qkey;
	struct vrb_ud_name name;     /* complete once the endpoint is enabled */
	struct vrb_sidr_server sidr; /* tells the name to who asks at an IP address */
	struct ofi_ref ref;	     /* multicast groups */
	struct ibv_ah *marker_ah;
	bool broken;	      /* the queue pair is in error; atomic */
	struct ofi_lock lock; /* guards mending */
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
 * What an endpoint of this type has beside what all have. 0 or -FI_E*; fini is for what there is.
 */
int vrb_dgram_init(struct vrb_dgram *ep, const struct fi_info *info);
void vrb_dgram_fini(struct vrb_dgram *ep); /* after the queue pair */
int vrb_dgram_bind(struct vrb_dgram *ep, struct vrb_av *av, uint64_t flags);
/*
 * The queue pair can receive and send: the endpoint gets its name. 0 or -FI_E*; stop takes it back.
 */
int vrb_dgram_start(struct vrb_dgram *ep);
void vrb_dgram_stop(struct vrb_dgram *ep);
/* The operation flags have changed, or the endpoint is enabled. */
void vrb_dgram_set_modes(struct vrb_dgram *ep);
/* A datagram to nobody, behind all that was sent: when it completes, they are on the wire. */
bool vrb_dgram_post_marker(struct vrb_dgram *ep);

/*
 * A local error (a bad descriptor, a receive that is too small) stops the queue pair. What is
 * outstanding fails, and once the application has read that, posting starts the queue pair again.
 */
void vrb_dgram_failed(struct vrb_dgram *ep);
/*
 * Posting finds the endpoint shut. True when it may go on: all that was outstanding has completed.
 */
bool vrb_dgram_mend(struct vrb_dgram *ep);

static inline bool vrb_dgram_is_broken(const struct vrb_dgram *ep)
{
	return __atomic_load_n(&ep->broken, __ATOMIC_ACQUIRE);
}

/*
 * A receive has completed, and its slot is not retired yet: takes the bytes off that are not the
 * application's. Where src is not NULL it says who sent it.
 */
void vrb_dgram_arrived(struct ibv_wc *wc, fi_addr_t *src);

extern const struct fi_ops_cm vrb_dgram_cm_ops;
extern const struct fi_ops_msg vrb_dgram_ops, vrb_dgram_nolock_ops;

#endif
