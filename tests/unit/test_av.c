/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The base of address vectors, with numbers as addresses: insertion, reports, user ids, names,
 * invalid calls.
 */
#include "unit.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include "prov/base/av.h"
#include "prov/base/ops.h"

enum { BAD = -1, NO_MEMORY = -2 };

static struct fi_provider prov = { .name = "test" };
static struct ofi_ref parent, other_fabric;
static struct ofi_av av;
static struct fid_eq *eq;
static int dropped;
static char name[32];

static int put(struct ofi_av *base, size_t index, void *entry, const void *addr)
{
	const int *number = addr;

	(void)index;
	assert_ptr_equal(base, &av);
	if (*number < 0)
		return *number == BAD ? -FI_EINVAL : -FI_ENOMEM;
	memcpy(entry, number, sizeof(*number));
	return 0;
}

static void drop(struct ofi_av *base, size_t index, void *entry)
{
	assert_ptr_equal(ofi_av_entry(base, index), entry);
	dropped++;
}

static void drop_copy(struct ofi_av *base, size_t index, void *entry)
{
	(void)index;
	assert_ptr_equal(base, &av);
	assert_true(*(int *)entry > 0);
	dropped++;
}

static size_t name_of(struct ofi_av *base, fi_addr_t fi_addr, void *to)
{
	assert_ptr_equal(base, &av);
	memcpy(to, "abc", 4);
	return fi_addr ? 0 : 4;
}

static const struct ofi_av_class numbers = {
	.addr_size = sizeof(int),
	.entry_size = sizeof(int),
	.put = put,
	.drop = drop,
	.name = name_of,
};

static const struct fi_ops fid_ops = { .size = OFI_FID_DEFAULTS, .bind = ofi_av_bind };
static const struct fi_ops_av ops = {
	.size = OFI_AV_DEFAULTS,
	.remove = ofi_av_remove,
	.lookup = ofi_av_lookup,
	.set_user_id = ofi_av_set_user_id,
};

static int open_av(uint64_t flags)
{
	struct fi_av_attr attr = { .flags = flags };
	int ret = ofi_av_init(&av, &prov, &parent, &parent, &numbers, &attr, NULL);

	if (ret)
		return ret;
	assert_int_equal(attr.type, FI_AV_TABLE);
	av.fid.fid.ops = ofi_ops(&fid_ops);
	av.fid.ops = ofi_ops(&ops);
	return 0;
}

static int setup(void **state)
{
	struct fi_eq_attr attr = { .wait_obj = FI_WAIT_UNSPEC };

	(void)state;
	dropped = 0;
	snprintf(name, sizeof(name), "test_av.%d", (int)getpid());
	assert_int_equal(open_av(0), 0);
	return ofi_eq_open(&prov, FI_VERSION(1, 17), &parent, &attr, NULL, &eq, NULL);
}

static int teardown(void **state)
{
	(void)state;
	assert_int_equal(ofi_av_fini(&av), 0);
	assert_int_equal(fi_close(&eq->fid), 0);
	assert_int_equal(parent.children, 0);
	return 0;
}

static int insert(const int *numbers_, size_t count, fi_addr_t *fi_addr, uint64_t flags,
		  void *context)
{
	int ret =
		ofi_av_check_insert(&av, "fi_av_insert", numbers_, count, fi_addr, flags, context);

	return ret ? ret : ofi_av_insert(&av, numbers_, NULL, count, fi_addr, flags, context);
}

