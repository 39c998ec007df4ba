/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The private data of the connection messages of reliable-datagram endpoints, which the provider
 * packs next to its own. The magic number, the versions, the kind and the reason have the same
 * layout in all versions, so an endpoint of any version can be refused with a reason.
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
	OFI_RDM_CMWIRE_PROBE, /* only asks whether the endpoint is there; it is rejected */
};

enum ofi_rdm_cmwire_reason {
	OFI_RDM_CMWIRE_NONE,	/* in requests and replies */
	OFI_RDM_CMWIRE_VERSION, /* no version in common */
	/* Both sides sent a request; the other direction's request wins. */
	OFI_RDM_CMWIRE_CROSSING,
	/* The request is for an earlier endpoint at this address, or it is late. */
	OFI_RDM_CMWIRE_STALE,
	OFI_RDM_CMWIRE_BUSY,	  /* too many connections are open or being set up: try later */
	OFI_RDM_CMWIRE_RESOURCES, /* no queue pair or memory available: try later */
	OFI_RDM_CMWIRE_CLOSING,	  /* the endpoint is closing */
	OFI_RDM_CMWIRE_MALFORMED, /* the request's private data cannot be parsed */
	OFI_RDM_CMWIRE_SOURCE,	  /* the request came from a different host than the one it names */
	OFI_RDM_CMWIRE_IN_USE,	  /* the address named in the request belongs to a connected peer */
	OFI_RDM_CMWIRE_UNKNOWN,	  /* the endpoint accepts only peers in its address vector */
	OFI_RDM_CMWIRE_LONELY,	  /* only one of the two has a job secret */
	OFI_RDM_CMWIRE_SECRETS,	  /* the two job secrets differ */
	OFI_RDM_CMWIRE_CONTEXT,	  /* the endpoint is another context than the one requested */
	OFI_RDM_CMWIRE_REASONS
};

/* Flags. */
enum {
	/* The sender wants an RMA event for each operation on its memory. */
	OFI_RDM_CMWIRE_RMA_EVENTS = 1 << 0,
	/* The sender has a job secret; addr holds random bytes, see proof.h. */
	OFI_RDM_CMWIRE_SECRET = 1 << 1,
	/* The sender exchanges packets through shared memory with peers on its host. */
	OFI_RDM_CMWIRE_SHM = 1 << 14, /* above the bits of the contexts */
};

#define OFI_RDM_CMWIRE_CONTEXTS 64 /* most contexts of a scalable endpoint */

struct ofi_rdm_cmwire {
	uint8_t version;     /* the highest version that the sender supports */
	uint8_t version_min; /* the lowest version that the sender supports */
	enum ofi_rdm_cmwire_kind kind;
	enum ofi_rdm_cmwire_reason reason;
	uint64_t incarnation; /* the sender's incarnation, never 0 */
	uint64_t expected;    /* the receiver's incarnation as known to the sender, or 0 */
	uint8_t addr[16];     /* the sender's listening address, IPv4 as ::ffff:a.b.c.d */
	uint16_t port;
	uint16_t flags;
	/* Indexes of the sender's and the receiver's context; 0 without a scalable endpoint. */
	uint8_t from_context, to_context;
	/* Number of requests that the sender has made so far; a late request has a lower one. */
	uint32_t serial;
	/* Payload bytes that fit in the sender's buffers after the largest header. */
	uint32_t eager;
};

/* Writes OFI_RDM_CMWIRE_LEN bytes with the library's own version range. */
void ofi_rdm_cmwire_build(uint8_t *bytes, const struct ofi_rdm_cmwire *cm);
/*
 * Parses private data. On OFI_RDM_WIRE_E_VERSION the two have no version in common and cm has only
 * the versions, the kind and the reason. The private data of a reject may be truncated after the
 * reason.
 */
enum ofi_rdm_wire_error ofi_rdm_cmwire_parse(const void *bytes, size_t len,
					     struct ofi_rdm_cmwire *cm);
/* Returns the version to use, or 0 if the two have none in common. */
uint8_t ofi_rdm_cmwire_common(const struct ofi_rdm_cmwire *cm);
const char *ofi_rdm_cmwire_reason_text(unsigned int reason);

#endif
