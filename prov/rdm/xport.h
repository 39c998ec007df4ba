/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The interface between the engine and a transport: packets, RDMA, memory, and connections to
 * peers. A transport states its properties, and the engine does without what it lacks. The
 * transport reports events by calling the functions of proto.h and upcall.h: peers that go up or
 * down, packets that arrive, and work that completes.
 *
 * The endpoint's lock is held in the calls about peers, packets and memory. progress, arm and lost
 * take it; open, enable, setname, disconnect, close and free are called without it.
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
struct sockaddr_storage;
struct ofi_rdm_op;
struct ofi_rdm_peer;
struct ofi_rdm_proto;
struct ofi_rdm_proto_in;
struct ofi_rdm_proto_item;
struct ofi_rdm_proto_out;
struct ofi_rdm_proto_peer;

/* The access that memory is registered for; nothing else is permitted. */
enum ofi_rdm_proto_access {
	OFI_RDM_PROTO_SOURCE,	   /* the local device reads it */
	OFI_RDM_PROTO_DESTINATION, /* the local device writes it */
	/* The peer reads exactly these bytes, and the local device reads them. */
	OFI_RDM_PROTO_PEER_READS,
	OFI_RDM_PROTO_PEER_WRITES, /* the peer writes exactly these bytes */
};

/*
 * In the key of memory that the peer reads: it is read by the processor, so the destination need
 * not be registered.
 */
#define OFI_RDM_PROTO_COPIED (1ULL << 63)
/* At most this many bytes are copied in one call, which holds the endpoint's lock. */
#define OFI_RDM_PROTO_COPY ((size_t)256 << 10)

/* Registered memory. */
struct ofi_rdm_proto_mr {
	void *handle, *grant; /* the transport's; NULL if the application registered it */
	uint64_t rkey;
	uint32_t lkey; /* for the local device */
	bool window;   /* the peer's right begins with bind() and ends with revoke() */
};

/*
 * Bits in the flags of a message or operation, above the FI_* of its completion. SILENT: no CQ
 * entry unless it fails. The others belong to the transport, which marks its work requests with
 * them.
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
	bool reliable;	   /* each packet arrives once, or the connection ends */
	bool delivers;	   /* a completed send means that the packet is in the peer's device */
	bool can_read;	   /* RDMA reads */
	bool copies;	   /* memory with OFI_RDM_PROTO_COPIED can be read */
	bool can_write;	   /* RDMA writes */
	uint32_t window;   /* packets that a peer sends before it polls completions */
	uint32_t unread;   /* packets that are complete at a peer although they are not read yet */
	size_t max_packet; /* in bytes, including the header */
	size_t max_read;   /* largest RDMA read in bytes */
	size_t max_write;  /* largest RDMA write in bytes */
	uint32_t reads;	   /* RDMA reads in flight for one message */
	uint32_t writes;
};

struct ofi_rdm_xport_ops {
	/*
	 * The life of an endpoint, called without its lock: open() opens the transport's part and
	 * sets ep->self; enable() sets ep->fd; disconnect() ends all connections, after which
	 * nothing arrives, and calls ofi_rdm_release_all(); close() closes what is open; free()
	 * frees the object whose last member is the endpoint. The last three are also called when
	 * open() failed or was not called. Returns 0 or -FI_E*.
	 */
	int (*open)(struct ofi_rdm_ep *ep);
	int (*enable)(struct ofi_rdm_ep *ep);
	/*
	 * Changes the address before the endpoint is enabled: updates ep->self. Changes nothing on
	 * error.
	 */
	int (*setname)(struct ofi_rdm_ep *ep, const struct sockaddr_storage *local);
	void (*disconnect)(struct ofi_rdm_ep *ep);
	void (*close)(struct ofi_rdm_ep *ep);
	void (*free)(struct ofi_rdm_ep *ep);
	/*
	 * Fails everything that is posted or in flight, and whatever follows, because the device is
	 * gone.
	 */
	void (*lost)(struct ofi_rdm_ep *ep, int err);
	/* Called when the default flags of the calls change. Optional. */
	void (*modes)(struct ofi_rdm_ep *ep, uint64_t flags);
	/* Requests a completion for each work request from now on, because a counter needs it. */
	void (*signal_all)(struct ofi_rdm_ep *ep);