static void test_attributes(void **state)
{
	struct ofi_av other;
	struct fi_av_attr good = { .type = FI_AV_MAP, .count = SIZE_MAX }, attr;

	(void)state;
	assert_int_equal(ofi_av_init(&other, &prov, &parent, &parent, &numbers, &good, NULL), 0);
	assert_int_equal(good.type, FI_AV_MAP);
	assert_int_equal(ofi_av_fini(&other), 0);
	assert_int_equal(ofi_av_init(&other, &prov, &parent, &parent, &numbers, NULL, NULL),
			 -FI_EINVAL);
	attr = (struct fi_av_attr){ .name = "shared" };
	assert_int_equal(ofi_av_init(&other, &prov, &parent, &parent, &numbers, &attr, NULL),
			 -FI_ENOSYS);
	attr = (struct fi_av_attr){ .flags = FI_READ };
	assert_int_equal(ofi_av_init(&other, &prov, &parent, &parent, &numbers, &attr, NULL),
			 -FI_EINVAL);
	attr = (struct fi_av_attr){ .flags = FI_MORE };
	assert_int_equal(ofi_av_init(&other, &prov, &parent, &parent, &numbers, &attr, NULL),
			 -FI_EBADFLAGS);
	attr = (struct fi_av_attr){ .type = 17 };
	assert_int_equal(ofi_av_init(&other, &prov, &parent, &parent, &numbers, &attr, NULL),
			 -FI_EINVAL);
	attr = (struct fi_av_attr){ .rx_ctx_bits = 1 };
	assert_int_equal(ofi_av_init(&other, &prov, &parent, &parent, &numbers, &attr, NULL),
			 -FI_EINVAL);
	attr = (struct fi_av_attr){ .rx_ctx_bits = -1 };
	assert_int_equal(ofi_av_init(&other, &prov, &parent, &parent, &numbers, &attr, NULL),
			 -FI_EINVAL);
	assert_int_equal(parent.children, 2);
}

static void test_insert(void **state)
{
	const int values[] = { 7, 8, 9 };
	fi_addr_t addr[3];

	(void)state;
	assert_int_equal(insert(values, 3, addr, FI_MORE, NULL), 3);
	assert_int_equal(insert(values, 1, NULL, 0, NULL), 1);
	assert_int_equal(insert(values, 0, NULL, 0, NULL), 0);
	assert_int_equal(addr[0], 0);
	assert_int_equal(addr[2], 2);
	assert_int_equal(*(int *)ofi_av_at(&av, 1), 8);
	assert_int_equal(*(int *)ofi_av_at(&av, 3), 7);
	assert_null(ofi_av_at(&av, 4));
	assert_null(ofi_av_at(&av, FI_ADDR_NOTAVAIL));
}

/* An address that fails keeps its index free, those behind it keep theirs. */
static void test_some_fail(void **state)
{
	const int values[] = { 7, BAD, 9, NO_MEMORY };
	int errs[4] = { -1, -1, -1, -1 };
	fi_addr_t addr[4];

	(void)state;
	assert_int_equal(insert(values, 4, addr, FI_SYNC_ERR, errs), 2);
	assert_int_equal(addr[0], 0);
	assert_int_equal(addr[1], FI_ADDR_NOTAVAIL);
	assert_int_equal(addr[2], 2);
	assert_int_equal(addr[3], FI_ADDR_NOTAVAIL);
	assert_int_equal(errs[0], 0);
	assert_int_equal(errs[1], FI_EINVAL);
	assert_int_equal(errs[2], 0);
	assert_int_equal(errs[3], FI_ENOMEM);
	assert_null(ofi_av_entry(&av, 1));
	assert_int_equal(insert(values, 1, addr, 0, NULL), 1);
	assert_int_equal(addr[0], 1);
}

static void test_errors_from_before(void **state)
{
	const int values[] = { 7, 8 }, errs[] = { -FI_ECONNREFUSED, 0 };
	int status[2];
	fi_addr_t addr[2];

	(void)state;
	assert_int_equal(ofi_av_insert(&av, values, errs, 2, addr, FI_SYNC_ERR, status), 1);
	assert_int_equal(status[0], FI_ECONNREFUSED);
	assert_int_equal(addr[0], FI_ADDR_NOTAVAIL);
	assert_int_equal(addr[1], 1);
}

static void test_bad_insert(void **state)
{
	const int value = 7;
	fi_addr_t addr;

	(void)state;
	assert_int_equal(insert(NULL, 1, &addr, 0, NULL), -FI_EINVAL);
	assert_int_equal(insert(&value, 1, &addr, FI_SYNC_ERR, NULL), -FI_EINVAL);
	assert_int_equal(insert(&value, 1, NULL, FI_AV_USER_ID, NULL), -FI_EINVAL);
	assert_int_equal(insert(&value, 1, &addr, FI_READ, NULL), -FI_EBADFLAGS);
	assert_int_equal(insert(&value, SIZE_MAX, NULL, 0, NULL), -FI_EINVAL);
	assert_int_equal(av.table.used, 0);
}

