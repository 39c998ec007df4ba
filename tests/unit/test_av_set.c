/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* AV sets: creation, order, the operations compared with a model, invalid arguments, no memory. */
#include "unit.h"
#include <stdlib.h>
#include <string.h>
#include "prov/base/av_set.h"
#include <rdma/fi_errno.h>

#define LIMIT 40 /* addresses; every fifth is not in use */

static struct fi_provider prov = { .name = "test" };
static struct ofi_av av = { .prov = &prov }, other_av = { .prov = &prov };
static int fail_after = -1;
static struct fid_av_set *changing; /* gets a member during an allocation, unless it is locked */
static int changes_after;

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
	if (changing && !changes_after-- && !ofi_av_set(changing)->lock.word)
		fi_av_set_insert(changing, 7);
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

bool __wrap_ofi_av_has(const struct ofi_av *vector, fi_addr_t addr);
fi_addr_t __wrap_ofi_av_limit(const struct ofi_av *vector);

bool __wrap_ofi_av_has(const struct ofi_av *vector, fi_addr_t addr)
{
	(void)vector;
	return addr < LIMIT && addr % 5 != 4;
}

fi_addr_t __wrap_ofi_av_limit(const struct ofi_av *vector)
{
	(void)vector;
	return LIMIT;
}

static struct fi_av_set_attr range(fi_addr_t start, fi_addr_t end, uint64_t stride, size_t count)
{
	return (struct fi_av_set_attr){
		.start_addr = start, .end_addr = end, .stride = stride, .count = count
	};
}

static struct fi_av_set_attr nothing(void)
{
	return range(FI_ADDR_NOTAVAIL, FI_ADDR_NOTAVAIL, 0, 0);
}

static int try_open(struct fi_av_set_attr attr, struct fid_av_set **set)
{
	return ofi_av_set_open(&av.fid, &attr, set, &other_av);
}

static struct fid_av_set *open_set(struct fi_av_set_attr attr)
{
	struct fid_av_set *set = NULL;

	assert_int_equal(try_open(attr, &set), 0);
	assert_int_equal(set->fid.fclass, FI_CLASS_AV_SET);
	assert_ptr_equal(set->fid.context, &other_av);
	return set;
}

static void close_set(struct fid_av_set *set)
{
	assert_int_equal(fi_close(&set->fid), 0);
}

static void expect(struct fid_av_set *set, size_t count, const fi_addr_t *want)
{
	size_t got;
	fi_addr_t *members = ofi_av_set_members(ofi_av_set(set), &got);

	assert_int_equal(got, count);
	if (count)
		assert_memory_equal(members, want, count * sizeof(*want));
	free(members);
}

static void ranges(void **state)
{
	struct fid_av_set *set;
	struct fi_av_set_attr all = nothing();

	(void)state;
	set = open_set(range(1, 9, 1, 9));
	expect(set, 7, (fi_addr_t[]){ 1, 2, 3, 5, 6, 7, 8 });
	assert_int_equal(av.ref.children, 1);
	close_set(set);
	set = open_set(range(3, 12, 3, 0));
	expect(set, 3, (fi_addr_t[]){ 3, 6, 12 });
	close_set(set);
	set = open_set(range(36, UINT64_MAX - 1, UINT64_MAX - 2, 0));
	expect(set, 1, (fi_addr_t[]){ 36 });
	close_set(set);
	set = open_set(range(100, 200, 1, 0));
	expect(set, 0, NULL);
	close_set(set);
	all.flags = FI_UNIVERSE | FI_BARRIER_SET | FI_GATHER_SET;
	set = open_set(all);
	assert_int_equal(ofi_av_set(set)->count, LIMIT / 5 * 4);
	close_set(set);
	assert_int_equal(av.ref.children, 0);
}

