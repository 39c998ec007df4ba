/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Encodes and decodes the private data of connection messages. */
#include "cmwire.h"

struct cm_bytes {
	uint32_t magic;
	uint8_t version;
	uint8_t version_min;
	uint8_t kind;
	uint8_t reason;
	uint64_t incarnation;
	uint64_t expected;
	uint8_t addr[16];
	uint16_t port;
	uint16_t flags;
	uint32_t eager;
	uint32_t serial;
	uint32_t padding;
};

enum { FIXED = offsetof(struct cm_bytes, incarnation) };

/* The indexes of contexts are stored between the flags. */
enum {
	FROM_SHIFT = 2,
	TO_SHIFT = 8,
	CONTEXT_MASK = OFI_RDM_CMWIRE_CONTEXTS - 1,
	CONTEXT_BITS = CONTEXT_MASK << FROM_SHIFT | CONTEXT_MASK << TO_SHIFT,
};

static_assert(offsetof(struct cm_bytes, padding) == OFI_RDM_CMWIRE_LEN, "wire");
static_assert(FIXED == 8, "wire");
static_assert(offsetof(struct cm_bytes, addr) == 24, "wire");
static_assert(offsetof(struct cm_bytes, eager) == 44, "wire");

static const char *const reasons[OFI_RDM_CMWIRE_REASONS] = {
	[OFI_RDM_CMWIRE_NONE] = "no reason given",
	[OFI_RDM_CMWIRE_VERSION] =
		"the peer and this library have no version of the protocol in common",
	[OFI_RDM_CMWIRE_CROSSING] = "both sides connected at once; the peer's request wins",
	[OFI_RDM_CMWIRE_STALE] = "the peer's process is not the one that had this address before",
	[OFI_RDM_CMWIRE_BUSY] =
		"the peer has too many connections, or is checking whether an earlier one still works",
	[OFI_RDM_CMWIRE_RESOURCES] =
		"the peer is out of memory, queue pairs or completion queue entries",
	[OFI_RDM_CMWIRE_CLOSING] = "the peer's endpoint is being closed",
	[OFI_RDM_CMWIRE_MALFORMED] = "the peer did not understand the request",
	[OFI_RDM_CMWIRE_SOURCE] = "the request came from a host other than the one that it names",
	[OFI_RDM_CMWIRE_IN_USE] = "the address that the request names is in use by a live endpoint",
	[OFI_RDM_CMWIRE_UNKNOWN] =
		"the peer accepts requests only from addresses in its address vector (FI_VERBS_PEERS=known)",
	[OFI_RDM_CMWIRE_LONELY] =
		"one of the two endpoints has a job secret (auth_key, FI_VERBS_AUTH_KEY); the other has none",
	[OFI_RDM_CMWIRE_CONTEXT] = "the peer has no receive context with this index",
	[OFI_RDM_CMWIRE_SECRETS] = "the job secrets of the two endpoints differ",
};

const char *ofi_rdm_cmwire_reason_text(unsigned int reason)
{
	return reason < OFI_RDM_CMWIRE_REASONS ? reasons[reason] : "unknown reason";
}

void ofi_rdm_cmwire_build(uint8_t *bytes, const struct ofi_rdm_cmwire *cm)
{
	struct cm_bytes raw = {
		.magic = htole32(OFI_RDM_CMWIRE_MAGIC),
		.version = OFI_RDM_WIRE_VERSION,
		.version_min = OFI_RDM_WIRE_VERSION_MIN,
		.kind = (uint8_t)cm->kind,
		.reason = (uint8_t)cm->reason,
		.incarnation = htole64(cm->incarnation),
		.expected = htole64(cm->expected),
		.port = htole16(cm->port),
		.flags = htole16((uint16_t)(cm->flags | cm->from_context << FROM_SHIFT |
					    cm->to_context << TO_SHIFT)),
		.eager = htole32(cm->eager),
		.serial = htole32(cm->serial),
	};

	memcpy(raw.addr, cm->addr, sizeof(raw.addr));
	memcpy(bytes, &raw, OFI_RDM_CMWIRE_LEN);
}

