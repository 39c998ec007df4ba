/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Who is there, for transports without connections: which version and which capabilities a peer
 * has, which incarnation it is, and whether it knows the job secret. A hello travels in front of
 * the first data, and of all that follows until the peer has acknowledged something; a first
 * message waits for no round trip.
 *
 * Incarnations are random numbers of 64 bits, and the name of an endpoint tells its incarnation. A
 * hello says from which incarnation to which it goes, so what was recorded is of no use against an
 * endpoint that has restarted. Against one that has not: what comes from the incarnation that is
 * known is told by its numbers (seq.h), and another incarnation takes its place only when it
 * returns the cookie that it was sent in answer, which costs that peer one round trip after its
 * restart. Whoever is dead returns nothing, so an endpoint never goes back to an incarnation that
 * another one has replaced. For this the caller keeps the state of a peer as long as the endpoint
 * is open, whatever else it gives up.
 *
 * With a job secret each hello has a code over all its bytes and over both addresses. Before a
 * hello of its incarnation was taken, SAME or NEW,
 *   - nothing of the peer is delivered or kept, and no state is made for it;
 *   - it is answered by one hello or refusal for one packet, which is not longer than that;
 *   - it is sent what the application sends to its address, but no right to our memory.
 * Refusals have no code: they are for the log, and end nothing.
 *
 * The module is pure. The caller has the addresses and gives the function for codes.
 */
#ifndef OFI_RDM_HELLO_H
#define OFI_RDM_HELLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	OFI_RDM_HELLO_VERSION = 1, /* the highest that this library speaks, and the lowest */
	OFI_RDM_HELLO_VERSION_MIN = 1,
	OFI_RDM_HELLO_LEN = 56,
	OFI_RDM_HELLO_MAC = 32,
	OFI_RDM_HELLO_MAX = OFI_RDM_HELLO_LEN + OFI_RDM_HELLO_MAC,
	OFI_RDM_HELLO_ADDR = 24,
};

/* Capabilities. */
enum {
	OFI_RDM_HELLO_SECRET = 1 << 0,	   /* a code follows */
	OFI_RDM_HELLO_RMA_EVENTS = 1 << 1, /* it wants to hear of each operation on its memory */
	OFI_RDM_HELLO_CAPS = 3,
};

enum ofi_rdm_hello_reason {
	OFI_RDM_HELLO_NONE,
	OFI_RDM_HELLO_NO_VERSION, /* in common */
	OFI_RDM_HELLO_LONELY,	  /* only one of the two has a job secret */
	OFI_RDM_HELLO_REASONS
};

enum ofi_rdm_hello_verdict {
	OFI_RDM_HELLO_SAME,	 /* of the incarnation that is known */
	OFI_RDM_HELLO_NEW,	 /* numbers begin anew, in both directions */
	OFI_RDM_HELLO_ANSWER,	 /* drop the packet, send ofi_rdm_hello_answer() */
	OFI_RDM_HELLO_REFUSE,	 /* drop it, send ofi_rdm_hello_refuse() with hello.reason */
	OFI_RDM_HELLO_REFUSED,	 /* the peer did, for hello.reason */
	OFI_RDM_HELLO_FOREIGN,	 /* drop it: its code is wrong */
	OFI_RDM_HELLO_MALFORMED, /* drop it */
};

/* What a hello says, in the host's byte order. */
struct ofi_rdm_hello {
	uint8_t version, version_min;
	bool refusal;
	uint8_t reason;
	uint32_t caps;
	uint64_t from, to; /* incarnations; `to` is 0 where it is not known */
	uint64_t cookie;   /* to be returned in `echo`, or 0 */
	uint64_t echo;
	uint32_t first; /* number of the first packet */
	uint32_t eager; /* payload that fits the sender's buffers */
};

/* Where packets go from and to: bytes only, the transport's. */
struct ofi_rdm_hello_path {
	uint8_t from[OFI_RDM_HELLO_ADDR], to[OFI_RDM_HELLO_ADDR];
};

/* A code of OFI_RDM_HELLO_MAC bytes over a label and the bytes, as HMAC-SHA256. */
typedef void ofi_rdm_hello_mac(const void *key, const char *label, const void *bytes, size_t len,
			       uint8_t *mac);

/* The endpoint. */
struct ofi_rdm_hello_self {
	uint64_t incarnation; /* not 0 */
	uint32_t caps;	      /* without SECRET */
	uint32_t eager;
	ofi_rdm_hello_mac *mac;
	const void *secret;  /* a key of mac(), NULL: there is none */
	const void *cookies; /* a key of random bytes */
};

/* A peer. At first all 0, but for `known` if its name tells it. */
struct ofi_rdm_hello_peer {
	uint64_t known; /* its incarnation, or 0 */
	uint64_t echo;	/* the cookie that it sent */
	uint32_t caps, eager;
	uint8_t version;
	bool met;   /* a hello of this incarnation was taken */
	bool heard; /* it has acknowledged something: it knows ours */
};

/*
 * Writes the hello to a peer whose first packet has or had that number. Returns its length,
 * OFI_RDM_HELLO_MAX at most.
 */
size_t ofi_rdm_hello_build(const struct ofi_rdm_hello_self *self,
			   const struct ofi_rdm_hello_peer *peer, uint32_t first,
			   const struct ofi_rdm_hello_path *path, void *bytes);
/*
 * Takes what may be a hello, of which len bytes came; *used is how many of these are its own where
 * it is SAME or NEW, and data may follow. `path` is the packet's. Where its cookie is not 0 an answer
 * is due with these verdicts too, unless a packet with a hello goes anyway.
 */
enum ofi_rdm_hello_verdict ofi_rdm_hello_take(const struct ofi_rdm_hello_self *self,
					      struct ofi_rdm_hello_peer *peer,
					      const struct ofi_rdm_hello_path *path,
					      const void *bytes, size_t len,
					      struct ofi_rdm_hello *hello, size_t *used);
/* Of what came; `path` is the answer's. The lengths are as of ofi_rdm_hello_build(). */
size_t ofi_rdm_hello_answer(const struct ofi_rdm_hello_self *self,
			    const struct ofi_rdm_hello_peer *peer, uint32_t first,
			    const struct ofi_rdm_hello *came, const struct ofi_rdm_hello_path *path,
			    void *bytes);
size_t ofi_rdm_hello_refuse(const struct ofi_rdm_hello_self *self, const struct ofi_rdm_hello *came,
			    void *bytes);

/* Whether a packet to the peer begins with a hello. */
static inline bool ofi_rdm_hello_is_due(const struct ofi_rdm_hello_peer *peer)
{
	return !peer->heard;
}

#endif
