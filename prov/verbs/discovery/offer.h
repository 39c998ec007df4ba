/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The results of fi_getinfo so far: a list with the nearest first. */
#ifndef VRB_OFFER_H
#define VRB_OFFER_H

#include <stddef.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <rdma/fabric.h>
#include "prov/verbs/dgram/ud_name.h"

struct vrb_offer {
	STAILQ_ENTRY(vrb_offer) next;
	int distance;
	struct fi_info *info;
};
STAILQ_HEAD(vrb_offers, vrb_offer);

/* Inserts info after those at the same distance. On -FI_ENOMEM the caller keeps info. */
int vrb_offer_insert(struct vrb_offers *offers, struct fi_info *info, int distance);
/* Sets an address, in text form if that is the address format. Returns 0 or -FI_ENOMEM. */
int vrb_offer_set_addr(const struct fi_info *info, const struct sockaddr_storage *ss, void **addr,
		       size_t *len);
int vrb_offer_set_name(const struct vrb_ud_name *name, void **addr, size_t *len);
/* Moves the offers into a list, or frees them. */
void vrb_offers_join(struct vrb_offers *offers, struct fi_info **list);

#endif
