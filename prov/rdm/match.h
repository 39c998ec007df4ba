/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Matches messages with posted receives by source (a peer's number, or any), 64-bit tag, and a mask
 * of tag bits to ignore. A message takes the earliest posted receive that matches; a receive takes
 * the earliest arrived message that matches. Untagged receives use their own table with tag 0.
 *
 * Receives with the same mask that all name a source, or all name none, form a class. Within a
 * class a receive matches exactly the messages with its key: (source or any, tag & ~mask). One hash
 * table holds the keys of all classes, each key with its receives in order, so a message looks up
 * one key per class that has receives, and the lowest sequence number wins. Programs use one to
 * three classes. Receives beyond OFI_RDM_MATCH_CLASSES simultaneous classes are kept in one ordered
 * list and compared one by one.
 *
 * Unexpected messages are one ordered list, which is enough while it is short. When a receive finds
 * it long, an index by the keys of the receive's class is built, and maintained while the list is
 * not empty. There are up to OFI_RDM_MATCH_INDEXES indexes; the least recently used one is
 * replaced. The cost on either side therefore does not depend on the length of the queues.
 *
 * Nothing is allocated: nodes are embedded in the caller's objects, and the caller supplies the
 * hash buckets. Nothing is locked: the endpoint's lock guards it.
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
	OFI_RDM_MATCH_SCAN = 16,     /* queue length up to which no index is needed */
	OFI_RDM_MATCH_PATIENCE = 64, /* searches before an unused index or class is replaced */
};

/*
 * Nodes with the same key form a group: the first node is in the bucket, the others are linked to
 * it.
 */
struct ofi_rdm_match_node {
	/* In the first node of a group: the next group of the bucket. */
	struct ofi_rdm_match_node *chain;
	struct ofi_rdm_match_node *next; /* next node of the group */
	/* Previous node of the group; in the first node: the last one. */
	struct ofi_rdm_match_node *prev;
	uint64_t tag;  /* without the ignored bits */
	uint64_t from; /* bits of the class or index, ORed with the source */
};

struct ofi_rdm_match_hash {
	struct ofi_rdm_match_node **buckets; /* NULL if the bucket is empty */
	uint64_t mask;			     /* their number - 1 */
	unsigned int shift;		     /* shift that leaves as many bits as the mask has */
};

struct ofi_rdm_match_class {
	uint64_t ignore, keep; /* keep: the tag bits that are compared */
	uint64_t from;	       /* number << 32 | (OFI_RDM_MATCH_ANY or 0) */
	/* Valid while in m->now[]; if not 0, the fast path does not post to it. */
	uint64_t shut;
	uint32_t count;
	/* Messages are compared with it; stays set for a while after the last receive. */
	bool active;
};

/*
 * A posted receive. The caller sets sticky and context; ofi_rdm_match_post() sets what it needs of
 * the rest. seq orders receives of different classes. Receives posted to the only class need no
 * number: one posted to another class comes later and then gets a number above all earlier ones.
 */
struct ofi_rdm_match_recv {
	struct ofi_rdm_match_node node;
	uint64_t seq;
	uint64_t ignore; /* of receives without a class */
	void *context;
	bool sticky; /* stays posted after a match until it is removed: FI_MULTI_RECV */
};

/* An unexpected message; the caller sets tag and src. */
struct ofi_rdm_match_msg {
	TAILQ_ENTRY(ofi_rdm_match_msg) order;
	uint64_t tag;
	uint32_t src;
	bool queued, claimed; /* in msgs, in claimed */
	void *context;	      /* context of the call with FI_CLAIM */
	struct ofi_rdm_match_node nodes[OFI_RDM_MATCH_INDEXES];
};

TAILQ_HEAD(ofi_rdm_match_msgs, ofi_rdm_match_msg);

struct ofi_rdm_match {
	/* Posted receives. */
	struct ofi_rdm_match_hash recvs;
	uint64_t seq;
	/* The active class if there is just one and `rest` is empty, else &shut. */
	struct ofi_rdm_match_class *only;
	/* The same, for receives with a source and for those without one. */
	struct ofi_rdm_match_class *now[2];
	uint32_t active; /* bits of the active classes */
	/* Class of the last receive with a source, and without one. */
	struct ofi_rdm_match_class *recent[2];
	/* Number of messages that were compared with several classes. */
	uint32_t arrivals;
	/* The receives without a class, which are numbered as class OFI_RDM_MATCH_CLASSES. */
	struct ofi_rdm_match_node *rest;
	struct ofi_rdm_match_class classes[OFI_RDM_MATCH_CLASSES + 1];
	struct ofi_rdm_match_class shut; /* a placeholder to which nothing is ever posted */

