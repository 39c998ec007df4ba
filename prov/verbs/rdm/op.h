/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * RMA and atomic operations. Those of a peer are posted in order; what can't be posted yet waits in
 * the peer's queue: for the connection, for credits, for a fence, for a key of the application to
 * be resolved. The endpoint's lock guards everything.
 */
#ifndef VRB_RDM_OP_H
#define VRB_RDM_OP_H

#include <sys/queue.h>
#include <rdma/fi_rma.h>
#include "peer.h"
#include "rdm.h"

struct ofi_mr_region;

enum vrb_rdm_op_kind {
	VRB_RDM_OP_WRITE,
	VRB_RDM_OP_READ,
	VRB_RDM_OP_ATOMIC,
	VRB_RDM_OP_GATE, /* no operation: holds the place of peer->fenced */
};

/* A piece of the application's memory, and how the device may reach it. */
struct vrb_rdm_local {
	uint8_t *addr;
	size_t len;
	uint32_t lkey;
	struct ofi_mr_region *region; /* of the cache, or NULL */
};

struct vrb_rdm_remote {
	uint64_t addr, len, key; /* as the application gave them */
	uint64_t base;		 /* what the resolved key adds to addr */
	uint32_t rkey;
	bool resolved;
};

struct vrb_rdm_op {
	STAILQ_ENTRY(vrb_rdm_op) link; /* peer->ops */
	struct vrb_rdm_fenced fenced;
	TAILQ_ENTRY(vrb_rdm_op) wait; /* peer->answers: an atomic's answer is to come */
	SLIST_ENTRY(vrb_rdm_op) unused;
	uint32_t index; /* for ids */
	uint16_t use;
	uint8_t kind;
	bool waiting;  /* in peer->answers: the target does it */
	bool has_data; /* for the target's completion queue */
	bool owes;     /* a note, once all is posted */
	bool posted_all;
	uint32_t id;
	struct vrb_rdm_peer *peer;
	void *context;
	uint64_t flags; /* of the completion, VRB_SILENT */
	uint8_t local_count, remote_count;
	struct vrb_rdm_local local[OFI_RDM_PROTO_IOV];
	struct vrb_rdm_remote remote[OFI_RDM_PROTO_IOV];
	size_t total;
	size_t posted; /* bytes */
	uint64_t data;
	uint32_t inflight;			/* work requests */
	int err;				/* FI_E* */
	int status;				/* of the work request that failed */
	struct vrb_rdm_buf *bounce;		/* local[0] is in it */
	struct iovec result[OFI_RDM_PROTO_IOV]; /* where a bounced read or fetched values go */
	uint8_t result_count;
	struct ofi_rdm_wire_atomic atomic;
	void *operands; /* of an atomic, allocated */
	size_t operands_len;
	const struct iovec
		*late; /* what the buffer or the operands are filled from behind a fence */
	uint8_t late_count;
};

struct vrb_rdm_op *vrb_rdm_op_get(struct vrb_rdm *ep);
/* Accepted: posts it, or queues it behind others. 0, or -FI_E* and the operation is given back. */
int vrb_rdm_op_start(struct vrb_rdm_op *op);
/* Gives up an operation that was not started. */
void vrb_rdm_op_put(struct vrb_rdm_op *op);
/* The first that waits has been posted in part. */
bool vrb_rdm_ops_begun(const struct vrb_rdm_peer *peer);
/* Posts what can be posted; while the peer is held only the rest of what has begun. */
void vrb_rdm_ops_pump(struct vrb_rdm_peer *peer);
/* A work request of an operation is done. */
void vrb_rdm_op_done(struct vrb_rdm_op *op, int err, int status);
/* The answer to an atomic came: err is FI_E* or 0. */
void vrb_rdm_op_answered(struct vrb_rdm_op *op, int err);
/* The operation that waits for the answer of an id; NULL if there is none. */
struct vrb_rdm_op *vrb_rdm_op_at(struct vrb_rdm *ep, uint32_t id);
/* The peer is gone: what waits fails. */
void vrb_rdm_ops_fail(struct vrb_rdm_peer *peer, int err);
void vrb_rdm_ops_fini(struct vrb_rdm *ep);
/* Packets of atomics, keys and notes. */
enum ofi_rdm_wire_error vrb_rdm_op_packet(struct vrb_rdm_peer *peer,
					  const struct ofi_rdm_wire_packet *packet);

/* The local memory of a transfer; returns the count. */
size_t vrb_rdm_local_iov(const struct vrb_rdm_op *op, struct iovec *iov);
/* With locks or without, as is for the endpoint. */
struct fi_ops_rma *vrb_rdm_rma_table(const struct vrb_rdm *ep);
extern const struct fi_ops_atomic vrb_rdm_atomic_ops;

/* Of atomic.c and keys.c. */
int vrb_rdm_atomic_post(struct vrb_rdm_op *op);
/* Asks the target for op->atomic on op->remote. 0, -FI_EAGAIN or -FI_E2BIG. */
int vrb_rdm_atomic_ask(struct vrb_rdm_op *op, const struct iovec *operands, size_t len);
enum ofi_rdm_wire_error vrb_rdm_atomic_request(struct vrb_rdm_peer *peer,
					       const struct ofi_rdm_wire_packet *packet);
enum ofi_rdm_wire_error vrb_rdm_atomic_answer(struct vrb_rdm_peer *peer,
					      const struct ofi_rdm_wire_packet *packet);
/*
 * Whether the target does a transfer, and is asked to; else the device does, and the keys are to be
 * resolved.
 */
bool vrb_rdm_keys_by_target(const struct vrb_rdm_op *op);
int vrb_rdm_keys_post(struct vrb_rdm_op *op);
/* Resolves the operation's keys. 0, -FI_EAGAIN when the peer was asked, or -FI_EKEYREJECTED. */
int vrb_rdm_keys_resolve(struct vrb_rdm_op *op);
enum ofi_rdm_wire_error vrb_rdm_key_request(struct vrb_rdm_peer *peer,
					    const struct ofi_rdm_wire_packet *packet);
enum ofi_rdm_wire_error vrb_rdm_key_answer(struct vrb_rdm_peer *peer,
					   const struct ofi_rdm_wire_packet *packet);
void vrb_rdm_keys_forget(struct vrb_rdm_peer *peer);
/* The peer asked for memory that it was not given. False: too often, it guesses. */
bool vrb_rdm_keys_missed(struct vrb_rdm_peer *peer);
/* A control packet to the peer, now or as soon as there is a credit. False when out of memory. */
bool vrb_rdm_answer(struct vrb_rdm_peer *peer, const struct ofi_rdm_wire_packet *packet,
		    const void *payload, size_t len);

#endif
