/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* fi_join_collective: the fid_mc of a collective group, and the event that tells it has formed. */
#ifndef OFI_COLL_MC_H
#define OFI_COLL_MC_H

#include <rdma/fi_cm.h>
#include "coll.h"
#include "eq.h"
#include "src/ds/lock.h"
#include "ref.h"

struct fi_collective_addr;

/* The part of an endpoint that its groups use; they hold references on the endpoint. */
struct ofi_coll_owner {
	const struct fi_provider *prov;
	struct ofi_coll *coll;
	struct ofi_lock *lock; /* guards coll */
	struct ofi_ref *ref;
	struct ofi_eq *eq; /* bound to the endpoint; NULL: none */
	const void *av;	   /* likewise */
	void *arg;
	/*
	 * The name of a member as all members know it: at most *len bytes. -FI_EINVAL: it has none.
	 */
	int (*name)(void *arg, fi_addr_t addr, void *name, size_t *len);
	/* Without the lock: lets what the device is at come to its end. */
	void (*progress)(void *arg);
	const void *own_name;
	size_t own_len;
};

/* fi_join with FI_COLLECTIVE; takes the lock. */
int ofi_coll_mc_join(struct ofi_coll_owner *owner, const struct fi_collective_addr *addr,
		     uint64_t flags, struct fid_mc **mc, void *context);
/* What the engine's done() does with the end of a join; the lock is held. */
void ofi_coll_mc_formed(const struct ofi_coll_done *done);

#endif
