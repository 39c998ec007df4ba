/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Encodes and decodes packets. */
#include "wire.h"
#include "src/ds/compiler.h"

enum { STATUS_MAX = 4096 }; /* FI_E* are below this */

/* The fields that follow the base, in this order. */
enum {
	HAS_TOTAL = 1 << 0,
	HAS_OFFSET = 1 << 1,
	HAS_RID = 1 << 2,    /* plus 4 unused bytes */
	HAS_STATUS = 1 << 3, /* plus 4 bytes: the rkey in KEY_RSP, else unused */
	HAS_KEY = 1 << 4,
	HAS_RANGE = 1 << 5,
	HAS_TAG = 1 << 6, /* if the flags announce it; the same for the CQ data */
	HAS_ATOMIC = 1 << 7,
	HAS_LIST = 1 << 8,
	HAS_PAYLOAD = 1 << 9,
};

struct shape {
	unsigned int has;
	uint8_t flags; /* permitted flags */
	uint8_t len;   /* bytes that always follow the base */
};

#define EIGHT(has, what) ((has) & (what) ? 8 : 0)
#define FIXED_LENGTH(has)                                                        \
	(EIGHT(has, HAS_TOTAL) + EIGHT(has, HAS_OFFSET) + EIGHT(has, HAS_RID) +  \
	 EIGHT(has, HAS_STATUS) + EIGHT(has, HAS_KEY) + EIGHT(has, HAS_ATOMIC) + \
	 2 * EIGHT(has, HAS_RANGE))
#define SHAPE(has, flags)                     \
	{                                     \
		has, flags, FIXED_LENGTH(has) \
	}

#define OF_MESSAGE (OFI_RDM_WIRE_TAGGED | OFI_RDM_WIRE_DATA | OFI_RDM_WIRE_WANT_ACK)

static const struct shape shapes[OFI_RDM_WIRE_TYPES] = {
	[OFI_RDM_WIRE_EAGER] = SHAPE(HAS_TAG | HAS_PAYLOAD, OF_MESSAGE),
	[OFI_RDM_WIRE_SEG_FIRST] = SHAPE(HAS_TOTAL | HAS_TAG | HAS_PAYLOAD, OF_MESSAGE),
	[OFI_RDM_WIRE_SEG_NEXT] = SHAPE(HAS_OFFSET | HAS_PAYLOAD, 0),
	[OFI_RDM_WIRE_RTS] = SHAPE(HAS_TOTAL | HAS_TAG | HAS_LIST, OF_MESSAGE),
	[OFI_RDM_WIRE_CTS] = SHAPE(HAS_TOTAL | HAS_RID | HAS_LIST, 0),
	[OFI_RDM_WIRE_FIN] = SHAPE(HAS_STATUS, OFI_RDM_WIRE_WRITTEN),
	[OFI_RDM_WIRE_ACK] = SHAPE(0, 0),
	[OFI_RDM_WIRE_ATOMIC_REQ] = SHAPE(HAS_ATOMIC | HAS_LIST | HAS_PAYLOAD, OFI_RDM_WIRE_PART),
	[OFI_RDM_WIRE_ATOMIC_RSP] = SHAPE(HAS_STATUS | HAS_PAYLOAD, 0),
	[OFI_RDM_WIRE_STOP] = SHAPE(0, 0),
	[OFI_RDM_WIRE_GO] = SHAPE(0, 0),
	[OFI_RDM_WIRE_KEY_REQ] = SHAPE(HAS_KEY, 0),
	[OFI_RDM_WIRE_KEY_RSP] = SHAPE(HAS_STATUS | HAS_RANGE | HAS_LIST, 0),
	[OFI_RDM_WIRE_BYE] = SHAPE(0, 0),
	[OFI_RDM_WIRE_BYE_RSP] = SHAPE(HAS_STATUS, 0),
	[OFI_RDM_WIRE_RMA_EVENT] =
		SHAPE(HAS_TOTAL | HAS_TAG | HAS_LIST, OFI_RDM_WIRE_DATA | OFI_RDM_WIRE_READ),
	[OFI_RDM_WIRE_HALT] = SHAPE(0, 0),
	[OFI_RDM_WIRE_SEG_REQ] = SHAPE(0, 0),
	[OFI_RDM_WIRE_SEG_ASKED] = SHAPE(HAS_OFFSET | HAS_PAYLOAD, 0),
	[OFI_RDM_WIRE_SEG_OFFER] = SHAPE(0, 0),
};

