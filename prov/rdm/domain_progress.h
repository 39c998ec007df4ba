/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The enabled endpoints of a domain together: counters of memory regions make all of them progress,
 * and so does the domain's own thread where FI_PROGRESS_AUTO was asked for.
 */
#ifndef OFI_RDM_DOMAIN_PROGRESS_H
#define OFI_RDM_DOMAIN_PROGRESS_H

#include <stdbool.h>

struct ofi_cntr;
struct ofi_domain;
struct ofi_rdm_ep;
struct ofi_rdm_domain_progress;

/* With a thread, if that is wanted or the domain asks for it. 0 or -FI_E*, logged. */
int ofi_rdm_domain_progress_open(struct ofi_domain *domain, bool automatic);
/* Has no endpoints any more. NULL-safe. */
void ofi_rdm_domain_progress_close(struct ofi_rdm_domain_progress *all);
/*
 * The application serializes its calls and makes the progress: the frequent ones need no lock
 * (lock.h).
 */
bool ofi_rdm_domain_progress_biased(const struct ofi_rdm_domain_progress *all);
/* Sets whether that is so of a new endpoint. */
void ofi_rdm_domain_progress_bias(const struct ofi_rdm_domain_progress *all, struct ofi_rdm_ep *ep);
/* An endpoint that has its channel. 0 or -FI_E*. */
int ofi_rdm_domain_progress_add(struct ofi_rdm_domain_progress *all, struct ofi_rdm_ep *ep);
/* Not asked for progress any more; one that is not there may be taken out too. */
void ofi_rdm_domain_progress_remove(struct ofi_rdm_domain_progress *all, struct ofi_rdm_ep *ep);
/* The device is gone, or a queue of one of them: that one. NULL-safe. */
void ofi_rdm_domain_progress_lost(struct ofi_rdm_domain_progress *all, const void *ep, int err);
/* The counter finds what comes to any endpoint. 0 or -FI_E*. */
int ofi_rdm_domain_progress_watch(struct ofi_rdm_domain_progress *all, struct ofi_cntr *cntr);
void ofi_rdm_domain_progress_unwatch(struct ofi_rdm_domain_progress *all, struct ofi_cntr *cntr);

#endif
