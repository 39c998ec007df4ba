/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Authorization keys of an address vector (FI_AV_AUTH_KEY): each address has one of the keys, which
 * both ends of its connections prove to know. A key has an fi_addr of its own, above those of
 * addresses, and stays until the address vector is closed.
 */
#ifndef OFI_RDM_AV_KEY_H
#define OFI_RDM_AV_KEY_H

#include "av.h"

enum {
	OFI_RDM_AV_KEYS = 64, /* most keys of an address vector, max_ep_auth_key */
};

struct ofi_rdm_av_key {
	size_t len;
	uint8_t bytes[];
};

/* Returns true if endpoints of the domain take their keys from address vectors. */
bool ofi_rdm_av_has_keys(const struct ofi_domain *domain);
/*
 * Implements fi_av_insert with FI_AUTH_KEY. On entry fi_addr holds the fi_addrs of the keys, on
 * return those of the addresses.
 */
int ofi_rdm_av_insert_with_keys(struct ofi_rdm_av *av, const void *addr, size_t count,
				fi_addr_t *fi_addr, uint64_t flags, void *context);
/* Returns the key of an address, or NULL. It stays valid while the address vector is open. */
const struct ofi_rdm_av_key *ofi_rdm_av_key_of(struct ofi_rdm_av *av,
					       const struct ofi_rdm_addr *addr);
void ofi_rdm_av_keys_free(struct ofi_rdm_av *av);

/* These implement fi_av_insert_auth_key and fi_av_lookup_auth_key. */
OFI_CALL(fi_ops_av, insert_auth_key) ofi_rdm_av_insert_auth_key;
int ofi_rdm_av_lookup_auth_key(struct fid_av *av, fi_addr_t addr, void *key, size_t *len);

#endif
