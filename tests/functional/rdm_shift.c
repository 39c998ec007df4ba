/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * FI_VERBS_RDM_TRANSPORT=auto with FI_VERBS_MAX_CONN: an endpoint has more peers than queue pairs,
 * and others of them are busy after a while. The busy ones get the queue pairs, the others give
 * theirs back; messages, reads, writes and atomics of all are in order, once, and complete.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_stats.h>
#include "rdm_node.h"

enum {
	MOST = 2,
	PEERS = 6,
	PHASES = 4,
	AT_ONCE = 4,
	SHORT = 4000,
	LONG = 100000,
	REGION = 4096,
	RMA_EACH = 16,
	IDLE_MS = 3000, /* far more than a busy peer needs for a message, even on a slow machine */
	KEEP_MS = 100,
	POLLS = 50, /* between looks at the statistics */
};

struct place {
	struct node_name name;
	uint64_t addr, key;
	unsigned int number;
};

/* What the endpoint has of a peer: it sends back whatever comes. */
struct mirror {
	fi_addr_t to;
	unsigned int port;
	struct slot {
		struct mirror *mirror;
		uint8_t *buf;
		unsigned int number; /* of the message that it matches */
	} slots[AT_ONCE];
	unsigned int posted;
	uint8_t *region; /* a counter, and bytes */
};

/* A peer: messages that were sent, and those that came back. A tag has the number of both. */
struct peer {
	struct node node;
	struct place place;
	fi_addr_t to;
	unsigned int sent, back;
	uint64_t added, count;
	bool is_rma_done;
	struct echo {
		uint8_t *out, *in;
		unsigned int number;
		unsigned int under_way; /* of a message and its echo */
	} echoes[AT_ONCE];
	uint8_t bytes[REGION];
};

static size_t length(unsigned int i)
{
	return i % 20 == 19 ? LONG : i % 3 ? SHORT : 8;
}

static uint8_t *memory(size_t len)
{
	uint8_t *bytes = calloc(1, len);

	CHECK(bytes);
	return bytes;
}

static void peer_poll(struct peer *peer)
{
	struct fi_cq_tagged_entry entry;
	struct echo *echo;
	int err;

	while (node_poll(&peer->node, &entry, &err)) {
		EQUAL(err, 0);
		echo = entry.op_context;
		if (!echo) {
			peer->is_rma_done = true;
			continue;
		}
		if (entry.flags & FI_RECV) {
			EQUAL(entry.len, length(echo->number));
			CHECK_FILLED(echo->in, entry.len, echo->number);
		}
		peer->back += !--echo->under_way;
	}
}

static void await_rma(struct peer *peer)
{
	uint64_t until = deadline();

	for (peer->is_rma_done = false; !peer->is_rma_done;) {
		peer_poll(peer);
		pause_until(until, "a read, a write or an atomic");
	}
}

/* Returns true if the call has to be repeated. */
static bool is_full(struct peer *peer, ssize_t ret)
{
	if (ret != -FI_EAGAIN) {
		OK(ret);
		return false;
	}
	peer_poll(peer);
	return true;
}

/* The counter is behind the bytes. */
static void write_read_add(struct peer *peer)
{
	const struct place *place = &peer->place;
	uint64_t one = 1, before = 0;

	fill(peer->bytes, REGION, peer->sent);
	while (is_full(peer, fi_write(peer->node.ep, peer->bytes, REGION, NULL, peer->to,
				      place->addr, place->key, NULL)))
		;
	await_rma(peer);
	memset(peer->bytes, 0, REGION);
	while (is_full(peer, fi_read(peer->node.ep, peer->bytes, REGION, NULL, peer->to,
				     place->addr, place->key, NULL)))
		;
	await_rma(peer);
	CHECK_FILLED(peer->bytes, REGION, peer->sent);
	while (is_full(peer,
		       fi_fetch_atomic(peer->node.ep, &one, 1, NULL, &before, NULL, peer->to,
				       place->addr + REGION, place->key, FI_UINT64, FI_SUM, NULL)))
		;
	await_rma(peer);
	EQUAL(before, peer->added);
	peer->added++;
}

