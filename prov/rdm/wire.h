/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The wire format of reliable-datagram endpoints. All integers are little endian. Input from a peer
 * is not trusted: ofi_rdm_wire_parse() checks every length, index and unused bit, and its result
 * refers to nothing outside of the packet.
 *
 * A packet is the base, followed by fields that depend on the type ([ ] marks a field that a flag
 * announces):
 *
 *   EAGER       [tag] [data] payload: a whole message
 *   SEG_FIRST   total [tag] [data] payload: the first bytes of a message
 *   SEG_NEXT    offset payload: more of the message that the peer's last SEG_FIRST began
 *   RTS         total [tag] [data] regions[count]: announces a message to be read, or written on
 *   CTS
 *   CTS         total rid regions[count]: asks to write `id` to the regions, then send FIN to `rid`
 *   FIN         status: the sender's `id` was read; with WRITTEN: the receiver's `id` was written
 *   ACK         the message `id` is in the receive's buffer
 *   ATOMIC_REQ  atomic targets[count] operands; with PART: a part of a read or write, which is not
 *               counted, because an RMA_EVENT follows the last part
 *   ATOMIC_RSP  status payload: the values fetched by the request `id`
 *   STOP, GO    announce messages with RTS from now on; stop doing so
 *   HALT        begin no message until STOP or GO, and finish none that takes more than one window
 *   KEY_REQ     key: asks for the region of the user's key
 *   KEY_RSP     status rkey addr len regions[count]: if the region has several buffers, these are
 *               the buffers; addr is 0 if operations give the virtual addresses of buffers; with
 *               the status FI_EOPNOTSUPP, send ATOMIC_REQ instead: the device has no key
 *   BYE         asks to end the connection, since nothing is to be sent
 *   BYE_RSP     status: 0 if nothing more will be sent on the connection, or FI_EBUSY
 *   SEG_REQ     asks for the announced message `id` in segments: it cannot be read or written
 *   SEG_ASKED   offset payload: these segments, starting at offset 0
 *   SEG_OFFER   the sender wants to end the connection: asks for a SEG_REQ for what it announced
 *   RMA_EVENT   total [data] regions[count]: the sender wrote the regions; with READ: it read them
 *
 * `id` is the sender's number of the message or request.
 *
 * Messages of collective operations are EAGER, SEG_FIRST and RTS packets with COLLECTIVE. They have
 * a tag and no other optional field, and match only receives of collective operations.
 */
#ifndef OFI_RDM_WIRE_H
#define OFI_RDM_WIRE_H

#include <assert.h>
#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
	OFI_RDM_WIRE_VERSION = 1,     /* the highest version that this library supports */
	OFI_RDM_WIRE_VERSION_MIN = 1, /* the lowest version */
	OFI_RDM_WIRE_REGIONS = 16,    /* maximum of one message or atomic request */
	OFI_RDM_WIRE_EAGER_MIN = 256, /* payload that fits in every receive buffer */
	OFI_RDM_WIRE_WINDOW = 128,    /* maximum number of packets that a sender has in flight */
};

enum ofi_rdm_wire_type {
	OFI_RDM_WIRE_EAGER = 1,
	OFI_RDM_WIRE_SEG_FIRST,
	OFI_RDM_WIRE_SEG_NEXT,
	OFI_RDM_WIRE_RTS,
	OFI_RDM_WIRE_CTS,
	OFI_RDM_WIRE_FIN,
	OFI_RDM_WIRE_ACK,
	OFI_RDM_WIRE_ATOMIC_REQ,
	OFI_RDM_WIRE_ATOMIC_RSP,
	OFI_RDM_WIRE_STOP,
	OFI_RDM_WIRE_GO,
	OFI_RDM_WIRE_KEY_REQ,
	OFI_RDM_WIRE_KEY_RSP,
	OFI_RDM_WIRE_BYE,
	OFI_RDM_WIRE_BYE_RSP,
	OFI_RDM_WIRE_RMA_EVENT,
	OFI_RDM_WIRE_HALT,
	OFI_RDM_WIRE_SEG_REQ,
	OFI_RDM_WIRE_SEG_ASKED,
	OFI_RDM_WIRE_SEG_OFFER,
	OFI_RDM_WIRE_TYPES
};

/* Flags. */
enum {
	OFI_RDM_WIRE_TAGGED = 1 << 0,
	OFI_RDM_WIRE_DATA = 1 << 1, /* 8 bytes of CQ data */
	/* Requests an ACK when the message is in the user's buffer. */
	OFI_RDM_WIRE_WANT_ACK = 1 << 2,
	OFI_RDM_WIRE_WRITTEN = 1 << 3,
	OFI_RDM_WIRE_READ = 1 << 4,
	OFI_RDM_WIRE_COLLECTIVE = 1 << 5,
	OFI_RDM_WIRE_PART = 1 << 6,
};

