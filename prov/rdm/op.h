/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * RMA and atomic operations. Those of a peer are posted in order; what can't be posted yet waits in
 * the peer's queue: for the connection, for credits, for a fence, for a key of the application to
 * be resolved. The endpoint's lock guards everything.
 */
#ifndef OFI_RDM_OP_H
#define OFI_RDM_OP_H

#include <sys/queue.h>
#include <rdma/fi_rma.h>
#include "peer.h"
#include "rdm.h"

struct ofi_mr_region;

enum ofi_rdm_op_kind {
	OFI_RDM_OP_WRITE,
	OFI_RDM_OP_READ,
	OFI_RDM_OP_ATOMIC,
	OFI_RDM_OP_GATE, /* no operation: holds the place of peer->fenced */
};

/* A piece of the application's memory, and how the device may reach it. */
struct ofi_rdm_local {
	uint8_t *addr;
	size_t len;
	uint32_t lkey;
	struct ofi_mr_region *region; /* of the cache, or NULL */
};

struct ofi_rdm_remote {
	uint64_t addr, len, key; /* as the application gave them */
	uint64_t base;		 /* what the resolved key adds to addr */
	uint32_t rkey;
	bool resolved;
};

struct ofi_rdm_op {
	STAILQ_ENTRY(ofi_rdm_op) link; /* peer->ops */
	struct ofi_rdm_fenced fenced;
	TAILQ_ENTRY(ofi_rdm_op) wait; /* peer->answers: an atomic's answer is to come */
	SLIST_ENTRY(ofi_rdm_op) unused;
	uint32_t index; /* for ids */
	uint16_t use;
	uint8_t kind;
	bool waiting;  /* in peer->answers: the target does it */
	bool has_data; /* for the target's completion queue */
	bool owes;     /* a note, once all is posted */
	bool posted_all;
	uint32_t id;
	struct ofi_rdm_peer *peer;
	void *context;
	uint64_t flags; /* of the completion, OFI_RDM_SILENT */
	uint8_t local_count, remote_count;
	struct ofi_rdm_local local[OFI_RDM_PROTO_IOV];
	struct ofi_rdm_remote remote[OFI_RDM_PROTO_IOV];
	size_t total;
	size_t posted; /* bytes */
	uint64_t data;
	uint32_t inflight;			/* work requests */
	int err;				/* FI_E* */
	int status;				/* of the work request that failed */
	struct ofi_rdm_bounce *bounce;		/* local[0] is in it */
	struct iovec result[OFI_RDM_PROTO_IOV]; /* where a bounced read or fetched values go */
	uint8_t result_count;
	struct ofi_rdm_wire_atomic atomic;
	void *operands; /* of an atomic, allocated */
	size_t operands_len;
	const struct iovec
		*late; /* what the buffer or the operands are filled from behind a fence */
	uint8_t late_count;
};

struct ofi_rdm_op *ofi_rdm_op_get(struct ofi_rdm_ep *ep);
/* Accepted: posts it, or queues it behind others. 0, or -FI_E* and the operation is given back. */
int ofi_rdm_op_start(struct ofi_rdm_op *op);
/* Gives up an operation that was not started. */
void ofi_rdm_op_put(struct ofi_rdm_op *op);
/* The first that waits has been posted in part. */
bool ofi_rdm_ops_begun(const struct ofi_rdm_peer *peer);
/* Posts what can be posted; while the peer is held only the rest of what has begun. */
void ofi_rdm_ops_pump(struct ofi_rdm_peer *peer);
/* A work request of an operation is done. */
void ofi_rdm_op_done(struct ofi_rdm_op *op, int err, int status);
/* The answer to an atomic came: err is FI_E* or 0. */
void ofi_rdm_op_answered(struct ofi_rdm_op *op, int err);
/* The operation that waits for the answer of an id; NULL if there is none. */
struct ofi_rdm_op *ofi_rdm_op_at(struct ofi_rdm_ep *ep, uint32_t id);
/* The peer is gone: what waits fails. */
void ofi_rdm_ops_fail(struct ofi_rdm_peer *peer, int err);
void ofi_rdm_ops_fini(struct ofi_rdm_ep *ep);

/* The local memory of a transfer; returns the count. */
size_t ofi_rdm_local_iov(const struct ofi_rdm_op *op, struct iovec *iov);
extern const struct fi_ops_atomic ofi_rdm_atomic_ops;

/* Of atomic.c and keys.c. */
int ofi_rdm_atomic_post(struct ofi_rdm_op *op);
/* Asks the target for op->atomic on op->remote. 0, -FI_EAGAIN or -FI_E2BIG. */
int ofi_rdm_atomic_ask(struct ofi_rdm_op *op, const struct iovec *operands, size_t len);
enum ofi_rdm_wire_error ofi_rdm_atomic_request(struct ofi_rdm_peer *peer,
					       const struct ofi_rdm_wire_packet *packet);
enum ofi_rdm_wire_error ofi_rdm_atomic_answer(struct ofi_rdm_peer *peer,
					      const struct ofi_rdm_wire_packet *packet);
/*
 * Whether the target does a transfer, and is asked to; else the device does, and the keys are to be
 * resolved.
 */
bool ofi_rdm_keys_by_target(const struct ofi_rdm_op *op);
int ofi_rdm_keys_post(struct ofi_rdm_op *op);
/* Resolves the operation's keys. 0, -FI_EAGAIN when the peer was asked, or -FI_EKEYREJECTED. */
int ofi_rdm_keys_resolve(struct ofi_rdm_op *op);
enum ofi_rdm_wire_error ofi_rdm_key_request(struct ofi_rdm_peer *peer,
					    const struct ofi_rdm_wire_packet *packet);
enum ofi_rdm_wire_error ofi_rdm_key_answer(struct ofi_rdm_peer *peer,
					   const struct ofi_rdm_wire_packet *packet);
void ofi_rdm_keys_forget(struct ofi_rdm_peer *peer);
/* The peer asked for memory that it was not given. False: too often, it guesses. */
bool ofi_rdm_keys_missed(struct ofi_rdm_peer *peer);

#endif
