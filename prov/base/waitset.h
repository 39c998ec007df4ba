/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A wait set: an epoll descriptor over the wait objects of the queues and counters opened with it.
 */
#ifndef OFI_WAITSET_H
#define OFI_WAITSET_H

#include <sys/queue.h>
#include <rdma/fi_eq.h>
#include <rdma/providers/fi_prov.h>
#include "src/ds/lock.h"
#include "ref.h"
#include "wait.h"

struct ofi_waitset;

/* Works like fi_trywait. Called from any thread with the set's lock held. */
typedef int ofi_trywait_fn(struct fid *fid);

/* The part of an object that joins a wait set; all zero without FI_WAIT_SET. */
struct ofi_waitset_member {
	struct ofi_waitset *set;
	struct fid *fid;
	int fd;
	ofi_trywait_fn *trywait;
	LIST_ENTRY(ofi_waitset_member) link;
};

struct ofi_waitset {
	struct fid_wait fid;
	struct ofi_ref *parent;
	struct ofi_ref own; /* records the process that opened it */
	const struct fi_provider *prov;
	struct ofi_wait wait; /* the kind, and the epoll descriptor */
	/*
	 * Signaled when a call finds a member ready: a counter's change is found once, but concerns
	 * every thread.
	 */
	struct ofi_wait found;
	uint64_t id;	      /* of this set in the process */
	struct ofi_lock lock; /* guards the members */
	LIST_HEAD(, ofi_waitset_member) members;
};

/* Opens a wait set; closing it releases a reference on *parent, the fabric's. */
int ofi_waitset_open(const struct fi_provider *prov, struct ofi_ref *parent,
		     const struct fi_wait_attr *attr, struct fid_wait **set);
/*
 * Adds an object with its descriptor; its trywait may be called at once. Returns -FI_EINVAL if the
 * set is not a wait set of this fabric.
 */
int ofi_waitset_join(struct fid_wait *set, const struct ofi_ref *fabric,
		     struct ofi_waitset_member *member, struct fid *fid, int fd,
		     ofi_trywait_fn *trywait);
/* Removes a member, whose trywait is not called afterward. Does nothing if it did not join. */
void ofi_waitset_leave(struct ofi_waitset_member *member);
/* Returns 0 if the caller may sleep on the set's wait object, -FI_EAGAIN if a member is ready. */
int ofi_waitset_trywait(struct ofi_waitset *set);

#endif
