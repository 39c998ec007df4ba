/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The results of fi_getinfo so far: a list with the nearest first. */
#ifndef VRB_OFFER_H
#define VRB_OFFER_H

#include <sys/queue.h>
#include <rdma/fabric.h>

struct vrb_offer {
	STAILQ_ENTRY(vrb_offer) next;
	int distance;
	struct fi_info *info;
};
STAILQ_HEAD(vrb_offers, vrb_offer);

/* Inserts info after those at the same distance. On -FI_ENOMEM the caller keeps info. */
int vrb_offer_insert(struct vrb_offers *offers, struct fi_info *info, int distance);
/* Moves the offers into a list, or frees them. */
void vrb_offers_join(struct vrb_offers *offers, struct fi_info **list);

#endif
