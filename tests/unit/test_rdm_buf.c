/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Decides who gets a bounce buffer when few remain. */
#include "unit.h"
#include "prov/verbs/rdm/buf.h"

static struct vrb_rdm_pool pool;
static struct vrb_rdm_buf bufs[3];
static unsigned int grown;
static struct vrb_rdm_buf *more;

struct vrb_rdm_buf *vrb_rdm_pool_grow(struct vrb_rdm_pool *of)
{
	assert_ptr_equal(of, &pool);
	grown++;
	return more;
}

static int begin(void **state)
{
	(void)state;
	pool = (struct vrb_rdm_pool){ 0 };
	vrb_rdm_pool_put(&pool, &bufs[0]);
	vrb_rdm_pool_put(&pool, &bufs[1]);
	grown = 0;
	more = NULL;
	return 0;
}

/* What sends needs one, or what waits would wait for ever. */
static void the_last_is_not_for_who_waits(void **state)
{
	(void)state;
	assert_ptr_equal(vrb_rdm_pool_get_spare(&pool), &bufs[1]);
	assert_null(vrb_rdm_pool_get_spare(&pool));
	assert_int_equal(grown, 1);
	assert_ptr_equal(vrb_rdm_pool_get(&pool), &bufs[0]);
	assert_null(vrb_rdm_pool_get_spare(&pool));
	assert_null(vrb_rdm_pool_get(&pool));
}

static void a_pool_that_grows_has_for_all(void **state)
{
	(void)state;
	assert_ptr_equal(vrb_rdm_pool_get_spare(&pool), &bufs[1]);
	more = &bufs[2];
	assert_ptr_equal(vrb_rdm_pool_get_spare(&pool), &bufs[2]);
	assert_ptr_equal(vrb_rdm_pool_get(&pool), &bufs[0]);
}

/* A peer that takes nothing can't have all: there is as much left for another one. */
static void who_waits_leaves_a_share(void **state)
{
	static struct vrb_rdm_buf many[8];
	uint32_t dead = 0, live = 0;
	int i;

	(void)state;
	SLIST_INIT(&pool.free);
	for (i = 0; i < 8; i++)
		vrb_rdm_pool_put(&pool, &many[i]);
	pool.limit = 8;
	while (vrb_rdm_pool_get_share(&pool, &dead))
		;
	assert_int_equal(dead, 4);
	assert_int_equal(vrb_rdm_pool_left(&pool), 0);
	assert_non_null(vrb_rdm_pool_get_share(&pool, &live));
	assert_null(vrb_rdm_pool_get_share(&pool, &dead));
	assert_non_null(vrb_rdm_pool_get_share(&pool, &live));
	vrb_rdm_pool_put_share(&pool, &many[0], &dead);
	vrb_rdm_pool_put_share(&pool, &many[1], &dead);
	assert_int_equal(dead, 2);
	assert_int_equal(pool.spares, 4);
	assert_non_null(vrb_rdm_pool_get_share(&pool, &live));
}

/* What is left is a promise to any peer: it holds for the one that has all of the others. */
static void what_is_left_can_be_had(void **state)
{
	static struct vrb_rdm_buf many[9];
	uint32_t own = 0;
	size_t left;
	int i;

	(void)state;
	for (i = 0; i < 6; i++)
		vrb_rdm_pool_put(&pool, &many[i]);
	pool.limit = 9;
	pool.count = 8;
	for (left = vrb_rdm_pool_left(&pool); left; left--) {
		assert_int_equal(vrb_rdm_pool_left(&pool), left);
		assert_non_null(vrb_rdm_pool_get_share(&pool, &own));
	}
	assert_int_equal(own, 5);
	assert_null(vrb_rdm_pool_get_share(&pool, &own));
}

static void the_last_does_not_count(void **state)
{
	(void)state;
	pool.limit = pool.count = 2;
	assert_int_equal(vrb_rdm_pool_left(&pool), 1);
	assert_non_null(vrb_rdm_pool_get(&pool));
	assert_int_equal(vrb_rdm_pool_left(&pool), 0);
	assert_non_null(vrb_rdm_pool_get(&pool));
	assert_int_equal(vrb_rdm_pool_left(&pool), 0);
}

/* Chunks make more buffers than the limit asks for. */
static void a_pool_may_exceed_its_limit(void **state)
{
	(void)state;
	pool.limit = 2;
	pool.count = 4;
	assert_int_equal(vrb_rdm_pool_left(&pool), 1);
	assert_non_null(vrb_rdm_pool_get(&pool));
	assert_non_null(vrb_rdm_pool_get(&pool));
	assert_int_equal(vrb_rdm_pool_left(&pool), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(the_last_is_not_for_who_waits, begin),
		cmocka_unit_test_setup(a_pool_that_grows_has_for_all, begin),
		cmocka_unit_test_setup(who_waits_leaves_a_share, begin),
		cmocka_unit_test_setup(what_is_left_can_be_had, begin),
		cmocka_unit_test_setup(the_last_does_not_count, begin),
		cmocka_unit_test_setup(a_pool_may_exceed_its_limit, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
