/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Collective operations of 1 to 64 members on a network that a seed drives, many in flight,
 * compared with the expected results; groups of some members; members that die; memory that runs
 * out.
 */
#include "unit.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "prov/base/reduce.h"
#include <rdma/fi_errno.h>
#include "coll_scene.h"

static int fail_after = -1; /* allocations that succeed before one fails; -1: all do */

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);

static bool may_allocate(void)
{
	return fail_after < 0 || fail_after--;
}

void *__wrap_malloc(size_t size)
{
	return may_allocate() ? __real_malloc(size) : NULL;
}

void *__wrap_calloc(size_t n, size_t size)
{
	return may_allocate() ? __real_calloc(n, size) : NULL;
}

void *__wrap_realloc(void *old, size_t size)
{
	return may_allocate() ? __real_realloc(old, size) : NULL;
}

static void schedules(size_t n, unsigned first, unsigned count)
{
	for (unsigned seed = first; seed < first + count; seed++) {
		scene_open(n, seed);
		scene.jobs = JOBS;
		join_all(3);
		run_jobs(SIZE_MAX);
		all_done(true);
		scene_close(true);
	}
}

/* WEFT_SEEDS, whatever its value: a twentieth of it, for slow checkers. */
static unsigned int fewer(unsigned int count)
{
	return getenv("WEFT_SEEDS") ? (count + 19) / 20 : count;
}

static void every_size(void **state)
{
	(void)state;
	for (size_t n = 1; n <= 64; n += fewer(20) == 20 ? 1 : 7)
		schedules(n, (unsigned)n * 1000, fewer(n < 20 ? 10 : 1));
}

static void few_members_many_orders(void **state)
{
	(void)state;
	for (size_t n = 2; n <= 8; n++)
		schedules(n, (unsigned)n * 100000, fewer(100));
}

/*
 * All types and operations, on a group whose size is not a power of two. The results of reads and
 * writes depend on the order.
 */
static void every_type_and_operation(void **state)
{
	static const enum fi_collective_op kinds[] = { FI_ALLREDUCE, FI_REDUCE, FI_REDUCE_SCATTER };

	(void)state;
	scene_open(7, 1);
	join_all(1);
	scene.jobs = 1;
	for (int type = FI_INT8; type <= FI_FLOAT8_E5M2; type++)
		for (int op = FI_MIN; op <= FI_ATOMIC_WRITE; op++)
			for (size_t k = 0; k < (op > FI_BXOR ? 1 : 3) && ofi_reduce_find(type, op);
			     k++) {
				scene.job[0] = (struct job){ 0,	 kinds[k], type,
							     op, 11,	   ofi_datatype_size(type),
							     5 };
				memset(scene.next, 0, sizeof(scene.next));
				for (size_t i = 0; i < 7; i++)
					assert_true(start_next(i));
				drain();
				all_done(true);
				for (size_t i = 0; i < 7; i++)
					part_free(&scene.part[i][0], true);
			}
	scene.jobs = 0;
	scene_close(true);
}

/*
 * A member affected by a death ends with one error; none waits for ever, and no wrong result looks
 * right.
 */
static void members_die(void **state)
{
	size_t hit = 0;

	(void)state;
	for (unsigned seed = 1; seed <= 400; seed++) {
		scene_open(2 + seed % 15, seed);
		scene.jobs = JOBS;
		join_all(3);
		run_jobs(net_random(scene.net, (unsigned)scene.net->count));
		all_done(false);
		for (size_t i = 0; i < scene.net->count; i++)
			for (size_t j = 0; j < JOBS; j++)
				hit += scene.part[i][j].done && scene.part[i][j].err;
		scene_close(false);
	}
	assert_true(hit > 100);
}

/*
 * Each operation that was started ends once, with FI_ECANCELED if its group is left before. Nothing
 * is touched after that.
 */
static void leaving_cancels(void **state)
{
	size_t canceled = 0;

	(void)state;
	for (unsigned seed = 1; seed <= 300; seed++) {
		scene_open(2 + seed % 9, seed);
		scene.jobs = 3;
		join_all(3);
		for (size_t i = 0; i < scene.jobs; i++)
			scene.job[i] = random_job(scene.net, 3);
		for (unsigned i = 0; i < 40; i++) {
			start_next(net_random(scene.net, (unsigned)scene.net->count));
			net_step(scene.net);
		}
		scene.net->busy = seed % 2;
		leave_all();
		all_done(false);
		for (size_t i = 0; i < scene.net->count * JOBS; i++)
			canceled += scene.part[i / JOBS][i % JOBS].err == FI_ECANCELED;
		scene_close(false);
	}
	assert_true(canceled > 100);
}

static int barrier_err;

static void barrier_done(struct net_member *member, const struct ofi_coll_done *done)
{
	(void)member;
	barrier_err = done->err;
}

