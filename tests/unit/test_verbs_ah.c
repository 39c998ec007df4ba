/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Address handles: one for each path, and none is left behind when creating one fails. */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include <rdma/fi_errno.h>
#include "prov/verbs/queue/ah.h"
#include "verbs_rig.h"

static bool no_memory;

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);

void *__wrap_malloc(size_t size)
{
	return no_memory ? NULL : __real_malloc(size);
}

static struct ibv_ah_attr any_path(void)
{
	struct ibv_ah_attr attr = { .is_global = 1, .dlid = 2, .sl = 3, .port_num = 1 };

	attr.grh.dgid.raw[15] = 4;
	attr.grh.sgid_index = 5;
	attr.grh.traffic_class = 6;
	return attr;
}

static int setup(void **state)
{
	(void)state;
	fake_reset();
	no_memory = false;
	return 0;
}

static void test_shared(void **state)
{
	struct ibv_ah_attr attr = any_path();
	const struct vrb_ah *first, *second;
	struct ibv_pd pd = { 0 };
	void *tree = NULL;

	(void)state;
	assert_null(vrb_ah_to(&tree, &attr.grh.dgid));
	first = vrb_ah_get(&tree, &pd, &attr);
	assert_non_null(first);
	assert_ptr_equal(first->ah->pd, &pd);
	assert_int_equal(first->attr.dlid, 2);
	assert_ptr_equal(vrb_ah_to(&tree, &attr.grh.dgid), first);
	attr.grh.flow_label = 1;
	second = vrb_ah_get(&tree, &pd, &attr);
	assert_ptr_equal(second, first);
	assert_int_equal(fake.ahs_made, 1);
	vrb_ahs_fini(&tree);
	assert_null(tree);
	assert_int_equal(fake.ahs, 0);
}

static void test_distinct(void **state)
{
	struct ibv_ah_attr attr[] = { any_path(), any_path(), any_path(), any_path(),
				      any_path(), any_path(), any_path() };
	size_t count = sizeof(attr) / sizeof(attr[0]), i, round;
	struct ibv_pd pd = { 0 };
	void *tree = NULL;

	(void)state;
	attr[1].dlid++;
	attr[2].sl++;
	attr[3].is_global = 0;
	attr[4].grh.dgid.raw[0]++;
	attr[5].grh.sgid_index++;
	attr[6].grh.traffic_class++;
	for (round = 0; round < 2; round++)
		for (i = 0; i < count; i++)
			assert_non_null(vrb_ah_get(&tree, &pd, attr + i));
	assert_int_equal(fake.ahs_made, count);
	vrb_ahs_fini(&tree);
	assert_int_equal(fake.ahs, 0);
}

static void test_failures(void **state)
{
	struct ibv_ah_attr attr = any_path();
	struct ibv_pd pd = { 0 };
	void *tree = NULL;

	(void)state;
	fake.fail_at = fake.calls + 1;
	fake.fail_errno = errno = ENOMEM;
	assert_null(vrb_ah_get(&tree, &pd, &attr));
	assert_int_equal(errno, FI_ENOMEM);
	fake.fail_at = 0;
	no_memory = true;
	assert_null(vrb_ah_get(&tree, &pd, &attr));
	no_memory = false;
	assert_int_equal(errno, FI_ENOMEM);
	assert_int_equal(fake.ahs, 0);
	assert_null(tree);
	assert_non_null(vrb_ah_get(&tree, &pd, &attr));
	vrb_ahs_fini(&tree);
}

/* A handle stays valid until the next but one. */
static void test_renewed(void **state)
{
	struct vrb_domain domain = { .pd = &(struct ibv_pd){ 0 } };
	struct ibv_ah_attr attr = any_path();
	struct vrb_ah *path;
	struct ibv_ah *handles[2];

	(void)state;
	ofi_lock_init(&domain.paths_lock);
	path = vrb_ah_of_domain(&domain, &attr);
	handles[0] = path->ah;
	vrb_ah_renew(&domain, path);
	handles[1] = path->ah;
	assert_ptr_not_equal(handles[1], handles[0]);
	assert_ptr_equal(path->old, handles[0]);
	assert_ptr_equal(vrb_ah_of_domain(&domain, &attr), path);
	vrb_ah_renew(&domain, path); /* too early */
	assert_ptr_equal(path->ah, handles[1]);
	usleep(1001000);
	fake.fail_at = fake.calls + 1;
	fake.fail_errno = ENOMEM;
	vrb_ah_renew(&domain, path);
	assert_ptr_equal(path->ah, handles[1]);
	usleep(1001000);
	vrb_ah_renew(&domain, path); /* still too early after a failure */
	assert_ptr_equal(path->ah, handles[1]);
	path->renewal = 0;
	vrb_ah_renew(&domain, path);
	assert_ptr_equal(path->old, handles[1]);
	assert_int_equal(fake.ahs, 2);
	vrb_ahs_fini(&domain.paths);
	assert_int_equal(fake.ahs, 0);
}

static struct vrb_ah *stranger(struct vrb_domain *domain, uint8_t host)
{
	struct ibv_ah_attr attr = any_path();

	attr.grh.dgid.raw[15] = host;
	return vrb_ah_of_stranger(domain, &attr);
}

/* When strangers may have no more handles, a new one takes the place of the longest unused. */
static void test_strangers(void **state)
{
	struct vrb_domain domain = { .pd = &(struct ibv_pd){ 0 }, .attr.max_ah = 12 };
	struct vrb_ah *paths[3];
	uint8_t i;

	(void)state;
	ofi_lock_init(&domain.paths_lock);
	TAILQ_INIT(&domain.spare_paths);
	for (i = 0; i < 3; i++)
		paths[i] = stranger(&domain, i);
	assert_ptr_equal(stranger(&domain, 2), paths[2]);
	assert_false(vrb_ah_takes_stranger(&domain));
	assert_null(stranger(&domain, 3));
	/* What was sent with a handle may still be in the send queue. */
	vrb_ah_leave(&domain, paths[2]);
	vrb_ah_leave(&domain, paths[1]);
	vrb_ah_leave(&domain, paths[0]);
	assert_false(vrb_ah_takes_stranger(&domain));
	paths[1]->left -= 5000;
	assert_true(vrb_ah_takes_stranger(&domain));
	assert_non_null(stranger(&domain, 3));
	assert_int_equal(fake.ahs, 3);
	assert_int_equal(fake.ahs_made, 4);
	assert_null(stranger(&domain, 1));
	assert_ptr_equal(stranger(&domain, 0), paths[0]);
	/* The other has one more user. */
	vrb_ah_leave(&domain, paths[2]);
	paths[2]->left -= 5000;
	vrb_ah_renew(&domain, paths[2]);
	assert_non_null(stranger(&domain, 1));
	assert_int_equal(fake.ahs, 3);
	vrb_ahs_fini(&domain.paths);
	assert_int_equal(fake.ahs, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_shared, setup),
		cmocka_unit_test_setup(test_distinct, setup),
		cmocka_unit_test_setup(test_failures, setup),
		cmocka_unit_test_setup(test_renewed, setup),
		cmocka_unit_test_setup(test_strangers, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
