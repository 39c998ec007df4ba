/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Introduces peers on transports without connections: the version and capabilities of a peer, its
 * incarnation, and whether it knows the job secret. A hello precedes the data of the first packet,
 * and of all packets until the peer has acknowledged something; so the first message does not wait
 * for a round trip.
 *
 * Incarnations are random 64-bit numbers, and the name of an endpoint contains its incarnation. A
 * hello states the incarnations of its sender and its receiver, so a recorded hello is useless
 * against an endpoint that has restarted. Against an endpoint that has not restarted, packets of
 * the known incarnation are protected by their sequence numbers (seq.h). Another incarnation
 * replaces it only after returning the cookie sent to it, which costs a restarted peer one round
 * trip. A dead peer returns nothing, so an endpoint never goes back to an incarnation that was
 * replaced. For this purpose the caller keeps the state of a peer as long as the endpoint is open.
 *
 * With a job secret each hello has a code over all its bytes and both addresses. Until a hello of
 * its incarnation has been accepted (SAME or NEW),
 *   - nothing from the peer is delivered or kept, and no state is created for it;
 *   - each of its packets is answered by at most one hello or refusal that is not longer;
 *   - it receives what the application sends to its address, but no right to our memory.
 * Refusals have no code: they are only logged, and end nothing.
 *
 * The module is pure: the caller supplies the addresses and the function for codes.
 */
#ifndef OFI_RDM_HELLO_H
#define OFI_RDM_HELLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	/* The highest and the lowest version that this library supports. */
	OFI_RDM_HELLO_VERSION = 1,
	OFI_RDM_HELLO_VERSION_MIN = 1,
	OFI_RDM_HELLO_LEN = 56,
	OFI_RDM_HELLO_MAC = 32,
	OFI_RDM_HELLO_MAX = OFI_RDM_HELLO_LEN + OFI_RDM_HELLO_MAC,
	OFI_RDM_HELLO_ADDR = 24,
};

/* Capabilities. */
enum {
	OFI_RDM_HELLO_SECRET = 1 << 0, /* a code follows */
	/* The sender wants an RMA event for each operation on its memory. */
	OFI_RDM_HELLO_RMA_EVENTS = 1 << 1,
	OFI_RDM_HELLO_CAPS = 3,
};

enum ofi_rdm_hello_reason {
	OFI_RDM_HELLO_NONE,
	OFI_RDM_HELLO_NO_VERSION, /* no version in common */
	OFI_RDM_HELLO_LONELY,	  /* only one of the two has a job secret */
	OFI_RDM_HELLO_REASONS
};

enum ofi_rdm_hello_verdict {
	OFI_RDM_HELLO_SAME, /* from the known incarnation */
	/* The first hello of an incarnation: sequence numbers start again in both directions. */
	OFI_RDM_HELLO_NEW,
	OFI_RDM_HELLO_ANSWER,	 /* drop the packet and send ofi_rdm_hello_answer() */
	OFI_RDM_HELLO_REFUSE,	 /* drop it and send ofi_rdm_hello_refuse() with hello.reason */
	OFI_RDM_HELLO_REFUSED,	 /* the peer refuses, for hello.reason */
	OFI_RDM_HELLO_FOREIGN,	 /* drop it: its code is wrong */
	OFI_RDM_HELLO_MALFORMED, /* drop it */
};

/* The contents of a hello in host byte order. */
struct ofi_rdm_hello {
	uint8_t version, version_min;
	bool refusal;
	uint8_t reason;
	uint32_t caps;
	uint64_t from, to; /* incarnations; `to` is 0 if unknown */
	uint64_t cookie;   /* what the receiver must return in `echo`, or 0 */
	uint64_t echo;
	uint32_t first; /* sequence number of the first packet */
	uint32_t eager; /* payload that fits in the sender's buffers */
};

/* The source and destination of packets, as bytes that the transport defines. */
struct ofi_rdm_hello_path {
	uint8_t from[OFI_RDM_HELLO_ADDR], to[OFI_RDM_HELLO_ADDR];
};

/* Computes a code of OFI_RDM_HELLO_MAC bytes over a label and the bytes, using HMAC-SHA256. */
typedef void ofi_rdm_hello_mac(const void *key, const char *label, const void *bytes, size_t len,
			       uint8_t *mac);

/* The endpoint. */
struct ofi_rdm_hello_self {
	uint64_t incarnation; /* not 0 */
	uint32_t caps;	      /* without SECRET */
	uint32_t eager;
	ofi_rdm_hello_mac *mac;
	const void *secret;  /* a key for mac(), NULL if there is none */
	const void *cookies; /* a random key */
};

/* A peer. Initially all 0, except `known` if its name contains it. */
struct ofi_rdm_hello_peer {
	uint64_t known; /* its incarnation, or 0 */
	uint64_t echo;	/* the cookie that it has sent */
	uint32_t caps, eager;
	uint8_t version;
	bool met;   /* a hello of this incarnation was accepted */
	bool acked; /* it has acknowledged something, so it knows our incarnation */
};

/*
 * Writes a hello to a peer whose first packet has that number. Returns its length, at most
 * OFI_RDM_HELLO_MAX.
 */
size_t ofi_rdm_hello_build(const struct ofi_rdm_hello_self *self,
			   const struct ofi_rdm_hello_peer *peer, uint32_t first,
			   const struct ofi_rdm_hello_path *path, void *bytes);
/*
 * Processes len received bytes that may be a hello. With SAME or NEW, *used is its length, and data
 * may follow. `path` is that of the packet. If hello->cookie is not 0, an answer is due after SAME
 * and NEW, too, unless a packet with a hello is sent anyway.
 */
enum ofi_rdm_hello_verdict ofi_rdm_hello_take(const struct ofi_rdm_hello_self *self,
					      struct ofi_rdm_hello_peer *peer,
					      const struct ofi_rdm_hello_path *path,
					      const void *bytes, size_t len,
					      struct ofi_rdm_hello *hello, size_t *used);
/*
 * Write the reply to a received hello; `path` is that of the reply. Lengths are as for
 * ofi_rdm_hello_build().
 */
size_t ofi_rdm_hello_answer(const struct ofi_rdm_hello_self *self,
			    const struct ofi_rdm_hello_peer *peer, uint32_t first,
			    const struct ofi_rdm_hello *came, const struct ofi_rdm_hello_path *path,
			    void *bytes);
size_t ofi_rdm_hello_refuse(const struct ofi_rdm_hello_self *self, const struct ofi_rdm_hello *came,
			    void *bytes);

/* Returns true if packets to the peer must begin with a hello. */
static inline bool ofi_rdm_hello_is_due(const struct ofi_rdm_hello_peer *peer)
{
	return !peer->acked;
}

#endif
