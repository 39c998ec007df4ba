/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Work queue rings: slots, credits, going round, which slots ask for a completion. */
#include "unit.h"

#include <stdbool.h>
#include <rdma/fi_endpoint.h>
#include "prov/verbs/queue/wq.h"

enum { LARGEST = 1000 };

static struct vrb_wq *open_wq(uint32_t size)
{
	struct vrb_wq *wq = vrb_wq_new(NULL, size);

	assert_non_null(wq);
	vrb_wq_clear(wq, VRB_WQ_SHUT);
	return wq;
}

static struct vrb_slot *take(struct vrb_wq *wq)
{
	assert_true(vrb_wq_refresh(wq));
	return (struct vrb_slot *)(uintptr_t)vrb_wq_take(wq, wq, FI_MSG, 1);
}

static void test_new(void **state)
{
	struct vrb_slot *slot;
	struct vrb_wq *wq;
	uint32_t size, i;

	(void)state;
	for (size = 1; size <= LARGEST; size++) {
		wq = vrb_wq_new(NULL, size);
		assert_non_null(wq);
		assert_int_equal((uintptr_t)wq % VRB_CACHELINE, 0);
		for (i = 0, slot = wq->slots; i <= size; i++, slot = slot->next)
			assert_true(slot == &wq->slots[i] && slot->wq == wq);
		assert_ptr_equal(slot, wq->slots);
		assert_int_equal(vrb_wq_left(wq), 0);
		assert_ptr_equal(wq->head, wq->stop);
		vrb_wq_clear(wq, VRB_WQ_SHUT);
		assert_int_equal(vrb_wq_left(wq), size);
		vrb_wq_free(wq);
	}
	vrb_wq_free(NULL);
}

/*
 * Wherever it begins, a full queue has asked for a completion; a large one does not ask for many.
 */
static void test_signals(void **state)
{
	uint32_t size, i, gap, longest, asking;
	struct vrb_slot *slot;
	struct vrb_wq *wq;

	(void)state;
	for (size = 1; size <= LARGEST; size++) {
		wq = open_wq(size);
		slot = wq->slots;
		for (i = gap = longest = asking = 0; i < 3 * (size + 1); i++, slot = slot->next) {
			gap = slot->signal ? 0 : gap + 1;
			longest = gap > longest ? gap : longest;
			asking += slot->signal == IBV_SEND_SIGNALED;
			assert_true(!slot->signal || slot->signal == IBV_SEND_SIGNALED);
		}
		assert_true(longest < size);
		assert_true(size < 4 || asking <= 3 * 4);
		vrb_wq_free(wq);
	}
}

/* Slots that complete in any order are free once all before them are complete, and only then. */
static void test_unordered(void **state)
{
	struct vrb_slot *slot[4];
	struct vrb_wq *wq = open_wq(4);
	uint32_t round, i;

	(void)state;
	vrb_wq_set_unordered(wq);
	for (i = 0; i <= 4; i++)
		assert_int_equal(wq->slots[i].signal, IBV_SEND_SIGNALED);
	for (round = 0; round < 11; round++) {
		for (i = 0; i < 4; i++)
			slot[i] = take(wq);
		assert_false(vrb_wq_refresh(wq));
		assert_int_equal(vrb_wq_retire(wq, slot[2], FI_MSG), FI_MSG);
		assert_int_equal(vrb_wq_retire(wq, slot[3], FI_SEND), FI_SEND);
		assert_int_equal(vrb_wq_left(wq), 0);
		vrb_wq_retire(wq, slot[0], 0);
		assert_int_equal(vrb_wq_left(wq), 1);
		slot[0] = take(wq);
		vrb_wq_retire(wq, slot[1], 0);
		assert_int_equal(vrb_wq_left(wq), 3);
		vrb_wq_retire(wq, slot[0], 0);
		assert_int_equal(vrb_wq_left(wq), 4);
	}
	vrb_wq_free(wq);
}

/* Credits of a pool go back with the slots. */
static void test_unordered_pool(void **state)
{
	struct vrb_wq *wq = open_wq(2);
	struct vrb_slot *first, *second;
	int pool = 2;

	(void)state;
	vrb_wq_set_unordered(wq);
	wq->pool = &pool;
	vrb_wq_set(wq, VRB_WQ_SHARES);
	assert_true(vrb_wq_take_pool(wq));
	first = take(wq);
	assert_true(vrb_wq_take_pool(wq));
	second = take(wq);
	assert_false(vrb_wq_take_pool(wq));
	vrb_wq_retire(wq, second, 0);
	assert_int_equal(pool, 0);
	vrb_wq_retire(wq, first, 0);
	assert_int_equal(pool, 2);
	vrb_wq_free(wq);
}

