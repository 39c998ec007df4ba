/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the registration cache makes of kernels whose userfaultfd does less than it needs. */
#include "unit.h"

#include <errno.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <rdma/fi_errno.h>
#include "prov/base/mr_cache.h"

int __real_ioctl(int fd, unsigned long request, void *arg);
int __wrap_ioctl(int fd, unsigned long request, void *arg);

static bool protects, reports;

int __wrap_ioctl(int fd, unsigned long request, void *arg)
{
	struct uffdio_register *range = arg;

	if (request == UFFDIO_REGISTER && !protects && range->mode & UFFDIO_REGISTER_MODE_WP) {
		errno = EINVAL;
		return -1;
	}
	/* Nothing is watched. */
	if (request == UFFDIO_REGISTER && !reports) {
		range->ioctls = ~UINT64_C(0);
		return 0;
	}
	return __real_ioctl(fd, request, arg);
}

/* Returns why the cache keeps nothing, or 0. */
static int refusal(void)
{
	struct ofi_mr_cache cache = { 0 };
	int ret;

	assert_int_equal(ofi_mr_cache_init(&cache, 8, SIZE_MAX, true), 0);
	assert_int_equal(!cache.monitored, !!cache.refusal);
	ret = cache.refusal;
	ofi_mr_cache_fini(&cache);
	return ret;
}

static int setup(void **state)
{
	(void)state;
	protects = reports = true;
	return 0;
}

/* Processors differ: on aarch64, write protection came with Linux 6.10. */
static void test_no_protection(void **state)
{
	(void)state;
	if (refusal())
		skip();
	protects = false;
	assert_int_equal(refusal(), -FI_ENOSYS);
}

static void test_no_reports(void **state)
{
	(void)state;
	if (refusal())
		skip();
	reports = false;
	assert_int_equal(refusal(), -FI_EIO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_no_protection, setup),
		cmocka_unit_test_setup(test_no_reports, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
