/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Work of the event thread on an endpoint is done once, in order and exclusively, by itself or by
 * the thread that is inside, for which the event thread never waits.
 */
#include "unit.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include "prov/rdm/lock.h"

enum { TASKS = 20000, OWNERS = 2 };

struct numbered {
	struct ofi_rdm_task task; /* first */
	unsigned int number;
	pthread_t by;
};

static struct ofi_rdm_ep ep;
static struct numbered some[4];
static struct {
	unsigned int next; /* task */
	long one, two;	   /* the sum is 0 outside */
	bool torn, late;
} data;		  /* guarded by the endpoint */
static bool over; /* atomic */

static void set_over(bool value)
{
	__atomic_store_n(&over, value, __ATOMIC_RELAXED);
}

static bool get_over(void)
{
	return __atomic_load_n(&over, __ATOMIC_RELAXED);
}

static void work(void)
{
	data.torn |= data.one + data.two != 0;
	data.one++;
	data.two--;
}

static void run(struct ofi_rdm_ep *of, struct ofi_rdm_task *task)
{
	struct numbered *numbered = (struct numbered *)task;

	assert_ptr_equal(of, &ep);
	assert_ptr_equal(of->direct.cq, OFI_RDM_NO_DIRECT);
	work();
	data.late |= data.next++ != numbered->number;
	numbered->by = pthread_self();
}

static void begin(bool biased)
{
	unsigned int i;

	memset(&ep, 0, sizeof(ep));
	memset(&data, 0, sizeof(data));
	set_over(false);
	ofi_lock_init(&ep.lock);
	ep.biased = biased;
	for (i = 0; i < 4; i++)
		some[i] = (struct numbered){ .task.run = run, .number = i };
	if (biased && !ofi_bias_init())
		skip();
}

static void *hand_over(void *arg)
{
	struct numbered *numbered = arg;

	ofi_bias_outside = true;
	ofi_rdm_task_add(&ep, &numbered->task);
	return ofi_rdm_tasks_try(&ep) ? numbered : NULL;
}

/* By a thread that is not the owner. True: it did what there was. */
static bool event(unsigned int number)
{
	pthread_t thread;
	void *done;

	assert_int_equal(pthread_create(&thread, NULL, hand_over, &some[number]), 0);
	pthread_join(thread, &done);
	return done;
}

/* The tasks were left to the owner for so long that no barrier, however slow, takes more time. */
static void wait_for_owner(void)
{
	ep.tasks.handed = 1;
}

static void nobody_is_inside(void **state)
{
	(void)state;
	begin(false);
	ofi_rdm_task_add(&ep, &some[0].task);
	assert_true(event(1));
	assert_int_equal(data.next, 2);
	begin(true);
	ofi_rdm_task_add(&ep, &some[0].task);
	wait_for_owner();
	assert_true(event(1));
	assert_int_equal(data.next, 2);
	assert_true(ofi_rdm_enter(&ep, true));
}

/* In a call that takes the lock, with a bias or without. */
static void one_has_the_lock(bool biased)
{
	begin(biased);
	ofi_rdm_lock(&ep);
	assert_false(event(0));
	assert_false(event(1));
	assert_int_equal(data.next, 0);
	ofi_rdm_unlock(&ep);
	assert_int_equal(data.next, 2);
	assert_true(pthread_equal(some[1].by, pthread_self()));
	assert_int_equal(ep.lock.word, 0);
	wait_for_owner();
	assert_true(event(2));
	assert_int_equal(data.next, 3);
}

static void who_has_the_lock_does_it(void **state)
{
	(void)state;
	one_has_the_lock(false);
	one_has_the_lock(true);
}

/* The same of one that took it in the inlined way. */
static void who_leaves_does_it(void **state)
{
	(void)state;
	begin(false);
	assert_true(ofi_rdm_try_enter(&ep, false));
	assert_false(event(0));
	ofi_rdm_leave(&ep, false);
	assert_int_equal(data.next, 1);
	assert_int_equal(ep.lock.word, 0);
}

