/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The enabled endpoints of a domain. Counters of memory regions make all of them progress; so does
 * the domain's thread under FI_PROGRESS_AUTO.
 */
#ifndef OFI_RDM_DOMAIN_PROGRESS_H
#define OFI_RDM_DOMAIN_PROGRESS_H

#include <stdbool.h>

struct ofi_cntr;
struct ofi_domain;
struct ofi_rdm_ep;
struct ofi_rdm_domain_progress;

/*
 * Starts domain progress; the thread runs if `automatic` is set or the domain asks for
 * FI_PROGRESS_AUTO. Returns 0 or -FI_E*; failures are logged.
 */
int ofi_rdm_domain_progress_open(struct ofi_domain *domain, bool automatic);
/* Stops domain progress. All endpoints have been removed. NULL-safe. */
void ofi_rdm_domain_progress_close(struct ofi_rdm_domain_progress *progress);
/*
 * Returns true if the application serializes its calls and makes all progress, so the most frequent
 * calls take no lock (see lock.h).
 */
bool ofi_rdm_domain_progress_biased(const struct ofi_rdm_domain_progress *progress);
/* Sets ep->biased and ep->with_domain of a new endpoint. */
void ofi_rdm_domain_progress_bias(const struct ofi_rdm_domain_progress *progress,
				  struct ofi_rdm_ep *ep);
/* Adds an endpoint whose completion channel exists. Returns 0 or -FI_E*. */
int ofi_rdm_domain_progress_add(struct ofi_rdm_domain_progress *progress, struct ofi_rdm_ep *ep);
/* Removes the endpoint; does nothing if it was never added. */
void ofi_rdm_domain_progress_remove(struct ofi_rdm_domain_progress *progress,
				    struct ofi_rdm_ep *ep);
/* Marks endpoints as lost with err: the given one, or all of them if ep is NULL. NULL-safe. */
void ofi_rdm_domain_progress_lost(struct ofi_rdm_domain_progress *progress, const void *ep,
				  int err);
/* Called before the region with the descriptor closes. */
void ofi_rdm_domain_progress_forget(struct ofi_rdm_domain_progress *progress, const void *desc);
/* Makes all endpoints progress when the counter is read. Returns 0 or -FI_E*. */
int ofi_rdm_domain_progress_watch(struct ofi_rdm_domain_progress *progress, struct ofi_cntr *cntr);
void ofi_rdm_domain_progress_unwatch(struct ofi_rdm_domain_progress *progress,
				     struct ofi_cntr *cntr);

#endif
