/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A wait set: an epoll over the wait objects of the queues and counters that were opened with it.
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

/* In an object that was opened with FI_WAIT_SET; all zero in others. */
struct ofi_waitset_member {
	struct ofi_waitset *set;
	struct fid *fid;
	int fd;
	/* As fi_trywait. From any thread, with the set's lock held. */
	int (*trywait)(struct fid *fid);
	LIST_ENTRY(ofi_waitset_member) link;
};

struct ofi_waitset {
	struct fid_wait fid;
	struct ofi_ref *parent;
	struct ofi_ref own; /* the process that opened it */
	const struct fi_provider *prov;
	struct ofi_wait wait; /* the kind, and the epoll's descriptor */
	struct ofi_lock lock; /* guards the members */
	LIST_HEAD(, ofi_waitset_member) members;
};

/* Opens a wait set whose close gives the reference on *parent, the fabric's, back. */
int ofi_waitset_open(const struct fi_provider *prov, struct ofi_ref *parent,
		     const struct fi_wait_attr *attr, struct fid_wait **set);
/* Adds a member, which may be asked at once. -FI_EINVAL: set is not a wait set of this fabric. */
int ofi_waitset_join(struct fid_wait *set, const struct ofi_ref *fabric,
		     struct ofi_waitset_member *member);
/* Not asked any more afterwards. Nothing happens to one that did not join. */
void ofi_waitset_leave(struct ofi_waitset_member *member);
/*
 * -FI_SUCCESS when the caller may sleep on the set's wait object, -FI_EAGAIN when a member has
 * something.
 */
int ofi_waitset_trywait(struct ofi_waitset *set);

#endif
