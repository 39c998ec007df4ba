/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Hands work of the event thread to the thread that is in an endpoint. */
#include "errand.h"
#include "lock.h"
#include "prov/base/wait.h"
#include "rdm.h"

void ofi_rdm_errand_add(struct ofi_rdm_ep *ep, struct ofi_rdm_errand *errand)
{
	struct ofi_rdm_errands *errands = &ep->errands;

	errand->next = NULL;
	ofi_lock(&errands->lock);
	if (errands->first)
		errands->last->next = errand;
	else
		errands->first = errand;
	errands->last = errand;
	ofi_unlock(&errands->lock);
}

/* NULL: there is none. */
static struct ofi_rdm_errand *errand_take(struct ofi_rdm_errands *errands)
{
	struct ofi_rdm_errand *errand;

	ofi_lock(&errands->lock);
	errand = errands->first;
	if (errand)
		errands->first = errand->next;
	ofi_unlock(&errands->lock);
	return errand;
}

static bool errands_left(struct ofi_rdm_errands *errands)
{
	bool left;

	ofi_lock(&errands->lock);
	left = errands->first;
	ofi_unlock(&errands->lock);
	return left;
}

/* Entries that the calling thread's caller reads into are not to be filled any more. */
void ofi_rdm_errands_run(struct ofi_rdm_ep *ep)
{
	struct ofi_rdm_errand *errand;

	ep->direct.cq = OFI_RDM_NO_DIRECT;
	ep->errands.handed = 0;
	while ((errand = errand_take(&ep->errands)))
		errand->run(ep, errand);
}

/*
 * An owner that is inside will come by itself. An owner that is outside may come too, so it is
 * given as much time as a barrier takes.
 */
static bool errands_enter(struct ofi_rdm_ep *ep)
{
	struct ofi_rdm_errands *errands = &ep->errands;
	uint64_t now = ofi_now_ms();

	if (!errands->handed)
		errands->handed = now;
	if (!ofi_bias_looks_inside(&ep->bias) && now - errands->handed >= ofi_bias_cost())
		return ofi_bias_try_shut(&ep->bias);
	ofi_bias_call(&ep->bias);
	return false;
}

/* The next call of an owner that was called ends in ofi_rdm_unlock(). */
bool ofi_rdm_errands_try(struct ofi_rdm_ep *ep)
{
	if (!ofi_lock_or_mark(&ep->lock))
		return false;
	if (ep->biased && ofi_bias_outside && !errands_enter(ep)) {
		ofi_unlock(&ep->lock);
		return false;
	}
	ofi_rdm_errands_run(ep);
	ofi_rdm_unlock(ep);
	return true;
}

OFI_OUTLINE void ofi_rdm_reopen(struct ofi_rdm_ep *ep)
{
	ofi_rdm_errands_run(ep);
	ofi_bias_open(&ep->bias);
}

/*
 * The thread that adds an errand has marked the lock if it was held. If the errand was added after
 * the list was run, errands_left() sees it, or the thread finds the lock free. With a bias, the
 * owner may have entered again, so the errands are not run before the lock is released.
 */
OFI_OUTLINE void ofi_rdm_unlock_slow(struct ofi_rdm_ep *ep)
{
	if (!ep->biased)
		ofi_rdm_errands_run(ep);
	ofi_unlock_slow(&ep->lock);
	if (errands_left(&ep->errands))
		ofi_rdm_errands_try(ep);
}
