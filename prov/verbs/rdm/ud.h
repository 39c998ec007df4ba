/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Connections on unreliable datagrams (FI_VERBS_RDM_TRANSPORT=ud): one queue pair of the endpoint
 * serves all peers. This file does in software what the device does for a reliable connection:
 * messages, RDMA reads and writes in order, each once, with a check of the peer's access. seq.h,
 * ack.h and cwnd.h restore what datagrams lack. The queue pair, the CQ and the SRQ that the
 * transport posts to and polls are then objects of this file, so that nothing else changes.
 *
 * The connection manager resolves a peer's address by service ID: one request, which carries the
 * same private data as for a reliable connection, and one reply. What is received, and what peers
 * read and write, is handled when the endpoint is polled; the endpoint's timer polls it if nobody
 * else does, so peers know that it is alive.
 */
#ifndef VRB_RDM_UD_H
#define VRB_RDM_UD_H

#include <stdbool.h>
#include <stdint.h>
#include <rdma/rdma_cma.h>

struct ofi_rdm_addr;
struct ofi_rdm_ep;
struct ofi_rdm_peer;
struct ofi_rdm_task;
struct vrb_rc_conn;
struct vrb_ud;
struct vrb_ud_conn;
struct vrb_rdm_deferred_list;

/* Bytes of payload that are sent inline. */
#define VRB_UD_INLINE 512u
/* Work requests of a connection that this file posts: the first packet. */
#define VRB_UD_SLOTS 1u

/* The packet of a message that a request carries, and its mark; see conn_first.c. */
struct vrb_ud_first {
	size_t len; /* 0: there is none */
	uint32_t mark;
	uint8_t bytes[4096];
};

/* The connections do this for these files. The endpoint's lock is held unless noted. */
struct vrb_ud_calls {
	/* Something has happened to the connection: conn->news says what. */
	void (*news)(struct vrb_rc_conn *conn);
	/* The queue pair has failed; called without the endpoint's lock. err is FI_E*. */
	void (*lost)(struct ofi_rdm_ep *ep, int err);
	/* The same, called once with the lock. */
	void (*lose)(struct ofi_rdm_ep *ep, int err);
	/*
	 * A request has arrived, with conn NULL, or the answer to one. The event is like that of
	 * the connection manager, but without an id: vrb_ud_sender() returns where it came from.
	 * Returns false if there is no memory; what arrived is then sent again.
	 */
	bool (*letter)(struct ofi_rdm_ep *ep, struct vrb_rc_conn *conn,
		       const struct rdma_cm_event *event);
	/* The endpoint must be polled within that time in ms. */
	void (*wake)(struct ofi_rdm_ep *ep, uint64_t ms);
};

/* Creates the queue pair and all that stands for the device's objects. Returns 0 or -FI_E*. */
int vrb_ud_open(struct ofi_rdm_ep *ep, const struct vrb_ud_calls *calls);
/* Closes them, after waiting briefly until what was sent is on its way. */
void vrb_ud_close(struct ofi_rdm_ep *ep);
/* Returns true if the device still reads into memory; a closing endpoint begins no more reads. */
bool vrb_ud_reads(const struct ofi_rdm_ep *ep);
/* Has the device give up these reads, and waits briefly until it has. Nothing is sent any more. */
void vrb_ud_halt(struct ofi_rdm_ep *ep);
/* Returns true if the device still reads for the connection. */
bool vrb_ud_conn_reads(const struct vrb_rc_conn *conn);
/* Gives the connection what stands for its queue pair. Returns 0 or -FI_E*. */
int vrb_ud_conn_open(struct vrb_rc_conn *conn);
void vrb_ud_conn_close(struct vrb_rc_conn *conn);
/* Returns the reliable queue pair that the connection has got, or NULL. */
struct ibv_qp *vrb_ud_conn_qp(const struct vrb_rc_conn *conn);
/* Destroys it. Called without the endpoint's lock. */
int vrb_ud_conn_destroy_qp(struct vrb_rc_conn *conn);
/*
 * Returns true if queue pairs that were given back can be destroyed after one more poll, which is
 * needed because the device discards their completions with them. `now` is in us.
 */
bool vrb_ud_old_due(struct ofi_rdm_ep *ep, uint64_t now);
/* Moves these queue pairs to a list. */
void vrb_ud_take_old(struct ofi_rdm_ep *ep, struct vrb_rdm_deferred_list *to);
/* Tells the peer that the connection has ended. */
void vrb_ud_conn_end(struct vrb_rc_conn *conn);
/*
 * Makes everything posted complete with errors, and what is posted from now on, too. Returns false
 * if that may not happen.
 */
bool vrb_ud_conn_flush(struct vrb_rc_conn *conn);
/* Called when the peer's host or process has answered: waiting goes on. */
void vrb_ud_conn_heard(struct vrb_rc_conn *conn);
/* Called when packets to the peer may be lost although its host is there. */
void vrb_ud_conn_renew(const struct vrb_rc_conn *conn);
/* Called when the peer's process does not exist any more. */
void vrb_ud_conn_lost(struct vrb_rc_conn *conn);
/*
 * Sends the packet that tells the passive side that the connection is established, unless a message
 * is in flight, which does the same. Called if the connection manager carried the answer, because
 * nobody repeats that answer.
 */