static const char *const errors[OFI_RDM_WIRE_ERRORS] = {
	[OFI_RDM_WIRE_OK] = "nothing wrong",
	[OFI_RDM_WIRE_E_SHORT] = "shorter than its header",
	[OFI_RDM_WIRE_E_LONG] = "longer than its type allows",
	[OFI_RDM_WIRE_E_VERSION] = "of a protocol version that this library does not support",
	[OFI_RDM_WIRE_E_TYPE] = "of an unknown type",
	[OFI_RDM_WIRE_E_FLAGS] = "has a flag that its type does not allow",
	[OFI_RDM_WIRE_E_UNUSED] = "has a value where there should be 0",
	[OFI_RDM_WIRE_E_COUNT] = "has too few or too many regions",
	[OFI_RDM_WIRE_E_TOTAL] = "has a total length that does not fit its parts",
	[OFI_RDM_WIRE_E_OFFSET] = "has an offset beyond any message",
	[OFI_RDM_WIRE_E_REGION] = "has an empty region or one that wraps around",
	[OFI_RDM_WIRE_E_ATOMIC] = "has an atomic operation of impossible size or kind",
	[OFI_RDM_WIRE_E_STATUS] = "has a status that is not an error code",
	[OFI_RDM_WIRE_E_ID] = "about a message that is not waiting for it",
	[OFI_RDM_WIRE_E_SEQUENCE] = "an out-of-order segment",
	[OFI_RDM_WIRE_E_MAGIC] = "not of a reliable-datagram endpoint of this library",
	[OFI_RDM_WIRE_E_KIND] = "not of the kind expected here",
	[OFI_RDM_WIRE_E_REASON] = "has a reason to reject without being a reject, or the reverse",
	[OFI_RDM_WIRE_E_SIZE] = "has an impossible buffer size, address or incarnation",
	[OFI_RDM_WIRE_E_KEYS] = "the last of too many requests for memory that it was not given",
	[OFI_RDM_WIRE_E_COLLECTIVE] =
		"of a collective operation, to an endpoint without FI_COLLECTIVE",
	[OFI_RDM_WIRE_E_RMA] = "that brings data of a write, to an endpoint without FI_RMA",
	[OFI_RDM_WIRE_E_MEMORY] = "that there is no memory for",
	[OFI_RDM_WIRE_E_FLOOD] = "although it was told to send no more until others are received",
};

const char *ofi_rdm_wire_strerror(enum ofi_rdm_wire_error error)
{
	return (unsigned int)error < OFI_RDM_WIRE_ERRORS ? errors[error] : "unknown error";
}

OFI_INLINE size_t fields_len(const struct ofi_rdm_wire_packet *p, const struct shape *shape)
{
	size_t len = shape->len;

	if (shape->has & HAS_TAG)
		len += (p->flags & OFI_RDM_WIRE_TAGGED ? 8 : 0) +
		       (p->flags & OFI_RDM_WIRE_DATA ? 8 : 0);
	if (shape->has & HAS_LIST)
		len += p->count * sizeof(struct ofi_rdm_wire_region);
	return len;
}

static enum ofi_rdm_wire_error take_status(const uint8_t **at, struct ofi_rdm_wire_packet *p)
{
	uint32_t second;

	p->status = ofi_rdm_wire_take32(at);
	second = ofi_rdm_wire_take32(at);
	if (p->status >= STATUS_MAX)
		return OFI_RDM_WIRE_E_STATUS;
	if (p->type == OFI_RDM_WIRE_KEY_RSP)
		p->key = second;
	else if (second)
		return OFI_RDM_WIRE_E_UNUSED;
	return OFI_RDM_WIRE_OK;
}

static enum ofi_rdm_wire_error take_rid(const uint8_t **at, struct ofi_rdm_wire_packet *p)
{
	p->rid = ofi_rdm_wire_take32(at);
	return ofi_rdm_wire_take32(at) ? OFI_RDM_WIRE_E_UNUSED : OFI_RDM_WIRE_OK;
}

static void take_atomic(const uint8_t **at, struct ofi_rdm_wire_atomic *atomic)
{
	atomic->kind = (*at)[0];
	atomic->op = (*at)[1];
	atomic->datatype = (*at)[2];
	atomic->size = (*at)[3];
	*at += 4;
	atomic->count = ofi_rdm_wire_take32(at);
}

