/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The results of fi_getinfo, sorted by distance. */
#include "offer.h"

#include <stdlib.h>
#include <string.h>
#include <ofi/addr.h>
#include <rdma/fi_errno.h>
#include "prov/base/name.h"

int vrb_offer_insert(struct vrb_offers *offers, struct fi_info *info, int distance)
{
	struct vrb_offer *offer = calloc(1, sizeof(*offer)), *at, *before = NULL;

	if (!offer)
		return -FI_ENOMEM;
	offer->info = info;
	offer->distance = distance;
	STAILQ_FOREACH (at, offers, next) {
		if (at->distance > distance)
			break;
		before = at;
	}
	if (before)
		STAILQ_INSERT_AFTER(offers, before, offer, next);
	else
		STAILQ_INSERT_HEAD(offers, offer, next);
	return 0;
}

int vrb_offer_set_addr(const struct fi_info *info, const struct sockaddr_storage *ss, void **addr,
		       size_t *len)
{
	const struct sockaddr *sa = (const struct sockaddr *)ss;
	char text[OFI_ADDR_STRLEN];
	const void *from = sa;
	size_t size = ofi_addr_size(sa);

	if (!size)
		return 0;
	if (info->addr_format == FI_ADDR_STR) {
		from = ofi_addr_str(sa, text, sizeof(text));
		size = strlen(text) + 1;
	}
	*addr = ofi_copy_new(from, size, len);
	return *addr ? 0 : -FI_ENOMEM;
}

int vrb_offer_set_name(const struct vrb_ud_name *name, void **addr, size_t *len)
{
	*addr = ofi_copy_new(name, sizeof(*name), len);
	return *addr ? 0 : -FI_ENOMEM;
}

void vrb_offers_join(struct vrb_offers *offers, struct fi_info **list)
{
	struct vrb_offer *offer;

	while ((offer = STAILQ_FIRST(offers))) {
		STAILQ_REMOVE_HEAD(offers, next);
		if (list) {
			*list = offer->info;
			list = &offer->info->next;
		} else {
			fi_freeinfo(offer->info);
		}
		free(offer);
	}
}