/* One that has gone, and perhaps come back, gives what it had sent and nothing more. */
static void lost_members_are_not_waited_for(void **state)
{
	const struct ofi_coll_call call = { .kind = FI_BARRIER,
					    .datatype = FI_VOID,
					    .op = FI_NOOP };
	fi_addr_t addr;
	struct net_member *a, *b;

	(void)state;
	scene_open(2, 3);
	join_all(1);
	scene.net->calm = true;
	addr = ofi_coll_addr(scene.team[0].group[0]);
	a = &scene.net->member[scene.team[0].id[0]];
	b = &scene.net->member[scene.team[0].id[1]];
	a->done = b->done = barrier_done;
	barrier_err = -1;
	assert_int_equal(ofi_coll_start(a->coll, addr, &call), 0);
	while (net_step(scene.net))
		;
	ofi_coll_lost(b->coll, net_addr(a->id));
	assert_int_equal(ofi_coll_start(b->coll, addr, &call), 0);
	while (net_step(scene.net))
		;
	assert_int_equal(barrier_err, FI_ECONNRESET);
	barrier_err = -1;
	assert_int_equal(ofi_coll_start(b->coll, addr, &call), 0);
	assert_int_equal(barrier_err, FI_ECONNRESET);
	scene_close(false);
}

static struct part dummy;

static ssize_t start_on(struct net_member *member, const struct ofi_coll_call *call)
{
	return ofi_coll_start(member->coll, ofi_coll_addr(scene.team[0].group[0]), call);
}

static void bad_calls(void **state)
{
	struct ofi_coll_call good = { .kind = FI_BROADCAST, .result = &dummy, .count = 1 }, bad;
	struct net_member *member;

	(void)state;
	scene_open(3, 5);
	join_all(1);
	member = &scene.net->member[scene.team[0].id[0]];
	good.root = net_addr(scene.team[0].id[1]);
	bad = good;
	assert_int_equal(ofi_coll_start(member->coll, 3, &bad), -FI_EINVAL);
	assert_int_equal(ofi_coll_start(member->coll, FI_ADDR_NOTAVAIL, &bad), -FI_EINVAL);
	bad.kind = 99;
	assert_int_equal(start_on(member, &bad), -FI_EOPNOTSUPP);
	bad = good;
	bad.datatype = FI_VOID;
	assert_int_equal(start_on(member, &bad), -FI_EOPNOTSUPP);
	bad = good;
	bad.op = FI_SUM;
	assert_int_equal(start_on(member, &bad), -FI_EOPNOTSUPP);
	bad = good;
	bad.op = FI_NOOP;
	bad.root = 12345;
	assert_int_equal(start_on(member, &bad), -FI_EINVAL);
	bad.root = good.root;
	bad.result = NULL;
	assert_int_equal(start_on(member, &bad), -FI_EINVAL);
	bad.result = &dummy;
	bad.count = SIZE_MAX / 2;
	assert_int_equal(start_on(member, &bad), -FI_EMSGSIZE);
	bad = (struct ofi_coll_call){ .kind = FI_ALLGATHER,
				      .op = FI_NOOP,
				      .buf = &dummy,
				      .result = &dummy,
				      .count = (1 << 25) / 3 + 1 };
	assert_int_equal(start_on(member, &bad), -FI_EMSGSIZE);
	bad.buf = NULL;
	bad.count = 1;
	assert_int_equal(start_on(member, &bad), -FI_EINVAL);
	assert_int_equal(join_one(&(struct team){ .size = 0 }, 0), -FI_EINVAL);
	scene_close(true);
}

/* A join that waits for its members is not one of them. */
static void no_more_than_so_many(void **state)
{
	struct ofi_coll_call call = { .kind = FI_BARRIER, .datatype = FI_VOID, .op = FI_NOOP };
	struct net_member *member;
	int started = 0;

	(void)state;
	scene_open(2, 5);
	join_all(1);
	member = &scene.net->member[scene.team[0].id[0]];
	member->done = barrier_done;
	scene.team[1] = (struct team){ .size = 2, .key = 1, .id = { member->id, !member->id } };
	assert_int_equal(join_one(&scene.team[1], 0), 0);
	while (!start_on(member, &call))
		started++;
	assert_int_equal(started, 64);
	assert_int_equal(start_on(member, &call), -FI_EAGAIN);
	scene_close(false);
}

/*
 * Each allocation of joining and starting fails in turn; the member retries, and the others are not
 * affected.
 */
