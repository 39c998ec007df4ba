/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Entering an endpoint. Most code takes ep->lock with ofi_rdm_lock(). The fast-path calls enter by
 * themselves: if the application serializes its calls and makes all progress (ep->biased) they
 * enter through ep->bias, without a lock. Their bodies take the parameter `nolock`, which equals
 * ep->biased and is a constant in each of the two ops tables.
 */
#ifndef OFI_RDM_LOCK_H
#define OFI_RDM_LOCK_H

#include "task.h"
#include "rdm.h"

/* Tries to enter. On false the caller goes to its slow path, which takes the lock. */
OFI_INLINE bool ofi_rdm_try_enter(struct ofi_rdm_ep *ep, bool nolock)
{
	return nolock ? ofi_bias_enter(&ep->bias) : ofi_trylock(&ep->lock);
}

/*
 * Enters for a caller that has nothing else to do: waits for the lock, and then always returns
 * true. With `nolock` it may return false.
 */
OFI_INLINE bool ofi_rdm_enter(struct ofi_rdm_ep *ep, bool nolock)
{
	if (nolock)
		return ofi_bias_enter(&ep->bias);
	ofi_lock(&ep->lock);
	return true;
}

/* Leaves the endpoint. On false the caller must call ofi_rdm_unlock_slow(). */
OFI_INLINE bool ofi_rdm_release(struct ofi_rdm_ep *ep, bool nolock)
{
	if (!nolock)
		return ofi_release(&ep->lock);
	ofi_bias_leave(&ep->bias);
	return true;
}

OFI_INLINE void ofi_rdm_leave(struct ofi_rdm_ep *ep, bool nolock)
{
	if (ofi_unlikely(!ofi_rdm_release(ep, nolock)))
		ofi_rdm_unlock_slow(ep);
}

/*
 * Enters from any thread. A thread of the library, or one that the application does not serialize
 * with those in the endpoint, locks out threads that enter without the lock (ofi_bias_outside). No
 * direct completion takes place while the lock is held this way.
 */
static inline void ofi_rdm_lock(struct ofi_rdm_ep *ep)
{
	ofi_lock(&ep->lock);
	if (ep->biased && ofi_bias_outside)
		ofi_bias_shut(&ep->bias);
	ep->direct.cq = OFI_RDM_NO_DIRECT;
}

/* Readmits an owner that was locked out, after the tasks of the event thread. */
static inline void ofi_rdm_unlock(struct ofi_rdm_ep *ep)
{
	if (ofi_unlikely(ep->biased && ofi_bias_is_shut(&ep->bias)))
		ofi_rdm_reopen(ep);
	if (ofi_unlikely(!ofi_release(&ep->lock)))
		ofi_rdm_unlock_slow(ep);
}

/*
 * Begins a call on another object of the domain, which only FI_THREAD_DOMAIN serializes with the
 * endpoint calls; under other threading models the thread now counts as an outsider to the bias.
 * The result goes to ofi_rdm_step_in() at the end of the call.
 */
static inline bool ofi_rdm_step_out(bool with_domain)
{
	bool before = ofi_bias_outside;

	ofi_bias_outside = before || !with_domain;
	return before;
}

static inline void ofi_rdm_step_in(bool before)
{
	ofi_bias_outside = before;
}

#endif
