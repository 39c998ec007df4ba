/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The enabled endpoints of a domain together: counters of memory regions make all of them progress,
 * and so does the domain's own thread where FI_PROGRESS_AUTO was asked for.
 */
#ifndef VRB_RDM_ALL_H
#define VRB_RDM_ALL_H

#include <stdbool.h>

struct ofi_cntr;
struct vrb_domain;
struct vrb_rdm;
struct vrb_rdm_all;

/* With a thread, or without. 0 or -FI_E*, logged. */
int vrb_rdm_all_open(struct vrb_domain *domain, struct vrb_rdm_all **all);
/* Has no endpoints any more. NULL-safe. */
void vrb_rdm_all_close(struct vrb_rdm_all *all);
/*
 * The application serializes its calls and makes the progress: the frequent ones need no lock
 * (lock.h).
 */
bool vrb_rdm_all_biased(const struct vrb_rdm_all *all);
/* Sets whether that is so of a new endpoint. */
void vrb_rdm_all_bias(const struct vrb_rdm_all *all, struct vrb_rdm *ep);
/* An endpoint that has its channel. 0 or -FI_E*. */
int vrb_rdm_all_add(struct vrb_rdm_all *all, struct vrb_rdm *ep);
/* Not asked for progress any more; one that is not there may be taken out too. */
void vrb_rdm_all_remove(struct vrb_rdm_all *all, struct vrb_rdm *ep);
/* The device is gone, or a queue of one of them: that one. NULL-safe. */
void vrb_rdm_all_lost(struct vrb_rdm_all *all, const void *ep, int err);
/* The counter finds what comes to any endpoint. 0 or -FI_E*. */
int vrb_rdm_all_watch(struct vrb_rdm_all *all, struct ofi_cntr *cntr);
void vrb_rdm_all_unwatch(struct vrb_rdm_all *all, struct ofi_cntr *cntr);

#endif
