/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The address vector of reliable-datagram endpoints: IP addresses with ports. */
#ifndef OFI_RDM_AV_H
#define OFI_RDM_AV_H

#include "prov/base/av.h"
#include "rdm.h"

struct ofi_rdm_av {
	struct ofi_av base;
	struct ofi_domain *domain;
	uint32_t addr_format;
	struct ofi_lock tree_lock;   /* taken last of all */
	void *tree;		     /* tsearch(3) by address */
	LIST_HEAD(, ofi_rdm_ep) eps; /* bound, under base.lock */
};

int ofi_rdm_av_open(struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **av,
		    void *context);
/* Bound from now on, with a reference. */
void ofi_rdm_av_bind(struct ofi_rdm_av *av, struct ofi_rdm_ep *ep);
/*
 * After this the address vector does not enter the endpoint any more; the reference is still held.
 */
void ofi_rdm_av_leave(struct ofi_rdm_av *av, struct ofi_rdm_ep *ep);
/* The address of an fi_addr. False when there is none. Needs no lock. */
bool ofi_rdm_av_get(struct ofi_rdm_av *av, fi_addr_t fi_addr, struct ofi_rdm_addr *addr);
/* The fi_addr of an address, or FI_ADDR_NOTAVAIL. Takes no lock but the tree's. */
fi_addr_t ofi_rdm_av_find(struct ofi_rdm_av *av, const struct ofi_rdm_addr *addr);

#endif
