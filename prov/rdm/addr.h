/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Addresses of reliable-datagram endpoints: IP addresses with ports, and names of queue pairs. */
#ifndef OFI_RDM_ADDR_H
#define OFI_RDM_ADDR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <netinet/in.h>
#include <ofi/addr.h>

enum {
	OFI_RDM_ADDR_NAME = 32, /* bytes of FI_ADDR_EFA */
};

/* An address as stored in the AV and used to look up peers. */
struct ofi_rdm_addr {
	union {
		struct sockaddr sa;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
		struct ofi_qp_name qp;
	};
};

/* These bytes precede an IPv4 address in an address of 16 bytes. */
extern const uint8_t ofi_rdm_addr_mapped[12];

static inline bool ofi_rdm_addr_is_qp(const struct ofi_rdm_addr *addr)
{
	return addr->sa.sa_family == OFI_AF_QP;
}

/* Copies a socket address. Returns false if it is not an IP address with a port. */
bool ofi_rdm_addr_set(struct ofi_rdm_addr *addr, const struct sockaddr *sa);
/*
 * An IPv4 address may say which queue pair takes requests for the endpoint, and the key that the
 * requests must contain, so that no connection manager has to be asked. It does so in sin_zero,
 * which otherwise has no meaning, with a check byte because applications may leave anything there.
 * The hint is not a part of the address: comparisons ignore it. ofi_rdm_addr_hint() returns false
 * if there is none.
 */
struct ofi_rdm_addr_hint {
	uint32_t qpn, key; /* qpn: 24 bits, 0: none */
};

void ofi_rdm_addr_set_hint(struct ofi_rdm_addr *addr, struct ofi_rdm_addr_hint hint);
bool ofi_rdm_addr_hint(const struct ofi_rdm_addr *addr, struct ofi_rdm_addr_hint *hint);
/*
 * Sets the address to the name of a queue pair. Returns false if no queue pair has such a name,
 * because the GID or the key is 0. The number may be 0, as that of the first queue pair of an
 * Elastic Fabric Adapter is.
 */
bool ofi_rdm_addr_set_qp(struct ofi_rdm_addr *addr, const uint8_t *gid, uint32_t qpn, uint32_t key);
/* Reads the bytes of FI_ADDR_EFA. Returns false if no queue pair has such a name. */
bool ofi_rdm_addr_from_name(struct ofi_rdm_addr *addr, const void *name);
/* Writes OFI_RDM_ADDR_NAME bytes, in the layout of FI_ADDR_EFA. */
void ofi_rdm_addr_name(const struct ofi_rdm_addr *addr, uint8_t *name);
/*
 * Adds to the port. Returns false if the result is not a port. The contexts of a scalable endpoint
 * have consecutive ports; names of queue pairs have none.
 */
bool ofi_rdm_addr_shift(struct ofi_rdm_addr *addr, int contexts);
/* Writes the 16 bytes of the GID, or of the IP address: IPv4 as ::ffff:a.b.c.d. */
void ofi_rdm_addr_gid(const struct ofi_rdm_addr *addr, uint8_t *gid);
int ofi_rdm_addr_compare(const void *a, const void *b);
/* Equal addresses have equal hashes. */
uint64_t ofi_rdm_addr_hash(const void *addr, uint64_t seed);
/* Writes the address as text, always null-terminated; OFI_ADDR_STRLEN bytes are enough. */
const char *ofi_rdm_addr_str(const struct ofi_rdm_addr *addr, char *text, size_t len);

#endif
