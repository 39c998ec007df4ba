/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The private data of connection messages of reliable-datagram endpoints. The provider packs it
 * beside its own data. Magic number, versions, kind and reason are the same in all versions, so
 * that an endpoint of any version can be refused, and say why.
 */
#ifndef OFI_RDM_CMWIRE_H
#define OFI_RDM_CMWIRE_H

#include "wire.h"

#define OFI_RDM_CMWIRE_MAGIC 0x4d445257u /* "WRDM" */
#define OFI_RDM_CMWIRE_LEN   52

enum ofi_rdm_cmwire_kind {
	OFI_RDM_CMWIRE_REQUEST = 1,
	OFI_RDM_CMWIRE_REPLY,
	OFI_RDM_CMWIRE_REJECT,
};

enum ofi_rdm_cmwire_reason {
	OFI_RDM_CMWIRE_NONE,	  /* of requests and replies */
	OFI_RDM_CMWIRE_VERSION,	  /* no version in common */
	OFI_RDM_CMWIRE_CROSSING,  /* the other direction's request is the one that counts */
	OFI_RDM_CMWIRE_STALE,	  /* meant for an endpoint that had this address before */
	OFI_RDM_CMWIRE_BUSY,	  /* too many connections in progress or open: try later */
	OFI_RDM_CMWIRE_RESOURCES, /* out of queue pairs or memory: try later */
	OFI_RDM_CMWIRE_CLOSING,	  /* the endpoint is going away */
	OFI_RDM_CMWIRE_MALFORMED, /* the request's private data */
	OFI_RDM_CMWIRE_SOURCE,	/* the request came from another host than the one that it names */
	OFI_RDM_CMWIRE_IN_USE,	/* the address that the request names is of a peer that is there */
	OFI_RDM_CMWIRE_UNKNOWN, /* the endpoint takes only peers that are in its address vector */
	OFI_RDM_CMWIRE_LONELY,	/* one of the two has a job secret, the other has none */
	OFI_RDM_CMWIRE_SECRETS, /* the job secrets differ */
	OFI_RDM_CMWIRE_REASONS
};

/* Flags. */
enum {
	OFI_RDM_CMWIRE_RMA_NOTES =
		1 << 0, /* the sender wants to be told of each RMA operation on its memory */
	OFI_RDM_CMWIRE_SECRET = 1 << 1, /* it has a job secret: addr is random bytes, see proof.h */
};

struct ofi_rdm_cmwire {
	uint8_t version;     /* the highest that the sender speaks */
	uint8_t version_min; /* the lowest */
	enum ofi_rdm_cmwire_kind kind;
	enum ofi_rdm_cmwire_reason reason;
	uint64_t incarnation; /* the sender's, not 0 */
	uint64_t expected;    /* the receiver's as far as the sender knows, or 0 */
	uint8_t addr[16];     /* where the sender listens, IPv4 as ::ffff:a.b.c.d */
	uint16_t port;
	uint16_t flags;	 /* OFI_RDM_CMWIRE_RMA_NOTES */
	uint32_t serial; /* of the sender's requests so far: an older request comes late */
	uint32_t eager;	 /* payload that the sender's buffers hold behind the largest header */
};

/* Writes OFI_RDM_CMWIRE_LEN bytes. The versions are the library's. */
void ofi_rdm_cmwire_build(uint8_t *bytes, const struct ofi_rdm_cmwire *cm);
/*
 * OFI_RDM_WIRE_E_VERSION: there is no version in common; cm has the versions, kind and reason then.
 * The private data of a reject may be cut behind the reason.
 */
enum ofi_rdm_wire_error ofi_rdm_cmwire_parse(const void *bytes, size_t len,
					     struct ofi_rdm_cmwire *cm);
/* The version to speak, 0 if there is none. */
uint8_t ofi_rdm_cmwire_common(const struct ofi_rdm_cmwire *cm);
const char *ofi_rdm_cmwire_reason_text(unsigned int reason);

#endif
