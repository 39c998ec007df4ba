/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The job secret: its source, and the authentication codes that prove its knowledge. A code covers
 * a role and the messages of both sides of the handshake, including fresh random bytes of each, so
 * an observed code cannot be reused.
 */
#ifndef VRB_RDM_SECRET_H
#define VRB_RDM_SECRET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "prov/rdm/cmwire.h"

#define VRB_RDM_MAC_LEN 32

struct fi_info;
struct vrb_rdm_secret;

/* The messages of both sides; only byte arrays, so there is no padding. */
struct vrb_rdm_hello {
	uint8_t request[OFI_RDM_CMWIRE_LEN], reply[OFI_RDM_CMWIRE_LEN]; /* as sent */
	uint8_t from[18], to[18]; /* listening addresses: IPv4 as ::ffff:a.b.c.d, port */
	uint8_t from_qp[4], to_qp[4];
};

enum vrb_rdm_role { VRB_RDM_INITIATOR, VRB_RDM_RESPONDER };

/*
 * Reads the auth_key of the endpoint, or else of the domain, or else of the environment. *secret is
 * NULL if there is none. Returns 0, or logs and returns -FI_E*.
 */
int vrb_rdm_secret_open(const struct fi_info *ep, const struct fi_info *domain,
			struct vrb_rdm_secret **secret);
/* Makes a secret from the bytes. Returns 0 or -FI_ENOMEM. */
int vrb_rdm_secret_make(const uint8_t *key, size_t len, struct vrb_rdm_secret **secret);
/*
 * Returns true if the endpoint takes its keys from the address vector. Its own secret is then
 * random, so nobody else knows it.
 */
bool vrb_rdm_secret_is_av(const struct fi_info *ep, const struct fi_info *domain);
/* Returns true if endpoints of the domain have a secret even without an auth_key of their own. */
bool vrb_rdm_secret_is_set(const struct fi_info *domain);
void vrb_rdm_secret_close(struct vrb_rdm_secret *secret);
/* Computes a code of VRB_RDM_MAC_LEN bytes; the label states its purpose. */
void vrb_rdm_secret_mac(const struct vrb_rdm_secret *secret, const char *label, const void *bytes,
			size_t len, uint8_t *mac);
void vrb_rdm_secret_sign(const struct vrb_rdm_secret *secret, enum vrb_rdm_role role,
			 const struct vrb_rdm_hello *hello, uint8_t *mac);
/* Compares in constant time. */
bool vrb_rdm_secret_check(const struct vrb_rdm_secret *secret, enum vrb_rdm_role role,
			  const struct vrb_rdm_hello *hello, const uint8_t *mac);

#endif
