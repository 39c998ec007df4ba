/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Packets to peers on the same host go through shared memory. Each end of a connection offers the
 * other a ring; once the other has mapped it, the packets that it sends are written to the ring
 * instead of being posted, except while RDMA is in flight, which they must not overtake, and while
 * the receiver sleeps, because the device can wake it. Long messages are copied by the receiver
 * from the sender's memory. The connection remains: it says who the peer is, carries RDMA, and ends
 * when the peer does. The queue pair and the CQ that the transport posts to and polls are then
 * objects of this file, which pass on what is for the device, so connections without shared memory
 * pay nothing.
 */
#ifndef VRB_RDM_SHM_H
#define VRB_RDM_SHM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ibv_wc;
struct iovec;
struct ofi_rdm_ep;
struct vrb_rc_conn;
struct vrb_shm;

/* Work requests of a connection that this file posts: an offer, and the answer to one. */
#define VRB_SHM_SLOTS 2u
/* More of them, outside of the connection's ring: packets that only wake the peer. */
#define VRB_SHM_WAKES 4u

/* What the connections do for this file, with the endpoint's lock held. */
struct vrb_shm_calls {
	/* The peer breaks the rules: the connection must end, but not before this returns. */
	void (*damaged)(struct vrb_rc_conn *conn);
	/* A packet that wakes the peer failed: the same. */
	void (*failed)(struct vrb_rc_conn *conn, const struct ibv_wc *wc);
	/* There is no buffer for a packet: the endpoint must be polled again. */
	void (*starved)(struct ofi_rdm_ep *ep);
	/* The same at once: a thread sleeps, and the device will not wake it for a completion. */
	void (*pending)(struct ofi_rdm_ep *ep);
};

/* Returns true if the peer's address is one of this host's, so an offer makes sense. */
bool vrb_shm_is_near(const struct vrb_rc_conn *conn);
/* Offers the peer a ring. A connection that cannot have one continues without. */
void vrb_shm_offer(struct vrb_rc_conn *conn, const struct vrb_shm_calls *calls);
/*
 * Returns true for a packet of this file, which the caller then frees. Only peers that take part in
 * shared memory send them; they are ignored if this end of the connection does not.
 */
bool vrb_shm_packet(struct vrb_rc_conn *conn, const void *bytes, size_t len);
/* Makes the next packet through shared memory wake the endpoint. Poll once more after it. */
void vrb_shm_arm(struct ofi_rdm_ep *ep);
/* Returns true if the device has nothing to send to a peer with shared memory. */
bool vrb_shm_is_quiet(const struct vrb_rc_conn *conn);
/*
 * Copies from the memory of the peer's process, to which the key grants a right. Returns 0 or
 * -FI_E*; -FI_EOPNOTSUPP: the kernel does not let this process do that; -FI_ECONNRESET: there is no
 * such right, or it has ended, or the process has.
 */
int vrb_shm_copy(struct vrb_rc_conn *conn, void *addr, size_t len, uint64_t remote, uint64_t key);
/*
 * Grants the peer the right to copy the memory. Returns a key with OFI_RDM_PROTO_COPIED, or 0 if
 * the peer cannot copy, or has too many rights.
 */
uint64_t vrb_shm_grant(struct vrb_rc_conn *conn, const struct iovec *iov);
/* Ends the right: the peer does not use what it copies from now on. */
void vrb_shm_revoke(struct vrb_rc_conn *conn, uint64_t key);
/* Ends all rights of the peer. */
void vrb_shm_end(struct vrb_rc_conn *conn);
void vrb_shm_conn_close(struct vrb_rc_conn *conn);
void vrb_shm_close(struct ofi_rdm_ep *ep);

#endif