static void send_next(struct peer *peer)
{
	uint64_t tag = (uint64_t)peer->sent << 8 | peer->place.number;
	struct echo *echo = peer->echoes;
	size_t len = length(peer->sent);

	if (peer->sent % RMA_EACH == RMA_EACH - 1)
		write_read_add(peer);
	while (echo->under_way)
		echo++;
	echo->number = peer->sent++;
	echo->under_way = 2;
	fill(echo->out, len, echo->number);
	node_trecv(&peer->node, echo->in, LONG, tag, echo);
	while (is_full(peer, fi_tsend(peer->node.ep, echo->out, len, NULL, peer->to, tag, echo)))
		;
}

/* 'b': busy, 'i': idle, 'e': the end. */
static void peer_run(struct peer *peer, const struct child *parent)
{
	uint64_t next = 0;
	char word = 'i';

	while (word != 'e') {
		recv(parent->sock, &word, 1, MSG_DONTWAIT);
		peer_poll(peer);
		if (peer->sent - peer->back < (word == 'b' ? AT_ONCE : 1) &&
		    (word == 'b' || now_ms() >= next)) {
			next = now_ms() + IDLE_MS;
			send_next(peer);
		} else if (word != 'b') {
			sleep_ms(1);
		}
	}
}

static void peer(struct child *parent, void *arg)
{
	static struct peer self;
	uint64_t until;
	unsigned int i;

	(void)arg;
	node_open(&self.node, NULL);
	for (i = 0; i < AT_ONCE; i++) {
		self.echoes[i].out = memory(LONG);
		self.echoes[i].in = memory(LONG);
	}
	child_say(parent, &self.node.name, sizeof(self.node.name));
	child_hear(parent, &self.place, sizeof(self.place));
	self.to = node_know(&self.node, &self.place.name);
	peer_run(&self, parent);
	until = deadline();
	while (self.back != self.sent) {
		peer_poll(&self);
		pause_until(until, "the last messages");
	}
	child_say(parent, &self.added, sizeof(self.added));
	child_hear(parent, &i, 1);
	node_close(&self.node);
}

static struct mirror mirrors[PEERS];
static struct node hub;

/* Receives match messages in order. */
static void receive(struct slot *slot)
{
	slot->number = slot->mirror->posted++;
	OK(fi_trecv(hub.ep, slot->buf, LONG, NULL, FI_ADDR_UNSPEC,
		    (uint64_t)(slot->mirror - mirrors), ~(uint64_t)UINT8_MAX, slot));
}

static void hub_poll(void)
{
	struct fi_cq_tagged_entry entry;
	struct slot *slot;
	ssize_t ret;
	int err;

	while (node_poll(&hub, &entry, &err)) {
		EQUAL(err, 0);
		slot = entry.op_context;
		if (!(entry.flags & FI_RECV)) {
			receive(slot);
			continue;
		}
		EQUAL(entry.tag >> 8, slot->number);
		while ((ret = fi_tsend(hub.ep, slot->buf, entry.len, NULL, slot->mirror->to,
				       entry.tag, slot)) == -FI_EAGAIN)
			fi_cq_read(hub.cq, NULL, 0);
		OK(ret);
	}
}

static unsigned int number_of(const struct fi_stats_peer *peer)
{
	const char *port = strrchr(peer->address, ':');
	unsigned int i;

	CHECK(port);
	for (i = 0; i < PEERS && mirrors[i].port != (unsigned int)atoi(port + 1); i++)
		;
	CHECK(i < PEERS);
	return i;
}

