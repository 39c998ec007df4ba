/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the engine asks of a transport: packets, RDMA, memory, and connections to peers. A transport
 * states its properties; what it lacks the engine does without. It tells the engine what happened
 * by calls of proto.h: up, down, packets that arrived, work that is complete.
 *
 * The endpoint's lock is held in all calls but progress and arm, which take it.
 */
#ifndef OFI_RDM_XPORT_H
#define OFI_RDM_XPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>
#include "wire.h"

struct fi_ops_msg;
struct fi_ops_rma;
struct fi_ops_tagged;
struct ofi_mr_region;
struct ofi_rdm_ep;
struct ofi_rdm_op;
struct ofi_rdm_peer;
struct ofi_rdm_proto;
struct ofi_rdm_proto_in;
struct ofi_rdm_proto_item;
struct ofi_rdm_proto_out;
struct ofi_rdm_proto_peer;

/* What memory is registered for: no more than that is possible. */
enum ofi_rdm_proto_access {
	OFI_RDM_PROTO_SOURCE,	   /* our device reads it */
	OFI_RDM_PROTO_DESTINATION, /* our device writes it */
	OFI_RDM_PROTO_PEER_READS,  /* exactly these bytes, and our device reads it */
	OFI_RDM_PROTO_PEER_WRITES, /* exactly these bytes */
};

/* Registered memory. */
struct ofi_rdm_proto_mr {
	void *handle, *grant; /* the transport's */
	uint64_t rkey;
	bool window; /* the peer's right begins with bind() and ends with revoke() */
};

/*
 * In the flags of a message or operation, above the FI_* of its completion: no entry unless it
 * fails; and bits that are the transport's, which notes there what a work request is.
 */
#define OFI_RDM_SILENT	   (1ULL << 63)
#define OFI_RDM_KIND_SHIFT 60
#define OFI_RDM_KIND	   (7ULL << OFI_RDM_KIND_SHIFT)

/* A bounce buffer. */
struct ofi_rdm_bounce {
	uint32_t lkey;
	uint8_t *data;
};

struct ofi_rdm_xport_props {
	bool ordered;	   /* packets arrive in the order in which they were sent */
	bool reliable;	   /* each of them arrives once, or the connection ends */
	bool delivers;	   /* a packet that is complete has come to the peer's device */
	bool can_read;	   /* RDMA reads */
	bool can_write;	   /* RDMA writes */
	uint32_t window;   /* packets that a peer sends before it takes completions */
	size_t max_packet; /* bytes, with the header */
	size_t max_read;   /* bytes of one RDMA read */
	size_t max_write;  /* and of one write */
	uint32_t reads;	   /* in flight for one message */
	uint32_t writes;
};

struct ofi_rdm_xport_ops {
	/*
	 * An endpoint, without its lock: opens the transport's part, which sets ep->self; enables
	 * it, which sets ep->fd; ends all connections, after which nothing comes, with
	 * ofi_rdm_release_all(); closes what is open; frees the object that the endpoint is the
	 * last part of. The last three also when open() failed or was not called. 0 or -FI_E*.
	 */
	int (*open)(struct ofi_rdm_ep *ep);
	int (*enable)(struct ofi_rdm_ep *ep);
	void (*disconnect)(struct ofi_rdm_ep *ep);
	void (*close)(struct ofi_rdm_ep *ep);
	void (*free)(struct ofi_rdm_ep *ep);
	/* The device is gone: what is under way or posted fails, and whatever follows. */
	void (*lost)(struct ofi_rdm_ep *ep, int err);
	/* The default flags of the calls are others. Optional. */
	void (*modes)(struct ofi_rdm_ep *ep, uint64_t flags);
	/* From now on each work request tells of its end, as a counter wants it. */
	void (*signal_all)(struct ofi_rdm_ep *ep);

	/* A peer's object, which ends with the engine's part; NULL when out of memory. */
	struct ofi_rdm_peer *(*peer_new)(void);
	void (*peer_free)(struct ofi_rdm_peer *peer);
	/* It stands for the address that the engine has set. */
	void (*peer_init)(struct ofi_rdm_peer *peer);
	/* It is in the address vector. */
	void (*peer_met)(struct ofi_rdm_peer *peer);
	/* The transport has nothing of it any more. */
	bool (*peer_is_gone)(const struct ofi_rdm_peer *peer);

	/*
	 * Registered memory of the transport's own for an operation that may wait in a queue; NULL
	 * when there is none now, or the peer has enough.
	 */
	struct ofi_rdm_bounce *(*bounce_get)(struct ofi_rdm_peer *peer);
	void (*bounce_put)(struct ofi_rdm_peer *peer, struct ofi_rdm_bounce *bounce);
	/* How many at least any peer can get now. */
	size_t (*bounces_left)(struct ofi_rdm_ep *ep);
	/*
	 * Memory of the application that our device is to read or, written, to write: *lkey is what
	 * rdma() takes. The region is put back to the domain's cache. 0 or -FI_E*.
	 */
	int (*local)(struct ofi_rdm_ep *ep, void *addr, size_t len, bool written,
		     struct ofi_mr_region **region, uint32_t *lkey);
	/*
	 * A work request of an operation of the application: ofi_rdm_op_done() when it is complete.
	 * 0 or -FI_EAGAIN.
	 */
	int (*rdma)(struct ofi_rdm_peer *peer, bool read, const void *addr, uint32_t lkey,
		    size_t len, uint64_t remote, uint32_t rkey, struct ofi_rdm_op *op);