	/* Returns true if an operation that only the transport knows has the context. */
	bool (*has)(struct ofi_rdm_ep *ep, const void *context);

	/*
	 * Allocates a peer's object, whose last member is the engine's part. Returns NULL when out
	 * of memory.
	 */
	struct ofi_rdm_peer *(*peer_new)(void);
	void (*peer_free)(struct ofi_rdm_peer *peer);
	/* Initializes a peer whose address the engine has set. */
	void (*peer_init)(struct ofi_rdm_peer *peer);
	/* Called when the peer has been found in the address vector. */
	void (*peer_met)(struct ofi_rdm_peer *peer);
	/* Returns true if the transport holds nothing for the peer any more. */
	bool (*peer_is_gone)(const struct ofi_rdm_peer *peer);

	/*
	 * Returns registered memory of the transport for an operation that may wait in a queue;
	 * NULL if none is free now, or the peer has its share.
	 */
	struct ofi_rdm_bounce *(*bounce_get)(struct ofi_rdm_peer *peer);
	void (*bounce_put)(struct ofi_rdm_peer *peer, struct ofi_rdm_bounce *bounce);
	/* Returns how many of these any peer is certain to get now. */
	size_t (*bounces_left)(struct ofi_rdm_ep *ep);
	/*
	 * Registers the application's memory for the local device to read, or to write if `written`
	 * is set. *lkey is for rdma(). The region is returned to the domain's cache. Returns 0 or
	 * -FI_E*.
	 */
	int (*local)(struct ofi_rdm_ep *ep, void *addr, size_t len, bool written,
		     struct ofi_mr_region **region, uint32_t *lkey);
	/*
	 * Posts a work request of the application's operation; ofi_rdm_op_done() follows when it
	 * completes. Returns 0 or -FI_EAGAIN.
	 */
	int (*rdma)(struct ofi_rdm_peer *peer, bool read, const void *addr, uint32_t lkey,
		    size_t len, uint64_t remote, uint32_t rkey, struct ofi_rdm_op *op);

	/*
	 * Sends one packet: hdr, then len bytes of iov starting at offset. The bytes are copied.
	 * ofi_rdm_proto_sent(peer, out, ...) follows when it completes. Returns 0, or -FI_EAGAIN:
	 * retry after the next completion.
	 */
	int (*send)(struct ofi_rdm_proto_peer *peer, const void *hdr, size_t hdr_len,
		    const struct iovec *iov, size_t offset, size_t len,
		    struct ofi_rdm_proto_out *out);
	/*
	 * Sends one packet of an operation; ofi_rdm_op_done() follows when it completes. Returns 0
	 * or -FI_EAGAIN.
	 */
	int (*send_op)(struct ofi_rdm_op *op, const void *hdr, size_t hdr_len);
	/*
	 * Posts one RDMA operation; ofi_rdm_proto_read_done() or ofi_rdm_proto_write_done()
	 * follows. Returns 0 or -FI_E*; -FI_EAGAIN: retry after the next completion; -FI_EOPNOTSUPP
	 * of read(): memory with OFI_RDM_PROTO_COPIED cannot be read, the peer has to send it.
	 */
	int (*read)(struct ofi_rdm_proto_in *in, void *addr, const struct ofi_rdm_proto_mr *mr,
		    size_t len, uint64_t remote, uint64_t rkey);
	int (*write)(struct ofi_rdm_proto_out *out, void *addr, const struct ofi_rdm_proto_mr *mr,
		     size_t len, uint64_t remote, uint64_t rkey);
	/* Registers memory. Returns 0 or -FI_E*. */
	int (*reg)(struct ofi_rdm_proto_peer *peer, const struct iovec *iov,
		   enum ofi_rdm_proto_access access, struct ofi_rdm_proto_mr *mr);
	/*
	 * Post one work request for a window. Behind bind(), a peer that knows mr->rkey may use the
	 * memory; once ofi_rdm_proto_revoked(peer, item) reports that revoke() has completed it no
	 * longer may. Return 0 or -FI_EAGAIN; after any other error of bind() the peer has no
	 * right.
	 */
	int (*bind)(struct ofi_rdm_proto_peer *peer, struct ofi_rdm_proto_mr *mr);
	int (*revoke)(struct ofi_rdm_proto_peer *peer, struct ofi_rdm_proto_mr *mr,
		      struct ofi_rdm_proto_item *item);
	/*
	 * Deregisters memory. Neither the peer nor the local device has access afterward, whatever
	 * was posted.
	 */
	void (*dereg)(struct ofi_rdm_proto_peer *peer, struct ofi_rdm_proto_mr *mr);

