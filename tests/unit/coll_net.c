/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The simulated network between collective engines. */
#include "unit.h"
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_errno.h>
#include "prov/base/coll_plan.h"
#include "coll_net.h"

fi_addr_t net_addr(size_t id)
{
	return 1000 + 7 * id;
}

unsigned net_random(struct net *net, unsigned below)
{
	net->seed = net->seed * 1664525u + 1013904223u;
	return (unsigned)(((uint64_t)(net->seed >> 4) * below) >> 28);
}

static void ready_add(struct net *net, struct net_item *item)
{
	if (net->ready_count == net->ready_room) {
		net->ready_room = 2 * net->ready_room + 64;
		net->ready = test_realloc(net->ready, net->ready_room * sizeof(*net->ready));
	}
	item->at = net->ready_count;
	net->ready[net->ready_count++] = item;
}

static struct net_item *item_new(struct net *net, enum net_what what, size_t from, size_t to,
				 uint64_t tag, size_t room)
{
	struct net_item *item = test_malloc(sizeof(*item) + room);

	memset(item, 0, sizeof(*item));
	item->what = what;
	item->from = from;
	item->to = to;
	item->tag = tag;
	item->at = SIZE_MAX;
	if (what == NET_MESSAGE || what == NET_EVENT)
		ready_add(net, item);
	else
		TAILQ_INSERT_TAIL(&net->member[to].waiting, item, link);
	return item;
}

static void item_free(struct net *net, struct net_item *item)
{
	if (item->at == SIZE_MAX) {
		TAILQ_REMOVE(&net->member[item->to].waiting, item, link);
	} else {
		net->ready[item->at] = net->ready[--net->ready_count];
		net->ready[item->at]->at = item->at;
	}
	test_free(item);
}

static struct net_item *item_find(struct net *net, enum net_what what, size_t from, size_t to,
				  uint64_t tag)
{
	struct net_item *item;

	TAILQ_FOREACH (item, &net->member[to].waiting, link)
		if (item->what == what && item->from == from && item->tag == tag)
			return item;
	return NULL;
}

/* Owner is who gets the completion. Sometimes it comes before the call returns. */
static void complete(struct net *net, size_t owner, void *cookie, size_t len, int err)
{
	struct net_item *item;

	if (net->member[owner].dead || !cookie)
		return;
	if (!net_random(net, 3)) {
		ofi_coll_event(cookie, len, err);
		return;
	}
	item = item_new(net, NET_EVENT, owner, owner, 0, 0);
	item->cookie = cookie;
	item->len = len;
	item->err = err;
}

static bool is_confirmation(uint64_t tag)
{
	return tag >> 63 && tag >> OFI_COLL_ROUND_BITS & 1;
}

static ssize_t net_send(void *arg, fi_addr_t to, uint64_t tag, const void *buf, size_t len,
			void *cookie)
{
	struct net_member *member = arg;
	struct net *net = member->net;
	struct net_item *item;
	size_t peer = (to - 1000) / 7;

	assert_true(peer < net->count && net_addr(peer) == to && peer != member->id);
	if (!net->calm && !net_random(net, 8))
		return -FI_EAGAIN;
	if (net->poor && !net->calm && net_random(net, 2))
		return -FI_ENOMEM;
	if (net->member[peer].dead && net_random(net, 2))
		return -FI_EHOSTDOWN;
	item = item_new(net, NET_MESSAGE, member->id, peer, tag, 0);
	item->src = net->lie && !member->id && is_confirmation(tag) ? net->lie : buf;
	item->len = len;
	item->cookie = cookie;
	net->messages++;
	net->bytes += len;
	return 0;
}

/* A message that has arrived is no longer needed: nor is its sender's memory. */
static void let_go(struct net *net, struct net_item *item, int err)
{
	struct net_item *event;

	if (item->cookie && !net->member[item->from].dead) {
		event = item_new(net, NET_EVENT, item->from, item->from, 0, 0);
		event->cookie = item->cookie;
		event->err = err;
	}
	item_free(net, item);
}