	/*
	 * One packet: hdr, then len bytes of iov from offset on. They are copied.
	 * ofi_rdm_proto_sent(peer, out, ...) when it completes. 0, or -FI_EAGAIN: try after the
	 * next completion.
	 */
	int (*send)(struct ofi_rdm_proto_peer *peer, const void *hdr, size_t hdr_len,
		    const struct iovec *iov, size_t offset, size_t len,
		    struct ofi_rdm_proto_out *out);
	/*
	 * One RDMA operation; ofi_rdm_proto_read_done() or ofi_rdm_proto_write_done() when it
	 * completes.
	 */
	int (*read)(struct ofi_rdm_proto_in *in, void *addr, const struct ofi_rdm_proto_mr *mr,
		    size_t len, uint64_t remote, uint64_t rkey);
	int (*write)(struct ofi_rdm_proto_out *out, void *addr, const struct ofi_rdm_proto_mr *mr,
		     size_t len, uint64_t remote, uint64_t rkey);
	/* 0 or -FI_E*. */
	int (*reg)(struct ofi_rdm_proto_peer *peer, const struct iovec *iov,
		   enum ofi_rdm_proto_access access, struct ofi_rdm_proto_mr *mr);
	/*
	 * Of a window, one work request each: behind bind() the peer that is told mr->rkey may use
	 * it; it may not when ofi_rdm_proto_revoked(peer, item) says that revoke() is complete. 0
	 * or -FI_EAGAIN; bind() also another error, the memory is then not the peer's.
	 */
	int (*bind)(struct ofi_rdm_proto_peer *peer, struct ofi_rdm_proto_mr *mr);
	int (*revoke)(struct ofi_rdm_proto_peer *peer, struct ofi_rdm_proto_mr *mr,
		      struct ofi_rdm_proto_item *item);
	/* Afterwards neither the peer nor our device has access, whatever was posted. */
	void (*dereg)(struct ofi_rdm_proto_peer *peer, struct ofi_rdm_proto_mr *mr);

	/*
	 * A packet is to be kept, with its payload or without: where, with a copy of it and with
	 * `cost` set; index and use are those of the place. The pointers of in->packet are into its
	 * bytes. NULL: out of memory.
	 */
	struct ofi_rdm_proto_in *(*keep)(struct ofi_rdm_proto_in *in, bool payload);
	/* What a kept packet is in is the transport's again. */
	void (*release)(struct ofi_rdm_proto_in *in);
	/* By index; NULL when there is none. */
	struct ofi_rdm_proto_in *(*in_at)(struct ofi_rdm_proto *proto, uint32_t index);

	/*
	 * There is something to send to a peer that is not connected: it will be, or what waits
	 * fails. 0 or -FI_E*.
	 */
	int (*connect)(struct ofi_rdm_proto_peer *peer);
	/* The peer wants to leave, or answers that we do: BYE or BYE_RSP. */
	void (*bye)(struct ofi_rdm_proto_peer *peer, const struct ofi_rdm_wire_packet *packet);
	/*
	 * The peer sent what is wrong, or made this side keep more than there is memory for: its
	 * connection ends.
	 */
	void (*fault)(struct ofi_rdm_proto_peer *peer, enum ofi_rdm_wire_error error);
	/* The peer keeps a right to memory that it is to let go of: its connection ends. */
	void (*overdue)(struct ofi_rdm_proto_peer *peer);
	/*
	 * Something could not be sent, and no completion may come after which it could: the engine
	 * is asked soon to try again.
	 */
	void (*retry)(struct ofi_rdm_proto_peer *peer);
	/* Nothing that was sent to the peer is under way. */
	bool (*quiet)(const struct ofi_rdm_proto_peer *peer);
	/* The same; else what was posted without asking for a completion is asked for. */
	bool (*settled)(struct ofi_rdm_proto_peer *peer);
	/* Stands for the end of all that was sent so far. */
	uint32_t (*mark)(const struct ofi_rdm_proto_peer *peer);
	/* Everything before the mark is complete; else it will be, and the engine hears of it. */
	bool (*passed)(struct ofi_rdm_proto_peer *peer, uint32_t mark);
	/* Where nothing is under way: the peer's device is to say whether it is there. */
	void (*touch)(struct ofi_rdm_proto_peer *peer);

	/* Takes what has arrived or is complete. True when there was something. */
	bool (*poll)(struct ofi_rdm_proto *proto);
	void (*progress)(struct ofi_rdm_proto *proto);
	/*
	 * 0: nothing to do, and what comes from now on makes the endpoint's descriptor readable.
	 * -FI_EAGAIN: something was done.
	 */
	int (*arm)(struct ofi_rdm_proto *proto);
};

/* The tables of an endpoint where the transport has entries of its own, with the engine behind. */
struct ofi_rdm_calls {
	const struct fi_ops_msg *msg;
	const struct fi_ops_tagged *tagged;
	const struct fi_ops_rma *rma;
};

struct ofi_rdm_xport {
	const struct ofi_rdm_xport_ops *ops;
	const struct ofi_rdm_calls *calls, *nolock_calls; /* optional */
	struct ofi_rdm_xport_props props;
};

#endif
