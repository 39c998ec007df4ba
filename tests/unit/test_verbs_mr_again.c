/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Cached registrations make room for others, whatever limit is reached. */
#include "unit.h"

#include <errno.h>
#include "prov/base/mr_cache.h"
#include "prov/verbs/provider/domain.h"
#include "prov/verbs/provider/err.h"
#include "prov/verbs/provider/mr.h"

#undef ibv_reg_mr

enum { LEN = 4096 };

static struct ofi_mr_cache cache;
static struct vrb_domain domain;
static struct ibv_mr region;
static char buf[LEN];
static int refusals, reason, cached, sheds;

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t len, int access)
{
	(void)pd;
	(void)addr;
	(void)len;
	(void)access;
	if (--refusals < 0)
		return &region;
	errno = reason;
	return NULL;
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t len, uint64_t iova,
				unsigned int access)
{
	(void)iova;
	return ibv_reg_mr(pd, addr, len, (int)access);
}

bool __wrap_ofi_mr_cache_shed(struct ofi_mr_cache *of, size_t len);

bool __wrap_ofi_mr_cache_shed(struct ofi_mr_cache *of, size_t len)
{
	assert_ptr_equal(of, &cache);
	assert_int_equal(len, LEN);
	sheds++;
	return cached-- > 0;
}

static struct ibv_mr *reg(int times, int err, int in_cache)
{
	refusals = times;
	reason = err;
	cached = in_cache;
	sheds = 0;
	return vrb_mr_new(&domain, buf, LEN, 0);
}

static void test_limits(void **state)
{
	static const int limits[] = { ENOMEM, EAGAIN };
	unsigned int i;

	(void)state;
	domain.base.cache = &cache;
	for (i = 0; i < 2; i++) {
		assert_ptr_equal(reg(1, limits[i], 5), &region);
		assert_int_equal(sheds, 1);
		assert_null(reg(9, limits[i], 5));
		assert_int_equal(sheds, 2);
		assert_int_equal(vrb_errno(errno), -FI_ENOMEM);
		assert_null(reg(9, limits[i], 0));
		assert_int_equal(sheds, 1);
	}
	domain.base.cache = NULL;
	assert_null(reg(1, ENOMEM, 5));
	assert_int_equal(sheds, 0);
}

static void test_other_errors(void **state)
{
	(void)state;
	domain.base.cache = &cache;
	assert_null(reg(1, EFAULT, 5));
	assert_int_equal(errno, EFAULT);
	assert_null(reg(1, 0, 5));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(sheds, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_other_errors),
	};

	return cmocka_run_group_tests_name("verbs_mr_again", tests, NULL, NULL);
}