int vrb_ud_conn_start(struct vrb_rc_conn *conn);
/* Returns true if nothing is in flight, though its completion may not be reported yet. */
bool vrb_ud_conn_quiet(const struct vrb_rc_conn *conn);
/*
 * Returns true if the peer owes the data of reads, and nothing in flight would show that it is
 * gone.
 */
bool vrb_ud_conn_is_owed(const struct vrb_rc_conn *conn);
/* Sends a packet that the peer acknowledges, ahead of what waits for the data it owes. */
void vrb_ud_touch(struct vrb_rc_conn *conn);
/* Returns true for the packet of vrb_ud_conn_start(). */
bool vrb_ud_is_start(const void *bytes, size_t len);

/* Appends VRB_UD_WORDS bytes that the peer needs to private data, and returns the new length. */
uint8_t vrb_ud_say(const struct vrb_rc_conn *conn, uint8_t *wire, uint8_t len);
/* Stores what the peer of a new connection says, and how it is reached if known. */
int vrb_ud_hear(struct vrb_rc_conn *conn, const struct rdma_cm_event *event);
/*
 * Letters, to queue pairs that are known by name (ud_meet.c): request a connection from the peer,
 * answer the request that the connection was made for, decline one. Return 0 or -FI_E*.
 */
int vrb_ud_ask(struct vrb_rc_conn *conn, const uint8_t *wire, uint8_t len,
	       const struct vrb_ud_first *first);
int vrb_ud_answer(struct vrb_rc_conn *conn, const struct rdma_cm_event *event, const uint8_t *wire,
		  uint8_t len);
void vrb_ud_decline(struct ofi_rdm_ep *ep, const struct rdma_cm_event *event, const uint8_t *wire,
		    uint8_t len);
/* Returns true if there is a connection for the request; its answer is sent again. */
bool vrb_ud_was_asked(struct ofi_rdm_ep *ep, const struct rdma_cm_event *event);
/* Stores where a request came from: a name, or an IP address without a port. */
void vrb_ud_sender(const struct ofi_rdm_ep *ep, const struct rdma_cm_event *event,
		   struct ofi_rdm_addr *from);
/* Returns false if there is no path to a host with that GID, and strangers get no more of them. */
bool vrb_ud_takes_host(const struct ofi_rdm_ep *ep, const uint8_t *gid);
/* Returns true if a connection to the peer is requested by vrb_ud_ask(). */
bool vrb_ud_has_name(const struct ofi_rdm_peer *peer);
/* Returns how many bytes a request with that private data can carry. */
size_t vrb_ud_room(const struct ofi_rdm_ep *ep, uint8_t len);
/* Returns the packet in a request, with its length and its mark, or NULL. */
const uint8_t *vrb_ud_first_in(const struct rdma_cm_event *event, size_t *len, uint32_t *mark);
/* Returns the number of bytes of that packet and its mark, which follow the private data. */
size_t vrb_ud_carried(const struct rdma_cm_event *event);
/* Takes the next of the transport's receive buffers, NULL if there is none of that length. */
struct vrb_rdm_rx *vrb_ud_recv_take(struct ofi_rdm_ep *ep, size_t len);
/* Returns the mark of the last message of our requests that the peer has delivered, or 0. */
uint32_t vrb_ud_delivered(const struct vrb_rc_conn *conn);
/*
 * Confirms the answer in a letter, with the next packet or in the next poll, so that the peer does
 * not send it again.
 */
void vrb_ud_conn_confirm(struct vrb_rc_conn *conn);

/* Returns the event that a connection with a queue pair would have instead. */
enum rdma_cm_event_type vrb_ud_event(const struct rdma_cm_event *event);
/*
 * Returns what is wrong with the words of a request or answer: OFI_RDM_WIRE_E_VERSION for those of
 * another version of datagrams.
 */
enum ofi_rdm_wire_error vrb_ud_words_check(const struct rdma_cm_event *event);
/* Returns the number of the sender's end in private data; 0 if there is none. */
uint32_t vrb_ud_number_in(const struct rdma_cm_event *event);
/* Returns the queue pair number for the connection manager. */
uint32_t vrb_ud_qpn(const struct ofi_rdm_ep *ep);
/* Returns the number of the peer's end. */
uint32_t vrb_ud_peer_number(const struct vrb_rc_conn *conn);

/* Sends the acknowledgments that are due before the endpoint sleeps. */
void vrb_ud_arm(struct ofi_rdm_ep *ep);
/*
 * Lets connections sleep that have nothing to do. Called while nobody holds a slot of a connection.
 */
void vrb_ud_rest(struct ofi_rdm_ep *ep);
/* Returns how soon in ms the endpoint must be polled; UINT64_MAX: nothing is due. */
uint64_t vrb_ud_due(const struct ofi_rdm_ep *ep);

#endif
