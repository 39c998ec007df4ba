/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Collective engines of many members in one process, and a simulated network between them. Driven
 * by a seed, it delays, reorders, refuses temporarily, completes at once or later, and loses
 * members.
 */
#ifndef COLL_NET_H
#define COLL_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include "prov/base/coll.h"

struct net;
struct net_item;

TAILQ_HEAD(net_items, net_item);

struct net_member {
	struct net *net;
	struct net_items waiting; /* posted receives and unexpected messages */
	struct ofi_coll *coll;
	size_t id;
	bool dead;
	void (*done)(struct net_member *member, const struct ofi_coll_done *done);
};

enum net_what { NET_MESSAGE, NET_POSTED, NET_UNEXPECTED, NET_EVENT };

/* A message in flight or arrived, a posted receive, or a completion to be reported. */
struct net_item {
	TAILQ_ENTRY(net_item) link; /* in the queue of items that wait for their counterparts */
	size_t at;		    /* index in net->ready, else SIZE_MAX */
	enum net_what what;
	size_t from, to;
	uint64_t tag;
	const void *src;
	void *dst;
	size_t len;
	void *cookie;
	int err;
	uint8_t data[];
};

struct net {
	size_t count;
	struct net_member *member;
	struct net_item **ready; /* messages and events that net_step() chooses from */
	size_t ready_count, ready_room;
	unsigned seed;
	bool calm; /* never returns -FI_EAGAIN */
	bool busy; /* sometimes refuses to cancel */
	bool poor; /* sometimes returns -FI_ENOMEM */
	bool lent; /* messages are read from the sender's memory when they are received */
	const uint64_t
		*lie; /* what member 0 sends instead in the second round of a join, or NULL */
	size_t severed;
	size_t messages, bytes;
};

struct net *net_new(size_t count, unsigned seed);
void net_free(struct net *net);
unsigned net_random(struct net *net, unsigned below);
/* Delivers one message or completion at random; returns false if there is none. */
bool net_step(struct net *net);
/* Returns true if nothing is in flight and nobody waits. */
bool net_empty(const struct net *net);
/* Kills a member: others that need it get an error. */
void net_kill(struct net *net, size_t id);
/* Returns the address of a member. */
fi_addr_t net_addr(size_t id);

#endif
