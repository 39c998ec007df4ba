/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * RMA and atomic operations. The operations of a peer are posted in order. One that cannot be
 * posted yet waits in the peer's queue for the connection, for credits, for a fence, or for an
 * application's key to be resolved. The endpoint's lock guards everything.
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
	OFI_RDM_OP_MARKER, /* not an operation: the fence marker of peer->fenced */
};

/* A piece of the application's memory and its local key. */
struct ofi_rdm_local {
	uint8_t *addr;
	size_t len;
	uint32_t lkey;
	struct ofi_mr_region *region; /* region of the registration cache, or NULL */
};

struct ofi_rdm_remote {
	uint64_t addr, len, key; /* as the application passed them */
	uint64_t base;		 /* offset of the resolved key, added to addr */
	uint32_t rkey;
	bool resolved;
};

struct ofi_rdm_op {
	STAILQ_ENTRY(ofi_rdm_op) link; /* peer->ops */
	struct ofi_rdm_fenced fenced;
	TAILQ_ENTRY(ofi_rdm_op) wait; /* peer->answers, for a request that awaits its response */
	SLIST_ENTRY(ofi_rdm_op) unused;
	uint32_t index; /* part of the ids */
	uint16_t use;
	uint8_t kind;
	bool waiting;  /* in peer->answers: the target performs it */
	bool has_data; /* for the target's completion queue */
	bool owes;     /* an RMA event is due once everything is posted */
	bool posted_all;
	bool by_target; /* the target performs it, although it is long or has data */
	uint32_t id;
	struct ofi_rdm_peer *peer;
	void *context;
	uint64_t flags; /* flags of the completion, and OFI_RDM_SILENT */
	uint8_t local_count, remote_count;
	struct ofi_rdm_local local[OFI_RDM_PROTO_IOV];
	struct ofi_rdm_remote remote[OFI_RDM_PROTO_IOV];
	struct ofi_rdm_remote *split; /* remote[] buffer by buffer if a key has several, or NULL */
	uint8_t split_count;
	size_t total;
	size_t posted; /* bytes, posted or requested */
	uint64_t data;
	uint32_t inflight;	       /* work requests in flight */
	int err;		       /* FI_E* */
	int status;		       /* status of the failed work request */
	uint32_t parts;		       /* requests for parts of it that await their responses */
	struct ofi_rdm_bounce *bounce; /* the buffer that local[0] points into */
	/* Destination of a bounced read or of fetched values; source of a write while `late`. */
	struct iovec result[OFI_RDM_PROTO_IOV];
	uint8_t result_count;
	struct ofi_rdm_wire_atomic atomic;
	void *operands; /* operands of an atomic, allocated */
	size_t operands_len;
	/* Source to fill the buffer or operands from once a fence has passed. */
	const struct iovec *late;
	uint8_t late_count;
};

struct ofi_rdm_op *ofi_rdm_op_get(struct ofi_rdm_ep *ep);
/*
 * Takes over the operation: posts it, or queues it behind others. Returns 0 or -FI_E*; on an error
 * the operation has been freed.
 */
int ofi_rdm_op_start(struct ofi_rdm_op *op);
/* Frees an operation that is complete, or was not started. */
void ofi_rdm_op_put(struct ofi_rdm_op *op);
/* Returns true if an operation with the context is not complete. */
bool ofi_rdm_op_has(const struct ofi_rdm_ep *ep, const void *context);
/* Returns true if the first queued operation has been posted in part. */
bool ofi_rdm_ops_begun(const struct ofi_rdm_peer *peer);
/* Posts queued operations. While the peer is held it only finishes the one that has begun. */
void ofi_rdm_ops_pump(struct ofi_rdm_peer *peer);
/* Called when a work request of the operation has completed. */
void ofi_rdm_op_done(struct ofi_rdm_op *op, int err, int status);
/* Ends an operation that is answered, or that was never sent; err is FI_E* or 0. */
void ofi_rdm_op_end(struct ofi_rdm_op *op, int err);
/* Returns the operation that awaits the response with the id, or NULL. */
struct ofi_rdm_op *ofi_rdm_op_at(struct ofi_rdm_ep *ep, uint32_t id);
/* Fails all queued operations of a peer that is gone. */
void ofi_rdm_ops_fail(struct ofi_rdm_peer *peer, int err);

/* Fills iov with the local memory of a transfer and returns the count. */
size_t ofi_rdm_local_iov(const struct ofi_rdm_op *op, struct iovec *iov);

/* In atomic.c and keys.c. */

/* Sends the target a request to apply op->atomic to op->remote. Returns 0 or -FI_E*. */
int ofi_rdm_atomic_ask(struct ofi_rdm_op *op);
/*
 * Sends a request of the operation, with `len` bytes of operands from the offset on. Returns 0 or
 * -FI_EAGAIN. The operation awaits the response.
 */
int ofi_rdm_op_ask(struct ofi_rdm_op *op, const struct ofi_rdm_wire_packet *packet,
		   const struct iovec *operands, size_t offset, size_t len);
/* The type of the functions that handle a packet of the peer. */
typedef enum ofi_rdm_wire_error ofi_rdm_packet_fn(struct ofi_rdm_peer *peer,
						  const struct ofi_rdm_wire_packet *packet);
ofi_rdm_packet_fn ofi_rdm_atomic_request, ofi_rdm_atomic_answer;
/*
 * Returns true if the target performs the transfer on request. Otherwise the device does, and the
 * keys must be resolved.
 */
bool ofi_rdm_keys_by_target(const struct ofi_rdm_op *op);
/*
 * Requests the rest of the transfer, packet by packet. Returns 0, or -FI_EAGAIN if it waits for
 * credits or responses, or another -FI_E* if it failed.
 */
int ofi_rdm_keys_post(struct ofi_rdm_op *op);
/* Handles the response to one of these requests. */
enum ofi_rdm_wire_error ofi_rdm_keys_answered(struct ofi_rdm_op *op,
					      const struct ofi_rdm_wire_packet *packet);
/*
 * Resolves the operation's keys. Returns 0, -FI_EAGAIN if the peer was asked, -FI_EKEYREJECTED or
 * -FI_ENOMEM.
 */
int ofi_rdm_keys_resolve(struct ofi_rdm_op *op);
ofi_rdm_packet_fn ofi_rdm_key_request, ofi_rdm_key_answer;
void ofi_rdm_keys_forget(struct ofi_rdm_peer *peer);
/* Called when the connection ends: forgets keys, those of the queued operations, too. */
void ofi_rdm_keys_unresolve(struct ofi_rdm_peer *peer);
/*
 * Counts a key with which the peer asked for memory and was refused, but not one that it repeats.
 * Returns false if there were too many in a short time: the peer is guessing keys.
 */
bool ofi_rdm_keys_missed(struct ofi_rdm_peer *peer, uint64_t key);

#endif
