/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The packets of connections on unreliable datagrams. Each begins with vrb_ud_head; those about
 * memory continue with vrb_ud_place. All fields are in little-endian order.
 *
 * Each end of a connection has a random number that only the other end knows. A packet carries
 * both, so nobody who has not seen the connection's packets can send one.
 */
#ifndef VRB_RDM_UD_WIRE_H
#define VRB_RDM_UD_WIRE_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "prov/rdm/ack.h"

enum { VRB_UD_VERSION = 2 };

enum vrb_ud_kind {
	/* These have no sequence number. */
	VRB_UD_ACK, /* only acknowledges */
	VRB_UD_END, /* the sender has no such connection any more; id: enum vrb_ud_reason */
	/*
	 * Letters make a connection to a queue pair that is known by name. The payload of ASK and
	 * ANSWER is the sender's GID and private data, that of DECLINE private data. The last
	 * `asked` bytes of an ASK may be a mark of 4 bytes and the packet of a message. The mark is
	 * the number of the sender's end in the first request that carried the message.
	 */
	VRB_UD_ASK,	/* to: the key in the receiver's name; key: that in the sender's */
	VRB_UD_ANSWER,	/* the request is accepted; key: the receiver's */
	VRB_UD_DECLINE, /* it is refused */
	/* Packets that are numbered, delivered in order, and acknowledged. */
	VRB_UD_NUMBERED,
	VRB_UD_NOTHING = VRB_UD_NUMBERED,
	VRB_UD_SEND,  /* a part of a message */
	VRB_UD_WRITE, /* bytes for the receiver's memory */
	VRB_UD_READ,  /* asks for bytes of the receiver's memory; id: of the request */
	VRB_UD_DATA, /* these bytes; addr: their offset in what the request with the id asked for */
	/*
	 * The sender has made a reliable queue pair for the connection. key: its number, 0 if there
	 * is none and will be none; id: its first PSN; asked: reads that it serves at once; addr:
	 * the sender's path MTU as enum ibv_mtu. VRB_UD_LAST: the sender can give queue pairs
	 * back, and may make one later if it has none.
	 */
	VRB_UD_QP,
	VRB_UD_BACK, /* about giving it back; id: enum vrb_ud_back */
	VRB_UD_KINDS
};

enum vrb_ud_reason {
	VRB_UD_CLOSED,
	VRB_UD_ACCESS, /* the peer accessed memory without the right to */
	VRB_UD_BROKEN, /* the peer violated the protocol */
	/*
	 * The sender does not know the connection, for which it got the packet with the number
	 * `next` and the transmission `echo`.
	 */
	VRB_UD_UNKNOWN,
	VRB_UD_SHORT, /* the sender has no memory for what the peer asks for */
};

enum vrb_ud_back {
	VRB_UD_BACK_ASK, /* the receiver leaves it, unless its score is at least addr */
	VRB_UD_BACK_NO,	 /* the answer of a receiver that keeps it */
	/*
	 * The sender goes on with datagrams: all that it posted to its queue pair is complete. key:
	 * how many messages it posted. The receiver does the same, and both are destroyed.
	 */
	VRB_UD_BACK_LEFT,
};

/* A flag: the last part of a message, or of a write that is to be acknowledged at once. */
enum { VRB_UD_LAST = 1 };

struct vrb_ud_head {
	uint8_t version, kind, flags;
	uint8_t stalled;   /* see struct ofi_rdm_ack_words */
	uint32_t to, from; /* numbers of the receiver's and of the sender's end */
	uint32_t number, order;
	uint32_t next, echo; /* these, early and doubles: struct ofi_rdm_ack_words */
	uint16_t doubles;
	uint16_t lag; /* how long the newest packet waited for this packet, in 16 us */
	uint64_t early;
};

struct vrb_ud_place {
	uint64_t addr;
	uint32_t key, len, id, unused;
};

enum {
	VRB_UD_HEAD = sizeof(struct vrb_ud_head),
	VRB_UD_HEAD_MAX = VRB_UD_HEAD + sizeof(struct vrb_ud_place)
};

/* A parsed packet. */
struct vrb_ud_packet {
	enum vrb_ud_kind kind;
	bool last;
	uint32_t to, from, number, order;
	struct ofi_rdm_ack_words words;
	uint32_t lag; /* in us */
	uint64_t addr;
	uint32_t key, asked, id; /* asked: bytes of a read */
	const uint8_t *payload;
	size_t len;
};

static inline bool vrb_ud_is_letter(enum vrb_ud_kind kind)
{
	return kind >= VRB_UD_ASK && kind <= VRB_UD_DECLINE;
}

static inline bool vrb_ud_has_place(enum vrb_ud_kind kind)
{
	return kind >= VRB_UD_WRITE || (kind >= VRB_UD_END && kind < VRB_UD_NUMBERED);
}

static inline size_t vrb_ud_head_len(enum vrb_ud_kind kind)
{
	return vrb_ud_has_place(kind) ? (size_t)VRB_UD_HEAD_MAX : (size_t)VRB_UD_HEAD;
}