	/*
	 * Keeps a packet, with or without its payload: returns `in` itself, or an object that holds
	 * a copy of it, with the index, use and `cost` of that object. The pointers of its packet
	 * point into its own bytes. Returns NULL when out of memory.
	 */
	struct ofi_rdm_proto_in *(*keep)(struct ofi_rdm_proto_in *in, bool payload);
	/* Returns an object of keep() to the transport. */
	void (*release)(struct ofi_rdm_proto_in *in);
	/* Returns the object with the index, or NULL. */
	struct ofi_rdm_proto_in *(*in_at)(struct ofi_rdm_proto_peer *peer, uint32_t index);

	/*
	 * Connects to a peer because there is something to send; if that fails, the queued
	 * operations fail. Returns 0 or -FI_E*.
	 */
	int (*connect)(struct ofi_rdm_proto_peer *peer);
	/* Passes on a BYE or BYE_RSP of the peer. */
	void (*bye)(struct ofi_rdm_proto_peer *peer, const struct ofi_rdm_wire_packet *packet);
	/*
	 * Ends the connection because the peer sent invalid data, or made this side buffer more
	 * than there is memory for.
	 */
	void (*fault)(struct ofi_rdm_proto_peer *peer, enum ofi_rdm_wire_error error);
	/* Ends the connection because the peer does not give up memory in time. */
	void (*overdue)(struct ofi_rdm_proto_peer *peer);
	/*
	 * Makes the transport call ofi_rdm_try_again() soon: something could not be sent, and
	 * possibly no completion will follow.
	 */
	void (*retry)(struct ofi_rdm_proto_peer *peer);
	/* Returns true if nothing sent to the peer is in flight. */
	bool (*quiet)(const struct ofi_rdm_proto_peer *peer);
	/* Returns the same. Requests a completion of what is in flight without one. */
	bool (*settled)(struct ofi_rdm_proto_peer *peer);
	/* Returns a mark for the end of everything sent so far. */
	uint32_t (*mark)(const struct ofi_rdm_proto_peer *peer);
	/*
	 * Returns true if everything before the mark has completed. Otherwise the engine is called
	 * when it has.
	 */
	bool (*passed)(struct ofi_rdm_proto_peer *peer, uint32_t mark);
	/* Probes the peer's device when nothing else is in flight. */
	void (*touch)(struct ofi_rdm_proto_peer *peer);

	/* Processes arrived packets and completions. Returns true if there were any. */
	bool (*poll)(struct ofi_rdm_proto *proto);
	void (*progress)(struct ofi_rdm_proto *proto);
	/*
	 * Returns 0 if there is nothing to do; what happens from now on makes the endpoint's
	 * descriptor readable. Returns -FI_EAGAIN if something was done.
	 */
	int (*arm)(struct ofi_rdm_proto *proto);
};

/*
 * The endpoint's ops tables in which the transport has its own calls; the engine's calls are their
 * slow path.
 */
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