OFI_INLINE uint64_t take_if(const uint8_t **at, bool has)
{
	return has ? ofi_rdm_wire_take64(at) : 0;
}

/* Sets all fields. The caller has checked that there are enough bytes. */
OFI_INLINE enum ofi_rdm_wire_error take_fields(const uint8_t **at, struct ofi_rdm_wire_packet *p,
					       unsigned int has)
{
	enum ofi_rdm_wire_error error = OFI_RDM_WIRE_OK;

	p->rid = p->status = 0;
	p->total = take_if(at, has & HAS_TOTAL);
	p->offset = take_if(at, has & HAS_OFFSET);
	if (has & HAS_RID)
		error = take_rid(at, p);
	p->key = 0;
	if (has & HAS_STATUS)
		error = take_status(at, p);
	if (has & HAS_KEY)
		p->key = ofi_rdm_wire_take64(at);
	p->addr = take_if(at, has & HAS_RANGE);
	p->len = take_if(at, has & HAS_RANGE);
	p->tag = take_if(at, has & HAS_TAG && p->flags & OFI_RDM_WIRE_TAGGED);
	p->data = take_if(at, has & HAS_TAG && p->flags & OFI_RDM_WIRE_DATA);
	p->atomic = (struct ofi_rdm_wire_atomic){ 0 };
	if (has & HAS_ATOMIC)
		take_atomic(at, &p->atomic);
	p->list = has & HAS_LIST ? *at : NULL;
	if (has & HAS_LIST)
		*at += p->count * sizeof(struct ofi_rdm_wire_region);
	return error;
}

static enum ofi_rdm_wire_error check_regions(const struct ofi_rdm_wire_packet *p, uint64_t total)
{
	struct ofi_rdm_wire_region region;
	uint64_t sum = 0;
	unsigned int i;

	if (p->count > OFI_RDM_WIRE_REGIONS || (p->type == OFI_RDM_WIRE_RTS && !p->count))
		return OFI_RDM_WIRE_E_COUNT;
	for (i = 0; i < p->count; i++) {
		ofi_rdm_wire_get_region(p->list, i, &region);
		if (!region.len || region.addr + region.len < region.addr)
			return OFI_RDM_WIRE_E_REGION;
		if (sum + region.len < sum)
			return OFI_RDM_WIRE_E_TOTAL;
		sum += region.len;
	}
	return sum == total ? OFI_RDM_WIRE_OK : OFI_RDM_WIRE_E_TOTAL;
}

static enum ofi_rdm_wire_error check_atomic(const struct ofi_rdm_wire_packet *p)
{
	const struct ofi_rdm_wire_atomic *a = &p->atomic;
	struct ofi_rdm_wire_target target;
	uint64_t sum = 0, operands;
	unsigned int i;

	if (!p->count || p->count > OFI_RDM_WIRE_REGIONS)
		return OFI_RDM_WIRE_E_COUNT;
	if (a->kind < OFI_RDM_WIRE_ATOMIC_WRITE || a->kind > OFI_RDM_WIRE_ATOMIC_COMPARE)
		return OFI_RDM_WIRE_E_ATOMIC;
	if (!a->size || a->size > 32 || a->size & (a->size - 1) || !a->count)
		return OFI_RDM_WIRE_E_ATOMIC;
	for (i = 0; i < p->count; i++) {
		ofi_rdm_wire_get_target(p->list, i, &target);
		if (!target.count || target.count > a->count ||
		    target.addr + target.count * a->size < target.addr)
			return OFI_RDM_WIRE_E_REGION;
		sum += target.count;
	}
	operands = a->kind == OFI_RDM_WIRE_ATOMIC_READ	    ? 0
		   : a->kind == OFI_RDM_WIRE_ATOMIC_COMPARE ? 2
							    : 1;
	if (sum != a->count || p->payload_len != operands * a->count * a->size)
		return OFI_RDM_WIRE_E_TOTAL;
	return OFI_RDM_WIRE_OK;
}