static void test_remove(void **state)
{
	const int values[] = { 7, 8, 9 };
	fi_addr_t addr[3], wrong[] = { 1, 1, 17, FI_ADDR_NOTAVAIL, 2 };

	(void)state;
	assert_int_equal(insert(values, 3, addr, 0, NULL), 3);
	assert_int_equal(fi_av_remove(&av.fid, NULL, 1, 0), -FI_EINVAL);
	assert_int_equal(fi_av_remove(&av.fid, addr, 1, FI_MORE), -FI_EBADFLAGS);
	assert_int_equal(fi_av_remove(&av.fid, NULL, 0, 0), 0);
	assert_int_equal(dropped, 0);
	assert_int_equal(fi_av_remove(&av.fid, wrong, 5, 0), -FI_EINVAL);
	assert_int_equal(dropped, 2);
	assert_null(ofi_av_entry(&av, 1));
	assert_non_null(ofi_av_entry(&av, 0));
	assert_int_equal(insert(values, 2, addr, 0, NULL), 2);
	assert_int_equal(addr[0], 1);
	assert_int_equal(addr[1], 2);
}

static void test_user_ids(void **state)
{
	const int values[] = { 7, BAD, 9 };
	fi_addr_t addr[] = { 1000, 1001, 1002 };

	(void)state;
	assert_int_equal(insert(values, 1, NULL, 0, NULL), 1);
	assert_int_equal(ofi_av_reported(&av, 0), 0);
	assert_int_equal(insert(values, 3, addr, FI_AV_USER_ID, NULL), 2);
	assert_int_equal(addr[0], 1);
	assert_int_equal(addr[1], FI_ADDR_NOTAVAIL);
	assert_int_equal(addr[2], 3);
	assert_int_equal(ofi_av_reported(&av, 0), 0);
	assert_int_equal(ofi_av_reported(&av, 1), 1000);
	assert_int_equal(ofi_av_reported(&av, 2), 2);
	assert_int_equal(ofi_av_reported(&av, 3), 1002);
	assert_int_equal(fi_av_set_user_id(&av.fid, 0, 55, 0), 0);
	assert_int_equal(ofi_av_reported(&av, 0), 55);
	assert_int_equal(fi_av_set_user_id(&av.fid, 2, 55, 0), -FI_EINVAL);
	assert_int_equal(fi_av_set_user_id(&av.fid, 0, 55, FI_MORE), -FI_EBADFLAGS);
	/* A new address has no id of the one before. */
	assert_int_equal(fi_av_remove(&av.fid, &addr[0], 1, 0), 0);
	assert_int_equal(insert(values, 1, addr, 0, NULL), 1);
	assert_int_equal(addr[0], 1);
	assert_int_equal(ofi_av_reported(&av, 1), 1);
}

static void test_bind(void **state)
{
	(void)state;
	assert_int_equal(fi_av_bind(&av.fid, NULL, 0), -FI_EINVAL);
	assert_int_equal(fi_av_bind(&av.fid, &av.fid.fid, 0), -FI_EINVAL);
	ofi_eq(eq)->parent = &other_fabric;
	assert_int_equal(fi_av_bind(&av.fid, &eq->fid, 0), -FI_EINVAL);
	ofi_eq(eq)->parent = &parent;
	assert_int_equal(fi_av_bind(&av.fid, &eq->fid, FI_SEND), -FI_EBADFLAGS);
	assert_int_equal(fi_av_bind(&av.fid, &eq->fid, 0), 0);
	assert_int_equal(fi_av_bind(&av.fid, &eq->fid, 0), -FI_EBUSY);
	assert_int_equal(fi_close(&eq->fid), -FI_EBUSY);
}

static void reopen_with_events(void)
{
	assert_int_equal(ofi_av_fini(&av), 0);
	assert_int_equal(open_av(FI_EVENT), 0);
}

static void expect_error(size_t index, int code, void *context)
{
	struct fi_eq_err_entry error = { 0 };
	struct fi_eq_entry entry;
	uint32_t event;

	assert_int_equal(fi_eq_read(eq, &event, &entry, sizeof(entry), 0), -FI_EAVAIL);
	assert_int_equal(fi_eq_readerr(eq, &error, 0), sizeof(error));
	assert_int_equal(error.err, code);
	assert_int_equal(error.data, index);
	assert_ptr_equal(error.context, context);
	assert_ptr_equal(error.fid, &av.fid.fid);
}