struct ofi_rdm_wire_base {
	uint8_t version;
	uint8_t type;
	uint8_t flags;
	uint8_t count; /* number of regions or targets */
	uint32_t id;
};

struct ofi_rdm_wire_region {
	uint64_t addr;
	uint64_t len;
	uint64_t key;
};

struct ofi_rdm_wire_target {
	uint64_t addr;
	uint64_t key;
	uint64_t count; /* number of elements */
};

enum ofi_rdm_wire_atomic_kind {
	OFI_RDM_WIRE_ATOMIC_WRITE = 1, /* operands for all elements; the response has no payload */
	/* Operands for all elements; the response has the old values. */
	OFI_RDM_WIRE_ATOMIC_FETCH,
	OFI_RDM_WIRE_ATOMIC_READ, /* no operands */
	/* Operands for all elements, then the values to compare with. */
	OFI_RDM_WIRE_ATOMIC_COMPARE,
};

struct ofi_rdm_wire_atomic {
	uint8_t kind;
	uint8_t op;	  /* enum fi_op, checked against the table of reductions */
	uint8_t datatype; /* enum fi_datatype */
	uint8_t size;	  /* size of an element in bytes, 1 to 32 */
	uint32_t count;	  /* number of elements in all targets */
};

#define OFI_RDM_WIRE_HEADER_MAX                                    \
	(sizeof(struct ofi_rdm_wire_base) + 3 * sizeof(uint64_t) + \
	 OFI_RDM_WIRE_REGIONS * sizeof(struct ofi_rdm_wire_region))

static_assert(sizeof(struct ofi_rdm_wire_base) == 8, "wire");
static_assert(offsetof(struct ofi_rdm_wire_base, id) == 4, "wire");
static_assert(sizeof(struct ofi_rdm_wire_region) == 24, "wire");
static_assert(sizeof(struct ofi_rdm_wire_target) == 24, "wire");
static_assert(sizeof(struct ofi_rdm_wire_atomic) == 8, "wire");
static_assert(offsetof(struct ofi_rdm_wire_atomic, count) == 4, "wire");
static_assert(OFI_RDM_WIRE_HEADER_MAX + 8 <= 512, "headers fit the smallest buffer twice over");

/* A packet in host byte order. Fields that its type does not have are 0. */
struct ofi_rdm_wire_packet {
	enum ofi_rdm_wire_type type;
	uint8_t flags;
	uint8_t count;
	uint32_t id;
	uint32_t rid;	 /* CTS */
	uint32_t status; /* FI_E* or 0 */
	uint64_t tag;
	uint64_t data;
	uint64_t total;	    /* bytes of the message */
	uint64_t offset;    /* SEG_NEXT, SEG_ASKED */
	uint64_t key;	    /* KEY_REQ: the user's key; KEY_RSP: the rkey */
	uint64_t addr, len; /* KEY_RSP */
	struct ofi_rdm_wire_atomic atomic;
	const uint8_t *list; /* regions or targets in wire order, unaligned */
	const uint8_t *payload;
	size_t payload_len;
};

/* The reasons why a packet or private data is invalid. */
enum ofi_rdm_wire_error {
	OFI_RDM_WIRE_OK,
	OFI_RDM_WIRE_E_SHORT,
	OFI_RDM_WIRE_E_LONG,
	OFI_RDM_WIRE_E_VERSION,
	OFI_RDM_WIRE_E_TYPE,
	OFI_RDM_WIRE_E_FLAGS,
	OFI_RDM_WIRE_E_UNUSED,
	OFI_RDM_WIRE_E_COUNT,
	OFI_RDM_WIRE_E_TOTAL,
	OFI_RDM_WIRE_E_OFFSET,
	OFI_RDM_WIRE_E_REGION,
	OFI_RDM_WIRE_E_ATOMIC,
	OFI_RDM_WIRE_E_STATUS,
	OFI_RDM_WIRE_E_ID,
	OFI_RDM_WIRE_E_SEQUENCE,
	OFI_RDM_WIRE_E_MAGIC,
	OFI_RDM_WIRE_E_KIND,
	OFI_RDM_WIRE_E_REASON,
	OFI_RDM_WIRE_E_SIZE,
	OFI_RDM_WIRE_E_COLLECTIVE,
	OFI_RDM_WIRE_E_RMA,
	OFI_RDM_WIRE_E_MEMORY,
	OFI_RDM_WIRE_E_FLOOD,
	OFI_RDM_WIRE_E_KEYS,
	OFI_RDM_WIRE_ERRORS
};