OFI_INLINE enum ofi_rdm_wire_error check_meaning(const struct ofi_rdm_wire_packet *p)
{
	switch (p->type) {
	case OFI_RDM_WIRE_SEG_FIRST:
		return p->payload_len && p->payload_len < p->total ? OFI_RDM_WIRE_OK
								   : OFI_RDM_WIRE_E_TOTAL;
	case OFI_RDM_WIRE_SEG_NEXT:
	case OFI_RDM_WIRE_SEG_ASKED:
		if (!p->payload_len)
			return OFI_RDM_WIRE_E_TOTAL;
		if (!p->offset && p->type == OFI_RDM_WIRE_SEG_NEXT)
			return OFI_RDM_WIRE_E_OFFSET;
		return p->offset + p->payload_len > p->offset ? OFI_RDM_WIRE_OK
							      : OFI_RDM_WIRE_E_OFFSET;
	case OFI_RDM_WIRE_RMA_EVENT:
		if (p->flags & OFI_RDM_WIRE_DATA && p->flags & OFI_RDM_WIRE_READ)
			return OFI_RDM_WIRE_E_FLAGS;
		return check_regions(p, p->total);
	case OFI_RDM_WIRE_RTS:
	case OFI_RDM_WIRE_CTS:
		return check_regions(p, p->total);
	case OFI_RDM_WIRE_ATOMIC_REQ:
		return check_atomic(p);
	case OFI_RDM_WIRE_KEY_RSP:
		if (p->addr + p->len < p->addr)
			return OFI_RDM_WIRE_E_REGION;
		return p->count ? check_regions(p, p->len) : OFI_RDM_WIRE_OK;
	default:
		return OFI_RDM_WIRE_OK;
	}
}

/* Returns true for the only combination of flags that the shapes do not list. */
static int is_collective(struct ofi_rdm_wire_base base)
{
	return base.flags == (OFI_RDM_WIRE_COLLECTIVE | OFI_RDM_WIRE_TAGGED) &&
	       (base.type == OFI_RDM_WIRE_EAGER || base.type == OFI_RDM_WIRE_SEG_FIRST ||
		base.type == OFI_RDM_WIRE_RTS);
}

/*
 * Parses all but version and type. With a constant type there is only code for the fields of that
 * type.
 */
OFI_INLINE enum ofi_rdm_wire_error parse_as(struct ofi_rdm_wire_base base, const uint8_t *at,
					    const uint8_t *end, unsigned int type,
					    struct ofi_rdm_wire_packet *packet)
{
	const struct shape *shape = &shapes[type];
	enum ofi_rdm_wire_error error;

	if (base.flags & ~shape->flags && !is_collective(base))
		return OFI_RDM_WIRE_E_FLAGS;
	if (base.count && !(shape->has & HAS_LIST))
		return OFI_RDM_WIRE_E_UNUSED;
	packet->type = (enum ofi_rdm_wire_type)type;
	packet->flags = base.flags;
	packet->count = base.count;
	packet->id = le32toh(base.id);
	if ((size_t)(end - at) < fields_len(packet, shape))
		return OFI_RDM_WIRE_E_SHORT;
	error = take_fields(&at, packet, shape->has);
	if (error)
		return error;
	if (at != end && !(shape->has & HAS_PAYLOAD))
		return OFI_RDM_WIRE_E_LONG;
	packet->payload = at;
	packet->payload_len = (size_t)(end - at);
	return check_meaning(packet);
}

static OFI_OUTLINE enum ofi_rdm_wire_error parse_any(struct ofi_rdm_wire_base base,
						     const uint8_t *at, const uint8_t *end,
						     struct ofi_rdm_wire_packet *packet)
{
	if (base.type < OFI_RDM_WIRE_EAGER || base.type >= OFI_RDM_WIRE_TYPES)
		return OFI_RDM_WIRE_E_TYPE;
	return parse_as(base, at, end, base.type, packet);
}

enum ofi_rdm_wire_error ofi_rdm_wire_parse(const void *bytes, size_t len,
					   struct ofi_rdm_wire_packet *packet)
{
	const uint8_t *at = (const uint8_t *)bytes, *end = at + len;
	struct ofi_rdm_wire_base base;