/* Writes the fields that stay the same however often the packet is sent. Returns their length. */
static inline size_t vrb_ud_build(uint8_t *bytes, const struct vrb_ud_packet *packet)
{
	const struct vrb_ud_head head = {
		.version = VRB_UD_VERSION,
		.kind = (uint8_t)packet->kind,
		.flags = packet->last ? VRB_UD_LAST : 0,
		.to = htole32(packet->to),
		.from = htole32(packet->from),
	};
	const struct vrb_ud_place place = {
		.addr = htole64(packet->addr),
		.key = htole32(packet->key),
		.len = htole32(packet->asked),
		.id = htole32(packet->id),
	};

	memcpy(bytes, &head, sizeof(head));
	if (vrb_ud_has_place(packet->kind))
		memcpy(bytes + sizeof(head), &place, sizeof(place));
	return vrb_ud_head_len(packet->kind);
}

/* Writes the fields of one transmission. */
static inline void vrb_ud_stamp(uint8_t *bytes, uint32_t number, uint32_t order,
				const struct ofi_rdm_ack_words *words, uint64_t lag)
{
	struct vrb_ud_head *head = (struct vrb_ud_head *)(void *)bytes;

	head->number = htole32(number);
	head->order = htole32(order);
	head->next = htole32(words->next);
	head->echo = htole32(words->echo);
	head->doubles = htole16(words->doubles);
	head->stalled = words->stalled;
	head->lag = htole16((uint16_t)(lag / 16 < UINT16_MAX ? lag / 16 : UINT16_MAX));
	head->early = htole64(words->early);
}

/* Returns false for a packet that no peer sends. */
static inline bool vrb_ud_parse(const uint8_t *bytes, size_t len, struct vrb_ud_packet *packet)
{
	struct vrb_ud_place place = { 0 };
	struct vrb_ud_head head;

	if (len < sizeof(head))
		return false;
	memcpy(&head, bytes, sizeof(head));
	if (head.version != VRB_UD_VERSION || head.kind >= VRB_UD_KINDS ||
	    head.flags & ~VRB_UD_LAST || len < vrb_ud_head_len(head.kind))
		return false;
	if (vrb_ud_has_place(head.kind))
		memcpy(&place, bytes + sizeof(head), sizeof(place));
	*packet = (struct vrb_ud_packet){
		.kind = head.kind,
		.last = head.flags & VRB_UD_LAST,
		.to = le32toh(head.to),
		.from = le32toh(head.from),
		.number = le32toh(head.number),
		.order = le32toh(head.order),
		.words = { .next = le32toh(head.next),
			   .echo = le32toh(head.echo),
			   .early = le64toh(head.early),
			   .doubles = le16toh(head.doubles),
			   .stalled = head.stalled },
		.lag = 16u * le16toh(head.lag),
		.addr = le64toh(place.addr),
		.key = le32toh(place.key),
		.asked = le32toh(place.len),
		.id = le32toh(place.id),
		.payload = bytes + vrb_ud_head_len(head.kind),
		.len = len - vrb_ud_head_len(head.kind),
	};
	return true;
}

/* What the two ends tell each other in the connection manager's private data. */
struct vrb_ud_words {
	uint32_t number; /* of the sender's end */
	uint32_t first;	 /* the sequence number with which the sender begins */
	uint32_t qpn;	 /* queue pair number of the sender */
	/* The sender's device reads what peers permit, and theirs may read what it permits. */
	bool reads;
	/* The mark of the last message that the receiver's requests have delivered here, or 0. */
	uint32_t delivered;
	/* The MTU of the sender's port or path in bytes. It is 0, unknown, if older peers send. */
	uint32_t mtu;
};

/* What older peers say is shorter. The connection manager appends zeros. */
enum { VRB_UD_WORDS = 24, VRB_UD_WORDS_MIN = 20 };

/* The smallest MTU of a port, which every peer takes. */
enum { VRB_UD_MTU_MIN = 1024 };

/* Above the queue pair number. */
#define VRB_UD_WORD_READS (1u << 31)

static inline void vrb_ud_words_build(uint8_t *bytes, const struct vrb_ud_words *words)
{
	const uint32_t raw[] = { htole32(VRB_UD_VERSION),
				 htole32(words->number),
				 htole32(words->first),
				 htole32(words->qpn | (words->reads ? VRB_UD_WORD_READS : 0)),
				 htole32(words->delivered),
				 htole32(words->mtu) };

	memcpy(bytes, raw, VRB_UD_WORDS);
}

static inline bool vrb_ud_words_parse(const uint8_t *bytes, size_t len, struct vrb_ud_words *words)
{
	uint32_t raw[6] = { 0 };

	if (len < VRB_UD_WORDS_MIN)
		return false;
	memcpy(raw, bytes, len < sizeof(raw) ? (size_t)VRB_UD_WORDS_MIN : sizeof(raw));
	*words = (struct vrb_ud_words){
		.number = le32toh(raw[1]),
		.first = le32toh(raw[2]),
		.qpn = le32toh(raw[3]) & ~VRB_UD_WORD_READS,
		.reads = le32toh(raw[3]) & VRB_UD_WORD_READS,
		.delivered = le32toh(raw[4]),
		.mtu = le32toh(raw[5]),
	};
	return le32toh(raw[0]) == VRB_UD_VERSION && words->number && words->qpn <= 0xffffff;
}

#endif
