/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How an endpoint is entered. Everybody takes ep->lock by ofi_rdm_lock(); the calls in which
 * instructions count enter by themselves, and where the application serializes them and makes the
 * progress (ep->biased) by ep->bias, without a lock. Their bodies take `nolock`, which is
 * ep->biased and a constant in each of their two tables of operations.
 */
#ifndef OFI_RDM_LOCK_H
#define OFI_RDM_LOCK_H

#include "rdm.h"

/* False: the caller is to take the lock, with whatever else it does then. */
OFI_INLINE bool ofi_rdm_try_enter(struct ofi_rdm_ep *ep, bool nolock)
{
	return nolock ? ofi_bias_enter(&ep->bias) : ofi_trylock(&ep->lock);
}

/* The same where the caller would do nothing but wait: with the lock it is always true. */
OFI_INLINE bool ofi_rdm_enter(struct ofi_rdm_ep *ep, bool nolock)
{
	if (nolock)
		return ofi_bias_enter(&ep->bias);
	ofi_lock(&ep->lock);
	return true;
}

/* False: it is to be followed by ofi_unlock_slow(). */
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
		ofi_unlock_slow(&ep->lock);
}

/*
 * From any thread. One of the library, or one that the application does not serialize with those
 * in the endpoint, shuts out who enters without the lock (ofi_bias_outside). No reader's entries
 * are filled then.
 */
static inline void ofi_rdm_lock(struct ofi_rdm_ep *ep)
{
	ofi_lock(&ep->lock);
	if (ep->biased && ofi_bias_outside)
		ofi_bias_shut(&ep->bias);
	ep->direct.cq = OFI_RDM_NO_DIRECT;
}

static inline void ofi_rdm_unlock(struct ofi_rdm_ep *ep)
{
	if (ep->biased)
		ofi_bias_open(&ep->bias);
	ofi_unlock(&ep->lock);
}

/*
 * Of a call on another object of the domain, which FI_THREAD_DOMAIN alone serializes with those on
 * the endpoints; to be undone by ofi_rdm_step_in() of what it returns.
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
