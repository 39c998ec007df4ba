/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Matching compared with two plain lists that are searched from the front: the same matches in any
 * order of calls.
 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include "prov/rdm/match.h"

enum { POOL = 4096, BITS = 6, OPS = 50000, DEEP = 10000 };

struct post {
	struct ofi_rdm_match_recv recv; /* first */
	TAILQ_ENTRY(post) link;
	uint32_t src;
	uint64_t tag, ignore;
};

struct msg {
	struct ofi_rdm_match_msg msg; /* first */
	TAILQ_ENTRY(msg) link;
};

TAILQ_HEAD(posts, post);
TAILQ_HEAD(msgs, msg);

static struct {
	struct ofi_rdm_match m;
	struct ofi_rdm_match_node *recvs[1 << BITS], *msgs[1 << BITS];
	struct post posts[POOL];
	struct msg messages[POOL];
	struct posts free_posts, posted;
	struct msgs free_msgs, queued;
	uint64_t random;
	unsigned int masks, sources, tags;
} t;

static uint32_t any_of(uint32_t n)
{
	t.random ^= t.random << 13;
	t.random ^= t.random >> 7;
	t.random ^= t.random << 17;
	return (uint32_t)(t.random >> 11) % n;
}

static void start(uint64_t seed)
{
	int i;

	memset(&t, 0, sizeof(t));
	t.random = seed * 0x9e3779b97f4a7c15ULL + 1;
	ofi_rdm_match_init(&t.m, t.recvs, t.msgs, BITS);
	TAILQ_INIT(&t.free_posts);
	TAILQ_INIT(&t.posted);
	TAILQ_INIT(&t.free_msgs);
	TAILQ_INIT(&t.queued);
	for (i = 0; i < POOL; i++) {
		TAILQ_INSERT_TAIL(&t.free_posts, &t.posts[i], link);
		TAILQ_INSERT_TAIL(&t.free_msgs, &t.messages[i], link);
	}
	t.masks = 1 + any_of(24);
	t.sources = 1 + any_of(4);
	t.tags = 1 + any_of(40);
}

static bool fits(uint32_t want, uint64_t tag, uint64_t ignore, uint32_t src, uint64_t msg_tag)
{
	return (want == OFI_RDM_MATCH_ANY || want == src) && !((tag ^ msg_tag) & ~ignore);
}

static struct msg *oracle_msg(uint32_t src, uint64_t tag, uint64_t ignore)
{
	struct msg *msg;

	TAILQ_FOREACH (msg, &t.queued, link) {
		if (fits(src, tag, ignore, msg->msg.src, msg->msg.tag))
			break;
	}
	return msg;
}

static void free_msg(struct msg *msg)
{
	TAILQ_REMOVE(&t.queued, msg, link);
	TAILQ_INSERT_TAIL(&t.free_msgs, msg, link);
}

static void free_post(struct post *post)
{
	TAILQ_REMOVE(&t.posted, post, link);
	TAILQ_INSERT_TAIL(&t.free_posts, post, link);
}

static uint64_t any_tag(void)
{
	return (uint64_t)any_of(t.tags) << (any_of(2) ? 0 : 40);
}

static uint64_t any_mask(void)
{
	uint32_t n = any_of(t.masks);

	return !n ? 0 : n == 1 ? UINT64_MAX : (uint64_t)n << (n & 1 ? 0 : 38);
}

static uint32_t any_src(bool wild)
{
	return wild && !any_of(3) ? OFI_RDM_MATCH_ANY : any_of(t.sources);
}

static void do_post(void)
{
	uint32_t src = any_src(true);
	uint64_t tag = any_tag(), ignore = any_mask();
	struct msg *expected = oracle_msg(src, tag, ignore);
	struct post *post = TAILQ_FIRST(&t.free_posts);

	if (!post)
		return;
	post->src = src;
	post->tag = tag;
	post->ignore = ignore;
	post->recv.context = t.posts + any_of(50);
	post->recv.sticky = !any_of(20);
	assert_ptr_equal(ofi_rdm_match_post(&t.m, &post->recv, src, tag, ignore), expected);
	if (expected) {
		free_msg(expected);
		return;
	}
	TAILQ_REMOVE(&t.free_posts, post, link);
	TAILQ_INSERT_TAIL(&t.posted, post, link);
}

