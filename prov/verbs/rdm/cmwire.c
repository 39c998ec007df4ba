/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connection messages' private data to bytes and back. */
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

static_assert(offsetof(struct cm_bytes, padding) == VRB_CMWIRE_LEN, "wire");
static_assert(FIXED == 8, "wire");
static_assert(offsetof(struct cm_bytes, addr) == 24, "wire");
static_assert(offsetof(struct cm_bytes, eager) == 44, "wire");

static const char *const reasons[VRB_CMWIRE_REASONS] = {
	[VRB_CMWIRE_NONE] = "no reason given",
	[VRB_CMWIRE_VERSION] = "the peer speaks no version of the protocol that this library does",
	[VRB_CMWIRE_CROSSING] = "both sides connected at once, the peer's request counts",
	[VRB_CMWIRE_STALE] = "the peer's process is not the one that had this address before",
	[VRB_CMWIRE_BUSY] =
		"the peer has too many connections, or looks whether an earlier one is still there",
	[VRB_CMWIRE_RESOURCES] =
		"the peer is out of memory, queue pairs or completion queue entries",
	[VRB_CMWIRE_CLOSING] = "the peer's endpoint is being closed",
	[VRB_CMWIRE_MALFORMED] = "the peer did not understand the request",
	[VRB_CMWIRE_SOURCE] = "the request came from another host than the one that it names",
	[VRB_CMWIRE_IN_USE] =
		"the address that the request names is in use by an endpoint that is alive",
	[VRB_CMWIRE_UNKNOWN] = "the peer takes requests only from who is in its address vector "
			       "(FI_VERBS_PEERS=known)",
	[VRB_CMWIRE_LONELY] = "one of the two endpoints has a job secret (auth_key, "
			      "FI_VERBS_AUTH_KEY), the other has none",
	[VRB_CMWIRE_SECRETS] = "the job secrets of the two endpoints differ",
};

const char *vrb_cmwire_reason_text(unsigned int reason)
{
	return reason < VRB_CMWIRE_REASONS ? reasons[reason] : "unknown reason";
}

void vrb_cmwire_build(uint8_t *bytes, const struct vrb_cmwire *cm)
{
	struct cm_bytes raw = {
		.magic = htole32(VRB_CMWIRE_MAGIC),
		.version = VRB_WIRE_VERSION,
		.version_min = VRB_WIRE_VERSION_MIN,
		.kind = (uint8_t)cm->kind,
		.reason = (uint8_t)cm->reason,
		.incarnation = htole64(cm->incarnation),
		.expected = htole64(cm->expected),
		.port = htole16(cm->port),
		.flags = htole16(cm->flags),
		.eager = htole32(cm->eager),
		.serial = htole32(cm->serial),
	};

	memcpy(raw.addr, cm->addr, sizeof(raw.addr));
	memcpy(bytes, &raw, VRB_CMWIRE_LEN);
}

uint8_t vrb_cmwire_common(const struct vrb_cmwire *cm)
{
	uint8_t high = cm->version < VRB_WIRE_VERSION ? cm->version : VRB_WIRE_VERSION;
	uint8_t low =
		cm->version_min > VRB_WIRE_VERSION_MIN ? cm->version_min : VRB_WIRE_VERSION_MIN;

	return high >= low ? high : 0;
}

static enum vrb_wire_error check_fixed(const struct cm_bytes *raw)
{
	if (le32toh(raw->magic) != VRB_CMWIRE_MAGIC)
		return VRB_WIRE_E_MAGIC;
	if (raw->kind < VRB_CMWIRE_REQUEST || raw->kind > VRB_CMWIRE_REJECT)
		return VRB_WIRE_E_KIND;
	if (raw->version_min > raw->version || !raw->version_min)
		return VRB_WIRE_E_VERSION;
	/* A later version may have more reasons; they are still rejects. */
	if ((raw->kind == VRB_CMWIRE_REJECT) != (raw->reason != VRB_CMWIRE_NONE))
		return VRB_WIRE_E_REASON;
	return VRB_WIRE_OK;
}

static enum vrb_wire_error check_rest(const struct vrb_cmwire *cm)
{
	if (cm->flags & ~(VRB_CMWIRE_RMA_NOTES | VRB_CMWIRE_SECRET))
		return VRB_WIRE_E_UNUSED;
	if (!cm->incarnation || !cm->port)
		return VRB_WIRE_E_SIZE;
	if (cm->eager < VRB_WIRE_EAGER_MIN || cm->eager > 1u << 30)
		return VRB_WIRE_E_SIZE;
	return VRB_WIRE_OK;
}

enum vrb_wire_error vrb_cmwire_parse(const void *bytes, size_t len, struct vrb_cmwire *cm)
{
	struct cm_bytes raw = { 0 };
	enum vrb_wire_error error;

	*cm = (struct vrb_cmwire){ 0 };
	if (len < FIXED)
		return VRB_WIRE_E_SHORT;
	memcpy(&raw, bytes, len < VRB_CMWIRE_LEN ? len : VRB_CMWIRE_LEN);
	error = check_fixed(&raw);
	if (error)
		return error;
	cm->version = raw.version;
	cm->version_min = raw.version_min;
	cm->kind = raw.kind;
	cm->reason = raw.reason;
	if (!vrb_cmwire_common(cm))
		return VRB_WIRE_E_VERSION;
	if (len >= VRB_CMWIRE_LEN) {
		cm->incarnation = le64toh(raw.incarnation);
		cm->expected = le64toh(raw.expected);
		memcpy(cm->addr, raw.addr, sizeof(cm->addr));
		cm->port = le16toh(raw.port);
		cm->flags = le16toh(raw.flags);
		cm->eager = le32toh(raw.eager);
		cm->serial = le32toh(raw.serial);
	}
	if (cm->kind == VRB_CMWIRE_REJECT)
		return VRB_WIRE_OK;
	return len < VRB_CMWIRE_LEN ? VRB_WIRE_E_SHORT : check_rest(cm);
}
