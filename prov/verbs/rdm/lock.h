/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How an endpoint is entered. The calls of the application take ep->lock; where it serializes them
 * and makes the progress, the most frequent ones are compiled a second time, with VRB_BARE, and
 * enter by ep->bias. Threads that it does not serialize with them, the event thread first of all,
 * take the lock by vrb_rdm_lock().
 */
#ifndef VRB_RDM_LOCK_H
#define VRB_RDM_LOCK_H

#include "rdm.h"

/* A source compiled with VRB_BARE has other names for what it exports. */
#ifdef VRB_BARE
#define VRB_RDM_NAME(name) vrb_rdm_##name##_bare
#define VRB_RDM_LOCKS	   false
#else
#define VRB_RDM_NAME(name) vrb_rdm_##name
#define VRB_RDM_LOCKS	   true
#endif

/* False: the caller is to take ep->lock, with whatever else it does then. */
OFI_INLINE bool vrb_rdm_try_enter(struct vrb_rdm *ep)
{
	return VRB_RDM_LOCKS ? ofi_trylock(&ep->lock) : ofi_bias_enter(&ep->bias);
}

/* The same where the caller would do nothing but wait: with locks it is always true. */
OFI_INLINE bool vrb_rdm_enter(struct vrb_rdm *ep)
{
	if (!VRB_RDM_LOCKS)
		return ofi_bias_enter(&ep->bias);
	ofi_lock(&ep->lock);
	return true;
}

/* False: it is to be followed by ofi_unlock_slow(). */
OFI_INLINE bool vrb_rdm_release(struct vrb_rdm *ep)
{
	if (VRB_RDM_LOCKS)
		return ofi_release(&ep->lock);
	ofi_bias_leave(&ep->bias);
	return true;
}

OFI_INLINE void vrb_rdm_leave(struct vrb_rdm *ep)
{
	if (!ofi_likely(vrb_rdm_release(ep)))
		ofi_unlock_slow(&ep->lock);
}

/* From any thread. */
static inline void vrb_rdm_lock(struct vrb_rdm *ep)
{
	ofi_lock(&ep->lock);
	if (ep->biased)
		ofi_bias_shut(&ep->bias);
}

static inline void vrb_rdm_unlock(struct vrb_rdm *ep)
{
	if (ep->biased)
		ofi_bias_open(&ep->bias);
	ofi_unlock(&ep->lock);
}

/*
 * From a thread of the application that works on another object of the domain: with
 * FI_THREAD_DOMAIN it is serialized with those that are in the endpoint.
 */
static inline void vrb_rdm_lock_from_domain(struct vrb_rdm *ep)
{
	ofi_lock(&ep->lock);
	if (ep->biased && !ep->with_domain)
		ofi_bias_shut(&ep->bias);
}

static inline void vrb_rdm_unlock_from_domain(struct vrb_rdm *ep)
{
	vrb_rdm_unlock(ep);
}

#endif
