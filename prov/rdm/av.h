/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The address vector of reliable-datagram endpoints. Its addresses are IP addresses with ports, or
 * names of queue pairs.
 */
#ifndef OFI_RDM_AV_H
#define OFI_RDM_AV_H

#include "prov/base/ops.h"
#include "prov/base/av.h"
#include "cmwire.h"
#include "rdm.h"

struct ofi_rdm_av {
	struct ofi_av base;
	struct ofi_domain *domain;
	uint32_t addr_format;	    /* never FI_SOCKADDR */
	struct ofi_lock index_lock; /* innermost lock */
	/* Contains each address once, with the first of its fi_addrs that is left. */
	struct ofi_index index;
	LIST_HEAD(, ofi_rdm_ep) eps;  /* bound endpoints; guarded by base.lock */
	struct ofi_rdm_av_key **keys; /* NULL if endpoints have keys of their own */
	uint32_t key_count;	      /* guarded by index_lock */
	int context_bits;	      /* of fi_rx_addr() */
};

static inline struct ofi_rdm_av *ofi_rdm_av_of(struct fid_av *fid)
{
	return (struct ofi_rdm_av *)fid;
}

OFI_CALL(fi_ops_domain, av_open) ofi_rdm_av_open;
/* Adds the endpoint to the list of bound endpoints and takes a reference on the AV. */
void ofi_rdm_av_bind(struct ofi_rdm_av *av, struct ofi_rdm_ep *ep);
/*
 * Removes the endpoint from the list. The AV no longer enters the endpoint afterward; the caller
 * still holds the reference.
 */
void ofi_rdm_av_leave(struct ofi_rdm_av *av, struct ofi_rdm_ep *ep);
/* Splits an fi_addr into that of the entry and the index of a context. */
static inline fi_addr_t ofi_rdm_av_split(const struct ofi_rdm_av *av, fi_addr_t fi_addr,
					 uint64_t *context)
{
	int bits = av->context_bits;

	*context = bits ? fi_addr >> (64 - bits) : 0;
	return bits ? fi_addr << bits >> bits : fi_addr;
}

/*
 * Looks up the address of an fi_addr, with the port of the context. Returns false if there is none.
 * Takes no lock.
 */
bool ofi_rdm_av_get(struct ofi_rdm_av *av, fi_addr_t fi_addr, struct ofi_rdm_addr *addr);
/* Returns the fi_addr of an address, or FI_ADDR_NOTAVAIL. Takes only the index's lock. */
fi_addr_t ofi_rdm_av_find(struct ofi_rdm_av *av, const struct ofi_rdm_addr *addr);
/*
 * Return and set the number of the authorization key of an address; 0 if it has none. All fi_addrs
 * of an address have the same key.
 */
uint32_t ofi_rdm_av_get_key(struct ofi_rdm_av *av, const struct ofi_rdm_addr *addr);
void ofi_rdm_av_set_key(struct ofi_rdm_av *av, const struct ofi_rdm_addr *addr, uint32_t number);
/* These implement fi_av_insertsvc and fi_av_insertsym. */
OFI_CALL(fi_ops_av, insertsvc) ofi_rdm_av_insertsvc;
OFI_CALL(fi_ops_av, insertsym) ofi_rdm_av_insertsym;
/*
 * Returns true if the AV has the address, or has that of the scalable endpoint to which the address
 * belongs. *context is the index that the owner of the address claims to have there; it becomes 0
 * if the AV has the address itself.
 */
bool ofi_rdm_av_knows(struct ofi_rdm_av *av, const struct ofi_rdm_addr *addr, uint8_t *context);

#endif