static void test_events(void **state)
{
	const int values[] = { 7, BAD, 9, NO_MEMORY };
	struct fi_eq_entry entry;
	fi_addr_t addr[4];
	uint32_t event;
	int errs[4];

	reopen_with_events();
	assert_int_equal(insert(values, 1, addr, 0, NULL), -FI_ENOEQ);
	assert_int_equal(fi_av_bind(&av.fid, &eq->fid, 0), 0);
	assert_int_equal(insert(values, 1, addr, FI_SYNC_ERR, errs), -FI_EBADFLAGS);
	assert_int_equal(insert(values, 4, addr, 0, state), 0);
	assert_int_equal(addr[3], FI_ADDR_NOTAVAIL);
	expect_error(1, FI_EINVAL, state);
	expect_error(3, FI_ENOMEM, state);
	assert_int_equal(fi_eq_read(eq, &event, &entry, sizeof(entry), 0), sizeof(entry));
	assert_int_equal(event, FI_AV_COMPLETE);
	assert_int_equal(entry.data, 2);
	assert_ptr_equal(entry.context, state);
	assert_ptr_equal(entry.fid, &av.fid.fid);
	/* fi_close leaves them untouched. */
	assert_int_equal(insert(values, 1, addr, 0, state), 0);
	reopen_with_events();
	assert_int_equal(fi_eq_read(eq, &event, &entry, sizeof(entry), 0), sizeof(entry));
	assert_int_equal(event, FI_AV_COMPLETE);
}

static int pack(struct ofi_av *base, void *entry, const void *addr)
{
	return put(base, 0, entry, addr);
}

static bool valid(const void *entry)
{
	return *(const int *)entry >= 0;
}

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static const struct ofi_av_shared_class shared_numbers = {
	.entry_size = sizeof(int),
	.valid = valid,
	.compare = compare,
};

static const struct ofi_av_class shared = {
	.addr_size = sizeof(int),
	.entry_size = sizeof(int),
	.drop = drop_copy,
	.rx_ctx_bits = 4,
	.shared = &shared_numbers,
	.pack = pack,
};

static int reopen_named(const char *text, uint64_t flags)
{
	struct fi_av_attr attr = { .name = text, .flags = flags };
	int ret;

	assert_int_equal(ofi_av_fini(&av), 0);
	assert_int_equal(ofi_av_init(&av, &prov, &parent, &parent, &shared, &attr, NULL), 0);
	ret = ofi_av_share(&av, "domain", 1, &attr);
	assert_true(ret || attr.type == FI_AV_TABLE);
	av.fid.fid.ops = ofi_ops(&fid_ops);
	av.fid.ops = ofi_ops(&ops);
	return ret;
}

static void test_named_attributes(void **state)
{
	struct fi_av_attr attr = { .name = "n", .flags = FI_AV_USER_ID };

	(void)state;
	assert_int_equal(ofi_av_init(&av, &prov, &parent, &parent, &shared, &attr, NULL),
			 -FI_EOPNOTSUPP);
	attr = (struct fi_av_attr){ .rx_ctx_bits = 5 };
	assert_int_equal(ofi_av_init(&av, &prov, &parent, &parent, &shared, &attr, NULL),
			 -FI_EINVAL);
	attr = (struct fi_av_attr){ .rx_ctx_bits = 4 };
	assert_int_equal(ofi_av_fini(&av), 0);
	assert_int_equal(ofi_av_init(&av, &prov, &parent, &parent, &shared, &attr, NULL), 0);
	assert_int_equal(attr.type, FI_AV_TABLE);
	assert_int_equal(reopen_named("", 0), -FI_EINVAL);
	assert_int_equal(reopen_named(name, FI_READ), -FI_ENOENT);
}

/*
 * An address that fails leaves its index free; no other address takes it, and the others keep
 * theirs.
 */