enum ofi_rdm_wire_error ofi_rdm_wire_parse(const void *bytes, size_t len,
					   struct ofi_rdm_wire_packet *packet);
const char *ofi_rdm_wire_strerror(enum ofi_rdm_wire_error error);

/*
 * Writes the header of a packet from its parsed form. The payload follows it; `list` is in wire
 * order. Returns the length, at most OFI_RDM_WIRE_HEADER_MAX.
 */
size_t ofi_rdm_wire_build(void *bytes, const struct ofi_rdm_wire_packet *packet);

/* The caller has checked that there are enough bytes. */
static inline uint32_t ofi_rdm_wire_take32(const uint8_t **at)
{
	uint32_t value;

	memcpy(&value, *at, sizeof(value));
	*at += sizeof(value);
	return le32toh(value);
}

static inline uint64_t ofi_rdm_wire_take64(const uint8_t **at)
{
	uint64_t value;

	memcpy(&value, *at, sizeof(value));
	*at += sizeof(value);
	return le64toh(value);
}

/* Entries of a list; requires i < count. */
void ofi_rdm_wire_put_region(void *list, unsigned int i, const struct ofi_rdm_wire_region *region);
void ofi_rdm_wire_put_target(void *list, unsigned int i, const struct ofi_rdm_wire_target *target);

static inline void ofi_rdm_wire_get_region(const void *list, unsigned int i,
					   struct ofi_rdm_wire_region *region)
{
	const uint8_t *at = (const uint8_t *)list + i * sizeof(*region);

	region->addr = ofi_rdm_wire_take64(&at);
	region->len = ofi_rdm_wire_take64(&at);
	region->key = ofi_rdm_wire_take64(&at);
}

static inline void ofi_rdm_wire_get_target(const void *list, unsigned int i,
					   struct ofi_rdm_wire_target *target)
{
	const uint8_t *at = (const uint8_t *)list + i * sizeof(*target);

	target->addr = ofi_rdm_wire_take64(&at);
	target->key = ofi_rdm_wire_take64(&at);
	target->count = ofi_rdm_wire_take64(&at);
}

/*
 * The fast path for single-packet messages without flags other than TAGGED. Without a tag the
 * header is just the base.
 */
struct ofi_rdm_wire_fast {
	struct ofi_rdm_wire_base base;
	uint64_t tag;
};

static_assert(sizeof(struct ofi_rdm_wire_fast) == 16, "wire");

static inline uint32_t ofi_rdm_wire_fast_word(bool tagged)
{
	return htole32((uint32_t)OFI_RDM_WIRE_VERSION | OFI_RDM_WIRE_EAGER << 8 |
		       (tagged ? OFI_RDM_WIRE_TAGGED << 16 : 0));
}

static inline size_t ofi_rdm_wire_fast_header(bool tagged)
{
	return tagged ? sizeof(struct ofi_rdm_wire_fast) : sizeof(struct ofi_rdm_wire_base);
}

/* Writes the header and returns its length. */
static inline size_t ofi_rdm_wire_build_fast(struct ofi_rdm_wire_fast *fast, bool tagged,
					     uint64_t tag)
{
	uint32_t word = ofi_rdm_wire_fast_word(tagged);

	memcpy(&fast->base, &word, sizeof(word));
	fast->base.id = 0;
	fast->tag = htole64(tag);
	return ofi_rdm_wire_fast_header(tagged);
}

/*
 * Returns true if the packet is of that form; its payload begins after ofi_rdm_wire_fast_header().
 */
static inline bool ofi_rdm_wire_is_fast(const void *bytes, size_t len, bool tagged)
{
	uint32_t word;

	if (len < ofi_rdm_wire_fast_header(tagged))
		return false;
	memcpy(&word, bytes, sizeof(word));
	return word == ofi_rdm_wire_fast_word(tagged);
}

/* Returns true if the packet, which may be invalid, is a rendezvous request. */
static inline bool ofi_rdm_wire_is_announcement(const void *bytes, size_t len)
{
	return len >= sizeof(struct ofi_rdm_wire_base) &&
	       ((const struct ofi_rdm_wire_base *)bytes)->type == OFI_RDM_WIRE_RTS;
}

static inline uint64_t ofi_rdm_wire_fast_tag(const void *bytes)
{
	uint64_t tag;

	memcpy(&tag, (const uint8_t *)bytes + offsetof(struct ofi_rdm_wire_fast, tag), sizeof(tag));
	return le64toh(tag);
}

#endif
