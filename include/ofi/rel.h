/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Tagged messages of any length between endpoints that can only exchange datagrams, which may be lost,
 * repeated and reordered. No locks: the owner serializes every call; callbacks come from inside of them.
 */
#ifndef OFI_REL_H
#define OFI_REL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <rdma/fabric.h>

#define OFI_REL_HEAD   56 /* bytes of the header of each datagram */
#define OFI_REL_WINDOW 64 /* datagrams on their way to one peer */

struct ofi_rel;

struct ofi_rel_net {
	/* Sends one datagram. Any error is taken for a lost one, which is sent again later. */
	ssize_t (*send)(void *arg, fi_addr_t to, const void *head, const void *data, size_t len);
	/* A send has reached its peer, a receive has its message; err is 0 or a positive FI_E code. */
	void (*done)(void *arg, void *cookie, size_t len, int err);
	uint64_t (*now)(void *arg); /* any unit that the times below have */
	size_t mtu;		    /* bytes of a datagram, its header included */
	size_t max_msg;		    /* bytes of a message */
	uint64_t rto_min, rto_max; /* waits for an acknowledgement, doubled from one to the other */
	uint64_t give_up;	   /* of silence, while something is wanted of the peer; 0: never */
	uint32_t session; /* random, not 0: tells this endpoint from an earlier one of its name */
};

struct ofi_rel *ofi_rel_new(const struct ofi_rel_net *net, void *arg);
/* Drops what is in flight without a done(). NULL is fine. */
void ofi_rel_free(struct ofi_rel *rel);

/*
 * Messages with one tag keep their order. The buffers stay in use until done(), which for a receive may come
 * before the call returns. -FI_ENOMEM, -FI_EMSGSIZE, or the error that the peer failed with.
 */
ssize_t ofi_rel_send(struct ofi_rel *rel, fi_addr_t to, uint64_t tag, const void *buf, size_t len,
		     void *cookie);
/* A message longer than len ends with FI_ETRUNC and its whole length. */
ssize_t ofi_rel_recv(struct ofi_rel *rel, fi_addr_t from, uint64_t tag, void *buf, size_t len,
		     void *cookie);
/* From its return on the buffer is not touched and done() does not come. */
void ofi_rel_cancel(struct ofi_rel *rel, void *cookie);
/* Drops messages that arrived and that nobody has received. */
void ofi_rel_purge(struct ofi_rel *rel, fi_addr_t from, uint64_t tag, uint64_t ignore);
/* Ends all that is in flight with a peer: done() with err for each. The name may be used again. */
void ofi_rel_forget(struct ofi_rel *rel, fi_addr_t peer, int err);

void ofi_rel_arrived(struct ofi_rel *rel, fi_addr_t from, const void *datagram, size_t len);
/* Acknowledges, sends what the windows allow, and again what is overdue. */
void ofi_rel_progress(struct ofi_rel *rel);
/* When ofi_rel_progress() has something to do by itself; UINT64_MAX: never. */
uint64_t ofi_rel_deadline(const struct ofi_rel *rel);

#endif