static void test_named(void **state)
{
	const int values[] = { 7, BAD, 9, NO_MEMORY }, more[] = { 9, 10 };
	fi_addr_t addr[4], ids[] = { 1, 2 };
	int errs[4];

	(void)state;
	assert_int_equal(reopen_named(name, 0), 0);
	assert_int_equal(insert(values, 4, addr, FI_SYNC_ERR, errs), 2);
	assert_int_equal(addr[0], 0);
	assert_int_equal(addr[1], FI_ADDR_NOTAVAIL);
	assert_int_equal(addr[2], 2);
	assert_int_equal(addr[3], FI_ADDR_NOTAVAIL);
	assert_int_equal(errs[1], FI_EINVAL);
	assert_int_equal(errs[3], FI_ENOMEM);
	assert_int_equal(insert(more, 2, addr, 0, NULL), 2);
	assert_int_equal(addr[0], 2);
	assert_int_equal(addr[1], 3);
	assert_true(ofi_av_has(&av, 3));
	assert_false(ofi_av_has(&av, 1));
	assert_int_equal(ofi_av_limit(&av), 4);
	assert_int_equal(ofi_av_reported(&av, 2), 2);
	assert_int_equal(insert(more, 2, ids, FI_AV_USER_ID, NULL), -FI_EOPNOTSUPP);
	assert_int_equal(fi_av_set_user_id(&av.fid, 0, 1, 0), -FI_EOPNOTSUPP);
	assert_int_equal(fi_av_remove(&av.fid, addr, 2, 0), 0);
	assert_int_equal(dropped, 2);
	assert_false(ofi_av_has(&av, 3));
	assert_int_equal(fi_av_remove(&av.fid, addr, 2, 0), -FI_EINVAL);
	assert_int_equal(insert(&more[1], 1, addr, 0, NULL), 1);
	assert_int_equal(addr[0], 3);
}

static void test_named_read_only(void **state)
{
	struct fi_av_attr attr = { .name = name };
	const int value = 7;
	struct ofi_av other;
	fi_addr_t addr = 0;

	(void)state;
	assert_int_equal(ofi_av_init(&other, &prov, &parent, &parent, &shared, &attr, NULL), 0);
	assert_int_equal(ofi_av_share(&other, "domain", 1, &attr), 0);
	assert_int_equal(reopen_named(name, FI_READ), 0);
	assert_int_equal(insert(&value, 1, &addr, 0, NULL), -FI_EPERM);
	assert_int_equal(fi_av_remove(&av.fid, &addr, 1, 0), -FI_EPERM);
	assert_int_equal(fi_av_set_user_id(&av.fid, 0, 1, 0), -FI_EPERM);
	assert_int_equal(ofi_av_fini(&other), 0);
}

static void test_busy(void **state)
{
	(void)state;
	ofi_ref_get(&av.ref);
	assert_int_equal(ofi_av_fini(&av), -FI_EBUSY);
	ofi_ref_put(&av.ref);
}

static void test_lookup(void **state)
{
	char buf[8] = "xxxxxxx";
	size_t len = 2;

	(void)state;
	assert_int_equal(fi_av_lookup(&av.fid, 0, buf, &len), 0);
	assert_string_equal(buf, "abxxxxx");
	assert_int_equal(len, 4);
	len = sizeof(buf);
	assert_int_equal(fi_av_lookup(&av.fid, 0, buf, &len), 0);
	assert_string_equal(buf, "abc");
	assert_int_equal(len, 4);
	len = 0;
	assert_int_equal(fi_av_lookup(&av.fid, 0, NULL, &len), 0);
	assert_int_equal(len, 4);
	assert_int_equal(fi_av_lookup(&av.fid, 0, NULL, &len), -FI_EINVAL);
	assert_int_equal(fi_av_lookup(&av.fid, 0, buf, NULL), -FI_EINVAL);
	assert_int_equal(fi_av_lookup(&av.fid, 1, buf, &len), -FI_EINVAL);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

static int held_when_freed;

static void free_numbers(struct ofi_av *base)
{
	assert_ptr_equal(base, &av);
	held_when_freed = (int)parent.children;
}

/* Another thread that closes the domain may not do so before. */
static void domain_outlives_av(void **state)
{
	struct ofi_av_class freed = numbers;
	unsigned int before = parent.children;

	(void)state;
	freed.free = free_numbers;
	av.cls = &freed;
	assert_int_equal(ofi_av_close(&av.fid.fid), 0);
	assert_int_equal(held_when_freed, before);
	assert_int_equal(parent.children, before - 1);
	assert_int_equal(open_av(0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_attributes),
		TEST(test_insert),
		TEST(domain_outlives_av),
		TEST(test_some_fail),
		TEST(test_errors_from_before),
		TEST(test_bad_insert),
		TEST(test_remove),
		TEST(test_user_ids),
		TEST(test_bind),
		TEST(test_events),
		TEST(test_busy),
		TEST(test_lookup),
		TEST(test_named_attributes),
		TEST(test_named),
		TEST(test_named_read_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
