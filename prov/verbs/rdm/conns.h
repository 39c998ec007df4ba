/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* An endpoint's state for its connections, owned by conn*.c. */
#ifndef VRB_RDM_CONNS_H
#define VRB_RDM_CONNS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include "prov/rdm/admit.h"
#include "prov/rdm/task.h"
#include "prov/rdm/policy.h"
#include "prov/verbs/cm/cm.h"

struct ofi_rdm_ep;
struct vrb_rc_peer;
struct vrb_rdm_secret;

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
	uint64_t expired;  /* when it expired for the tick that is queued; atomic */
	uint64_t watch;	   /* time of the next check of awaited peers */
	uint32_t watched;  /* the last one checked, index into ep->peers */
	unsigned int seed; /* random seed for the delays between attempts */
	struct vrb_rdm_listener listener;
	struct ofi_source timer;
	struct vrb_rdm_dead_conns dead_conns;
	struct vrb_rdm_host hosts[OFI_RDM_CONN_HOSTS];
	struct ofi_rdm_task tick;      /* runs expired timers */
	bool ticking;		       /* the tick is queued; atomic */
	struct ofi_lock deferred_lock; /* guards `deferred`; taken last */
	struct vrb_rdm_deferred_list deferred;
};

#endif