uint8_t ofi_rdm_cmwire_common(const struct ofi_rdm_cmwire *cm)
{
	uint8_t high = cm->version < OFI_RDM_WIRE_VERSION ? cm->version : OFI_RDM_WIRE_VERSION;
	uint8_t low = cm->version_min > OFI_RDM_WIRE_VERSION_MIN ? cm->version_min
								 : OFI_RDM_WIRE_VERSION_MIN;

	return high >= low ? high : 0;
}

static enum ofi_rdm_wire_error check_fixed(const struct cm_bytes *raw)
{
	if (le32toh(raw->magic) != OFI_RDM_CMWIRE_MAGIC)
		return OFI_RDM_WIRE_E_MAGIC;
	if (raw->kind < OFI_RDM_CMWIRE_REQUEST || raw->kind > OFI_RDM_CMWIRE_PROBE)
		return OFI_RDM_WIRE_E_KIND;
	if (raw->version_min > raw->version || !raw->version_min)
		return OFI_RDM_WIRE_E_VERSION;
	/* A later version may define more reasons; each still belongs to a reject. */
	if ((raw->kind == OFI_RDM_CMWIRE_REJECT) != (raw->reason != OFI_RDM_CMWIRE_NONE))
		return OFI_RDM_WIRE_E_REASON;
	return OFI_RDM_WIRE_OK;
}

static enum ofi_rdm_wire_error check_rest(const struct ofi_rdm_cmwire *cm)
{
	if (cm->flags & ~(OFI_RDM_CMWIRE_RMA_EVENTS | OFI_RDM_CMWIRE_SECRET | OFI_RDM_CMWIRE_SHM))
		return OFI_RDM_WIRE_E_UNUSED;
	if (!cm->incarnation || !cm->port)
		return OFI_RDM_WIRE_E_SIZE;
	if (cm->eager < OFI_RDM_WIRE_EAGER_MIN || cm->eager > 1u << 30)
		return OFI_RDM_WIRE_E_SIZE;
	return OFI_RDM_WIRE_OK;
}

enum ofi_rdm_wire_error ofi_rdm_cmwire_parse(const void *bytes, size_t len,
					     struct ofi_rdm_cmwire *cm)
{
	struct cm_bytes raw = { 0 };
	enum ofi_rdm_wire_error error;

	*cm = (struct ofi_rdm_cmwire){ 0 };
	if (len < FIXED)
		return OFI_RDM_WIRE_E_SHORT;
	memcpy(&raw, bytes, len < OFI_RDM_CMWIRE_LEN ? len : OFI_RDM_CMWIRE_LEN);
	error = check_fixed(&raw);
	if (error)
		return error;
	cm->version = raw.version;
	cm->version_min = raw.version_min;
	cm->kind = raw.kind;
	cm->reason = raw.reason;
	if (!ofi_rdm_cmwire_common(cm))
		return OFI_RDM_WIRE_E_VERSION;
	if (len >= OFI_RDM_CMWIRE_LEN) {
		cm->incarnation = le64toh(raw.incarnation);
		cm->expected = le64toh(raw.expected);
		memcpy(cm->addr, raw.addr, sizeof(cm->addr));
		cm->port = le16toh(raw.port);
		cm->flags = le16toh(raw.flags) & ~CONTEXT_BITS;
		cm->from_context = le16toh(raw.flags) >> FROM_SHIFT & CONTEXT_MASK;
		cm->to_context = le16toh(raw.flags) >> TO_SHIFT & CONTEXT_MASK;
		cm->eager = le32toh(raw.eager);
		cm->serial = le32toh(raw.serial);
	}
	if (cm->kind == OFI_RDM_CMWIRE_REJECT)
		return OFI_RDM_WIRE_OK;
	return len < OFI_RDM_CMWIRE_LEN ? OFI_RDM_WIRE_E_SHORT : check_rest(cm);
}
