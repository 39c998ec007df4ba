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

static inline bool ofi_rdm_addr_is_qp(const struct ofi_rdm_addr *addr)
{
	return addr->sa.sa_family == OFI_AF_QP;
}

/* Returns false if the address is not an IP address with a port. */
bool ofi_rdm_addr_set(struct ofi_rdm_addr *addr, const struct sockaddr *sa);
/* Returns false if no queue pair has such a name. */
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
int ofi_rdm_addr_compare(const void *a, const void *b);
/* Writes the address as text, always null-terminated; OFI_ADDR_STRLEN bytes are enough. */
const char *ofi_rdm_addr_str(const struct ofi_rdm_addr *addr, char *text, size_t len);

#endif
