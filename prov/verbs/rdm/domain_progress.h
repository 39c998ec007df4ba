/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The enabled endpoints of a domain together: counters of memory regions make all of them progress,
 * and so does the domain's own thread where FI_PROGRESS_AUTO was asked for.
 */
#ifndef VRB_RDM_DOMAIN_PROGRESS_H
#define VRB_RDM_DOMAIN_PROGRESS_H

#include <stdbool.h>

struct ofi_cntr;
struct vrb_domain;
struct vrb_rdm;
struct ofi_rdm_domain_progress;

/* With a thread, or without. 0 or -FI_E*, logged. */
int vrb_rdm_domain_progress_open(struct vrb_domain *domain, struct ofi_rdm_domain_progress **all);
/* Has no endpoints any more. NULL-safe. */
void vrb_rdm_domain_progress_close(struct ofi_rdm_domain_progress *all);
/*
 * The application serializes its calls and makes the progress: the frequent ones need no lock
 * (lock.h).
 */
bool vrb_rdm_domain_progress_biased(const struct ofi_rdm_domain_progress *all);
/* Sets whether that is so of a new endpoint. */
void vrb_rdm_domain_progress_bias(const struct ofi_rdm_domain_progress *all, struct vrb_rdm *ep);
/* An endpoint that has its channel. 0 or -FI_E*. */
int vrb_rdm_domain_progress_add(struct ofi_rdm_domain_progress *all, struct vrb_rdm *ep);
/* Not asked for progress any more; one that is not there may be taken out too. */
void vrb_rdm_domain_progress_remove(struct ofi_rdm_domain_progress *all, struct vrb_rdm *ep);
/* The device is gone, or a queue of one of them: that one. NULL-safe. */
void vrb_rdm_domain_progress_lost(struct ofi_rdm_domain_progress *all, const void *ep, int err);
/* The counter finds what comes to any endpoint. 0 or -FI_E*. */
int vrb_rdm_domain_progress_watch(struct ofi_rdm_domain_progress *all, struct ofi_cntr *cntr);
void vrb_rdm_domain_progress_unwatch(struct ofi_rdm_domain_progress *all, struct ofi_cntr *cntr);

#endif