	if (len < sizeof(base))
		return OFI_RDM_WIRE_E_SHORT;
	memcpy(&base, bytes, sizeof(base));
	at += sizeof(base);
	if (base.version < OFI_RDM_WIRE_VERSION_MIN || base.version > OFI_RDM_WIRE_VERSION)
		return OFI_RDM_WIRE_E_VERSION;
	switch (base.type) {
	case OFI_RDM_WIRE_SEG_FIRST:
		return parse_as(base, at, end, OFI_RDM_WIRE_SEG_FIRST, packet);
	case OFI_RDM_WIRE_SEG_NEXT:
		return parse_as(base, at, end, OFI_RDM_WIRE_SEG_NEXT, packet);
	case OFI_RDM_WIRE_RTS:
		return parse_as(base, at, end, OFI_RDM_WIRE_RTS, packet);
	case OFI_RDM_WIRE_FIN:
		return parse_as(base, at, end, OFI_RDM_WIRE_FIN, packet);
	default:
		return parse_any(base, at, end, packet);
	}
}

static uint8_t *put32(uint8_t *at, uint32_t value)
{
	value = htole32(value);
	memcpy(at, &value, sizeof(value));
	return at + sizeof(value);
}

static uint8_t *put64(uint8_t *at, uint64_t value)
{
	value = htole64(value);
	memcpy(at, &value, sizeof(value));
	return at + sizeof(value);
}

OFI_INLINE uint8_t *put_fields(uint8_t *at, const struct ofi_rdm_wire_packet *p, unsigned int has)
{
	if (has & HAS_TOTAL)
		at = put64(at, p->total);
	if (has & HAS_OFFSET)
		at = put64(at, p->offset);
	if (has & HAS_RID)
		at = put64(at, p->rid);
	if (has & HAS_STATUS) {
		at = put32(at, p->status);
		at = put32(at, p->type == OFI_RDM_WIRE_KEY_RSP ? (uint32_t)p->key : 0);
	}
	if (has & HAS_KEY)
		at = put64(at, p->key);
	if (has & HAS_RANGE) {
		at = put64(at, p->addr);
		at = put64(at, p->len);
	}
	if (has & HAS_TAG && p->flags & OFI_RDM_WIRE_TAGGED)
		at = put64(at, p->tag);
	if (has & HAS_TAG && p->flags & OFI_RDM_WIRE_DATA)
		at = put64(at, p->data);
	return at;
}

/* With a constant type there is only code for the fields of that type. */
OFI_INLINE size_t build_as(void *bytes, const struct ofi_rdm_wire_packet *p, unsigned int type)
{
	const struct ofi_rdm_wire_base base = {
		.version = OFI_RDM_WIRE_VERSION,
		.type = (uint8_t)type,
		.flags = p->flags,
		.count = p->count,
	};
	unsigned int has = shapes[type].has;
	uint8_t *at = bytes;

	memcpy(at, &base, 4);
	at = put32(at + 4, p->id);
	at = put_fields(at, p, has);
	if (has & HAS_ATOMIC) {
		*at++ = p->atomic.kind;
		*at++ = p->atomic.op;
		*at++ = p->atomic.datatype;
		*at++ = p->atomic.size;
		at = put32(at, p->atomic.count);
	}
	if (has & HAS_LIST && p->count) {
		memcpy(at, p->list, p->count * sizeof(struct ofi_rdm_wire_region));
		at += p->count * sizeof(struct ofi_rdm_wire_region);
	}
	return (size_t)(at - (uint8_t *)bytes);
}

size_t ofi_rdm_wire_build(void *bytes, const struct ofi_rdm_wire_packet *p)
{
	switch (p->type) {
	case OFI_RDM_WIRE_SEG_NEXT:
		return build_as(bytes, p, OFI_RDM_WIRE_SEG_NEXT);
	case OFI_RDM_WIRE_RTS:
		return build_as(bytes, p, OFI_RDM_WIRE_RTS);
	case OFI_RDM_WIRE_FIN:
		return build_as(bytes, p, OFI_RDM_WIRE_FIN);
	default:
		return build_as(bytes, p, p->type);
	}
}

/* Regions and targets are encoded as three 64-bit numbers. */
static void put_three(void *list, unsigned int i, uint64_t a, uint64_t b, uint64_t c)
{
	uint8_t *at = (uint8_t *)list + i * sizeof(struct ofi_rdm_wire_region);

	put64(put64(put64(at, a), b), c);
}

void ofi_rdm_wire_put_region(void *list, unsigned int i, const struct ofi_rdm_wire_region *region)
{
	put_three(list, i, region->addr, region->len, region->key);
}

void ofi_rdm_wire_put_target(void *list, unsigned int i, const struct ofi_rdm_wire_target *target)
{
	put_three(list, i, target->addr, target->key, target->count);
}
