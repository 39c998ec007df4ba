/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Counts the children of an object: a parent that still has children cannot be closed. For objects
 * that share something with a forked child, and for their parents, the count also records which
 * process opened them: fi_close in the child must not touch them.
 */
#ifndef OFI_REF_H
#define OFI_REF_H

#include <stdbool.h>
#include <stdint.h>
#include <rdma/fi_errno.h>
#include "src/ds/process.h"

struct ofi_ref {
	int64_t children;
	uint64_t owner; /* the process that opened the object, or 0 */
};

static inline void ofi_ref_own(struct ofi_ref *ref)
{
	ref->owner = ofi_process();
}

/* Returns true in a forked child of the process that opened the object. */
static inline bool ofi_ref_inherited(const struct ofi_ref *ref)
{
	return ref->owner && ref->owner != ofi_process();
}

static inline void ofi_ref_get(struct ofi_ref *ref)
{
	__atomic_add_fetch(&ref->children, 1, __ATOMIC_RELAXED);
}

static inline void ofi_ref_put(struct ofi_ref *ref)
{
	__atomic_sub_fetch(&ref->children, 1, __ATOMIC_RELEASE);
}

/*
 * Drops a reference to an object that its references keep alive. Returns true if it was the last.
 */
static inline bool ofi_ref_put_last(struct ofi_ref *ref)
{
	return !__atomic_sub_fetch(&ref->children, 1, __ATOMIC_ACQ_REL);
}

/*
 * A reference is leaving while its thread does what may make others close the object, and then
 * drops it: fi_close waits for that instead of returning -FI_EBUSY. The second function undoes the
 * first one, the third drops the reference.
 */
#define OFI_REF_LEAVING (INT64_C(1) << 32)

static inline void ofi_ref_leave(struct ofi_ref *ref)
{
	__atomic_add_fetch(&ref->children, OFI_REF_LEAVING - 1, __ATOMIC_RELAXED);
}

static inline void ofi_ref_return(struct ofi_ref *ref)
{
	__atomic_sub_fetch(&ref->children, OFI_REF_LEAVING - 1, __ATOMIC_RELEASE);
}

static inline void ofi_ref_left(struct ofi_ref *ref)
{
	__atomic_sub_fetch(&ref->children, OFI_REF_LEAVING, __ATOMIC_RELEASE);
}

/* Returns true if all references that are left are dropped in a moment. */
static inline bool ofi_ref_is_leaving(const struct ofi_ref *ref)
{
	int64_t children = __atomic_load_n(&ref->children, __ATOMIC_ACQUIRE);

	return children && !(children % OFI_REF_LEAVING);
}

static inline int ofi_ref_busy(const struct ofi_ref *ref)
{
	return __atomic_load_n(&ref->children, __ATOMIC_ACQUIRE) ? -FI_EBUSY : 0;
}

#endif