static void bad_attributes(void **state)
{
	struct fi_av_set_attr attr = nothing();
	struct fid_av_set *set = NULL;
	uint8_t key[65] = { 1, 2, 3 };

	(void)state;
	assert_int_equal(ofi_av_set_open(&av.fid, NULL, &set, NULL), -FI_EINVAL);
	assert_int_equal(try_open(range(2, 1, 1, 0), &set), -FI_EINVAL);
	assert_int_equal(try_open(range(1, 2, 0, 0), &set), -FI_EINVAL);
	assert_int_equal(try_open(range(1, FI_ADDR_NOTAVAIL, 1, 0), &set), -FI_EINVAL);
	assert_int_equal(try_open(range(FI_ADDR_NOTAVAIL, 1, 1, 0), &set), -FI_EINVAL);
	assert_int_equal(try_open(range(1, 9, 1, 8), &set), -FI_EINVAL);
	attr.stride = 1;
	assert_int_equal(try_open(attr, &set), -FI_EINVAL);
	attr = nothing();
	attr.flags = FI_SEND;
	assert_int_equal(try_open(attr, &set), -FI_EBADFLAGS);
	attr = nothing();
	attr.comm_key_size = 3;
	assert_int_equal(try_open(attr, &set), -FI_EINVAL);
	attr.comm_key = key;
	attr.comm_key_size = 65;
	assert_int_equal(try_open(attr, &set), -FI_EINVAL);
	attr.comm_key_size = 3;
	attr.start_addr = attr.end_addr = attr.stride = 1;
	assert_int_equal(try_open(attr, &set), -FI_EINVAL);
	assert_null(set);
	attr = nothing();
	attr.comm_key = key;
	attr.comm_key_size = 3;
	set = open_set(attr);
	assert_int_equal(ofi_av_set(set)->key_len, 3);
	assert_memory_equal(ofi_av_set(set)->key, key, 3);
	close_set(set);
	assert_int_equal(av.ref.children, 0);
}

static void members(void **state)
{
	struct fid_av_set *set = open_set(nothing()), *other = open_set(nothing());
	fi_addr_t addr = 0, another = 0;

	(void)state;
	assert_int_equal(fi_av_set_insert(set, 7), 0);
	assert_int_equal(fi_av_set_insert(set, 3), 0);
	assert_int_equal(fi_av_set_insert(set, 5), 0);
	assert_int_equal(fi_av_set_insert(set, 3), -FI_EINVAL);
	assert_int_equal(fi_av_set_insert(set, 4), -FI_EINVAL);
	assert_int_equal(fi_av_set_insert(set, FI_ADDR_NOTAVAIL), -FI_EINVAL);
	expect(set, 3, (fi_addr_t[]){ 7, 3, 5 });
	assert_int_equal(fi_av_set_remove(set, 3), 0);
	assert_int_equal(fi_av_set_remove(set, 3), -FI_EINVAL);
	expect(set, 2, (fi_addr_t[]){ 7, 5 });
	assert_int_equal(fi_av_set_remove(set, 5), 0);
	assert_int_equal(fi_av_set_remove(set, 7), 0);
	expect(set, 0, NULL);

	assert_int_equal(fi_av_set_addr(set, NULL), -FI_EINVAL);
	assert_int_equal(fi_av_set_addr(set, &addr), 0);
	assert_int_equal(fi_av_set_addr(other, &another), 0);
	assert_true(ofi_av_set_owns(ofi_av_set(set), addr) && addr != FI_ADDR_NOTAVAIL);
	assert_false(ofi_av_set_owns(ofi_av_set(set), another));
	close_set(set);
	close_set(other);
}

typedef int algebra_fn(struct fid_av_set *dst, const struct fid_av_set *src);

/* What the result should be, member by member in the order that the man page gives. */
static void model(algebra_fn *op, struct ofi_av_set *a, struct ofi_av_set *b, fi_addr_t *want,
		  size_t *count)
{
	bool in_a[LIMIT] = { false }, in_b[LIMIT] = { false };

	*count = 0;
	for (size_t i = 0; i < a->count; i++)
		in_a[a->member[i]] = true;
	for (size_t i = 0; i < b->count; i++)
		in_b[b->member[i]] = true;
	for (size_t i = 0; i < a->count; i++)
		if (op == fi_av_set_union || in_b[a->member[i]] == (op == fi_av_set_intersect))
			want[(*count)++] = a->member[i];
	for (size_t i = 0; i < b->count && op == fi_av_set_union; i++)
		if (!in_a[b->member[i]])
			want[(*count)++] = b->member[i];
}

