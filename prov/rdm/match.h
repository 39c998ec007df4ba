/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Matching of messages with posted receives: source (a peer's number, or any), 64-bit tag, mask of
 * the tag's bits to ignore. A message takes the receive posted first of those that fit, a receive
 * takes the message arrived first of those that fit. Untagged receives use a table of their own
 * with tag 0.
 *
 * Receives with the same mask, and all with a source or all without, are a class. Within a class a
 * receive fits exactly the messages with its key: (source or any, tag & ~mask). One hash table
 * holds the keys of all classes, each key with its receives in order, so a message looks up one key
 * per class that has receives; the lowest number wins. Programs use one to three classes. Receives
 * beyond OFI_RDM_MATCH_CLASSES classes at a time are kept in one list in order and compared one by
 * one.
 *
 * Unexpected messages are one list in order, which is enough while it is short. When a receive
 * finds it long, an index by the keys of the receive's class is made, and kept up while the queue
 * is not empty: up to OFI_RDM_MATCH_INDEXES at a time, the one not used for longest gives way. So
 * the cost of either side does not depend on how many are queued.
 *
 * Nothing is allocated: nodes are embedded in the caller's objects, the hash buckets are the
 * caller's. No locks: the endpoint's lock guards it.
 */
#ifndef OFI_RDM_MATCH_H
#define OFI_RDM_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include "src/ds/compiler.h"

#define OFI_RDM_MATCH_ANY UINT32_MAX /* any source */

enum {
	OFI_RDM_MATCH_CLASSES = 16,
	OFI_RDM_MATCH_INDEXES = 4,
	OFI_RDM_MATCH_SCAN = 16,     /* unexpected messages that need no index */
	OFI_RDM_MATCH_PATIENCE = 64, /* searches before an unused index or class gives way */
};

/* Those with one key are a group: the first is in the bucket, the others behind it. */
struct ofi_rdm_match_node {
	struct ofi_rdm_match_node *chain; /* the first of a group: the next group of the bucket */
	struct ofi_rdm_match_node *next;  /* in the group */
	struct ofi_rdm_match_node *prev;  /* in the group; of the first: the last */
	uint64_t tag;			  /* without the ignored bits */
	uint64_t from;			  /* of the class or index, or-ed with the source */
};

struct ofi_rdm_match_hash {
	struct ofi_rdm_match_node **buckets; /* NULL where empty */
	uint64_t mask;			     /* their number - 1 */
	unsigned int shift;		     /* leaves as many bits as the mask has */
};

struct ofi_rdm_match_class {
	uint64_t ignore, keep; /* keep: the other bits of the tag */
	uint64_t from;	       /* number << 32 | (OFI_RDM_MATCH_ANY or 0) */
	uint64_t shut;	       /* of m->now[]; not 0: no receive is simply posted to it */
	uint32_t count;
	bool active; /* messages look here; stays a while when there are no receives */
};

/*
 * A posted receive; all set by ofi_rdm_match_post() but sticky and context. seq tells which of two
 * classes' receives was posted first. What is posted to the only class needs none: whatever is
 * posted to another one comes later, and gets a number then that is above any old one.
 */
struct ofi_rdm_match_recv {
	struct ofi_rdm_match_node node;
	uint64_t seq;
	uint64_t ignore; /* of those without a class */
	void *context;
	bool sticky; /* stays when it matches, until it is removed: FI_MULTI_RECV */
};

/* An unexpected message; the caller sets tag and src. */
struct ofi_rdm_match_msg {
	TAILQ_ENTRY(ofi_rdm_match_msg) order;
	uint64_t tag;
	uint32_t src;
	void *context; /* whose claim it is */
	struct ofi_rdm_match_node nodes[OFI_RDM_MATCH_INDEXES];
};

TAILQ_HEAD(ofi_rdm_match_msgs, ofi_rdm_match_msg);

struct ofi_rdm_match {
	/* Posted receives. */
	struct ofi_rdm_match_hash recvs;
	uint64_t seq;
	struct ofi_rdm_match_class
		*only; /* the active class, if it is one and rest is empty; or &shut */
	struct ofi_rdm_match_class
		*now[2]; /* it, for receives with a source or without; or &shut */
	uint32_t active; /* bits of the active classes */
	struct ofi_rdm_match_class *recent[2]; /* of the last receive with a source, without one */
	uint32_t arrivals;		       /* that looked at several classes */
	struct ofi_rdm_match_node
		*rest; /* the group of those without a class, of OFI_RDM_MATCH_CLASSES */
	struct ofi_rdm_match_class classes[OFI_RDM_MATCH_CLASSES + 1];
	struct ofi_rdm_match_class shut; /* nothing is posted to it */

	/* Unexpected messages. */
	size_t msg_count;
	struct ofi_rdm_match_msgs msgs; /* in order of arrival */
	struct ofi_rdm_match_msgs claimed;
	struct ofi_rdm_match_hash indexed;
	uint32_t armed; /* bits of the indexes in use */
	uint64_t searches;
	uint64_t used[OFI_RDM_MATCH_INDEXES]; /* the last search */
	struct ofi_rdm_match_class indexes[OFI_RDM_MATCH_INDEXES];
};

/*
 * Two arrays of 1 << bits buckets, zeroed. About as many buckets as receives keep the groups apart.
 */
void ofi_rdm_match_init(struct ofi_rdm_match *m, struct ofi_rdm_match_node **recvs,
			struct ofi_rdm_match_node **msgs, unsigned int bits);

struct ofi_rdm_match_msg *ofi_rdm_match_post_many(struct ofi_rdm_match *m,
						  struct ofi_rdm_match_recv *recv, uint32_t src,
						  uint64_t tag, uint64_t ignore);
struct ofi_rdm_match_recv *ofi_rdm_match_arrive_many(struct ofi_rdm_match *m, uint32_t src,
						     uint64_t tag);
/* Takes a posted receive back. */
void ofi_rdm_match_remove(struct ofi_rdm_match *m, struct ofi_rdm_match_recv *recv);
/*
 * A receive with the context, taken back, of those with its key the first; NULL if there is none.
 * Looks at all.
 */
struct ofi_rdm_match_recv *ofi_rdm_match_cancel(struct ofi_rdm_match *m, const void *context);
/* Whether a posted receive is for messages of this source alone. Looks at all. */
bool ofi_rdm_match_awaits(const struct ofi_rdm_match *m, uint32_t src);
/* Any posted receive, to empty the table; NULL if there is none. */
struct ofi_rdm_match_recv *ofi_rdm_match_first_recv(const struct ofi_rdm_match *m);
size_t ofi_rdm_match_recv_count(const struct ofi_rdm_match *m);

/* A queued message to the indexes, and out of them. */
void ofi_rdm_match_index(struct ofi_rdm_match *m, struct ofi_rdm_match_msg *msg);
void ofi_rdm_match_unindex(struct ofi_rdm_match *m, struct ofi_rdm_match_msg *msg);
/* The first that fits, left where it is (FI_PEEK); NULL if there is none. */
struct ofi_rdm_match_msg *ofi_rdm_match_peek(struct ofi_rdm_match *m, uint32_t src, uint64_t tag,
					     uint64_t ignore);
/*
 * The message that arrived first of all if a receive fits it: what is received in the order of its
 * arrival needs no index. Left where it is; else NULL.
 */
static inline struct ofi_rdm_match_msg *
ofi_rdm_match_oldest(const struct ofi_rdm_match *m, uint32_t src, uint64_t tag, uint64_t ignore)
{
	struct ofi_rdm_match_msg *msg = TAILQ_FIRST(&m->msgs);

	if (msg && !((msg->tag ^ tag) & ~ignore) && (src == OFI_RDM_MATCH_ANY || src == msg->src))
		return msg;
	return NULL;
}

/* Takes a queued message out for a later receive with the context (FI_PEEK | FI_CLAIM). */
void ofi_rdm_match_claim(struct ofi_rdm_match *m, struct ofi_rdm_match_msg *msg, void *context);
/* The message claimed with the context, which is then no longer claimed (FI_CLAIM); or NULL. */
struct ofi_rdm_match_msg *ofi_rdm_match_take_claim(struct ofi_rdm_match *m, const void *context);
/*
 * Moves the messages of one source, claimed ones too, that `want` says true of (all if NULL) to the
 * end of `out`, in order.
 */
void ofi_rdm_match_take_peer(struct ofi_rdm_match *m, uint32_t src,
			     bool (*want)(const struct ofi_rdm_match_msg *msg),
			     struct ofi_rdm_match_msgs *out);

static inline struct ofi_rdm_match_node **
ofi_rdm_match_bucket(const struct ofi_rdm_match_hash *hash, uint64_t tag, uint64_t from)
{
	uint64_t mixed = (tag + from * 0x2c1b3c6d) * 0x9e3779b97f4a7c15ULL;

	return &hash->buckets[mixed >> hash->shift];
}

/* Where the pointer to the group's first is, or where it would go. */
static inline struct ofi_rdm_match_node **ofi_rdm_match_find(const struct ofi_rdm_match_hash *hash,
							     uint64_t tag, uint64_t from)
{
	struct ofi_rdm_match_node **link = ofi_rdm_match_bucket(hash, tag, from);

	while (*link && ((*link)->tag != tag || (*link)->from != from))
		link = &(*link)->chain;
	return link;
}

/* Behind the last of the group that *link is. */
static inline void ofi_rdm_match_append(struct ofi_rdm_match_node **link,
					struct ofi_rdm_match_node *node)
{
	struct ofi_rdm_match_node *first = *link;

	node->next = NULL;
	if (first) {
		node->prev = first->prev;
		first->prev->next = node;
		first->prev = node;
	} else {
		node->chain = NULL;
		node->prev = node;
		*link = node;
	}
}

/* Takes the first, *link, out of the group. */
static inline void ofi_rdm_match_shift(struct ofi_rdm_match_node **link,
				       struct ofi_rdm_match_node *first)
{
	struct ofi_rdm_match_node *next = first->next;

	if (next) {
		next->chain = first->chain;
		next->prev = first->prev;
		*link = next;
	} else {
		*link = first->chain;
	}
}

/* ofi_rdm_match_post_now() of a kind of m->now[]; from: kind->from, or-ed with the source. */
static inline bool ofi_rdm_match_post_from(struct ofi_rdm_match *m,
					   struct ofi_rdm_match_class *kind,
					   struct ofi_rdm_match_recv *recv, uint64_t from,
					   uint64_t tag, uint64_t ignore)
{
	if (ofi_unlikely(((kind->ignore ^ ignore) | kind->shut) != 0))
		return false;
	kind->count++;
	recv->node.tag = tag & kind->keep;
	recv->node.from = from;
	ofi_rdm_match_append(ofi_rdm_match_find(&m->recvs, recv->node.tag, from), &recv->node);
	return true;
}

/* Posts a receive of the only class when no message is queued. Else false: nothing was done. */
static inline bool ofi_rdm_match_post_now(struct ofi_rdm_match *m, struct ofi_rdm_match_recv *recv,
					  uint32_t src, uint64_t tag, uint64_t ignore)
{
	struct ofi_rdm_match_class *kind = m->now[src == OFI_RDM_MATCH_ANY];

	return ofi_rdm_match_post_from(m, kind, recv, kind->from | src, tag, ignore);
}

/*
 * The message that arrived first of those that fit, no longer queued. NULL: there is none, the
 * receive is posted.
 */
static inline struct ofi_rdm_match_msg *ofi_rdm_match_post(struct ofi_rdm_match *m,
							   struct ofi_rdm_match_recv *recv,
							   uint32_t src, uint64_t tag,
							   uint64_t ignore)
{
	if (ofi_rdm_match_post_now(m, recv, src, tag, ignore))
		return NULL;
	return ofi_rdm_match_post_many(m, recv, src, tag, ignore);
}

/* Several classes are to be looked at, which is out of line. */
static inline bool ofi_rdm_match_has_many(const struct ofi_rdm_match *m)
{
	return m->only == &m->shut;
}

/*
 * Where the receive of a message is posted. None is there if several classes are to be looked at:
 * it is ofi_rdm_match_arrive() that looks.
 */
static inline struct ofi_rdm_match_node **ofi_rdm_match_look(const struct ofi_rdm_match *m,
							     uint32_t src, uint64_t tag)
{
	const struct ofi_rdm_match_class *kind = m->only;

	return ofi_rdm_match_find(&m->recvs, tag & kind->keep, kind->from | src);
}

/* Takes the receive from where ofi_rdm_match_look() found it. */
static inline void ofi_rdm_match_take(struct ofi_rdm_match *m, struct ofi_rdm_match_node **at)
{
	ofi_rdm_match_shift(at, *at);
	m->only->count--;
}

/*
 * The receive posted first of those that fit, no longer posted unless it is sticky; NULL if none.
 */
static inline struct ofi_rdm_match_recv *ofi_rdm_match_arrive(struct ofi_rdm_match *m, uint32_t src,
							      uint64_t tag)
{
	struct ofi_rdm_match_node **at = ofi_rdm_match_look(m, src, tag);
	struct ofi_rdm_match_recv *recv;

	recv = (struct ofi_rdm_match_recv *)*at;
	if (recv && !recv->sticky)
		ofi_rdm_match_take(m, at);
	else if (!recv && ofi_rdm_match_has_many(m))
		return ofi_rdm_match_arrive_many(m, src, tag);
	return recv;
}

/* Takes a queued message out. */
static inline void ofi_rdm_match_drop(struct ofi_rdm_match *m, struct ofi_rdm_match_msg *msg)
{
	if (ofi_unlikely(m->armed))
		ofi_rdm_match_unindex(m, msg);
	TAILQ_REMOVE(&m->msgs, msg, order);
	if (--m->msg_count)
		return;
	m->armed = 0;
	if (!ofi_rdm_match_has_many(m))
		m->only->shut = 0;
}

/* Queues a message that ofi_rdm_match_arrive() had no receive for. */
static inline void ofi_rdm_match_queue(struct ofi_rdm_match *m, struct ofi_rdm_match_msg *msg)
{
	TAILQ_INSERT_TAIL(&m->msgs, msg, order);
	if (!m->msg_count++)
		m->now[0]->shut = m->now[1]->shut = 1;
	if (ofi_unlikely(m->armed))
		ofi_rdm_match_index(m, msg);
}

#endif
