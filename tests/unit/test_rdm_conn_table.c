/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connections found by their numbers. */
#include "unit.h"
#include <stdlib.h>
#include <string.h>
#include "prov/verbs/rdm/rc.h"
#include "prov/verbs/rdm/rc_conn.h"

enum { MANY = 20000, LONGEST = 12 };

static struct vrb_rc_ep rc;
static struct vrb_rc_conn *conns;

static int begin(void **state)
{
	(void)state;
	memset(&rc, 0, sizeof(rc));
	conns = calloc(MANY, sizeof(*conns));
	return !conns;
}

static int end(void **state)
{
	(void)state;
	assert_null(rc.by_qp.lists);
	free(conns);
	return 0;
}

static void add(uint32_t i, uint32_t number)
{
	conns[i].qp_num = number;
	assert_true(vrb_rc_table_reserve(&rc.by_qp));
	vrb_rc_table_add(&rc.by_qp, &conns[i]);
}

/* Numbers of datagrams are random. */
static uint32_t scattered(uint32_t i)
{
	return (i + 1) * 2654435761u;
}

static unsigned int length(const struct vrb_rc_conn *conn)
{
	unsigned int n = 0;

	for (; conn; conn = conn->qp_next)
		n++;
	return n;
}

static void finds_each_of_many(void **state)
{
	uint32_t i;

	(void)state;
	assert_null(vrb_rc_conn_find(&rc.rdm, 1));
	for (i = 0; i < MANY; i++)
		add(i, scattered(i));
	for (i = 0; i < MANY; i++)
		assert_ptr_equal(vrb_rc_conn_find(&rc.rdm, scattered(i)), &conns[i]);
	assert_null(vrb_rc_conn_find(&rc.rdm, scattered(MANY)));
	for (i = 0; i < rc.by_qp.size; i++)
		assert_true(length(rc.by_qp.lists[i]) <= LONGEST);
	for (i = 0; i < MANY; i++) {
		vrb_rc_table_remove(&rc.by_qp, &conns[i]);
		assert_null(vrb_rc_conn_find(&rc.rdm, scattered(i)));
	}
}

static void visits_each_once(void **state)
{
	struct vrb_rc_conn *conn = NULL;
	uint32_t i;

	(void)state;
	assert_null(vrb_rc_table_next(&rc.by_qp, NULL));
	for (i = 0; i < 300; i++)
		add(i, i % 3 ? i : 64 * i);
	while ((conn = vrb_rc_table_next(&rc.by_qp, conn)))
		conn->used = !conn->used;
	for (i = 0; i < 300; i++)
		assert_true(conns[i].used);
	while ((conn = vrb_rc_table_next(&rc.by_qp, NULL)))
		vrb_rc_table_remove(&rc.by_qp, conn);
}

/* The device may reuse the number of a connection that is not freed yet. */
static void finds_the_latest_of_a_number(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < 300; i++) {
		add(i, i < 3 ? 5 : i + 5);
		assert_ptr_equal(vrb_rc_conn_find(&rc.rdm, 5), &conns[i < 3 ? i : 2]);
	}
	while (i--)
		vrb_rc_table_remove(&rc.by_qp, &conns[i]);
}

/* A connection that failed before it was added is closed like the others. */
static void removes_what_was_not_added(void **state)
{
	(void)state;
	vrb_rc_table_remove(&rc.by_qp, &conns[0]);
	add(1, 5);
	conns[0].qp_num = 5;
	vrb_rc_table_remove(&rc.by_qp, &conns[0]);
	assert_ptr_equal(vrb_rc_conn_find(&rc.rdm, 5), &conns[1]);
	vrb_rc_table_remove(&rc.by_qp, &conns[1]);
	vrb_rc_table_remove(&rc.by_qp, &conns[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(finds_each_of_many, begin, end),
		cmocka_unit_test_setup_teardown(visits_each_once, begin, end),
		cmocka_unit_test_setup_teardown(finds_the_latest_of_a_number, begin, end),
		cmocka_unit_test_setup_teardown(removes_what_was_not_added, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