static void do_arrive(void)
{
	uint32_t src = any_src(false);
	uint64_t tag = any_tag();
	struct msg *msg = TAILQ_FIRST(&t.free_msgs);
	struct post *post;

	if (!msg)
		return;
	TAILQ_FOREACH (post, &t.posted, link) {
		if (fits(post->src, post->tag, post->ignore, src, tag))
			break;
	}
	assert_ptr_equal(ofi_rdm_match_arrive(&t.m, src, tag), post);
	if (post) {
		if (!post->recv.sticky || any_of(2))
			free_post(post);
		else
			return;
		if (post->recv.sticky)
			ofi_rdm_match_remove(&t.m, &post->recv);
		return;
	}
	TAILQ_REMOVE(&t.free_msgs, msg, link);
	TAILQ_INSERT_TAIL(&t.queued, msg, link);
	msg->msg.tag = tag;
	msg->msg.src = src;
	ofi_rdm_match_queue(&t.m, &msg->msg);
}

static bool alike(const struct post *a, const struct post *b)
{
	return a->src == b->src && a->ignore == b->ignore && !((a->tag ^ b->tag) & ~a->ignore);
}

static void do_cancel(void)
{
	void *context = t.posts + any_of(50);
	struct post *post, *canceled = (struct post *)ofi_rdm_match_cancel(&t.m, context);

	/* None is left in its place that is like it and was posted before. */
	TAILQ_FOREACH (post, &t.posted, link) {
		if (post == canceled)
			break;
		assert_false(post->recv.context == context && (!canceled || alike(post, canceled)));
	}
	assert_ptr_equal(post, canceled);
	if (canceled) {
		assert_ptr_equal(canceled->recv.context, context);
		free_post(canceled);
	}
}

static void do_peek(void)
{
	uint32_t src = any_src(true), what = any_of(4);
	uint64_t tag = any_tag(), ignore = any_mask();
	struct msg *expected = oracle_msg(src, tag, ignore);
	struct ofi_rdm_match_msg *msg = ofi_rdm_match_peek(&t.m, src, tag, ignore);

	assert_ptr_equal(msg, expected);
	if (!msg || what > 1)
		return;
	if (what) {
		ofi_rdm_match_drop(&t.m, msg);
	} else {
		ofi_rdm_match_claim(&t.m, msg, expected);
		assert_null(ofi_rdm_match_take_claim(&t.m, &t));
		assert_ptr_equal(ofi_rdm_match_take_claim(&t.m, expected), msg);
		assert_null(ofi_rdm_match_take_claim(&t.m, expected));
	}
	free_msg(expected);
}

static void do_peer(void)
{
	uint32_t src = any_src(false);
	struct msg *msg, *next;
	bool all = any_of(2);

	for (msg = TAILQ_FIRST(&t.queued); msg; msg = next) {
		next = TAILQ_NEXT(msg, link);
		if (msg->msg.src != src || (!all && msg->msg.tag % 2))
			continue;
		assert_true(ofi_rdm_match_forget(&t.m, &msg->msg));
		assert_false(ofi_rdm_match_forget(&t.m, &msg->msg));
		free_msg(msg);
	}
}

static void empty(void)
{
	struct ofi_rdm_match_recv *recv;
	struct msg *msg;

	while ((recv = ofi_rdm_match_first_recv(&t.m))) {
		ofi_rdm_match_remove(&t.m, recv);
		free_post((struct post *)recv);
	}
	assert_true(TAILQ_EMPTY(&t.posted));
	assert_int_equal(ofi_rdm_match_recv_count(&t.m), 0);
	while ((msg = TAILQ_FIRST(&t.queued))) {
		assert_ptr_equal(TAILQ_FIRST(&t.m.msgs), msg);
		ofi_rdm_match_drop(&t.m, &msg->msg);
		free_msg(msg);
	}
	assert_int_equal(t.m.msg_count, 0);
}

/* Phases where receives pile up, messages pile up, or neither. */
static void run(uint64_t seed, int ops)
{
	uint32_t bias = 50;
	int i;

	start(seed);
	for (i = 0; i < ops; i++) {
		if (i % 2000 == 0)
			bias = 20 + any_of(60);
		if (!any_of(40))
			do_peek();
		else if (!any_of(60))
			do_cancel();
		else if (!any_of(4000))
			do_peer();
		else if (any_of(100) < bias)
			do_post();
		else
			do_arrive();
	}
	empty();
}

static void test_oracle(void **state)
{
	const char *seeds = getenv("WEFT_SEEDS");
	uint64_t seed, count = seeds ? strtoull(seeds, NULL, 0) : 20;

	(void)state;
	for (seed = 0; seed < count; seed++)
		run(seed, OPS);
}

