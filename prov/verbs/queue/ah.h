/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Address handles: a tree has one per path, shared by all senders on that path. */
#ifndef VRB_AH_H
#define VRB_AH_H

#include <stdbool.h>
#include <sys/queue.h>
#include <infiniband/verbs.h>

struct vrb_domain;

struct vrb_ah {
	struct ibv_ah_attr attr;
	struct ibv_ah *ah;  /* atomic */
	struct ibv_ah *old; /* the one before, or NULL: sends with it may be in progress */
	uint64_t renewal;   /* when it may be created anew; in milliseconds */
	/* These serve the tree of a domain; the domain's lock of paths guards them. */
	uint32_t users; /* connections, and posts in progress */
	bool spare;	/* made for a stranger: destroyed for another one when nobody uses it */
	uint64_t left;	/* when its last user left; in milliseconds */
	TAILQ_ENTRY(vrb_ah) entry; /* while it is spare and has no users: in the domain's list */
};

/*
 * Returns any handle whose destination is the GID; NULL if there is none. The caller holds the lock
 * that guards the tree.
 */
struct vrb_ah *vrb_ah_to(void *const *tree, const union ibv_gid *gid);
/* Returns the handle for `attr`, NULL if there is none. The caller holds the lock, too. */
struct vrb_ah *vrb_ah_find(void *const *tree, const struct ibv_ah_attr *attr);
/*
 * Returns the tree's handle for `attr`, which is created at first use; NULL with errno set (FI_E*)
 * if that fails, which is logged. The caller holds the lock that guards the tree.
 */
struct vrb_ah *vrb_ah_get(void **tree, struct ibv_pd *pd, const struct ibv_ah_attr *attr);
/* Counts a user of a handle of the domain's tree, or of NULL. The caller holds the lock. */
struct vrb_ah *vrb_ah_use(struct vrb_domain *domain, struct vrb_ah *ah);
/* Ends a use. Packets that were sent with the handle may still be in the send queue. */
void vrb_ah_leave(struct vrb_domain *domain, struct vrb_ah *ah);
/*
 * Does the same as vrb_ah_get() for the tree of the domain, takes its lock, and counts a user. On
 * an Elastic Fabric Adapter all address handles are in this tree, and stay there, because
 * destroying one aborts sends through all others of the domain to the same GID.
 */
struct vrb_ah *vrb_ah_of_domain(struct vrb_domain *domain, const struct ibv_ah_attr *attr);
/* Does the same for a host that is not in the address vector, if strangers may have one more. */
struct vrb_ah *vrb_ah_of_stranger(struct vrb_domain *domain, const struct ibv_ah_attr *attr);
bool vrb_ah_takes_stranger(struct vrb_domain *domain);
/*
 * Called when what is sent with a handle of the domain's tree seems to be lost, although the peer's
 * host is there: most devices resolve the MAC address only when a handle is created, and the host
 * may have another one now. Creates the handle anew, once a second at most, or half a minute after
 * a failure, which may have taken a second.
 */
void vrb_ah_renew(struct vrb_domain *domain, struct vrb_ah *ah);
/* Frees all handles of the tree. */
void vrb_ahs_fini(void **tree);

#endif
