/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What an endpoint has for its connections; conn*.c own it. */
#ifndef VRB_RDM_CONNS_H
#define VRB_RDM_CONNS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include "prov/rdm/admit.h"
#include "prov/rdm/policy.h"
#include "prov/verbs/cm/cm.h"

struct ofi_rdm_ep;
struct vrb_rc_peer;
struct vrb_rdm_secret;

struct vrb_rdm_listener {
	struct vrb_owner owner; /* of id */
	struct ofi_rdm_ep *ep;
	struct rdma_cm_id *id;
};

SLIST_HEAD(vrb_rdm_dead_links, vrb_rdm_link);
SLIST_HEAD(vrb_rdm_knocks, vrb_rdm_knock);
TAILQ_HEAD(vrb_rdm_starved, vrb_rc_peer);

struct vrb_rdm_conns {
	uint32_t scope;	 /* IPv6: the number of the interface where the endpoint listens */
	bool known_only; /* who is not in the address vector is refused */
	struct ofi_rdm_admit admit;
	uint64_t host_key;	       /* random: how hosts are spread over set.hosts */
	struct vrb_rdm_secret *secret; /* NULL: none */
	struct ofi_rdm_conn_set set;
	bool dry; /* receives could not be posted, and none may come that says try again */
	/*
	 * For them something could not be posted, and no completion may come that says try again.
	 */
	struct vrb_rdm_starved starved;
	bool crowded;	   /* a peer waits for room in the set, which nobody makes */
	uint64_t watch;	   /* when it is looked again whether those that owe something are there */
	uint32_t watched;  /* the last one looked at, in ep->peers */
	unsigned int seed; /* of the time between attempts */
	struct vrb_rdm_listener listener;
	struct ofi_source timer;
	struct vrb_rdm_dead_links dead_links;
	struct vrb_rdm_knocks knocks; /* that are over: to be freed by the event thread */
};

#endif
