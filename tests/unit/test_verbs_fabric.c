/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Fabrics: names, children, waiting. */
#include "unit.h"
#include <errno.h>
#include <rdma/fi_errno.h>
#include <prov/verbs/queue/cq.h>
#include <prov/verbs/provider/fabric.h>
#include "fake_cm.h"

static struct fid_fabric *fabric;

static int setup(void **state)
{
	struct fi_fabric_attr attr = { .name = "IB-0xfe80000000000000",
				       .api_version = FI_VERSION(1, 17) };

	(void)state;
	fake = (struct fake_cm){ 0 };
	assert_int_equal(vrb_fabric_open(&attr, &fabric, &fake), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	assert_int_equal(fi_close(&fabric->fid), 0);
	return 0;
}

static void names(void **state)
{
	struct fi_fabric_attr attr = { .name = "IB-0xfe80000000000001" };
	struct fid_fabric *other = NULL;

	(void)state;
	assert_int_equal(vrb_fabric_open(&attr, &other, NULL), -FI_ENODEV);
	attr.name = "something else";
	assert_int_equal(vrb_fabric_open(&attr, &other, NULL), -FI_ENODEV);
	fake.fail = "getinfo";
	fake.err = ENODATA; /* there is no device */
	assert_int_equal(vrb_fabric_open(&attr, &other, NULL), -FI_ENODATA);
	attr.name = NULL;
	assert_int_equal(vrb_fabric_open(&attr, &other, NULL), -FI_EINVAL);
	assert_int_equal(vrb_fabric_open(NULL, &other, NULL), -FI_EINVAL);
	attr.name = "IB-0xfe80000000000000";
	assert_int_equal(vrb_fabric_open(&attr, NULL, NULL), -FI_EINVAL);
	fake.fail = "getinfo";
	fake.err = ENOMEM;
	assert_int_equal(vrb_fabric_open(&attr, &other, NULL), -FI_ENOMEM);
	assert_null(other);
}

static void what_it_is(void **state)
{
	struct fid_domain *domain;

	(void)state;
	assert_int_equal(fabric->fid.fclass, FI_CLASS_FABRIC);
	assert_ptr_equal(fabric->fid.context, &fake);
	assert_int_equal(fabric->api_version, FI_VERSION(1, 17));
	assert_int_equal(fabric->ops->domain2(fabric, NULL, &domain, 0, NULL), -FI_ENOSYS);
}

static void children_keep_it_open(void **state)
{
	struct fi_eq_attr attr = { .wait_obj = FI_WAIT_FD };
	struct fid_eq *eq;

	(void)state;
	assert_int_equal(fi_eq_open(fabric, &attr, NULL, NULL), -FI_EINVAL);
	assert_int_equal(fi_eq_open(fabric, &attr, &eq, NULL), 0);
	assert_int_equal(fi_close(&fabric->fid), -FI_EBUSY);
	assert_int_equal(fi_close(&eq->fid), 0);
}

static int has_something(struct ofi_cq *cq)
{
	(void)cq;
	return -FI_EAGAIN;
}

static const struct ofi_cq_ops cq_base_ops = { .trywait = has_something };
static struct fi_ops cq_fid_ops = { .size = sizeof(struct fi_ops), .control = ofi_cq_control };

static void waiting(void **state)
{
	struct fi_eq_attr attr = { .wait_obj = FI_WAIT_FD };
	struct fi_eq_entry entry = { 0 };
	struct vrb_cq cq = { .base = { .fid.fid = { .fclass = FI_CLASS_CQ, .ops = &cq_fid_ops },
				       .slow = &cq.slow },
			     .slow = { .ops = &cq_base_ops, .wait.obj = FI_WAIT_FD } };
	struct fid *fids[2];
	struct fid_eq *eq;

	(void)state;
	assert_int_equal(fi_eq_open(fabric, &attr, &eq, NULL), 0);
	fids[0] = &eq->fid;
	fids[1] = &cq.fid.fid;
	assert_int_equal(fi_trywait(fabric, fids, 0), 0);
	assert_int_equal(fi_trywait(fabric, fids, 1), 0);
	assert_int_equal(fi_trywait(fabric, fids, 2), -FI_EAGAIN);
	assert_int_equal(ofi_eq_post(ofi_eq(eq), FI_NOTIFY, &entry, sizeof(entry)), 0);
	assert_int_equal(fi_trywait(fabric, fids, 1), -FI_EAGAIN);
	fids[0] = &fabric->fid;
	assert_int_equal(fi_trywait(fabric, fids, 1), -FI_EINVAL);
	cq.fid.fid.ops = fabric->fid.ops; /* none of ours */
	fids[0] = &cq.fid.fid;
	assert_int_equal(fi_trywait(fabric, fids, 1), -FI_EINVAL);
	fids[0] = NULL;
	assert_int_equal(fi_trywait(fabric, fids, 1), -FI_EINVAL);
	assert_int_equal(fi_trywait(fabric, NULL, 1), -FI_EINVAL);
	assert_int_equal(fi_trywait(fabric, fids, -1), -FI_EINVAL);
	assert_int_equal(fi_close(&eq->fid), 0);
}

static void wait_sets(void **state)
{
	struct fi_wait_attr attr = { .wait_obj = FI_WAIT_FD };
	struct fi_eq_attr eq_attr = { .wait_obj = FI_WAIT_SET, .flags = FI_WRITE };
	struct fid_wait *set;
	struct fid_eq *eq;
	struct fid *fid;

	(void)state;
	assert_int_equal(fi_wait_open(fabric, NULL, &set), -FI_EINVAL);
	assert_int_equal(fi_wait_open(fabric, &attr, &set), 0);
	fid = &set->fid;
	eq_attr.wait_set = set;
	assert_int_equal(fi_eq_open(fabric, &eq_attr, &eq, NULL), 0);
	assert_int_equal(fi_trywait(fabric, &fid, 1), 0);
	assert_int_equal(fi_eq_write(eq, 1, NULL, 0, 0), 0);
	assert_int_equal(fi_trywait(fabric, &fid, 1), -FI_EAGAIN);
	assert_int_equal(fi_close(&fabric->fid), -FI_EBUSY);
	assert_int_equal(fi_close(&eq->fid), 0);
	assert_int_equal(fi_close(fid), 0);
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(names),   test(what_it_is), test(children_keep_it_open),
		test(waiting), test(wait_sets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
