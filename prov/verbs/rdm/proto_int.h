/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the files of the protocol share with each other. */
#ifndef VRB_RDM_PROTO_INT_H
#define VRB_RDM_PROTO_INT_H

#include "proto.h"

static inline struct vrb_proto_out *vrb_proto_out_of(struct vrb_flow_node *node)
{
	return (struct vrb_proto_out *)node;
}

static inline size_t vrb_proto_min(size_t a, size_t b)
{
	return a < b ? a : b;
}

static inline uint32_t vrb_proto_id(uint16_t use, uint32_t index)
{
	return (uint32_t)use << VRB_PROTO_INDEX_BITS | index;
}

static inline uint32_t vrb_proto_index(uint32_t id)
{
	return id & ((1u << VRB_PROTO_INDEX_BITS) - 1);
}

/* Registers memory that the list says. 0 or -FI_E*, and nothing is registered then. */
int vrb_proto_reg(struct vrb_proto_peer *peer, const struct iovec *iov, uint8_t count,
		  enum vrb_proto_access access, struct vrb_proto_mr *mr);
void vrb_proto_dereg(struct vrb_proto_peer *peer, struct vrb_proto_mr *mr, uint8_t *count);
/* The entry of a list that the offset is in, and the bytes from there to its end. */
uint8_t vrb_proto_iov_at(const struct iovec *iov, uint8_t count, size_t offset, void **addr,
			 size_t *left);
/* The same in regions of a packet; returns the key. */
uint64_t vrb_proto_region_at(const struct vrb_wire_packet *packet, uint64_t offset, uint64_t *addr,
			     uint64_t *left);

/* A header with no payload; takes the credit. 0 or -FI_EAGAIN. */
int vrb_proto_control(struct vrb_proto_peer *peer, const struct vrb_wire_packet *packet,
		      struct vrb_proto_out *out);
void vrb_proto_owe(struct vrb_proto_peer *peer, struct vrb_proto_item *item,
		   enum vrb_proto_owes what);
/* After bytes were given back to the budget. */
void vrb_proto_resume(struct vrb_proto *proto);

static inline struct vrb_proto_in *vrb_proto_in_of(struct vrb_proto_item *item)
{
	return (struct vrb_proto_in *)((char *)item - offsetof(struct vrb_proto_in, item));
}

/* out.c */
void vrb_proto_out_pump(struct vrb_proto_peer *peer);
/* Completes it if there is nothing to wait for. */
void vrb_proto_out_check(struct vrb_proto_out *out);
void vrb_proto_out_fail(struct vrb_proto_out *out, int err);
/* The receiver of its RTS wants segments. */
void vrb_proto_out_segment(struct vrb_proto_out *out);
/* The out that a packet of the peer is about, in a state that it can be about. */
struct vrb_proto_out *vrb_proto_out_find(struct vrb_proto_peer *peer, uint32_t id,
					 enum vrb_proto_out_state state);

/* in.c */
void vrb_proto_in_attach(struct vrb_proto_in *in, struct vrb_proto_recv *recv);
/* The message's receive completes. */
void vrb_proto_in_finish(struct vrb_proto_in *in);
/* Sends an ACK if one is wanted and possible; ends the message. */
void vrb_proto_in_settle(struct vrb_proto_in *in);
void vrb_proto_in_end(struct vrb_proto_in *in);
/* A packet that is to be kept: in what it is from now on, NULL when out of memory. */
struct vrb_proto_in *vrb_proto_in_keep(struct vrb_proto_in *in, bool payload, bool *kept);
void vrb_proto_in_fail_all(struct vrb_proto_peer *peer, int err);
enum vrb_wire_error vrb_proto_in_message(struct vrb_proto_peer *peer, struct vrb_proto_in *in,
					 bool *kept);
enum vrb_wire_error vrb_proto_in_segment(struct vrb_proto_peer *peer, struct vrb_proto_in *in,
					 bool *kept);

/* rndv.c */
/* 0, -FI_EAGAIN, or another error of registration. */
int vrb_proto_rndv_announce(struct vrb_proto_out *out);
void vrb_proto_rndv_start(struct vrb_proto_in *in);
void vrb_proto_rndv_pump(struct vrb_proto_peer *peer);
/* Tells the sender that its memory is no longer needed; ends the message. */
void vrb_proto_rndv_fin(struct vrb_proto_in *in);
/* What the peer wrote is the application's: nobody else writes there any more. */
void vrb_proto_rndv_end_written(struct vrb_proto_in *in);
enum vrb_wire_error vrb_proto_rndv_cts(struct vrb_proto_peer *peer, struct vrb_proto_in *in,
				       bool *kept);
enum vrb_wire_error vrb_proto_rndv_asked(struct vrb_proto_peer *peer, uint32_t id);
enum vrb_wire_error vrb_proto_rndv_written(struct vrb_proto_peer *peer,
					   const struct vrb_wire_packet *packet);
int vrb_proto_rndv_send_cts(struct vrb_proto_in *in);
int vrb_proto_rndv_send_fin(struct vrb_proto_out *out);

/* grant.c: the peer's right to memory. */
/* Binds what is not bound yet of `count`; some credits stay. 0, -FI_EAGAIN, or another error that remains. */
int vrb_proto_grant(struct vrb_proto_peer *peer, struct vrb_proto_mr *mr, uint8_t count,
		    uint8_t *bound, uint32_t keep);
/* There is something that only work requests end. */
bool vrb_proto_is_granted(const struct vrb_proto_mr *mr, uint8_t bound);
int vrb_proto_send_revoke(struct vrb_proto_item *item);

#endif