static ssize_t net_recv(void *arg, fi_addr_t from, uint64_t tag, void *buf, size_t len,
			void *cookie)
{
	struct net_member *member = arg;
	struct net *net = member->net;
	size_t peer = (from - 1000) / 7;
	struct net_item *item;

	assert_true(peer < net->count && net_addr(peer) == from && peer != member->id);
	if (!net->calm && !net_random(net, 8))
		return -FI_EAGAIN;
	if (net->poor && !net->calm && net_random(net, 2))
		return -FI_ENOMEM;
	assert_null(item_find(net, NET_POSTED, peer, member->id, tag));
	item = item_find(net, NET_UNEXPECTED, peer, member->id, tag);
	if (item) {
		size_t got = item->len;

		if (len && got)
			memcpy(buf, item->src, got < len ? got : len);
		let_go(net, item, 0);
		complete(net, member->id, cookie, got, got > len ? FI_ETRUNC : 0);
		return 0;
	}
	if (net->member[peer].dead)
		return -FI_EHOSTDOWN;
	item = item_new(net, NET_POSTED, peer, member->id, tag, 0);
	item->dst = buf;
	item->len = len;
	item->cookie = cookie;
	return 0;
}

static bool net_arrived(void *arg, fi_addr_t from, uint64_t tag)
{
	struct net_member *member = arg;

	return item_find(member->net, NET_UNEXPECTED, (from - 1000) / 7, member->id, tag);
}

/* What was sent arrives, from a copy. */
static void withdraw(struct net *net, struct net_item *item)
{
	struct net_item *copy;

	if (item->what == NET_MESSAGE) {
		copy = item_new(net, NET_MESSAGE, item->from, item->to, item->tag, item->len);
		copy->len = item->len;
		copy->src = copy->data;
		if (item->len)
			memcpy(copy->data, item->src, item->len);
	}
	item_free(net, item);
}

/* A message that its receiver has yet to read. */
static struct net_item *find_lent(struct net *net, const void *cookie)
{
	struct net_item *item;

	for (size_t i = 0; i < net->count; i++)
		TAILQ_FOREACH (item, &net->member[i].waiting, link)
			if (item->what == NET_UNEXPECTED && item->cookie == cookie)
				return item;
	return NULL;
}

static bool net_cancel(void *arg, void *cookie)
{
	struct net_member *member = arg;
	struct net *net = member->net;
	struct net_item *item;

	if (net->busy && net_random(net, 2))
		return false;
	for (size_t i = 0; i < net->ready_count; i++)
		if (net->ready[i]->cookie == cookie) {
			withdraw(net, net->ready[i]);
			return true;
		}
	TAILQ_FOREACH (item, &member->waiting, link)
		if (item->what == NET_POSTED && item->cookie == cookie) {
			item_free(net, item);
			return true;
		}
	assert_non_null(find_lent(net, cookie));
	return false;
}

static void net_sever(void *arg, void *cookie)
{
	struct net_member *member = arg;
	struct net_item *item = find_lent(member->net, cookie);

	if (!item)
		return;
	member->net->severed++;
	let_go(member->net, item, FI_ECONNABORTED);
}

static void net_purge(void *arg, fi_addr_t from, uint64_t tag, uint64_t ignore)
{
	struct net_member *member = arg;
	struct net_item *item, *next;

	for (item = TAILQ_FIRST(&member->waiting); item; item = next) {
		next = TAILQ_NEXT(item, link);
		if (item->what == NET_UNEXPECTED && net_addr(item->from) == from &&
		    !((item->tag ^ tag) & ~ignore))
			let_go(member->net, item, 0);
	}
}

static void net_done(void *arg, const struct ofi_coll_done *done)
{
	struct net_member *member = arg;

	member->done(member, done);
}

