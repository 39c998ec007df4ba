/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fi_join_collective: the fid_mc of a collective group, and the event that reports that it has
 * formed.
 */
#ifndef OFI_COLL_MC_H
#define OFI_COLL_MC_H

#include <rdma/fi_cm.h>
#include "coll.h"
#include "eq.h"
#include "ref.h"

struct fi_collective_addr;

/* The part of an endpoint that its groups use. The groups hold references on the endpoint. */
struct ofi_coll_owner {
	const struct fi_provider *prov;
	struct ofi_coll *coll;
	struct ofi_ref *ref;
	const void *av; /* address vector of the endpoint */
	void *arg;
	void (*lock)(void *arg); /* guards coll */
	void (*unlock)(void *arg);
	/*
	 * Returns the name by which all members know a member, at most *len bytes. Returns
	 * -FI_EINVAL if it has none.
	 */
	int (*name)(void *arg, fi_addr_t addr, void *name, size_t *len);
	/* Makes progress so that transfers in flight can end. Called without the lock. */
	void (*progress)(void *arg);
	const void *own_name;
	size_t own_len;
};

/* Implements fi_join with FI_COLLECTIVE; eq is NULL if there is none. Takes the lock. */
int ofi_coll_mc_join(struct ofi_coll_owner *owner, struct ofi_eq *eq,
		     const struct fi_collective_addr *addr, uint64_t flags, struct fid_mc **mc,
		     void *context);
/* Handles the end of a join for the engine's done(). The lock is held. */
void ofi_coll_mc_formed(const struct ofi_coll_done *done);

#endif
