/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Collective operations over any network that carries tagged messages between the members of a
 * group. Each call becomes a plan of sends, receives and reductions, which is executed as they
 * complete. The engine takes no lock: the owner serializes all calls of one engine, and callbacks
 * are made from within these calls.
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
	bool join; /* result of fi_join_collective: an event, not a completion */
	enum fi_collective_op kind;
	void *context;
	int err; /* 0 or a positive FI_E code */
};

/*
 * The messaging functions that an endpoint provides. Messages with different tags between two
 * members may overtake each other; a message waits at its destination until it is received. send
 * and recv return 0, after which the cookie is returned once through ofi_coll_event(), possibly
 * before the call returns, and the buffer stays in use until then; -FI_EAGAIN, after which
 * ofi_coll_progress() tries again; or another error.
 */
struct ofi_coll_net {
	ssize_t (*send)(void *arg, fi_addr_t to, uint64_t tag, const void *buf, size_t len,
			void *cookie);
	ssize_t (*recv)(void *arg, fi_addr_t from, uint64_t tag, void *buf, size_t len,
			void *cookie);
	/* Returns true if a message has arrived that the same receive would match. */
	bool (*arrived)(void *arg, fi_addr_t from, uint64_t tag);
	/*
	 * Cancels a transfer. On true, the buffer is no longer used and the cookie is not returned.
	 * On false, the device or the member still uses the buffer, and the cookie will be
	 * returned.
	 */
	bool (*cancel)(void *arg, void *cookie);
	/*
	 * Ends the connection to the member of a transfer that cancel() could not end. The cookie
	 * is returned as soon as the device no longer uses the buffer.
	 */
	void (*sever)(void *arg, void *cookie);
	/*
	 * Drops messages of a member that nobody will receive: those whose tag matches except for
	 * the bits in ignore.
	 */
	void (*purge)(void *arg, fi_addr_t from, uint64_t tag, uint64_t ignore);
	/*
	 * Reports a result. It may start operations, but must not leave groups or free the engine.
	 */
	void (*done)(void *arg, const struct ofi_coll_done *done);
	size_t max_msg; /* largest message in bytes */
	size_t max_ops; /* maximum number of operations in flight, joins apart */
};

struct ofi_coll_members {
	const fi_addr_t *addr; /* in the order of the set, by rank */
	size_t count;
	size_t rank;	 /* our own rank */
	uint64_t digest; /* digest of the members' common names, see ofi_coll_digest() */
};

struct ofi_coll_call {
	enum fi_collective_op kind;
	const void *buf;
	void *result; /* for a broadcast: the destination and, on the root, the source */
	size_t count; /* number of elements; for an array of slices, of one slice */
	enum fi_datatype datatype;
	enum fi_op op;
	fi_addr_t root;
	void *context;
	bool device; /* the buffers may be device memory */
};

#define OFI_COLL_DIGEST 0xcbf29ce484222325ULL

/* Extends the digest, which starts as OFI_COLL_DIGEST, with the name of one more member. */
uint64_t ofi_coll_digest(uint64_t digest, const void *name, size_t len);

struct ofi_coll *ofi_coll_new(const struct ofi_coll_net *net, void *arg);
/* Frees the engine after its groups were left, or once nothing uses their operations. NULL-safe. */
void ofi_coll_free(struct ofi_coll *coll);

/* Starts forming a group; done() reports when all members have agreed on it, or failed to. */
int ofi_coll_join(struct ofi_coll *coll, const struct ofi_coll_members *members, void *context,
		  struct ofi_coll_group **group);
/*
 * Cancels everything in flight, operations with a done() and a join without, and drops messages
 * from the members, so that members that leave at the same time can finish, too. Returns false if a
 * buffer is still in use; the caller then repeats the call after the next event.
 */
bool ofi_coll_leave(struct ofi_coll_group *group);
/*
 * For a group that takes too long to leave: ends the connections to the members that still use a
 * buffer. The caller then repeats ofi_coll_leave().
 */
void ofi_coll_sever(struct ofi_coll_group *group);
/* Returns true if a group is being formed. */
bool ofi_coll_forming(const struct ofi_coll *coll);
/*
 * Reports that a member is gone. Its groups then receive from it only messages that have already
 * arrived, even if another process takes its name. The owner fails its transfers in flight.
 */
void ofi_coll_lost(struct ofi_coll *coll, fi_addr_t member);
/* Returns the group's address, FI_ADDR_NOTAVAIL until it has formed. */
fi_addr_t ofi_coll_addr(const struct ofi_coll_group *group);
struct ofi_coll_group *ofi_coll_find(struct ofi_coll *coll, fi_addr_t addr);

/*
 * Starts an operation; members start the operations of a group in the same order. Returns
 * -FI_EAGAIN if max_ops are in flight.
 */
ssize_t ofi_coll_start(struct ofi_coll *coll, fi_addr_t addr, const struct ofi_coll_call *call);
/*
 * Reports the end of a transfer; len is the size of the message that arrived, even if it did not
 * fit.
 */
void ofi_coll_event(void *cookie, size_t len, int err);
void ofi_coll_progress(struct ofi_coll *coll);

/* Implements fi_query_collective for domains whose endpoints use an engine. */
int ofi_coll_query(enum fi_collective_op kind, struct fi_collective_attr *attr, uint64_t flags,
		   size_t max_msg);

#endif