	/* Unexpected messages. */
	size_t msg_count;
	struct ofi_rdm_match_msgs msgs; /* in the order of arrival */
	struct ofi_rdm_match_msgs claimed;
	struct ofi_rdm_match_hash indexed;
	uint32_t armed; /* bits of the indexes in use */
	uint64_t searches;
	uint64_t used[OFI_RDM_MATCH_INDEXES]; /* number of the last search in each index */
	struct ofi_rdm_match_class indexes[OFI_RDM_MATCH_INDEXES];
};

/*
 * Initializes with two zeroed arrays of 1 << bits buckets. Lookups stay fast with about as many
 * buckets as receives.
 */
void ofi_rdm_match_init(struct ofi_rdm_match *m, struct ofi_rdm_match_node **recvs,
			struct ofi_rdm_match_node **msgs, unsigned int bits);

struct ofi_rdm_match_msg *ofi_rdm_match_post_many(struct ofi_rdm_match *m,
						  struct ofi_rdm_match_recv *recv, uint32_t src,
						  uint64_t tag, uint64_t ignore);
struct ofi_rdm_match_recv *ofi_rdm_match_arrive_many(struct ofi_rdm_match *m, uint32_t src,
						     uint64_t tag);
/* Removes a posted receive. */
void ofi_rdm_match_remove(struct ofi_rdm_match *m, struct ofi_rdm_match_recv *recv);
/*
 * Removes and returns a receive with the context, the earliest one among those with its key; NULL
 * if there is none. Scans all receives.
 */
struct ofi_rdm_match_recv *ofi_rdm_match_cancel(struct ofi_rdm_match *m, const void *context);
/* Returns true if a posted receive names this source. Scans all receives. */
bool ofi_rdm_match_awaits(const struct ofi_rdm_match *m, uint32_t src);
/* Returns some posted receive, so that the table can be emptied; NULL if there is none. */
struct ofi_rdm_match_recv *ofi_rdm_match_first_recv(const struct ofi_rdm_match *m);
size_t ofi_rdm_match_recv_count(const struct ofi_rdm_match *m);

/* Add a queued message to the indexes, and remove it from them. */
void ofi_rdm_match_index(struct ofi_rdm_match *m, struct ofi_rdm_match_msg *msg);
void ofi_rdm_match_unindex(struct ofi_rdm_match *m, struct ofi_rdm_match_msg *msg);
/* Returns the first matching message and leaves it queued (FI_PEEK); NULL if there is none. */
struct ofi_rdm_match_msg *ofi_rdm_match_peek(struct ofi_rdm_match *m, uint32_t src, uint64_t tag,
					     uint64_t ignore);
static inline bool ofi_rdm_match_takes(const struct ofi_rdm_match_msg *msg, uint32_t src,
				       uint64_t tag, uint64_t ignore)
{
	return !((msg->tag ^ tag) & ~ignore) && (src == OFI_RDM_MATCH_ANY || src == msg->src);
}

/*
 * Returns the oldest message if it matches the receive, else NULL; leaves it queued. Receiving in
 * the order of arrival therefore needs no index.
 */
static inline struct ofi_rdm_match_msg *
ofi_rdm_match_oldest(const struct ofi_rdm_match *m, uint32_t src, uint64_t tag, uint64_t ignore)
{
	struct ofi_rdm_match_msg *msg = TAILQ_FIRST(&m->msgs);

	return msg && ofi_rdm_match_takes(msg, src, tag, ignore) ? msg : NULL;
}

/*
 * Removes a queued message and keeps it for a later receive with the context (FI_PEEK | FI_CLAIM).
 */
void ofi_rdm_match_claim(struct ofi_rdm_match *m, struct ofi_rdm_match_msg *msg, void *context);
/*
 * Returns the message claimed with the context and ends the claim (FI_CLAIM); NULL if there is
 * none.
 */
struct ofi_rdm_match_msg *ofi_rdm_match_take_claim(struct ofi_rdm_match *m, const void *context);
/* Removes a message if it is queued or claimed. Returns false if it is neither. */
bool ofi_rdm_match_forget(struct ofi_rdm_match *m, struct ofi_rdm_match_msg *msg);

static inline struct ofi_rdm_match_node **
ofi_rdm_match_bucket(const struct ofi_rdm_match_hash *hash, uint64_t tag, uint64_t from)
{
	uint64_t mixed = (tag + from * 0x2c1b3c6d) * 0x9e3779b97f4a7c15ULL;

	return &hash->buckets[mixed >> hash->shift];
}