/* More classes of receives than there is room for: the order holds, and classes are reused. */
static void test_classes(void **state)
{
	static struct ofi_rdm_match_recv recvs[40];
	struct ofi_rdm_match_recv *first;
	uint64_t round;
	int i;

	(void)state;
	start(1);
	for (round = 1; round < 100; round++) {
		for (i = 0; i < 40; i++)
			assert_null(ofi_rdm_match_post(&t.m, &recvs[i],
						       i % 2 ? OFI_RDM_MATCH_ANY : 3, 0,
						       round << 8 | (1 + (unsigned int)i)));
		for (i = 0; i < 40; i++) {
			first = ofi_rdm_match_arrive(&t.m, 3, 0);
			assert_ptr_equal(first, &recvs[i]);
		}
		assert_null(ofi_rdm_match_arrive(&t.m, 3, 0));
		assert_int_equal(ofi_rdm_match_recv_count(&t.m), 0);
	}
}

static size_t chain_of(const struct ofi_rdm_match_hash *hash, uint64_t tag, uint64_t from)
{
	struct ofi_rdm_match_node *node = *ofi_rdm_match_bucket(hash, tag, from);
	size_t n;

	for (n = 0; node; node = node->chain)
		n++;
	return n;
}

/* Deep queues of tags that differ anywhere in their bits are spread over the buckets. */
static void test_spread(void **state)
{
	enum { BUCKETS = 1 << 13 };
	static struct ofi_rdm_match_node *recvs[BUCKETS], *msgs[BUCKETS];
	static struct ofi_rdm_match_recv posts[DEEP];
	static const unsigned int shifts[] = { 0, 8, 16, 24, 32, 40, 48, 50 };
	size_t s, i, longest, sum;
	uint64_t tag;

	(void)state;
	for (s = 0; s < sizeof(shifts) / sizeof(shifts[0]) * 2; s++) {
		start(1);
		memset(recvs, 0, sizeof(recvs));
		ofi_rdm_match_init(&t.m, recvs, msgs, 13);
		for (i = 0; i < DEEP; i++) {
			tag = (uint64_t)i << shifts[s / 2];
			ofi_rdm_match_post(&t.m, &posts[i], s % 2 ? (uint32_t)i % 100 : 7, tag, 0);
		}
		for (i = longest = sum = 0; i < DEEP; i++) {
			size_t n = chain_of(&t.m.recvs, posts[i].node.tag, posts[i].node.from);

			longest = n > longest ? n : longest;
			sum += n;
		}
		assert_true(longest <= 12);
		assert_true(sum <= 4 * DEEP);
	}
}

/* An index searches a deep unexpected queue with any mask, and five masks take turns. */
static void test_indexes(void **state)
{
	static struct ofi_rdm_match_msg queue[DEEP];
	int i, mask;

	(void)state;
	start(1);
	for (i = 0; i < DEEP; i++) {
		queue[i].tag = (uint64_t)i << 8;
		queue[i].src = (uint32_t)i % 5;
		ofi_rdm_match_queue(&t.m, &queue[i]);
	}
	for (mask = 0; mask < 8; mask++) {
		for (i = 0; i < 100; i++) {
			assert_ptr_equal(ofi_rdm_match_peek(&t.m, OFI_RDM_MATCH_ANY,
							    (uint64_t)i << 8, (1u << mask) - 1),
					 &queue[i]);
			assert_null(ofi_rdm_match_peek(&t.m, (uint32_t)i % 5 + 1, (uint64_t)i << 8,
						       (1u << mask) - 1));
		}
		assert_int_equal(t.m.armed, mask ? 15 : 3);
	}
	for (i = 0; i < DEEP; i++)
		ofi_rdm_match_drop(&t.m, &queue[i]);
	assert_int_equal(t.m.armed, 0);
}

static void test_claims_of_peer(void **state)
{
	struct ofi_rdm_match_msg a = { .src = 1 }, b = { .src = 2 }, c = { .src = 1 };

	(void)state;
	start(1);
	ofi_rdm_match_queue(&t.m, &a);
	ofi_rdm_match_queue(&t.m, &b);
	ofi_rdm_match_queue(&t.m, &c);
	ofi_rdm_match_claim(&t.m, &a, &a);
	ofi_rdm_match_claim(&t.m, &b, &b);
	assert_true(ofi_rdm_match_forget(&t.m, &a));
	assert_true(ofi_rdm_match_forget(&t.m, &c));
	assert_null(ofi_rdm_match_take_claim(&t.m, &a));
	assert_ptr_equal(ofi_rdm_match_take_claim(&t.m, &b), &b);
	assert_int_equal(t.m.msg_count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_oracle),	       cmocka_unit_test(test_classes),
		cmocka_unit_test(test_spread),	       cmocka_unit_test(test_indexes),
		cmocka_unit_test(test_claims_of_peer),
	};

	return cmocka_run_group_tests_name("rdm_match", tests, NULL, NULL);
}