static void algebra(void **state)
{
	static algebra_fn *const ops[] = { fi_av_set_union, fi_av_set_intersect, fi_av_set_diff };
	fi_addr_t want[LIMIT];
	size_t count;

	(void)state;
	for (int round = 0; round < 2000; round++) {
		struct fid_av_set *a = open_set(nothing()), *b = open_set(nothing());
		algebra_fn *op = ops[rand() % 3];

		for (int i = rand() % 60; i; i--) {
			fi_addr_t addr = (fi_addr_t)(rand() % LIMIT);
			struct fid_av_set *set = rand() % 2 ? a : b;
			struct ofi_av_set *base = ofi_av_set(set);
			bool known = !__wrap_ofi_av_has(NULL, addr);

			for (size_t j = 0; j < base->count; j++)
				known |= base->member[j] == addr;
			if (!known)
				assert_int_equal(fi_av_set_insert(set, addr), 0);
		}
		if (rand() % 8 == 0) {
			close_set(b);
			b = a;
		}
		model(op, ofi_av_set(a), ofi_av_set(b), want, &count);
		assert_int_equal(op(a, b), 0);
		expect(a, count, want);
		if (b != a)
			close_set(b);
		close_set(a);
	}
}

static void sets_of_different_vectors(void **state)
{
	struct fid_av_set *a = open_set(nothing()), *b = NULL;
	struct fi_av_set_attr attr = nothing();

	(void)state;
	assert_int_equal(ofi_av_set_open(&other_av.fid, &attr, &b, NULL), 0);
	assert_int_equal(fi_av_set_union(a, b), -FI_EINVAL);
	assert_int_equal(fi_av_set_intersect(a, b), -FI_EINVAL);
	assert_int_equal(fi_av_set_diff(a, b), -FI_EINVAL);
	assert_int_equal(fi_av_set_diff(a, NULL), -FI_EINVAL);
	close_set(a);
	close_set(b);
}

static void out_of_memory(void **state)
{
	struct fid_av_set *a = NULL, *b = open_set(range(0, 30, 1, 0));
	int tries;

	(void)state;
	for (tries = 0; fail_after = tries, try_open(range(0, 3, 1, 0), &a) == -FI_ENOMEM; tries++)
		assert_null(a);
	fail_after = -1;
	assert_true(tries >= 2);
	for (tries = 0; fail_after = tries, fi_av_set_union(a, b) == -FI_ENOMEM; tries++) {
		fail_after = -1;
		expect(a, 4, (fi_addr_t[]){ 0, 1, 2, 3 });
	}
	fail_after = -1;
	assert_true(tries >= 4);
	assert_int_equal(ofi_av_set(a)->count, ofi_av_set(b)->count);
	fail_after = 0;
	assert_int_equal(fi_av_set_intersect(a, b), -FI_ENOMEM);
	fail_after = -1;
	close_set(a);
	close_set(b);
	assert_int_equal(av.ref.children, 0);
}

/* Another thread inserts an address of the source. */
static void unions_of_sets_that_change(void **state)
{
	struct fid_av_set *a, *b = open_set(range(7, 7, 1, 0));

	(void)state;
	for (int i = 0; i < 8; i++) {
		a = open_set(range(1, 2, 1, 0));
		changing = a;
		changes_after = i;
		assert_int_equal(fi_av_set_union(a, b), 0);
		changing = NULL;
		expect(a, 3, (fi_addr_t[]){ 1, 2, 7 });
		close_set(a);
	}
	close_set(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges),
		cmocka_unit_test(bad_attributes),
		cmocka_unit_test(members),
		cmocka_unit_test(algebra),
		cmocka_unit_test(sets_of_different_vectors),
		cmocka_unit_test(out_of_memory),
		cmocka_unit_test(unions_of_sets_that_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