/*
 * Returns the address of the pointer to the first node of the key's group, or where that pointer
 * belongs.
 */
static inline struct ofi_rdm_match_node **ofi_rdm_match_find(const struct ofi_rdm_match_hash *hash,
							     uint64_t tag, uint64_t from)
{
	struct ofi_rdm_match_node **link = ofi_rdm_match_bucket(hash, tag, from);

	while (*link && ((*link)->tag != tag || (*link)->from != from))
		link = &(*link)->chain;
	return link;
}

/* Appends a node to the group at *link. */
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

/* Removes the first node, *link, from its group. */
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

/* Adds a receive to the table; `from` is kind->from ORed with the source. */
static inline void ofi_rdm_match_add(struct ofi_rdm_match *m, struct ofi_rdm_match_class *kind,
				     struct ofi_rdm_match_recv *recv, uint64_t from, uint64_t tag)
{
	kind->count++;
	recv->node.tag = tag & kind->keep;
	recv->node.from = from;
	ofi_rdm_match_append(ofi_rdm_match_find(&m->recvs, recv->node.tag, from), &recv->node);
}

/*
 * Posts a receive of a class in m->now[] if no message is queued and the receive belongs to the
 * class. Otherwise returns false and does nothing.
 */
static inline bool ofi_rdm_match_post_from(struct ofi_rdm_match *m,
					   struct ofi_rdm_match_class *kind,
					   struct ofi_rdm_match_recv *recv, uint64_t from,
					   uint64_t tag, uint64_t ignore)
{
	if (ofi_unlikely(((kind->ignore ^ ignore) | kind->shut) != 0))
		return false;
	ofi_rdm_match_add(m, kind, recv, from, tag);
	return true;
}

/*
 * Removes and returns the earliest message that matches the receive. If there is none, posts the
 * receive and returns NULL.
 */
static inline struct ofi_rdm_match_msg *ofi_rdm_match_post(struct ofi_rdm_match *m,
							   struct ofi_rdm_match_recv *recv,
							   uint32_t src, uint64_t tag,
							   uint64_t ignore)
{
	struct ofi_rdm_match_class *kind = m->now[src == OFI_RDM_MATCH_ANY];

	if (ofi_rdm_match_post_from(m, kind, recv, kind->from | src, tag, ignore))
		return NULL;
	return ofi_rdm_match_post_many(m, recv, src, tag, ignore);
}

/* Returns true if several classes have to be searched, which is not done inline. */
static inline bool ofi_rdm_match_has_many(const struct ofi_rdm_match *m)
{
	return m->only == &m->shut;
}

/*
 * Finds the posted receive for a message. Finds none if several classes have to be searched;
 * ofi_rdm_match_arrive() does that.
 */
static inline struct ofi_rdm_match_node **ofi_rdm_match_look(const struct ofi_rdm_match *m,
							     uint32_t src, uint64_t tag)
{
	const struct ofi_rdm_match_class *kind = m->only;

	return ofi_rdm_match_find(&m->recvs, tag & kind->keep, kind->from | src);
}

/* Removes the receive that ofi_rdm_match_look() found. */
static inline void ofi_rdm_match_take(struct ofi_rdm_match *m, struct ofi_rdm_match_node **at)
{
	ofi_rdm_match_shift(at, *at);
	m->only->count--;
}

/*
 * Returns the earliest posted receive that matches and removes it unless it is sticky; NULL if
 * there is none.
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

/* Removes a queued message. */
static inline void ofi_rdm_match_drop(struct ofi_rdm_match *m, struct ofi_rdm_match_msg *msg)
{
	if (ofi_unlikely(m->armed))
		ofi_rdm_match_unindex(m, msg);
	TAILQ_REMOVE(&m->msgs, msg, order);
	msg->queued = false;
	if (--m->msg_count)
		return;
	m->armed = 0;
	if (!ofi_rdm_match_has_many(m))
		m->only->shut = 0;
}

/* Queues a message for which ofi_rdm_match_arrive() found no receive. */
static inline void ofi_rdm_match_queue(struct ofi_rdm_match *m, struct ofi_rdm_match_msg *msg)
{
	TAILQ_INSERT_TAIL(&m->msgs, msg, order);
	msg->queued = true;
	if (!m->msg_count++)
		m->now[0]->shut = m->now[1]->shut = 1;
	if (ofi_unlikely(m->armed))
		ofi_rdm_match_index(m, msg);
}

#endif
