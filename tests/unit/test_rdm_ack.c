/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Acknowledgements in schedules driven by a seed: two nodes exchange packets over a wire that
 * drops, duplicates, delays and reorders them, and nodes restart. The oracle checks that each pair
 * of incarnations delivers 0, 1, 2 and so on, that acknowledged packets have arrived, and that
 * without restarts all packets arrive. WEFT_SEEDS=N runs N schedules.
 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "prov/rdm/ack.h"

enum { WIRE = 64, STEPS = 30, SILENCE = 300000 };

struct buffer {
	struct ofi_rdm_ack_node node; /* first */
	bool used;
};

struct node {
	uint32_t incarnation, peer; /* its own, and the last known one of the other node */
	uint32_t hears; /* the incarnation whose packets it takes; 0: no packet has arrived */
	uint32_t first;
	uint32_t delivered;
	struct ofi_rdm_seq_in in;
	struct ofi_rdm_ack ack;
	struct buffer buffers[OFI_RDM_SEQ_WINDOW];
};

struct packet {
	struct ofi_rdm_seq_node node; /* first */
	uint64_t due;
	int dst;
	uint32_t from, to; /* incarnations */
	bool data, words;  /* what the packet contains */
	uint32_t first, number, order;
	struct ofi_rdm_ack_words said;
};

static const struct ofi_rdm_ack_params params = {
	.first = 1000,
	.min = 100,
	.max = 20000,
	.delay = 30,
	.every = 4,
	.silence = SILENCE,
	.reorder = 3,
};

static struct {
	uint64_t random, now;
	uint32_t incarnations;
	uint32_t loss; /* one packet in this many is lost; 0: none */
	bool restarted;
	struct node nodes[2];
	struct packet packets[WIRE];
	uint64_t used, on_wire;
	uint64_t resent, timeouts, doubles, restarts, alone, measured;
} w;

static uint32_t any_of(uint32_t n)
{
	w.random ^= w.random << 13;
	w.random ^= w.random >> 7;
	w.random ^= w.random << 17;
	return (uint32_t)((w.random >> 32) * n >> 32);
}

static uint64_t bit_of(const struct packet *p)
{
	return 1ULL << (p - w.packets);
}

/* Starts new sequence numbers; earlier packets will not be acknowledged. */
static void start_sending(struct node *n)
{
	int i;

	n->first = any_of(2) ? 0u - any_of(20) : any_of(UINT32_MAX);
	ofi_rdm_ack_init(&n->ack, &params, n->first);
	for (i = 0; i < OFI_RDM_SEQ_WINDOW; i++)
		n->buffers[i].used = false;
}

static void begin(struct node *n, uint32_t incarnation, uint32_t first)
{
	struct ofi_rdm_seq_node *kept = ofi_rdm_seq_begin(&n->in, first);

	for (; kept; kept = kept->next)
		w.used &= ~bit_of((struct packet *)kept);
	n->hears = incarnation;
	n->delivered = 0;
}

/* A restarted node knows the incarnation of the other node, but not vice versa. */
static void start_node(struct node *n)
{
	begin(n, 0, 0);
	n->incarnation = ++w.incarnations;
	n->peer = w.nodes[n == w.nodes].incarnation;
	start_sending(n);
}

static void put_on_wire(const struct packet *p)
{
	struct packet *to = &w.packets[any_of(WIRE)];

	if (w.used & bit_of(to) || (w.loss && !any_of(w.loss)))
		return;
	*to = *p;
	to->due = w.now + 5 + any_of(any_of(8) ? 40 : 2000);
	w.used |= bit_of(to);
	w.on_wire |= bit_of(to);
}

/* Sends a data packet, or an acknowledgement only if node is NULL. */
static void transmit(struct node *n, const struct ofi_rdm_ack_node *node)
{
	struct packet p = {
		.dst = n == w.nodes,
		.from = n->incarnation,
		.to = n->peer,
		.data = node,
		.words = n->hears,
		.first = n->first,
	};

	if (node) {
		p.number = node->number;
		p.order = node->order;
	}
	ofi_rdm_ack_fill(&n->ack, &n->in, &p.said);
	put_on_wire(&p);
	if (!any_of(8))
		put_on_wire(&p);
}

static void send_new(struct node *n)
{
	struct buffer *b = n->buffers;

	if (!ofi_rdm_ack_is_open(&n->ack))
		return;
	while (b->used)
		b++;
	b->used = true;
	ofi_rdm_ack_sent(&n->ack, &b->node, w.now);
	transmit(n, &b->node);
}

/* Checks that the packet has arrived, unless a node restarted. */
static void check_arrived(const struct node *n, uint32_t number)
{
	const struct node *other = &w.nodes[n == w.nodes];
	int32_t at = ofi_rdm_seq_distance(other->in.next, number);

	if (other->hears == n->incarnation && n->peer == other->incarnation)
		assert_true(at < 0 || (other->in.early >> at & 1));
}

static void take_words(struct node *n, const struct ofi_rdm_ack_words *words)
{
	struct ofi_rdm_ack_news news;
	struct ofi_rdm_ack_node *node;

	assert_true(ofi_rdm_ack_take(&n->ack, words, w.now, &news));
	w.measured += news.rtt > 0;
	for (node = news.done; node; node = node->next, news.count--) {
		assert_true(((struct buffer *)node)->used);
		((struct buffer *)node)->used = false;
		check_arrived(n, node->number);
	}
	assert_int_equal(news.count, 0);
}

static void deliver(struct node *n, struct packet *p)
{
	assert_int_equal(p->number - p->first, n->delivered);
	n->delivered++;
	w.used &= ~bit_of(p);
}