/* Returns the bits of the peers with queue pairs. */
static unsigned int grown(void)
{
	struct fi_stats_attr attr = { .size = sizeof(attr) };
	struct fi_stats_peer at = { 0 };
	struct fi_ops_stats_process *ops;
	unsigned int bits = 0;
	struct fid *fid;
	int ret;

	OK(fi_open(FI_VERSION(2, 6), "stats", &attr, sizeof(attr), 0, &fid, NULL));
	OK(fi_open_ops(fid, FI_STATS_PROCESS_OPS, 0, (void **)&ops, NULL));
	while ((ret = ops->next_peer(fid, at.id, &at)) == 1)
		bits |= (unsigned int)!strcmp(at.transport, "rc") << number_of(&at);
	RETURNS(ret, 0);
	OK(fi_close(fid));
	return bits;
}

static void hub_open(struct child *children, struct fid_mr **mr)
{
	uint8_t *region = memory(PEERS * 2 * REGION);
	struct place place = { .addr = (uintptr_t)region };
	struct node_name name;
	unsigned int i, k;

	node_open(&hub, NULL);
	OK(fi_mr_reg(hub.domain, region, PEERS * 2 * REGION, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 0,
		     0, mr, NULL));
	place.name = hub.name;
	place.key = fi_mr_key(*mr);
	for (i = 0; i < PEERS; i++) {
		child_hear(&children[i], &name, sizeof(name));
		mirrors[i].to = node_know(&hub, &name);
		mirrors[i].port = ntohs(name.in.sin_port);
		mirrors[i].region = region + i * 2 * REGION;
		for (k = 0; k < AT_ONCE; k++) {
			mirrors[i].slots[k] =
				(struct slot){ .mirror = &mirrors[i], .buf = memory(LONG) };
			receive(&mirrors[i].slots[k]);
		}
		place.addr = (uintptr_t)mirrors[i].region;
		place.number = i;
		child_say(&children[i], &place, sizeof(place));
	}
}

static void await_grown(unsigned int want, uint64_t until)
{
	unsigned int i, have = 0;

	while (have != want) {
		for (i = 0; i < POLLS; i++)
			hub_poll();
		have = grown();
		CHECK(__builtin_popcount(have) <= MOST);
		pause_until(until, "the busy peers to have the queue pairs");
	}
}

static bool keeps(unsigned int want)
{
	uint64_t end = now_ms() + KEEP_MS;

	while (now_ms() < end)
		hub_poll();
	return grown() == want;
}

/*
 * Two peers are busy until they have the queue pairs, and for some time more. On a machine that is
 * busy itself, a busy peer may look idle at first.
 */
static void run_phase(struct child *children, unsigned int phase)
{
	unsigned int first = phase * MOST % PEERS, want = 3u << first, i;
	uint64_t until = deadline(), begin = now_ms();

	for (i = 0; i < PEERS; i++)
		child_say(&children[i], want >> i & 1 ? "b" : "i", 1);
	do
		await_grown(want, until);
	while (!keeps(want));
	printf("peers %u and %u have the queue pairs after %llu ms, %u are on the device\n", first,
	       first + 1, (unsigned long long)(now_ms() - begin), count_qps());
}

static void test(void)
{
	struct child children[PEERS];
	struct fid_mr *mr;
	unsigned int i;
	uint64_t added;

	for (i = 0; i < PEERS; i++)
		children[i] = child_start(peer, NULL);
	hub_open(children, &mr);
	for (i = 0; i < PHASES; i++)
		run_phase(children, i);
	for (i = 0; i < PEERS; i++)
		child_say(&children[i], "e", 1);
	for (i = 0; i < PEERS; i++) {
		while (recv(children[i].sock, &added, sizeof(added), MSG_DONTWAIT) < 0)
			hub_poll();
		EQUAL(*(uint64_t *)(void *)(mirrors[i].region + REGION), added);
	}
	CHECK(count_qps() <= 2 * MOST);
	for (i = 0; i < PEERS; i++)
		child_say(&children[i], "g", 1);
	for (i = 0; i < PEERS; i++)
		child_end(&children[i]);
	OK(fi_close(&mr->fid));
	node_close(&hub);
	EQUAL(count_qps(), 0);
}

int main(void)
{
	setenv("FI_VERBS_RDM_TRANSPORT", "auto", 1);
	setenv("FI_VERBS_MAX_CONN", "2", 1);
	return run_test(test);
}