/* The owner's call goes on; the next one takes the lock, and one behind that enters again. */
static void the_owner_does_it_at_its_next_call(void **state)
{
	(void)state;
	begin(true);
	assert_true(ofi_rdm_enter(&ep, true));
	assert_false(event(0));
	assert_false(event(1));
	ofi_rdm_leave(&ep, true);
	assert_int_equal(data.next, 0);
	assert_false(ofi_rdm_enter(&ep, true));
	ofi_rdm_lock(&ep);
	ofi_rdm_unlock(&ep);
	assert_int_equal(data.next, 2);
	assert_true(pthread_equal(some[0].by, pthread_self()));
	assert_true(ofi_rdm_enter(&ep, true));
	ofi_rdm_leave(&ep, true);
}

/* An owner that does not come again is not waited for, but for what it costs to shut it out. */
static void an_owner_that_stays_away(void **state)
{
	(void)state;
	begin(true);
	assert_true(ofi_rdm_enter(&ep, true));
	assert_false(event(0));
	ofi_rdm_leave(&ep, true);
	wait_for_owner();
	assert_true(event(1));
	assert_int_equal(data.next, 2);
	assert_false(pthread_equal(some[0].by, pthread_self()));
	assert_true(ofi_rdm_enter(&ep, true));
}

/* Calls that enter, and calls that take the lock; several threads if there is only the lock. */
static void *owner(void *arg)
{
	bool nolock = ep.biased;
	unsigned int round = 0;

	(void)arg;
	while (!get_over()) {
		if (round++ % 16 && ofi_rdm_enter(&ep, nolock)) {
			work();
			ofi_rdm_leave(&ep, nolock);
			continue;
		}
		ofi_rdm_lock(&ep);
		work();
		ofi_rdm_unlock(&ep);
	}
	return NULL;
}

static void *event_thread(void *arg)
{
	struct numbered *all = arg;
	unsigned int i, done = 0;

	ofi_bias_outside = true;
	for (i = 0; i < TASKS; i++) {
		all[i] = (struct numbered){ .task.run = run, .number = i };
		ofi_rdm_task_add(&ep, &all[i].task);
		done += ofi_rdm_tasks_try(&ep);
		if (i % 1000 == 0)
			sched_yield();
	}
	print_message("%u tasks: %u by the event thread\n", i, done);
	/* The owner may have left for good just then; nobody who holds the lock does. */
	for (i = 0; ep.biased && i < 100 && !ofi_rdm_tasks_try(&ep); i++)
		sched_yield();
	set_over(true);
	return NULL;
}

static void race(bool biased)
{
	struct numbered *all = calloc(TASKS, sizeof(*all));
	unsigned int i, owners = biased ? 1 : OWNERS;
	pthread_t threads[OWNERS + 1];

	assert_non_null(all);
	begin(biased);
	for (i = 1; i <= owners; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, owner, NULL), 0);
	assert_int_equal(pthread_create(&threads[0], NULL, event_thread, all), 0);
	for (i = 0; i <= owners; i++)
		pthread_join(threads[i], NULL);
	if (biased) {
		wait_for_owner();
		assert_true(ofi_rdm_tasks_try(&ep));
	}
	assert_int_equal(data.next, TASKS);
	assert_false(data.torn);
	assert_false(data.late);
	assert_int_equal(ep.lock.word, 0);
	free(all);
}

static void all_at_once(void **state)
{
	(void)state;
	race(false);
	race(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_is_inside),
		cmocka_unit_test(who_has_the_lock_does_it),
		cmocka_unit_test(who_leaves_does_it),
		cmocka_unit_test(the_owner_does_it_at_its_next_call),
		cmocka_unit_test(an_owner_that_stays_away),
		cmocka_unit_test(all_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
