/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Shared by the files of the protocol. */
#ifndef OFI_RDM_PROTO_INT_H
#define OFI_RDM_PROTO_INT_H

#include "proto.h"
#include "src/ds/container.h"
#include "src/ds/min.h"

static inline struct ofi_rdm_proto_out *ofi_rdm_proto_out_of(struct ofi_rdm_flow_node *node)
{
	return (struct ofi_rdm_proto_out *)node;
}

/* Returns true if something of the message was sent, or asked for. */
static inline bool ofi_rdm_proto_has_begun(const struct ofi_rdm_proto_out *out)
{
	return out->state != OFI_RDM_PROTO_OUT_QUEUED || out->sent || out->asked;
}

static inline uint32_t ofi_rdm_proto_id(uint16_t use, uint32_t index)
{
	return (uint32_t)use << OFI_RDM_PROTO_INDEX_BITS | index;
}

static inline uint32_t ofi_rdm_proto_index(uint32_t id)
{
	return id & ((1u << OFI_RDM_PROTO_INDEX_BITS) - 1);
}

void ofi_rdm_proto_dereg(struct ofi_rdm_proto_peer *peer, struct ofi_rdm_proto_mr *mr,
			 uint8_t *count);
/*
 * Returns the index of the entry that contains the offset, with its address there and the bytes
 * left in it.
 */
static inline uint8_t ofi_rdm_proto_iov_at(const struct iovec *iov, uint8_t count, size_t offset,
					   void **addr, size_t *left)
{
	uint8_t i;

	for (i = 0; i + 1 < count && offset >= iov[i].iov_len; i++)
		offset -= iov[i].iov_len;
	*addr = (char *)iov[i].iov_base + offset;
	*left = iov[i].iov_len - offset;
	return i;
}

/* Sends a header without payload and takes the credit. Returns 0 or -FI_EAGAIN. */
int ofi_rdm_proto_control(struct ofi_rdm_proto_peer *peer, const struct ofi_rdm_wire_packet *packet,
			  struct ofi_rdm_proto_out *out);
/* Sends a packet about the message to its sender, with its error if the type has a status. */
int ofi_rdm_proto_in_reply(struct ofi_rdm_proto_in *in, enum ofi_rdm_wire_type type);
void ofi_rdm_proto_owe(struct ofi_rdm_proto_peer *peer, struct ofi_rdm_proto_item *item,
		       enum ofi_rdm_proto_owes what);
static inline struct ofi_rdm_proto_in *ofi_rdm_proto_in_of(struct ofi_rdm_proto_item *item)
{
	return ofi_container(item, struct ofi_rdm_proto_in, item);
}

/* in proto_out.c */
void ofi_rdm_proto_out_pump(struct ofi_rdm_proto_peer *peer);
/* Completes the message if it waits for nothing else. */
void ofi_rdm_proto_out_check(struct ofi_rdm_proto_out *out);
void ofi_rdm_proto_out_fail(struct ofi_rdm_proto_out *out, int err);
/* Sends the message in segments, as the receiver of its RTS asked. */
void ofi_rdm_proto_out_segment(struct ofi_rdm_proto_out *out);
/* Returns the out that the peer's packet refers to if it is in the given state, else NULL. */
struct ofi_rdm_proto_out *ofi_rdm_proto_out_find(struct ofi_rdm_proto_peer *peer, uint32_t id,
						 enum ofi_rdm_proto_out_state state);

/* in proto_in.c */
/* Completes the message's receive. */
void ofi_rdm_proto_in_finish(struct ofi_rdm_proto_in *in);
/* Sends an ACK if one is wanted and can be sent, then ends the message. */
void ofi_rdm_proto_in_settle(struct ofi_rdm_proto_in *in);
void ofi_rdm_proto_in_end(struct ofi_rdm_proto_in *in);
/* Keeps a packet. Returns the object that holds it from now on, NULL when out of memory. */
struct ofi_rdm_proto_in *ofi_rdm_proto_in_keep(struct ofi_rdm_proto_in *in, bool payload,
					       bool *kept);
void ofi_rdm_proto_in_fail_all(struct ofi_rdm_proto_peer *peer, int err);
enum ofi_rdm_wire_error ofi_rdm_proto_in_message(struct ofi_rdm_proto_peer *peer,
						 struct ofi_rdm_proto_in *in, bool *kept);
enum ofi_rdm_wire_error ofi_rdm_proto_in_segment(struct ofi_rdm_proto_peer *peer,
						 struct ofi_rdm_proto_in *in, bool *kept);

/* in rndv.c */
/*
 * Announces the first message in the queue and dequeues it. Returns 0, -FI_EAGAIN, or another error
 * of registration.
 */
int ofi_rdm_proto_rndv_announce(struct ofi_rdm_proto_out *out);
void ofi_rdm_proto_rndv_start(struct ofi_rdm_proto_in *in);
/* Asks for the segments of a message without a receive and charges bytes for them in advance. */
void ofi_rdm_proto_rndv_ask(struct ofi_rdm_proto_in *in, uint64_t bytes);
/* Returns the message whose segments we have asked for, by its number at the sender, or NULL. */
struct ofi_rdm_proto_in *ofi_rdm_proto_rndv_asked_for(struct ofi_rdm_proto_peer *peer, uint32_t id);
void ofi_rdm_proto_rndv_pump(struct ofi_rdm_proto_peer *peer);
/* Tells the sender that its memory is no longer needed, then ends the message. */
void ofi_rdm_proto_rndv_fin(struct ofi_rdm_proto_in *in);
/*
 * Ends a message that the peer has written. The peer no longer has a right to the memory, so the
 * data can be given to the application.
 */
void ofi_rdm_proto_rndv_end_written(struct ofi_rdm_proto_in *in);
enum ofi_rdm_wire_error ofi_rdm_proto_rndv_cts(struct ofi_rdm_proto_peer *peer,
					       struct ofi_rdm_proto_in *in, bool *kept);
enum ofi_rdm_wire_error ofi_rdm_proto_rndv_asked(struct ofi_rdm_proto_peer *peer, uint32_t id);
enum ofi_rdm_wire_error ofi_rdm_proto_rndv_written(struct ofi_rdm_proto_peer *peer,
						   const struct ofi_rdm_wire_packet *packet);
int ofi_rdm_proto_rndv_send_cts(struct ofi_rdm_proto_in *in);
int ofi_rdm_proto_rndv_send_fin(struct ofi_rdm_proto_out *out);

/* grant.c: the peer's right to memory. */
/*
 * Binds up to `count` regions that are not bound yet, leaving `keep` credits. Returns 0,
 * -FI_EAGAIN, or another, permanent error.
 */
int ofi_rdm_proto_grant(struct ofi_rdm_proto_peer *peer, struct ofi_rdm_proto_mr *mr, uint8_t count,
			uint8_t *bound, uint32_t keep);
/* Returns true if a region is a bound window, which only a work request can revoke. */
bool ofi_rdm_proto_is_granted(const struct ofi_rdm_proto_mr *mr, uint8_t bound);
int ofi_rdm_proto_send_revoke(struct ofi_rdm_proto_item *item);

#endif
