/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Acknowledgments, rule by rule: timeouts, what is lost or needless, delays, silence, lies. */
#include "unit.h"

#include "prov/rdm/ack.h"

enum { SILENCE = 300000 };

static const struct ofi_rdm_ack_params params = {
	.first = 1000,
	.min = 100,
	.max = 20000,
	.delay = 30,
	.every = 4,
	.silence = SILENCE,
	.reorder = 3,
};

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
	for (i = 0; i < PEERS; i++) {
		ofi_rdm_ack_init(&ack, &params, i * 0x85ebca6b);
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
	/* An acknowledgement of the last copy is a sample, and ends the backoff. */
	ack_now(&ack, 3, 0, node.order, node.sent + 450, &news);
	assert_int_equal(news.count, 1);
	assert_false(news.needless);
	assert_int_equal(ofi_rdm_ack_timeout(&ack), 450 + 3 * 250 + 30);
}

/* If an earlier copy had arrived, the timeout was too short, and the backoff goes on. */
static void test_needless(void **state)
{
	struct ofi_rdm_ack_node nodes[2], *again;
	struct ofi_rdm_ack_words words = { .next = 2, .echo = 4, .doubles = 1 };
	struct ofi_rdm_ack_news news;
	struct ofi_rdm_ack ack;

	(void)state;
	ofi_rdm_ack_init(&ack, &params, 0);
	ofi_rdm_ack_sent(&ack, &nodes[0], 0);
	assert_int_equal(ofi_rdm_ack_due(&ack, 1000, &again), OFI_RDM_ACK_TIMEOUT);
	ack_now(&ack, 1, 0, 1, 1100, &news);
	assert_int_equal(news.rtt, 0);
	assert_int_equal(news.count, 1);
	assert_true(news.needless);
	assert_int_equal(ack.backoff, 1);
	/* Both copies have arrived. */
	ofi_rdm_ack_sent(&ack, &nodes[1], 2000);
	assert_int_equal(ofi_rdm_ack_due(&ack, 5000, &again), OFI_RDM_ACK_TIMEOUT);
	assert_true(ofi_rdm_ack_take(&ack, &words, 5100, &news));
	assert_true(news.needless);
	assert_int_equal(ack.backoff, 2);
	/* Nothing is needless about a packet that was sent once. */
	ofi_rdm_ack_sent(&ack, &nodes[0], 6000);
	words = (struct ofi_rdm_ack_words){ .next = 3, .echo = 5, .doubles = 1 };
	assert_true(ofi_rdm_ack_take(&ack, &words, 6100, &news));
	assert_false(news.needless);
	assert_int_equal(ack.backoff, 0);
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

/* A device that does not lose what it delivers late: only a timeout, or a whole window, tells. */
static void test_unordered(void **state)
{
	struct ofi_rdm_ack_node nodes[OFI_RDM_SEQ_WINDOW], *again;
	struct ofi_rdm_ack_params unordered = params;
	struct ofi_rdm_ack_words words = { .next = 0, .early = 0xfe, .echo = 8 };
	struct ofi_rdm_ack_news news;
	struct ofi_rdm_ack ack;

	(void)state;
	unordered.reorder = OFI_RDM_SEQ_WINDOW;
	ofi_rdm_ack_init(&ack, &unordered, 0);
	send_many(&ack, nodes, 8);
	assert_true(ofi_rdm_ack_take(&ack, &words, 10, &news));
	assert_int_equal(ofi_rdm_ack_due(&ack, 10, &again), OFI_RDM_ACK_NOTHING);
	assert_int_equal(ofi_rdm_ack_due(&ack, ack.timer, &again), OFI_RDM_ACK_TIMEOUT);
	assert_ptr_equal(again, &nodes[0]);
	/* It was needless. */
	words = (struct ofi_rdm_ack_words){ .next = 8, .echo = 9, .doubles = 1 };
	assert_true(ofi_rdm_ack_take(&ack, &words, 6000, &news));
	assert_true(news.needless);
	assert_int_equal(ack.reorder, OFI_RDM_SEQ_WINDOW);
	send_many(&ack, nodes, 8);
	words = (struct ofi_rdm_ack_words){ .next = 8, .early = 0xfe, .echo = 17, .doubles = 1 };
	assert_true(ofi_rdm_ack_take(&ack, &words, 6001, &news));
	assert_int_equal(ofi_rdm_ack_due(&ack, 6001, &again), OFI_RDM_ACK_NOTHING);
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

/* Numbers wrap around. The oldest packet keeps the window shut, whatever arrived after it. */
static void test_window(void **state)
{
	struct ofi_rdm_ack_node nodes[OFI_RDM_SEQ_WINDOW];
	uint32_t i, first = UINT32_MAX - 3;
	struct ofi_rdm_ack_news news;
	struct ofi_rdm_ack ack;
	uint64_t early = 0;

	(void)state;
	ofi_rdm_ack_init(&ack, &params, first);
	for (i = 0; i < OFI_RDM_SEQ_WINDOW; i++) {
		assert_true(ofi_rdm_ack_is_open(&ack));
		ofi_rdm_ack_sent(&ack, &nodes[i], 0);
		assert_int_equal(nodes[i].number, first + i);
	}
	assert_false(ofi_rdm_ack_is_open(&ack));
	/* All packets but the oldest arrive in reverse order. */
	for (i = OFI_RDM_SEQ_WINDOW - 1; i > 0; i--) {
		early |= 1ULL << i;
		ack_now(&ack, first, early, i + 1, 10, &news);
		assert_int_equal(news.count, 1);
		ack_now(&ack, first, early, i + 1, 10, &news);
		assert_int_equal(news.count, 0);
	}
	assert_false(ofi_rdm_ack_is_open(&ack));
	ack_now(&ack, first + OFI_RDM_SEQ_WINDOW, 0, 1, 10, &news);
	assert_ptr_equal(news.done, &nodes[0]);
	assert_int_equal(ack.oldest, ack.next);
	assert_true(ofi_rdm_ack_is_open(&ack));
}

/* The window moves to the oldest packet that is left. */
static void test_hole(void **state)
{
	struct ofi_rdm_ack_node nodes[OFI_RDM_SEQ_WINDOW + 4];
	struct ofi_rdm_ack_news news;
	struct ofi_rdm_ack ack;
	int i;

	(void)state;
	ofi_rdm_ack_init(&ack, &params, 0);
	send_many(&ack, nodes, OFI_RDM_SEQ_WINDOW);
	/* All but 1 and 4 of the first six arrive. */
	ack_now(&ack, 1, 0x16, 6, 70, &news);
	assert_int_equal(ack.oldest, 1);
	ack_now(&ack, 4, 2, 6, 71, &news);
	assert_int_equal(ack.oldest, 4);
	for (i = 0; i < 4; i++) {
		assert_true(ofi_rdm_ack_is_open(&ack));
		ofi_rdm_ack_sent(&ack, &nodes[OFI_RDM_SEQ_WINDOW + i], 72);
	}
	assert_false(ofi_rdm_ack_is_open(&ack));
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
	assert_int_equal(ack.oldest, 2);
}

/* Acknowledgements are delayed, except after a gap or a duplicate. */
static void test_delayed(void **state)
{
	struct ofi_rdm_seq_node node;
	struct ofi_rdm_seq_in in = { .next = 0 };
	struct ofi_rdm_ack_words words;
	struct ofi_rdm_ack ack;
	uint32_t i;

	(void)state;
	ofi_rdm_ack_init(&ack, &params, 0);
	ofi_rdm_seq_begin(&in, 0);
	for (i = 0; i < 3; i++) {
		ofi_rdm_ack_arrived(&ack, &in, i + 1, ofi_rdm_seq_arrive(&in, i, &node), 100);
		assert_false(ofi_rdm_ack_is_owed(&ack, 129));
		assert_true(ofi_rdm_ack_is_owed(&ack, 130));
	}
	ofi_rdm_ack_arrived(&ack, &in, 4, ofi_rdm_seq_arrive(&in, 3, &node), 110);
	assert_true(ofi_rdm_ack_is_owed(&ack, 110));
	ofi_rdm_ack_fill(&ack, &in, &words);
	assert_int_equal(words.next, 4);
	assert_int_equal(words.echo, 4);
	assert_true(ofi_rdm_ack_next(&ack) == OFI_RDM_ACK_NEVER);
	/* A gap, then a duplicate. */
	ofi_rdm_ack_arrived(&ack, &in, 6, ofi_rdm_seq_arrive(&in, 5, &node), 120);
	assert_true(ofi_rdm_ack_is_owed(&ack, 120));
	ofi_rdm_ack_fill(&ack, &in, &words);
	assert_int_equal(words.early, 2);
	ofi_rdm_ack_arrived(&ack, &in, 7, ofi_rdm_seq_arrive(&in, 2, &node), 130);
	assert_true(ofi_rdm_ack_is_owed(&ack, 130));
	ofi_rdm_ack_fill(&ack, &in, &words);
	assert_int_equal(words.doubles, 1);
	assert_int_equal(words.echo, 7);
}

/* Returns how often a packet is sent again before the peer is given up. */
static int sent_during(uint64_t silence)
{
	struct ofi_rdm_ack_params these = params;
	struct ofi_rdm_ack_node node, *again;
	enum ofi_rdm_ack_due due;
	struct ofi_rdm_ack ack;
	uint64_t now = 7000;
	int sent = 0;

	these.silence = silence;
	ofi_rdm_ack_init(&ack, &these, 0);
	ofi_rdm_ack_sent(&ack, &node, now);
	for (;;) {
		now = ofi_rdm_ack_next(&ack);
		due = ofi_rdm_ack_due(&ack, now, &again);
		if (due == OFI_RDM_ACK_GIVE_UP)
			break;
		assert_int_equal(due, OFI_RDM_ACK_TIMEOUT);
		sent++;
	}
	assert_int_equal(now, 7000 + silence);
	return sent;
}

/* A silent peer is given up exactly after the configured time, which may be hours. */
static void test_silence(void **state)
{
	(void)state;
	assert_in_range(sent_during(SILENCE), 11, 24);
	sent_during(2 * 3600 * 1000000ull);
}

/* Nobody looked for a while: what has arrived meanwhile, if anything, is not known yet. */
static void test_pause(void **state)
{
	struct ofi_rdm_ack_node node, *again;
	struct ofi_rdm_ack ack;
	uint64_t resumed = 7000 + 2 * SILENCE, now = resumed;

	(void)state;
	ofi_rdm_ack_init(&ack, &params, 0);
	ofi_rdm_ack_sent(&ack, &node, 7000);
	while (ofi_rdm_ack_due(&ack, now, &again) == OFI_RDM_ACK_TIMEOUT)
		now = ofi_rdm_ack_next(&ack);
	assert_in_range(now, resumed + SILENCE - params.max, resumed + SILENCE);
	assert_int_equal(ofi_rdm_ack_due(&ack, now, &again), OFI_RDM_ACK_GIVE_UP);
}

static void test_size(void **state)
{
	(void)state;
	assert_true(sizeof(struct ofi_rdm_ack) <= 128);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_timeout), cmocka_unit_test(test_needless),
		cmocka_unit_test(test_spread),	cmocka_unit_test(test_fast),
		cmocka_unit_test(test_reorder), cmocka_unit_test(test_unordered),
		cmocka_unit_test(test_copies),	cmocka_unit_test(test_lies),
		cmocka_unit_test(test_delayed), cmocka_unit_test(test_silence),
		cmocka_unit_test(test_size),	cmocka_unit_test(test_pause),
		cmocka_unit_test(test_window),	cmocka_unit_test(test_hole),
	};

	return cmocka_run_group_tests_name("rdm_ack_rules", tests, NULL, NULL);
}
