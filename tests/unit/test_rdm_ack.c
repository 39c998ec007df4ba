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
	.first = 1000, .min = 100, .max = 20000, .delay = 30, .every = 4, .silence = SILENCE
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
	struct ofi_rdm_seq_node *kept = ofi_rdm_seq_begin(&n->in, incarnation, first);

	for (; kept; kept = kept->next)
		w.used &= ~bit_of((struct packet *)kept);
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
		.words = n->in.incarnation,
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

	if (!ofi_rdm_seq_out_open(&n->ack.out))
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

	if (other->in.incarnation == n->incarnation && n->peer == other->incarnation)
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
	enum ofi_rdm_seq_verdict verdict = ofi_rdm_seq_arrive(&n->in, p->from, p->number, &p->node);

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

/* A simplified version of hello.h. Returns false if the packet is dropped. */
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
	if (n->in.incarnation != p->from)
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
	uint32_t sent = n->ack.out.next - n->first;

	assert_null(n->ack.first);
	assert_int_equal(n->ack.out.oldest, n->ack.out.next);
	/* The other node may have restarted without this node learning about it. */
	if (other->in.incarnation != n->incarnation || n->peer != other->incarnation) {
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

static void ack_now(struct ofi_rdm_ack *ack, uint32_t next, uint64_t early, uint32_t echo,
		    uint64_t now, struct ofi_rdm_ack_news *news)
{
	const struct ofi_rdm_ack_words words = { .next = next, .early = early, .echo = echo };

	assert_true(ofi_rdm_ack_take(ack, &words, now, news));
}

/* Peers that lose the same packets again and again soon send them at different times. */
static void test_spread(void **state)
{
	enum { PEERS = 1000, TIMES = 4, LAST = 1000 << TIMES, PARTS = 16 };
	uint32_t i, times, parts[PARTS] = { 0 };
	struct ofi_rdm_ack_node node, *again;
	struct ofi_rdm_ack ack;
	uint64_t wait, now;

	(void)state;
	w.random = 1;
	for (i = 0; i < PEERS; i++) {
		ofi_rdm_ack_init(&ack, &params, any_of(UINT32_MAX));
		ofi_rdm_ack_sent(&ack, &node, 0);
		assert_int_equal(ack.timer, 1000);
		for (times = 1; times <= TIMES; times++) {
			now = ack.timer;
			assert_int_equal(ofi_rdm_ack_due(&ack, now, &again), OFI_RDM_ACK_TIMEOUT);
			wait = ack.timer - now;
			assert_in_range(wait, 500 << times, 1000 << times);
		}
		parts[(LAST - wait) * PARTS / (LAST / 2 + 1)]++;
	}
	for (i = 0; i < PARTS; i++)
		assert_in_range(parts[i], PEERS / PARTS / 2, 2 * PEERS / PARTS);
}

/* RFC 6298: the first and second samples, and the timeout with backoff and bounds. */
static void test_timeout(void **state)
{
	struct ofi_rdm_ack_node node, *again;
	struct ofi_rdm_ack_news news;
	struct ofi_rdm_ack ack;
	uint32_t most;
	int i;

	(void)state;
	ofi_rdm_ack_init(&ack, &params, 0);
	assert_int_equal(ofi_rdm_ack_timeout(&ack), 1000);
	assert_true(ofi_rdm_ack_next(&ack) == OFI_RDM_ACK_NEVER);
	ofi_rdm_ack_sent(&ack, &node, 0);
	ack_now(&ack, 1, 0, 1, 400, &news);
	assert_int_equal(news.rtt, 400);
	assert_int_equal(ofi_rdm_ack_timeout(&ack), 400 + 4 * 200 + 30);
	ofi_rdm_ack_sent(&ack, &node, 1000);
	ack_now(&ack, 2, 0, 2, 1800, &news);
	/* 7/8 of 400 and 1/8 of 800; 3/4 of 200 and 1/4 of 400. */
	assert_int_equal(ofi_rdm_ack_timeout(&ack), 450 + 4 * 250 + 30);
	ofi_rdm_ack_sent(&ack, &node, 2000);
	assert_int_equal(ofi_rdm_ack_next(&ack), 2000 + 1480);
	assert_int_equal(ofi_rdm_ack_due(&ack, 3479, &again), OFI_RDM_ACK_NOTHING);
	for (i = 1; i < 8; i++) {
		assert_int_equal(ofi_rdm_ack_due(&ack, ack.timer, &again), OFI_RDM_ACK_TIMEOUT);
		assert_ptr_equal(again, &node);
		most = 1480u << i < 20000 ? 1480u << i : 20000;
		assert_in_range(ofi_rdm_ack_timeout(&ack), most / 2, most);
	}
	/* An acknowledgement of an earlier copy is not a sample, and ends the backoff. */
	ack_now(&ack, 3, 0, 4, node.sent + 100, &news);
	assert_int_equal(news.rtt, 0);
	assert_int_equal(news.count, 1);
	assert_int_equal(ofi_rdm_ack_timeout(&ack), 1480);
}

static void send_many(struct ofi_rdm_ack *ack, struct ofi_rdm_ack_node *nodes, int count)
{
	int i;

	for (i = 0; i < count; i++)
		ofi_rdm_ack_sent(ack, &nodes[i], (uint64_t)i);
}

/* Fast retransmit after three later transmissions, also when the retransmission is lost. */
static void test_fast(void **state)
{
	struct ofi_rdm_ack_node nodes[12], *again;
	struct ofi_rdm_ack_news news;
	struct ofi_rdm_ack ack;

	(void)state;
	ofi_rdm_ack_init(&ack, &params, 0);
	send_many(&ack, nodes, 8);
	ack_now(&ack, 0, 6, 3, 10, &news);
	assert_int_equal(news.count, 2);
	assert_int_equal(ofi_rdm_ack_due(&ack, 10, &again), OFI_RDM_ACK_NOTHING);
	ack_now(&ack, 0, 14, 4, 11, &news);
	assert_int_equal(ofi_rdm_ack_due(&ack, 11, &again), OFI_RDM_ACK_RESEND);
	assert_ptr_equal(again, &nodes[0]);
	assert_int_equal(again->order, 9);
	assert_int_equal(ofi_rdm_ack_due(&ack, 11, &again), OFI_RDM_ACK_NOTHING);
	send_many(&ack, nodes + 8, 3);
	ack_now(&ack, 0, 0x7fe, 12, 20, &news);
	assert_int_equal(ofi_rdm_ack_due(&ack, 20, &again), OFI_RDM_ACK_RESEND);
	assert_ptr_equal(again, &nodes[0]);
	ack_now(&ack, 11, 0, again->order, 30, &news);
	assert_int_equal(news.rtt, 10);
	assert_null(ack.first);
}

/* After a spurious retransmission the threshold is higher. */
static void test_reorder(void **state)
{
	struct ofi_rdm_ack_node nodes[12], *again;
	struct ofi_rdm_ack_words words = { .next = 0, .early = 0xe, .echo = 4 };
	struct ofi_rdm_ack_news news;
	struct ofi_rdm_ack ack;

	(void)state;
	ofi_rdm_ack_init(&ack, &params, 0);
	send_many(&ack, nodes, 8);
	assert_true(ofi_rdm_ack_take(&ack, &words, 10, &news));
	assert_int_equal(ofi_rdm_ack_due(&ack, 10, &again), OFI_RDM_ACK_RESEND);
	words = (struct ofi_rdm_ack_words){ .next = 4, .early = 0xe, .echo = 9, .doubles = 1 };
	assert_true(ofi_rdm_ack_take(&ack, &words, 11, &news));
	assert_int_equal(ofi_rdm_ack_due(&ack, 11, &again), OFI_RDM_ACK_NOTHING);
	/* The remaining packet still times out. */
	assert_int_equal(ofi_rdm_ack_due(&ack, 5000, &again), OFI_RDM_ACK_TIMEOUT);
	assert_ptr_equal(again, &nodes[4]);
}

/* The late arrival of the original does not acknowledge the retransmission. */
static void test_copies(void **state)
{
	struct ofi_rdm_ack_node nodes[8], *again;
	struct ofi_rdm_ack_news news;
	struct ofi_rdm_ack ack;

	(void)state;
	ofi_rdm_ack_init(&ack, &params, 0);
	send_many(&ack, nodes, 8);
	ack_now(&ack, 0, 0xe, 4, 10, &news);
	assert_int_equal(ofi_rdm_ack_due(&ack, 10, &again), OFI_RDM_ACK_RESEND);
	ack_now(&ack, 4, 0, 4, 11, &news);
	assert_int_equal(news.count, 1);
	assert_int_equal(news.rtt, 0);
	assert_int_equal(ofi_rdm_ack_due(&ack, 11, &again), OFI_RDM_ACK_NOTHING);
}

static void test_lies(void **state)
{
	static const struct ofi_rdm_ack_words lies[] = {
		{ .next = 4 },
		{ .next = 0x7fffffff },
		{ .next = 1, .early = 1 << 2 },
		{ .next = 0, .early = 1ULL << 63 },
		{ .next = 3, .early = 1 },
		{ .next = 1, .echo = 4 },
		{ .next = 1, .echo = 0x7fffffff },
	};
	struct ofi_rdm_ack_node nodes[3];
	struct ofi_rdm_ack_news news;
	struct ofi_rdm_ack ack;
	size_t i;

	(void)state;
	ofi_rdm_ack_init(&ack, &params, 0);
	send_many(&ack, nodes, 3);
	for (i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		assert_false(ofi_rdm_ack_take(&ack, &lies[i], 50, &news));
		assert_int_equal(ack.last_arrival, 0);
	}
	/* Outdated acknowledgements are valid: they may have been reordered. */
	ack_now(&ack, 2, 0, 2, 50, &news);
	ack_now(&ack, 1, 0, 1, 51, &news);
	ack_now(&ack, 0x90000000, 1ULL << 63, 0, 52, &news);
	assert_int_equal(news.count, 0);
	assert_int_equal(ack.out.oldest, 2);
}

/* Acknowledgements are delayed, except after a gap or a duplicate. */
static void test_delayed(void **state)
{
	struct ofi_rdm_seq_node node;
	struct ofi_rdm_seq_in in = { .incarnation = 0 };
	struct ofi_rdm_ack_words words;
	struct ofi_rdm_ack ack;
	uint32_t i;

	(void)state;
	ofi_rdm_ack_init(&ack, &params, 0);
	ofi_rdm_seq_begin(&in, 1, 0);
	for (i = 0; i < 3; i++) {
		ofi_rdm_ack_arrived(&ack, &in, i + 1, ofi_rdm_seq_arrive(&in, 1, i, &node), 100);
		assert_false(ofi_rdm_ack_is_owed(&ack, 129));
		assert_true(ofi_rdm_ack_is_owed(&ack, 130));
	}
	ofi_rdm_ack_arrived(&ack, &in, 4, ofi_rdm_seq_arrive(&in, 1, 3, &node), 110);
	assert_true(ofi_rdm_ack_is_owed(&ack, 110));
	ofi_rdm_ack_fill(&ack, &in, &words);
	assert_int_equal(words.next, 4);
	assert_int_equal(words.echo, 4);
	assert_true(ofi_rdm_ack_next(&ack) == OFI_RDM_ACK_NEVER);
	/* A gap, then a duplicate. */
	ofi_rdm_ack_arrived(&ack, &in, 6, ofi_rdm_seq_arrive(&in, 1, 5, &node), 120);
	assert_true(ofi_rdm_ack_is_owed(&ack, 120));
	ofi_rdm_ack_fill(&ack, &in, &words);
	assert_int_equal(words.early, 2);
	ofi_rdm_ack_arrived(&ack, &in, 7, ofi_rdm_seq_arrive(&in, 1, 2, &node), 130);
	assert_true(ofi_rdm_ack_is_owed(&ack, 130));
	ofi_rdm_ack_fill(&ack, &in, &words);
	assert_int_equal(words.doubles, 1);
	assert_int_equal(words.echo, 7);
}

/* A silent peer is given up exactly after the configured time. */
static void test_silence(void **state)
{
	struct ofi_rdm_ack_node node, *again;
	enum ofi_rdm_ack_due due;
	struct ofi_rdm_ack ack;
	uint64_t now = 7000;
	int sent = 0;

	(void)state;
	ofi_rdm_ack_init(&ack, &params, 0);
	ofi_rdm_ack_sent(&ack, &node, now);
	for (;;) {
		now = ofi_rdm_ack_next(&ack);
		due = ofi_rdm_ack_due(&ack, now, &again);
		if (due == OFI_RDM_ACK_GIVE_UP)
			break;
		assert_int_equal(due, OFI_RDM_ACK_TIMEOUT);
		sent++;
	}
	assert_int_equal(now, 7000 + SILENCE);
	assert_true(sent > 10 && sent < 25);
}

static void test_size(void **state)
{
	(void)state;
	assert_true(sizeof(struct ofi_rdm_ack) <= 128);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_schedules), cmocka_unit_test(test_timeout),
		cmocka_unit_test(test_spread),	  cmocka_unit_test(test_fast),
		cmocka_unit_test(test_reorder),	  cmocka_unit_test(test_lies),
		cmocka_unit_test(test_delayed),	  cmocka_unit_test(test_silence),
		cmocka_unit_test(test_size),	  cmocka_unit_test(test_copies),
	};

	return cmocka_run_group_tests_name("rdm_ack", tests, NULL, NULL);
}
