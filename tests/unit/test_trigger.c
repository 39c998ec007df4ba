/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Work that waits for counters: order, retries, chains, canceling. */
#include "unit.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#include <rdma/fi_errno.h>
#include "src/ds/bias.h"
#include "prov/base/cntr.h"
#include "prov/base/trigger.h"

enum { MOST = 2000 };

static struct fi_provider prov = { .name = "test" };
static struct ofi_ref parent;
static struct ofi_triggers triggers;
static int fired[MOST], count, dropped, busy;
static bool slow; /* the thread gets no processor before it drops the work */

struct job {
	struct ofi_trigger trigger;
	int id;
	struct ofi_cntr *adds; /* one, when it is done */
};

static int fire(struct ofi_trigger *trigger)
{
	struct job *job = (struct job *)trigger;

	if (busy && (!trigger->owner || trigger->owner == &busy)) {
		busy--;
		return -FI_EAGAIN;
	}
	fired[count++] = job->id;
	if (job->adds)
		ofi_cntr_count(job->adds, 1);
	return 0;
}

static void drop(struct ofi_trigger *trigger)
{
	if (slow)
		usleep(200000);
	dropped++;
	free(trigger);
}

static struct job *new_job(struct fid_cntr *cntr, uint64_t threshold, int id)
{
	struct job *job = calloc(1, sizeof(*job));

	job->trigger = (struct ofi_trigger){
		.cntr = ofi_cntr(cntr), .threshold = threshold, .fire = fire, .drop = drop
	};
	job->id = id;
	return job;
}

static void add(struct fid_cntr *cntr, uint64_t threshold, int id)
{
	ofi_triggers_add(&triggers, &new_job(cntr, threshold, id)->trigger);
}

static struct fid_cntr *open_cntr(void)
{
	struct fid_cntr *cntr;

	assert_int_equal(ofi_cntr_open(&prov, &parent, &parent, &triggers, NULL, &cntr, NULL), 0);
	return cntr;
}

static void *add_one(void *cntr)
{
	fi_cntr_add(cntr, 1);
	return NULL;
}

static int setup(void **state)
{
	(void)state;
	ofi_triggers_init(&triggers);
	count = dropped = busy = 0;
	return 0;
}

static void test_order(void **state)
{
	struct fid_cntr *cntr = open_cntr();
	static const int want[] = { 0, 1, 2, 3, 4 };

	(void)state;
	add(cntr, 5, 3);
	add(cntr, 2, 1);
	add(cntr, 2, 2);
	add(cntr, 9, 4);
	add(cntr, 0, 0); /* met already */
	assert_int_equal(count, 1);
	fi_cntr_add(cntr, 1);
	assert_int_equal(count, 1);
	assert_int_equal(fi_close(&cntr->fid), -FI_EBUSY);
	fi_cntr_add(cntr, 1);
	assert_int_equal(count, 3);
	fi_cntr_set(cntr, 100);
	assert_int_equal(count, 5);
	assert_memory_equal(fired, want, sizeof(want));
	assert_int_equal(dropped, 5);
	assert_int_equal(fi_close(&cntr->fid), 0);
}

/* Errors count for those that say so. */
static void test_errors(void **state)
{
	struct fid_cntr *cntr = open_cntr();
	struct job *job = new_job(cntr, 2, 2);

	(void)state;
	add(cntr, 2, 1);
	job->trigger.errors = true;
	ofi_triggers_add(&triggers, &job->trigger);
	fi_cntr_add(cntr, 1);
	fi_cntr_adderr(cntr, 1);
	assert_int_equal(count, 1);
	assert_int_equal(fired[0], 2);
	fi_cntr_add(cntr, 1);
	assert_int_equal(count, 2);
	assert_int_equal(fi_close(&cntr->fid), 0);
}

/* What finds no room is tried again; its owner's next waits for it, others do not. */
static void test_retry(void **state)
{
	struct fid_cntr *cntr = open_cntr();
	struct job *job;
	int i, other;

	(void)state;
	for (i = 0; i < 4; i++) {
		job = new_job(cntr, 1, i);
		job->trigger.owner = i % 2 ? (const void *)&other : &busy;
		ofi_triggers_add(&triggers, &job->trigger);
	}
	busy = 2;
	fi_cntr_add(cntr, 1);
	assert_int_equal(count, 2);
	assert_int_equal(fired[0], 1);
	assert_int_equal(fired[1], 3);
	busy = 0;
	fi_cntr_read(cntr);
	assert_int_equal(count, 4);
	assert_int_equal(fired[2], 0);
	assert_int_equal(fired[3], 2);
	assert_int_equal(fi_close(&cntr->fid), 0);
}

/* A long chain of work that triggers work does not recurse. */
static void test_chain(void **state)
{
	struct fid_cntr *cntr = open_cntr();
	struct job *job;
	int i;

	(void)state;
	for (i = 0; i < MOST; i++) {
		job = new_job(cntr, (uint64_t)i + 1, i);
		job->adds = ofi_cntr(cntr);
		ofi_triggers_add(&triggers, &job->trigger);
	}
	assert_int_equal(count, 0);
	fi_cntr_add(cntr, 1);
	assert_int_equal(count, MOST);
	assert_int_equal(fi_cntr_read(cntr), MOST + 1);
	assert_int_equal(fi_close(&cntr->fid), 0);
}

