/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The registration cache keeps nothing if the kernel's userfaultfd does less than it needs. */
#include "unit.h"

#include <errno.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <rdma/fi_errno.h>
#include "prov/base/mr_cache.h"

int __real_ioctl(int fd, unsigned long request, void *arg);
int __wrap_ioctl(int fd, unsigned long request, void *arg);

static bool protects = true;

int __wrap_ioctl(int fd, unsigned long request, void *arg)
{
	struct uffdio_register *range = arg;

	if (request == UFFDIO_REGISTER && !protects && range->mode & UFFDIO_REGISTER_MODE_WP) {
		errno = EINVAL;
		return -1;
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

/* Processors differ: on aarch64, write protection came with Linux 6.10. */
static void test_no_protection(void **state)
{
	(void)state;
	if (refusal())
		skip();
	protects = false;
	assert_int_equal(refusal(), -FI_EOPNOTSUPP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_protection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
