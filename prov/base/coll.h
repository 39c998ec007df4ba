/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Collective operations over whatever carries tagged messages between the members of a group: each
 * call becomes a plan of sends, receives and reductions that is carried out as they complete. No
 * locks: the owner serializes every call of one engine, the callbacks come from inside of them.
 */
#ifndef OFI_COLL_H
#define OFI_COLL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <rdma/fi_collective.h>

#define OFI_COLL_MEMBERS_MAX 4096

struct ofi_coll;
struct ofi_coll_group;

struct ofi_coll_done {
	struct ofi_coll_group *group;
	bool join; /* of fi_join_collective: an event, not a completion */
	enum fi_collective_op kind;
	void *context;
	uint64_t flags;
	int err; /* 0 or a positive FI_E code */
};

/*
 * What an endpoint does for its collectives. Messages between two members with different tags may
 * overtake each other; a message waits at its destination until it is received. Both calls return
 * 0, after which the cookie comes back once through ofi_coll_event(), perhaps before they return,
 * and the buffer stays in use until then; -FI_EAGAIN, after which ofi_coll_progress() tries again;
 * or another error.
 */
struct ofi_coll_net {
	ssize_t (*send)(void *arg, fi_addr_t to, uint64_t tag, const void *buf, size_t len,
			void *cookie);
	ssize_t (*recv)(void *arg, fi_addr_t from, uint64_t tag, void *buf, size_t len,
			void *cookie);
	/* A message waits that a receive would get. */
	bool (*arrived)(void *arg, fi_addr_t from, uint64_t tag);
	/*
	 * True: from its return on the buffer is not touched and the cookie does not come back.
	 * False: the device or the member still uses the buffer, the cookie will come back.
	 */
	bool (*cancel)(void *arg, void *cookie);
	/*
	 * Ends the connection to the member that a transfer is with, which cancel() could not end:
	 * the cookie comes back as soon as the device has let go of the buffer.
	 */
	void (*sever)(void *arg, void *cookie);
	/*
	 * Drops messages of a member that nobody will receive: those whose tag fits outside of
	 * ignore.
	 */
	void (*purge)(void *arg, fi_addr_t from, uint64_t tag, uint64_t ignore);
	/* May start operations; may not leave groups or free the engine. */
	void (*done)(void *arg, const struct ofi_coll_done *done);
	size_t max_msg; /* bytes of one message */
	size_t max_ops; /* operations in flight */
};

struct ofi_coll_members {
	const fi_addr_t *addr; /* in the order of the set, which is that of the ranks */
	size_t count;
	size_t rank;	 /* our own */
	uint64_t digest; /* of what all members know the set by, see ofi_coll_digest() */
};

struct ofi_coll_call {
	enum fi_collective_op kind;
	const void *buf;
	void *result; /* of a broadcast: where it goes to, and for the root comes from */
	size_t count; /* elements; where an array is sliced, those of a slice */
	enum fi_datatype datatype;
	enum fi_op op;
	fi_addr_t root;
	void *context;
	uint64_t flags;
};

#define OFI_COLL_DIGEST 0xcbf29ce484222325ULL

/* Goes on from digest, which begins as OFI_COLL_DIGEST, over the name of one more member. */
uint64_t ofi_coll_digest(uint64_t digest, const void *name, size_t len);

struct ofi_coll *ofi_coll_new(const struct ofi_coll_net *net, void *arg);
/* Its groups have been left, or nobody is at what they had in flight. NULL is fine. */
void ofi_coll_free(struct ofi_coll *coll);

/* Begins to form a group; done() tells when all members have agreed on it, or failed to. */
int ofi_coll_join(struct ofi_coll *coll, const struct ofi_coll_members *members, void *context,
		  struct ofi_coll_group **group);
/*
 * Cancels what is in flight, without a done(), and drops what the members have sent, which lets
 * members that leave at the same time go, too. False: some buffer is still in use, the call is to
 * be repeated after some event.
 */
bool ofi_coll_leave(struct ofi_coll_group *group);
/*
 * For a group that has taken too long to leave: severs the connections to the members that still
 * use a buffer. ofi_coll_leave() is then repeated.
 */
void ofi_coll_sever(struct ofi_coll_group *group);
/* Some group is being formed. */
bool ofi_coll_forming(const struct ofi_coll *coll);
/*
 * The member is gone: its groups get nothing more of it than has arrived, even if another comes by
 * the same name. Transfers in flight are the owner's to fail.
 */
void ofi_coll_lost(struct ofi_coll *coll, fi_addr_t member);
/* FI_ADDR_NOTAVAIL until it has formed. */
fi_addr_t ofi_coll_addr(const struct ofi_coll_group *group);
struct ofi_coll_group *ofi_coll_find(struct ofi_coll *coll, fi_addr_t addr);

/*
 * -FI_EAGAIN when max_ops are in flight. Members start the operations of a group in the same order.
 */
ssize_t ofi_coll_start(struct ofi_coll *coll, fi_addr_t addr, const struct ofi_coll_call *call);
/* A transfer is over; len is the bytes of the message that arrived, even when they didn't fit. */
void ofi_coll_event(void *cookie, size_t len, int err);
void ofi_coll_progress(struct ofi_coll *coll);

/* fi_query_collective for a domain whose endpoints use an engine. */
int ofi_coll_query(enum fi_collective_op kind, struct fi_collective_attr *attr, uint64_t flags,
		   size_t max_msg);

#endif