static void test_cancel(void **state)
{
	struct fid_cntr *cntr = open_cntr(), *other = open_cntr();
	struct ofi_trigger_match match = { .key = &dropped };
	struct job *job = new_job(cntr, 3, 0);

	(void)state;
	job->trigger.key = &dropped;
	ofi_triggers_add(&triggers, &job->trigger);
	add(cntr, 3, 1);
	add(other, 3, 2);
	add(other, 4, 3);
	assert_int_equal(ofi_triggers_cancel(&triggers, &match), 1);
	assert_int_equal(ofi_triggers_cancel(&triggers, &match), 0);
	match = (struct ofi_trigger_match){ .cntr = ofi_cntr(other) };
	assert_int_equal(ofi_triggers_cancel(&triggers, &match), 2);
	assert_int_equal(fi_close(&other->fid), 0);
	busy = 5;
	fi_cntr_add(cntr, 3);
	assert_int_equal(count, 0);
	match = (struct ofi_trigger_match){ 0 };
	assert_int_equal(ofi_triggers_cancel(&triggers, &match), 1);
	assert_int_equal(dropped, 4);
	assert_int_equal(fi_close(&cntr->fid), 0);
	assert_int_equal(parent.children, 0);
}

/* Work of a context is taken while it waits. */
static void test_take(void **state)
{
	struct fid_cntr *cntr = open_cntr();
	struct ofi_trigger_match match = { .context = &dropped };
	struct job *job = new_job(cntr, 3, 1);

	(void)state;
	assert_null(ofi_triggers_take(&triggers, &match));
	add(cntr, 3, 0);
	job->trigger.context = &dropped;
	ofi_triggers_add(&triggers, &job->trigger);
	assert_ptr_equal(ofi_triggers_take(&triggers, &match), &job->trigger);
	assert_null(ofi_triggers_take(&triggers, &match));
	assert_int_equal(dropped, 0);
	ofi_trigger_finish(&job->trigger);
	assert_int_equal(dropped, 1);
	fi_cntr_add(cntr, 3);
	assert_int_equal(count, 1);
	assert_int_equal(fired[0], 0);
	assert_int_equal(fi_close(&cntr->fid), 0);
	assert_int_equal(parent.children, 0);
}

/* So is work that is due and finds no room. */
static void test_take_ready(void **state)
{
	struct fid_cntr *cntr = open_cntr();
	struct ofi_trigger_match match = { .context = &dropped };
	struct job *job = new_job(cntr, 1, 0);

	(void)state;
	job->trigger.context = &dropped;
	job->trigger.owner = &busy;
	ofi_triggers_add(&triggers, &job->trigger);
	busy = 9;
	fi_cntr_add(cntr, 1);
	assert_ptr_equal(ofi_triggers_take(&triggers, &match), &job->trigger);
	ofi_trigger_finish(&job->trigger);
	busy = 0;
	fi_cntr_read(cntr);
	assert_int_equal(count, 0);
	assert_int_equal(fi_close(&cntr->fid), 0);
}

/* The largest value is reached by no other, with errors or without. */
static void test_most(void **state)
{
	struct fid_cntr *cntr = open_cntr();

	(void)state;
	add(cntr, 5, 1);
	fi_cntr_adderr(cntr, 1);
	fi_cntr_set(cntr, UINT64_MAX);
	assert_int_equal(count, 1);
	assert_int_equal(fi_close(&cntr->fid), 0);
}

#define test(name) cmocka_unit_test_setup(name, setup)

static int looks_outside, looks_inside;

static void look(void *object)
{
	(void)object;
	if (ofi_bias_outside)
		looks_outside++;
	else
		looks_inside++;
}

/*
 * A thread that looks for what work waits for may not be serialized with the threads in these
 * endpoints, so it is no owner there.
 */
static void others_are_locked_out(void **state)
{
	static const struct ofi_cntr_source_ops ops = { .progress = look };
	struct fid_cntr *cntr = open_cntr();

	(void)state;
	assert_int_equal(ofi_cntr_watch(ofi_cntr(cntr), &ops, &triggers, -1), 0);
	add(cntr, 1, 1);
	ofi_triggers_progress(&triggers);
	assert_int_equal(looks_inside, 1);
	triggers.apart = true;
	ofi_triggers_progress(&triggers);
	assert_int_equal(looks_inside, 1);
	assert_int_equal(looks_outside, 1);
	assert_false(ofi_bias_outside);
	ofi_cntr_unwatch(ofi_cntr(cntr), &triggers);
	fi_cntr_add(cntr, 1);
	assert_int_equal(fi_close(&cntr->fid), 0);
}

/* Whoever sees that work is done can close the counter that it waited for, and only then. */
static void test_close(void **state)
{
	struct fid_cntr *cntr = open_cntr(), *other = open_cntr();
	struct job *job = new_job(cntr, 1, 0);
	pthread_t thread;

	(void)state;
	job->adds = ofi_cntr(other);
	busy = 1;
	ofi_triggers_add(&triggers, &job->trigger);
	assert_int_equal(fi_close(&cntr->fid), -FI_EBUSY);
	fi_cntr_add(cntr, 1);
	assert_int_equal(busy, 0);
	assert_int_equal(fi_close(&cntr->fid), -FI_EBUSY);
	slow = true;
	assert_int_equal(pthread_create(&thread, NULL, add_one, cntr), 0);
	while (!__atomic_load_n(&ofi_cntr(other)->value, __ATOMIC_SEQ_CST))
		usleep(10);
	assert_int_equal(fi_close(&cntr->fid), 0);
	slow = false;
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(fi_close(&other->fid), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(test_order), test(test_errors),	       test(test_retry),
		test(test_chain), test(others_are_locked_out), test(test_cancel),
		test(test_take),  test(test_take_ready),       test(test_most),
		test(test_close),
	};

	return cmocka_run_group_tests_name("trigger", tests, NULL, NULL);
}
