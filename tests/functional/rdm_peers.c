/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A hang can be diagnosed from outside: if the peer does not receive, is stopped or does not exist,
 * the statistics of the process show for each peer what it waits for.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_stats.h>
#include "rdm.h"
#include "rdm_node.h"

/* A flood that a device has no buffers for, even if a packet contains several messages. */
enum { LARGE = 1 << 20, TAG = 1, FLOOD = 4000, FLOOD_LEN = 1000 };

/* The order to the sender. */
struct order {
	struct node_name to;
	uint32_t len, count; /* makes progress until they are complete, or the next order arrives */
};

static uint8_t out[LARGE], in[LARGE];

static void send_many(struct node *node, const struct order *order, fi_addr_t to)
{
	struct fi_cq_tagged_entry entry;
	uint32_t sent = 0, done = 0;
	ssize_t ret;
	int err;

	while (done < order->count) {
		ret = sent < order->count ? fi_tsend(node->ep, out, order->len, NULL, to, TAG, NULL)
					  : -FI_EAGAIN;
		CHECK(!ret || ret == -FI_EAGAIN);
		sent += !ret;
		while (node_poll(node, &entry, &err))
			done++;
	}
}

static void sender(struct child *parent, void *arg)
{
	struct order order;
	struct node node;

	(void)arg;
	node_open(&node, NULL);
	for (;;) {
		child_hear(parent, &order, sizeof(order));
		if (!order.count)
			break;
		send_many(&node, &order, node_know(&node, &order.to));
	}
	node_close(&node);
}

/* The address as the statistics have it: without the scheme of its text form. */
static void name_text(const struct node *node, const struct node_name *name, char *text, size_t len)
{
	char *host;

	fi_av_straddr(node->av, name, text, &len);
	host = strstr(text, "://");
	CHECK(host);
	memmove(text, host + 3, strlen(host + 3) + 1);
}

static bool look(pid_t pid, const char *name, struct fi_stats_peer *found)
{
	struct fi_stats_attr attr = { .size = sizeof(attr), .pid = pid };
	struct fi_stats_peer peer = { 0 };
	struct fi_ops_stats_process *ops;
	bool there = false;
	struct fid *fid;
	int ret;

	if (fi_open(FI_VERSION(2, 6), "stats", &attr, sizeof(attr), 0, &fid, NULL))
		return false;
	OK(fi_open_ops(fid, FI_STATS_PROCESS_OPS, 0, (void **)&ops, NULL));
	while ((ret = ops->next_peer(fid, peer.id, &peer)) == 1)
		if (!strcmp(peer.address, name)) {
			*found = peer;
			there = true;
		}
	RETURNS(ret, 0);
	OK(fi_close(fid));
	return there;
}

static uint64_t item(const struct fi_stats_peer *peer, const char *name)
{
	uint32_t i;

	for (i = 0; i < peer->count; i++)
		if (!strcmp(peer->items[i].name, name))
			return peer->items[i].value;
	FAIL("there is no item %s", name);
}

/* Waits until the process reports for the peer that it waits in that state. */
static struct fi_stats_peer expect(pid_t pid, const char *name, const char *state,
				   const char *waits)
{
	struct fi_stats_peer peer = { 0 };
	uint64_t end = deadline();

	while (!look(pid, name, &peer) || strcmp(peer.state, state) ||
	       (*waits ? !strstr(peer.waits, waits) : *peer.waits)) {
		if (now_ms() > end)
			FAIL("a peer is %s and waits for \"%s\", not for \"%s\"", peer.state,
			     peer.waits, waits);
		sleep_ms(2);
	}
	CHECK(rdm_may_use(peer.transport));
	return peer;
}

/* Receives as many messages as it is told to, again and again. */
static void receiver(struct child *parent, void *arg)
{
	struct node node;
	uint32_t count, i;

	(void)arg;
	node_open(&node, NULL);
	child_say(parent, &node.name, sizeof(node.name));
	for (;;) {
		child_hear(parent, &count, sizeof(count));
		if (!count)
			break;
		for (i = 0; i < count; i++) {
			node_trecv(&node, in, sizeof(in), TAG, NULL);
			node_wait(&node);
		}
		child_say(parent, &count, sizeof(count));
	}
	node_close(&node);
}

static void receive(struct child *child, uint32_t count)
{
	child_say(child, &count, sizeof(count));
	child_hear(child, &count, sizeof(count));
}

static void test(void)
{
	struct child child = child_start(sender, NULL), other = child_start(receiver, NULL);
	struct order order = { .len = 8, .count = 1 };
	struct fi_stats_peer peer;
	struct node gone;
	char name[64];

	child_hear(&other, &order.to, sizeof(order.to));
	node_open(&gone, NULL);
	name_text(&gone, &order.to, name, sizeof(name));
	child_say(&child, &order, sizeof(order));
	receive(&other, 1);
	peer = expect(child.pid, name, "connected", "");
	CHECK(*peer.cause && item(&peer, "credits"));
	EQUAL(item(&peer, "queued"), 0);

	order.len = LARGE;
	child_say(&child, &order, sizeof(order));
	peer = expect(child.pid, name, "connected", "the peer to receive 1 messages");
	EQUAL(item(&peer, "queued"), 1);
	receive(&other, 1);
	expect(child.pid, name, "connected", "");

	order.len = FLOOD_LEN;
	order.count = FLOOD;
	CHECK(!kill(other.pid, SIGSTOP));
	child_say(&child, &order, sizeof(order));
	peer = expect(child.pid, name, "connected", "the peer to make progress");
	CHECK(item(&peer, "in_flight"));
	CHECK(!kill(other.pid, SIGCONT));
	receive(&other, FLOOD);
	expect(child.pid, name, "connected", "");

	order.to = gone.name;
	name_text(&gone, &gone.name, name, sizeof(name));
	order.count = 1;
	node_close(&gone);
	child_say(&child, &order, sizeof(order));
	peer = expect(child.pid, name, "waiting to connect", "Connection refused");
	CHECK(item(&peer, "retries"));
	EQUAL(item(&peer, "queued"), 1);
	child_kill(&child);
	child_say(&other, &(uint32_t){ 0 }, sizeof(uint32_t));
	child_end(&other);
}

int main(void)
{
	return run_test(test);
}
