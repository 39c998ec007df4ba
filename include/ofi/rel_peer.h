/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Inside of rel.h: what is kept of a peer. Datagrams are numbered; messages follow each other in that order.
 *
 * Header, big endian: magic 16, version 8, flags 8, session of the sender 32, of the receiver 32 (0 when not
 * known), sequence 32, next sequence expected 32, zero 32, of those after it the ones that are there 64, tag 64,
 * length of the message 64, offset in it 64.
 */
#ifndef OFI_REL_PEER_H
#define OFI_REL_PEER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <ofi/rel.h>

#define OFI_REL_MAGIC	0x5e1c
#define OFI_REL_VERSION 1

#define OFI_REL_DATA  1 /* flags: has a sequence and a piece of a message */
#define OFI_REL_PROBE 2 /* wants an acknowledgement */

struct ofi_rel_head {
	uint8_t flags;
	uint32_t from, to, seq, ack;
	uint64_t sack, tag, len, offset;
};

/* A message being sent, a posted receive, or a message that waits for one. */
struct ofi_rel_msg {
	TAILQ_ENTRY(ofi_rel_msg) link;
	uint64_t tag;
	size_t len;  /* of the message, or the room to receive it */
	size_t done; /* bytes put into datagrams, or taken out of them */
	uint8_t *buf;
	uint32_t last; /* sequence of its last datagram, once that has one */
	bool cut;      /* into datagrams, all of it */
	bool canceled;
	void *cookie;
	struct ofi_rel_msg
		*wanted; /* of an unexpected message: the receive that got it before its end */
	uint8_t data[];	 /* of an unexpected message */
};

TAILQ_HEAD(ofi_rel_msgs, ofi_rel_msg);

/* A datagram that is not acknowledged. */
struct ofi_rel_slot {
	struct ofi_rel_msg *msg;
	size_t offset, len;
	uint64_t sent; /* when, last */
	bool acked;
	bool lost;  /* to be sent again */
	bool again; /* has been, before its time */
};

struct ofi_rel_stash {
	struct ofi_rel_head head;
	size_t len;
	uint8_t data[];
};

struct ofi_rel_peer {
	TAILQ_ENTRY(ofi_rel_peer) link;	  /* in its bucket */
	TAILQ_ENTRY(ofi_rel_peer) active; /* while listed */
	bool listed;
	struct ofi_rel *rel;
	fi_addr_t addr;
	int err; /* it has failed with */
	uint32_t session;

	struct ofi_rel_msgs sends;
	struct ofi_rel_slot slot[OFI_REL_WINDOW]; /* [seq % OFI_REL_WINDOW] */
	uint32_t base, next;			  /* sequences: not acknowledged, not used */
	uint32_t window;			  /* what the network seems to stand */
	uint64_t rto;

	struct ofi_rel_msgs recvs, unexpected;
	struct ofi_rel_stash *stash[OFI_REL_WINDOW];
	uint32_t expected;
	bool ack_due;
	bool receiving;		  /* a message has begun */
	struct ofi_rel_msg *into; /* posted or unexpected; NULL: its receive was canceled */
	bool into_posted;
	uint64_t into_tag, into_len, into_got;

	uint64_t heard;	 /* last, or when something began to be wanted */
	uint64_t probed; /* last */
};

TAILQ_HEAD(ofi_rel_peers, ofi_rel_peer);

#define OFI_REL_BUCKETS 256

struct ofi_rel {
	struct ofi_rel_net net;
	void *arg;
	struct ofi_rel_peers bucket[OFI_REL_BUCKETS];
	struct ofi_rel_peers active; /* those with something to do or to wait for */
	bool dirty;		     /* there is something to do at once */
	uint64_t deadline;
	uint64_t last; /* call of ofi_rel_progress() */
};

/* rel_peer.c */
/* Makes it when there is none. NULL: no memory. */
struct ofi_rel_peer *ofi_rel_peer_get(struct ofi_rel *rel, fi_addr_t addr);
struct ofi_rel_peer *ofi_rel_peer_find(struct ofi_rel *rel, fi_addr_t addr);
void ofi_rel_peer_free(struct ofi_rel_peer *peer);
/* All in flight ends with err, and what is asked later. */
void ofi_rel_peer_fail(struct ofi_rel_peer *peer, int err);
/* There is something to do or to wait for. */
void ofi_rel_peer_wake(struct ofi_rel_peer *peer);
bool ofi_rel_peer_wants(const struct ofi_rel_peer *peer);
struct ofi_rel_msg *ofi_rel_msg_new(uint64_t tag, const void *buf, size_t len, void *cookie,
				    size_t room);
/* Reports and frees a message that has left its list. */
void ofi_rel_msg_end(struct ofi_rel_peer *peer, struct ofi_rel_msg *msg, size_t len, int err);

/* rel_tx.c */
void ofi_rel_tx_ack(struct ofi_rel_peer *peer, uint32_t ack, uint64_t sack);
void ofi_rel_tx_progress(struct ofi_rel_peer *peer, uint64_t now);
void ofi_rel_tx_control(struct ofi_rel_peer *peer, uint8_t flags);
/* Takes the message out of the caller's hands, or the peer fails. */
void ofi_rel_tx_cancel(struct ofi_rel_peer *peer, struct ofi_rel_msg *msg);

/* rel_rx.c */
void ofi_rel_rx_data(struct ofi_rel_peer *peer, const struct ofi_rel_head *head,
		     const uint8_t *data, size_t len);
/* Takes what has come out of order and now is in order. */
void ofi_rel_rx_drain(struct ofi_rel_peer *peer);
uint64_t ofi_rel_rx_sack(const struct ofi_rel_peer *peer);
void ofi_rel_rx_match(struct ofi_rel_peer *peer, struct ofi_rel_msg *recv);
void ofi_rel_rx_cancel(struct ofi_rel_peer *peer, struct ofi_rel_msg *recv);
void ofi_rel_rx_drop(struct ofi_rel_peer *peer);

#endif