static void out_of_memory(void **state)
{
	struct ofi_coll_call call;
	struct team *team;
	int tries;

	(void)state;
	scene_open(5, 3);
	team = &scene.team[0];
	for (size_t i = 0; i < 5; i++) {
		for (tries = 0; fail_after = tries, join_one(team, i) == -FI_ENOMEM; tries++)
			assert_null(team->group[i]);
		fail_after = -1;
		assert_true(tries > 2);
	}
	drain();
	scene.jobs = 1;
	for (int kind = FI_BARRIER; kind <= FI_GATHER; kind++) {
		scene.job[0] = (struct job){ 0, kind, FI_INT32, FI_NOOP, 3, 4, 2 };
		if (kind == FI_ALLREDUCE || kind == FI_REDUCE || kind == FI_REDUCE_SCATTER)
			scene.job[0].op = FI_MAX;
		if (kind == FI_BARRIER)
			scene.job[0] = (struct job){ 0, kind, FI_VOID, FI_NOOP };
		for (size_t i = 0; i < 5; i++) {
			struct part *part = &scene.part[team->id[i]][0];

			part_make(&scene.job[0], 5, i, part);
			call = job_call(&scene.job[0], part);
			for (tries = 0; fail_after = tries,
			    ofi_coll_start(scene.net->member[team->id[i]].coll,
					   ofi_coll_addr(team->group[i]), &call) == -FI_ENOMEM;
			     tries++)
				;
			fail_after = -1;
			assert_true(tries >= 2);
		}
		drain();
		for (size_t i = 0; i < 5; i++) {
			assert_true(scene.part[i][0].done && !scene.part[i][0].err);
			part_free(&scene.part[i][0], true);
		}
	}
	scene.jobs = 0;
	scene_close(true);
}

/* The same members can form another group beside the first. */
static void agreements(void **state)
{
	fi_addr_t first;

	(void)state;
	scene_open(6, 9);
	join_all(1);
	first = ofi_coll_addr(scene.team[0].group[0]);
	scene.team[1] = scene.team[0];
	memset(scene.team[1].group, 0, sizeof(scene.team[1].group));
	memset(scene.team[1].joined, 0, sizeof(scene.team[1].joined));
	join_all(2);
	assert_int_not_equal(ofi_coll_addr(scene.team[1].group[0]), first);
	for (size_t i = 0; i < 6; i++) {
		struct ofi_coll *coll = scene.net->member[scene.team[0].id[i]].coll;

		assert_ptr_equal(ofi_coll_find(coll, first), scene.team[0].group[i]);
		ofi_coll_leave(scene.team[0].group[i]);
		assert_null(ofi_coll_find(coll, first));
	}
	scene.team[0].size = 0;
	scene_close(true);
}

/* Running out of memory while a group forms delays it and has no other effect: it forms for all. */
static void joins_wait_for_memory(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= 200; seed++) {
		scene_open(2 + seed % 9, seed);
		scene.net->poor = true;
		join_all(1);
		scene.net->poor = false;
		scene_close(true);
	}
}

static void join_some(struct team *team, size_t without)
{
	for (size_t i = 0; i < team->size; i++) {
		if (i == without)
			continue;
		assert_int_equal(join_one(team, i), 0);
		for (unsigned steps = net_random(scene.net, 5); steps; steps--)
			net_step(scene.net);
	}
}

/*
 * One member has no memory to join, and does not retry. The first of the others that gives up makes
 * it fail for all, including that member if it joins after all: they keep the same count, and form
 * a group the next time.
 */
static void joins_that_are_given_up(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= 300; seed++) {
		struct team *team = &scene.team[0];
		size_t n = 2 + seed % 9, absent;

		scene_open(n, seed);
		absent = net_random(scene.net, (unsigned)n);
		fail_after = (int)(seed % 3);
		assert_int_equal(join_one(team, absent), -FI_ENOMEM);
		fail_after = -1;
		join_some(team, absent);
		leave_one(team, (absent + 1) % n);
		drain();
		assert_int_equal(join_one(team, absent), 0);
		drain();
		for (size_t i = 0; i < n; i++) {
			assert_int_equal(team->joined[i],
					 i == (absent + 1) % n ? 0 : -FI_ECANCELED);
			if (team->group[i])
				leave_one(team, i);
		}
		join_all(1);
		/* Who left first may have been sent something since. */
		scene.net->busy = true;
		scene_close(false);
	}
}

/*
 * Messages of a join do not reach one member, which does not know of it. The others leave before
 * or after they learn of it. Once the member can be reached, the join fails there, then succeeds.
 */