/* Fills and empties the ring from every start. */
static void test_round(void **state)
{
	static const uint32_t sizes[] = { 1, 2, 3, 7, 8, 100 };
	uint32_t size, i, n;
	struct vrb_slot *slot;
	struct vrb_wq *wq;

	(void)state;
	for (n = 0; n < sizeof(sizes) / sizeof(sizes[0]); n++) {
		size = sizes[n];
		wq = open_wq(size);
		for (i = 0; i < (size + 2) * size; i++) {
			assert_int_equal(vrb_wq_left(wq), size - i % size);
			assert_int_equal(vrb_wq_used(wq), i % size);
			slot = take(wq);
			assert_ptr_equal(slot, &wq->slots[i % (size + 1)]);
			assert_ptr_equal(slot->context, wq);
			assert_true(slot->flags == FI_MSG && slot->len == 1);
			if ((i + 1) % size)
				continue;
			assert_int_equal(vrb_wq_left(wq), 0);
			assert_false(vrb_wq_refresh(wq));
			vrb_wq_retire(wq, slot, 0);
			assert_ptr_equal(wq->tail, wq->head);
		}
		vrb_wq_free(wq);
	}
}

/* Between two looks at the tail as many slots are taken as were free. */
static void test_stop(void **state)
{
	struct vrb_wq *wq = open_wq(5);
	int i;

	(void)state;
	for (i = 0; i < 100; i++) {
		take(wq);
		take(wq);
		vrb_wq_retire(wq, take(wq), 0);
		assert_true(vrb_wq_refresh(wq));
		assert_int_equal(vrb_wq_distance(wq, wq->head, wq->stop), 5);
		vrb_wq_retire(wq, take(wq), 0);
	}
	vrb_wq_free(wq);
}

/* The completion of a slot retires all before it and none behind. */
static void test_retire(void **state)
{
	struct vrb_wq *wq = open_wq(8);
	struct vrb_slot *slots[8];
	int i;

	(void)state;
	vrb_wq_retire(wq, take(wq), 0);
	vrb_wq_retire(wq, take(wq), 0);
	for (i = 0; i < 8; i++)
		slots[i] = take(wq);
	vrb_wq_retire(wq, slots[0], 0);
	assert_int_equal(vrb_wq_left(wq), 1);
	vrb_wq_retire(wq, slots[4], 0);
	assert_int_equal(vrb_wq_left(wq), 5);
	vrb_wq_retire(wq, slots[7], 0);
	assert_int_equal(vrb_wq_left(wq), 8);
	vrb_wq_free(wq);
}

/* From every place in the ring. */
static void test_untake(void **state)
{
	struct vrb_wq *wq = open_wq(4);
	struct vrb_slot *head;
	uint32_t i, n;

	(void)state;
	for (i = 0; i < 20; i++) {
		for (n = 0; n <= 4; n++) {
			head = wq->head;
			while (vrb_wq_used(wq) < n)
				take(wq);
			vrb_wq_untake(wq, n);
			assert_ptr_equal(wq->head, head);
			assert_int_equal(vrb_wq_left(wq), 4);
		}
		vrb_wq_retire(wq, take(wq), 0);
	}
	vrb_wq_free(wq);
}

/*
 * With locks the next post takes the slow path. Without, only the thread that posts moves stop: a
 * post in progress would pass it. In both cases nothing is left.
 */
static void test_shut(void **state)
{
	struct vrb_wq *wq = open_wq(4);
	const struct vrb_slot *stop;
	int lock;

	(void)state;
	for (lock = 0; lock < 2; lock++) {
		take(wq);
		stop = wq->stop;
		vrb_wq_shut(wq, lock);
		assert_ptr_equal(wq->stop, lock ? wq->head : stop);
		assert_int_equal(vrb_wq_left(wq), 0);
		assert_true(ofi_trylock(&wq->lock));
		ofi_unlock(&wq->lock);
		vrb_wq_guard(wq);
		assert_ptr_equal(wq->stop, wq->head);
		vrb_wq_clear(wq, VRB_WQ_SHUT);
	}
	vrb_wq_free(wq);
}

/* What is retired or taken back goes to the pool, where there is one. */
static void test_pool(void **state)
{
	struct vrb_wq *a = open_wq(8), *b = open_wq(8);
	int pool = 0;

	(void)state;
	a->pool = b->pool = &pool;
	vrb_wq_set(a, VRB_WQ_SHARES);
	take(a);
	take(a);
	vrb_wq_retire(a, take(a), 0);
	assert_int_equal(pool, 3);
	take(a);
	vrb_wq_untake(a, 1);
	assert_int_equal(pool, 4);
	vrb_wq_retire(b, take(b), 0);
	assert_int_equal(pool, 4);
	assert_int_equal(vrb_wq_held(a), 0);
	a->special += 2;
	assert_int_equal(vrb_wq_held(a), 2);
	vrb_wq_guard(a);
	assert_ptr_equal(a->head, a->stop);
	vrb_wq_free(a);
	vrb_wq_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_new),
		cmocka_unit_test(test_unordered),
		cmocka_unit_test(test_unordered_pool),
		cmocka_unit_test(test_signals),
		cmocka_unit_test(test_round),
		cmocka_unit_test(test_stop),
		cmocka_unit_test(test_retire),
		cmocka_unit_test(test_untake),
		cmocka_unit_test(test_shut),
		cmocka_unit_test(test_pool),
	};

	return cmocka_run_group_tests_name("verbs_wq", tests, NULL, NULL);
}
