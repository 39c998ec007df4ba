/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Packets to peers on the same host go through shared memory. Each end of a connection offers a
 * ring to the other one, which maps it and writes its packets to the ring instead of posting them.
 * Packets go through the device while RDMA is in flight, which they must not overtake, and while
 * the receiver sleeps, because the device can wake it. The receiver copies long messages from the
 * sender's memory. The connection remains: it identifies the peer, carries RDMA, and ends when the
 * peer ends. The transport then posts to a stand-in for the queue pair and polls a stand-in for the
 * CQ, which use the device where needed, so connections without shared memory pay nothing.
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

/* Slots of a connection's ring for packets of this file: an offer, and the answer to one. */
#define VRB_SHM_SLOTS 2u
/* Work requests outside of the connection's ring: packets that only wake the peer. */
#define VRB_SHM_WAKES 4u

/* Callbacks to the connections, called with the endpoint's lock held. */
struct vrb_shm_calls {
	/* Ends the connection, but not before returning: the peer violates the protocol. */
	void (*damaged)(struct vrb_rc_conn *conn);
	/* Ends the connection in the same way: a packet that wakes the peer failed. */
	void (*failed)(struct vrb_rc_conn *conn, const struct ibv_wc *wc);
	/* Polls the endpoint again soon: no buffer for a packet, or no room to send one. */
	void (*starved)(struct ofi_rdm_ep *ep);
	/* Does so after this time: a thread may sleep, and no completion of the device wakes it. */
	void (*pending)(struct ofi_rdm_ep *ep, uint64_t ms);
};

/* Returns true if the peer's address is one of this host's, so an offer makes sense. */
bool vrb_shm_is_near(const struct vrb_rc_conn *conn);
/*
 * Offers the peer a ring, perhaps later: few offers are open at once. A connection that cannot have
 * one continues without.
 */
void vrb_shm_offer(struct vrb_rc_conn *conn, const struct vrb_shm_calls *calls);
/* Makes offers that wait, in place of those that have not been answered for long. */
void vrb_shm_tick(struct ofi_rdm_ep *ep);
/*
 * Handles a packet of this file and returns true; the caller then frees it. Only peers that take
 * part in shared memory send such packets; they are ignored if this end of the connection does not.
 */
bool vrb_shm_packet(struct vrb_rc_conn *conn, const void *bytes, size_t len);
/*
 * Makes the next polls look at all rings, because a peer may clear the bells of others, and end
 * once everything is handled that has arrived by now: what is in the rings, and as many completions
 * of the device. Returns false without shared memory; otherwise vrb_shm_drain_end() must follow.
 */
bool vrb_shm_drain_begin(struct ofi_rdm_ep *ep, uint32_t completions);
void vrb_shm_drain_end(struct ofi_rdm_ep *ep);
/* Returns true if a packet that wakes a peer is due or on its way. */
bool vrb_shm_wakes(const struct ofi_rdm_ep *ep);
/* Makes the next packet through shared memory wake the endpoint. Poll once more after it. */
void vrb_shm_arm(struct ofi_rdm_ep *ep);
/* Returns true if no work request of the device is in flight to a peer with shared memory. */
bool vrb_shm_is_quiet(const struct vrb_rc_conn *conn);
/*
 * Copies from the memory of the peer's process with the right of the key. Returns 0; -FI_EOPNOTSUPP
 * if the kernel does not permit the copy; or -FI_ECONNRESET if there is no such right, or the right
 * or the process has ended.
 */
int vrb_shm_copy(struct vrb_rc_conn *conn, void *addr, size_t len, uint64_t remote, uint64_t key);
/*
 * Grants the peer the right to copy the memory. Returns a key with OFI_RDM_PROTO_COPIED, or 0 if
 * the peer cannot copy, or has too many rights.
 */
uint64_t vrb_shm_grant(struct vrb_rc_conn *conn, const struct iovec *iov);
/* Revokes the right: the peer discards data that it copies from now on. */
void vrb_shm_revoke(struct vrb_rc_conn *conn, uint64_t key);
/* Revokes all rights of the peer. */
void vrb_shm_end(struct vrb_rc_conn *conn);
void vrb_shm_conn_close(struct vrb_rc_conn *conn);
void vrb_shm_close(struct ofi_rdm_ep *ep);

#endif