static void joins_that_one_member_does_not_see(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= 300; seed++) {
		struct team *team = &scene.team[0];
		size_t n = 2 + seed % 9, far;

		scene_open(n, seed);
		far = net_random(scene.net, (unsigned)n);
		for (unsigned fails = seed % 4 ? 1 : 3; fails; fails--) {
			scene.net->member[team->id[far]].dead = true;
			join_some(team, far);
			if (seed % 2)
				drain();
			leave_all();
			drain();
			scene.net->member[team->id[far]].dead = false;
		}
		for (unsigned tries = seed % 4 ? 2 : 4; tries; tries--) {
			for (size_t i = 0; i < n; i++)
				if (!team->group[i])
					assert_int_equal(join_one(team, i), 0);
			drain();
			for (size_t i = 0; i < n && tries > 1; i++) {
				assert_int_equal(team->joined[i], i == far ? -FI_ECANCELED : 0);
				if (i == far)
					leave_one(team, i);
			}
		}
		for (size_t i = 0; i < n; i++)
			assert_int_equal(team->joined[i], 1);
		/* It may have been sent something since it left. */
		scene.net->busy = true;
		scene_close(false);
	}
}

/* A member sends something else than what the members have agreed on. */
static void joins_with_a_liar(void **state)
{
	static const uint64_t lies[] = { 0, 1, 1ULL << 63 };

	(void)state;
	for (unsigned seed = 1; seed <= 60; seed++) {
		scene_open(2, seed);
		scene.net->lie = &lies[seed % 3];
		join_some(&scene.team[0], SIZE_MAX);
		drain();
		for (size_t i = 0; i < 2; i++)
			assert_int_equal(scene.team[0].joined[i],
					 scene.team[0].id[i] ? -FI_EPROTO : 1);
		scene.net->busy = true;
		scene_close(false);
	}
}

static void queries(void **state)
{
	struct fi_collective_attr attr = { .op = FI_SUM, .datatype = FI_DOUBLE };
	enum fi_collective_op kind;

	(void)state;
	assert_int_equal(ofi_coll_query(FI_ALLREDUCE, NULL, 0, 4096), -FI_EINVAL);
	assert_int_equal(ofi_coll_query(FI_ALLREDUCE, &attr, 1, 4096), -FI_EBADFLAGS);
	assert_int_equal(ofi_coll_query(FI_ALLREDUCE, &attr, FI_SCATTER, 4096), -FI_EBADFLAGS);
	assert_int_equal(ofi_coll_query(FI_REDUCE_SCATTER, &attr, FI_SCATTER, 4096), 0);
	assert_int_equal(ofi_coll_query(FI_ALLREDUCE, &attr, 0, 4096), 0);
	assert_int_equal(attr.datatype_attr.count, 256);
	assert_int_equal(attr.datatype_attr.size, 8);
	assert_int_equal(attr.max_members, OFI_COLL_MEMBERS_MAX);
	for (kind = FI_BARRIER + 1; kind <= FI_GATHER; kind++)
		for (attr.op = FI_MIN; attr.op <= FI_MSWAP; attr.op++)
			if (kind == FI_BROADCAST || kind == FI_ALLTOALL || kind == FI_ALLGATHER ||
			    kind == FI_SCATTER || kind == FI_GATHER)
				assert_int_equal(ofi_coll_query(kind, &attr, 0, 4096), 0);
	attr.op = FI_BOR;
	assert_int_equal(ofi_coll_query(FI_REDUCE, &attr, 0, 4096), -FI_EOPNOTSUPP);
	attr.op = FI_DIFF; /* whose result hangs on the order of the members */
	assert_int_equal(ofi_coll_query(FI_REDUCE, &attr, 0, 4096), -FI_EOPNOTSUPP);
	assert_int_equal(ofi_coll_query(FI_GATHER + 1, &attr, 0, 4096), -FI_EOPNOTSUPP);
	attr.op = FI_NOOP;
	assert_int_equal(ofi_coll_query(FI_GATHER, &attr, 0, (size_t)1 << 30), 0);
	assert_int_equal(attr.datatype_attr.count, (1 << 29) / 8 / OFI_COLL_MEMBERS_MAX);
	attr.datatype = FI_VOID;
	assert_int_equal(ofi_coll_query(FI_GATHER, &attr, 0, 4096), -FI_EOPNOTSUPP);
	assert_int_equal(ofi_coll_query(FI_BARRIER, &attr, 0, 4096), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_size),
		cmocka_unit_test(few_members_many_orders),
		cmocka_unit_test(every_type_and_operation),
		cmocka_unit_test(members_die),
		cmocka_unit_test(leaving_cancels),
		cmocka_unit_test(lost_members_are_not_waited_for),
		cmocka_unit_test(bad_calls),
		cmocka_unit_test(no_more_than_so_many),
		cmocka_unit_test(out_of_memory),
		cmocka_unit_test(joins_wait_for_memory),
		cmocka_unit_test(joins_that_are_given_up),
		cmocka_unit_test(joins_that_one_member_does_not_see),
		cmocka_unit_test(joins_with_a_liar),
		cmocka_unit_test(agreements),
		cmocka_unit_test(queries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