/* Whether the sender's memory is free again. */
static bool deliver(struct net *net, struct net_item *msg)
{
	struct net_item *posted = item_find(net, NET_POSTED, msg->from, msg->to, msg->tag), *item;
	size_t len = msg->len, from = msg->from, to = msg->to;
	void *cookie = msg->cookie;
	size_t room;

	if (posted) {
		room = posted->len;
		if (room && len)
			memcpy(posted->dst, msg->src, len < room ? len : room);
		item_free(net, msg);
		cookie = posted->cookie;
		item_free(net, posted);
		complete(net, to, cookie, len, len > room ? FI_ETRUNC : 0);
		return true;
	}
	assert_null(item_find(net, NET_UNEXPECTED, from, to, msg->tag));
	item = item_new(net, NET_UNEXPECTED, from, to, msg->tag, len);
	item->len = len;
	item->src = net->lent ? msg->src : item->data;
	item->cookie = net->lent ? cookie : NULL;
	if (!net->lent && len)
		memcpy(item->data, msg->src, len);
	item_free(net, msg);
	return !net->lent;
}

bool net_step(struct net *net)
{
	struct net_item *item, copy;

	if (!net->ready_count)
		return false;
	item = net->ready[net_random(net, (unsigned)net->ready_count)];
	copy = *item;
	if (item->what == NET_EVENT) {
		item_free(net, item);
		ofi_coll_event(copy.cookie, copy.len, copy.err);
		return true;
	}
	if (net->member[copy.to].dead)
		item_free(net, item);
	else if (!deliver(net, item))
		return true;
	complete(net, copy.from, copy.cookie, 0, net->member[copy.to].dead ? FI_EHOSTDOWN : 0);
	return true;
}

static void kill_at(struct net *net, size_t id, struct net_member *member)
{
	struct net_item *item, *next, *event;

	for (item = TAILQ_FIRST(&member->waiting); item; item = next) {
		next = TAILQ_NEXT(item, link);
		if (item->what != NET_POSTED || item->from != id)
			continue;
		event = item_new(net, NET_EVENT, member->id, member->id, 0, 0);
		event->cookie = item->cookie;
		event->err = FI_EHOSTDOWN;
		item_free(net, item);
	}
}

/* What it sent goes with it; who waits for it fails. */
void net_kill(struct net *net, size_t id)
{
	ofi_coll_free(net->member[id].coll);
	net->member[id].coll = NULL;
	net->member[id].dead = true;
	for (size_t i = 0; i < net->count; i++)
		kill_at(net, id, &net->member[i]);
}

struct net *net_new(size_t count, unsigned seed)
{
	static const struct ofi_coll_net calls = {
		.send = net_send,
		.recv = net_recv,
		.arrived = net_arrived,
		.cancel = net_cancel,
		.sever = net_sever,
		.purge = net_purge,
		.done = net_done,
		.max_msg = 1 << 26,
		.max_ops = 64,
	};
	struct net *net = test_calloc(1, sizeof(*net));

	net->count = count;
	net->member = test_calloc(count, sizeof(*net->member));
	net->seed = seed * 2654435761u + 1;
	for (size_t i = 0; i < count; i++) {
		net->member[i] = (struct net_member){ .net = net, .id = i };
		TAILQ_INIT(&net->member[i].waiting);
		net->member[i].coll = ofi_coll_new(&calls, &net->member[i]);
		assert_non_null(net->member[i].coll);
	}
	return net;
}

bool net_empty(const struct net *net)
{
	for (size_t i = 0; i < net->count; i++)
		if (!TAILQ_EMPTY(&net->member[i].waiting))
			return false;
	return !net->ready_count;
}

void net_free(struct net *net)
{
	for (size_t i = 0; i < net->count; i++)
		ofi_coll_free(net->member[i].coll);
	while (net->ready_count)
		item_free(net, net->ready[0]);
	for (size_t i = 0; i < net->count; i++)
		while (!TAILQ_EMPTY(&net->member[i].waiting))
			item_free(net, TAILQ_FIRST(&net->member[i].waiting));
	test_free(net->ready);
	test_free(net->member);
	test_free(net);
}