static void take_data(struct node *n, struct packet *p)
{
	uint32_t order = p->order;
	enum ofi_rdm_seq_verdict verdict = ofi_rdm_seq_arrive(&n->in, p->number, &p->node);

	assert_true(verdict <= OFI_RDM_SEQ_DUPLICATE);
	w.doubles += verdict == OFI_RDM_SEQ_DUPLICATE;
	if (verdict == OFI_RDM_SEQ_KEEP)
		w.used |= bit_of(p);
	if (verdict == OFI_RDM_SEQ_DELIVER) {
		deliver(n, p);
		while ((p = (struct packet *)ofi_rdm_seq_pop(&n->in)))
			deliver(n, p);
	}
	ofi_rdm_ack_arrived(&n->ack, &n->in, order, verdict, w.now);
}

/* Learns the incarnations of both nodes. Returns false if the packet is dropped. */
static bool meet(struct node *n, const struct packet *p)
{
	if (p->from < n->peer)
		return false;
	if (p->to != n->incarnation) {
		transmit(n, NULL);
		return false;
	}
	if (p->from > n->peer) {
		start_sending(n);
		n->peer = p->from;
	}
	if (n->hears != p->from)
		begin(n, p->from, p->first);
	return true;
}

static void arrive(struct packet *p)
{
	struct node *n = &w.nodes[p->dst];

	w.on_wire &= ~bit_of(p);
	w.used &= ~bit_of(p);
	if (!meet(n, p))
		return;
	if (p->words)
		take_words(n, &p->said);
	if (p->data)
		take_data(n, p);
}

static void work(struct node *n)
{
	struct ofi_rdm_ack_node *node;
	enum ofi_rdm_ack_due due;

	while ((due = ofi_rdm_ack_due(&n->ack, w.now, &node)) != OFI_RDM_ACK_NOTHING) {
		assert_int_not_equal(due, OFI_RDM_ACK_GIVE_UP);
		w.timeouts += due == OFI_RDM_ACK_TIMEOUT;
		w.resent++;
		transmit(n, node);
	}
	if (ofi_rdm_ack_is_owed(&n->ack, w.now)) {
		w.alone++;
		transmit(n, NULL);
	}
	assert_true(ofi_rdm_ack_next(&n->ack) > w.now);
}

static void pass_time(uint64_t until)
{
	uint64_t left;
	struct packet *p;

	w.now = until;
	for (left = w.on_wire; left; left &= left - 1) {
		p = &w.packets[__builtin_ctzll(left)];
		if (p->due <= w.now)
			arrive(p);
	}
	work(&w.nodes[0]);
	work(&w.nodes[1]);
}

/* Returns the time of the next event, or OFI_RDM_ACK_NEVER. */
static uint64_t next_event(void)
{
	uint64_t left, next = ofi_rdm_ack_next(&w.nodes[0].ack);
	uint64_t other = ofi_rdm_ack_next(&w.nodes[1].ack);

	next = other < next ? other : next;
	for (left = w.on_wire; left; left &= left - 1) {
		other = w.packets[__builtin_ctzll(left)].due;
		next = other < next ? other : next;
	}
	return next;
}

static void settle(void)
{
	uint64_t next;

	while ((next = next_event()) != OFI_RDM_ACK_NEVER)
		pass_time(next > w.now ? next : w.now);
}

static void check_all(const struct node *n)
{
	const struct node *other = &w.nodes[n == w.nodes];
	uint32_t sent = n->ack.next - n->first;

	assert_null(n->ack.first);
	assert_int_equal(n->ack.oldest, n->ack.next);
	/* The other node may have restarted without this node learning about it. */
	if (other->hears != n->incarnation || n->peer != other->incarnation) {
		assert_true(!sent || w.restarted);
		return;
	}
	assert_int_equal(other->delivered, sent);
	assert_int_equal(other->in.early, 0);
}

static void run(uint64_t seed)
{
	int i;

	w.random = (seed + 1) * 0x9e3779b97f4a7c15ULL;
	w.loss = 3 + any_of(20);
	w.restarted = false;
	start_node(&w.nodes[0]);
	start_node(&w.nodes[1]);
	w.nodes[0].peer = w.nodes[1].incarnation;
	for (i = 0; i < STEPS; i++) {
		if (any_of(3))
			send_new(&w.nodes[any_of(4) == 0]);
		else
			pass_time(w.now + any_of(60));
		if (seed & 1 && !any_of(30)) {
			w.restarts++;
			w.restarted = true;
			start_node(&w.nodes[any_of(2)]);
		}
	}
	w.loss = seed & 2 ? w.loss : 0;
	settle();
	check_all(&w.nodes[0]);
	check_all(&w.nodes[1]);
	assert_true(!w.used || w.restarted);
}

static void test_schedules(void **state)
{
	const char *seeds = getenv("WEFT_SEEDS");
	uint64_t seed, count = seeds ? strtoull(seeds, NULL, 0) : 300000;

	(void)state;
	for (seed = 0; seed < count; seed++)
		run(seed);
	print_message("sent again %llu, of these by timeout %llu; doubled %llu, restarts %llu, "
		      "measured %llu, acknowledgements alone %llu\n",
		      (unsigned long long)w.resent, (unsigned long long)w.timeouts,
		      (unsigned long long)w.doubles, (unsigned long long)w.restarts,
		      (unsigned long long)w.measured, (unsigned long long)w.alone);
	assert_true(count < 100 || (w.resent > w.timeouts && w.timeouts && w.doubles &&
				    w.restarts && w.measured && w.alone));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_schedules),
	};

	return cmocka_run_group_tests_name("rdm_ack", tests, NULL, NULL);
}
