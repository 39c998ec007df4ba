/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* FI_OPT_FI_HMEM_P2P and FI_OPT_CUDA_API_PERMITTED: sizes, values, what each endpoint has. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include "capture.h"
#include "prov/base/hmem.h"

static struct fi_provider prov = { .name = "ofi_fake" };
static struct fi_ep_attr ep_attr;
static struct fi_info info = { .ep_attr = &ep_attr };

static int get(const struct ofi_hmem_options *options, int name, void *value, size_t len)
{
	return ofi_hmem_getopt(&prov, options, name, value, &len);
}

static int set(struct ofi_hmem_options *options, enum fi_ep_type type, int name, int value)
{
	bool yes = value;

	ep_attr.type = type;
	if (name == FI_OPT_CUDA_API_PERMITTED)
		return ofi_hmem_setopt(&prov, &info, options, name, &yes, sizeof(yes));
	return ofi_hmem_setopt(&prov, &info, options, name, &value, sizeof(value));
}

static void test_has(void **state)
{
	(void)state;
	info.caps = FI_MSG;
	assert_false(ofi_hmem_has_option(&info, FI_OPT_ENDPOINT, FI_OPT_FI_HMEM_P2P));
	info.caps = FI_MSG | FI_HMEM;
	assert_true(ofi_hmem_has_option(&info, FI_OPT_ENDPOINT, FI_OPT_FI_HMEM_P2P));
	assert_true(ofi_hmem_has_option(&info, FI_OPT_ENDPOINT, FI_OPT_CUDA_API_PERMITTED));
	assert_false(ofi_hmem_has_option(&info, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV));
	assert_false(ofi_hmem_has_option(&info, FI_OPT_ENDPOINT + 1, FI_OPT_FI_HMEM_P2P));
}

static void test_defaults(void **state)
{
	const struct ofi_hmem_options options = { 0 };
	bool permitted = false;
	size_t len = 64;
	int p2p = 9;

	(void)state;
	assert_int_equal(ofi_hmem_getopt(&prov, &options, FI_OPT_FI_HMEM_P2P, &p2p, &len), 0);
	assert_int_equal(len, sizeof(p2p));
	assert_int_equal(p2p, FI_HMEM_P2P_ENABLED);
	len = 64;
	assert_int_equal(
		ofi_hmem_getopt(&prov, &options, FI_OPT_CUDA_API_PERMITTED, &permitted, &len), 0);
	assert_int_equal(len, sizeof(permitted));
	assert_true(permitted);
}

static void test_wrong(void **state)
{
	struct ofi_hmem_options options = { 0 };
	size_t len = 1;
	int p2p = 0;

	(void)state;
	capture_start();
	assert_int_equal(ofi_hmem_getopt(&prov, &options, FI_OPT_FI_HMEM_P2P, &p2p, &len),
			 -FI_ETOOSMALL);
	assert_int_equal(len, sizeof(int));
	assert_int_equal(get(&options, FI_OPT_FI_HMEM_P2P, NULL, 4), -FI_EINVAL);
	assert_int_equal(ofi_hmem_getopt(&prov, &options, FI_OPT_FI_HMEM_P2P, &p2p, NULL),
			 -FI_EINVAL);
	assert_int_equal(ofi_hmem_setopt(&prov, &info, &options, FI_OPT_FI_HMEM_P2P, &p2p, 1),
			 -FI_EINVAL);
	assert_int_equal(ofi_hmem_setopt(&prov, &info, &options, FI_OPT_FI_HMEM_P2P, NULL, 4),
			 -FI_EINVAL);
	assert_int_equal(set(&options, FI_EP_MSG, FI_OPT_FI_HMEM_P2P, 17), -FI_EINVAL);
	assert_int_equal(set(&options, FI_EP_MSG, FI_OPT_FI_HMEM_P2P, -1), -FI_EINVAL);
	assert_non_null(strstr(capture_stop(), "FI_OPT_FI_HMEM_P2P has no value 17"));
	assert_int_equal(options.p2p, 0);
}

static void test_p2p(void **state)
{
	struct ofi_hmem_options options = { 0 };

	(void)state;
	assert_int_equal(set(&options, FI_EP_MSG, FI_OPT_FI_HMEM_P2P, FI_HMEM_P2P_REQUIRED), 0);
	assert_int_equal(options.p2p, FI_HMEM_P2P_REQUIRED);
	assert_int_equal(set(&options, FI_EP_MSG, FI_OPT_FI_HMEM_P2P, FI_HMEM_P2P_DISABLED),
			 -FI_EOPNOTSUPP);
	assert_int_equal(set(&options, FI_EP_RDM, FI_OPT_FI_HMEM_P2P, FI_HMEM_P2P_REQUIRED),
			 -FI_EOPNOTSUPP);
	assert_int_equal(set(&options, FI_EP_RDM, FI_OPT_FI_HMEM_P2P, FI_HMEM_P2P_DISABLED), 0);
	assert_int_equal(set(&options, FI_EP_RDM, FI_OPT_FI_HMEM_P2P, FI_HMEM_P2P_PREFERRED), 0);
	info.caps |= FI_RMA;
	assert_int_equal(set(&options, FI_EP_RDM, FI_OPT_FI_HMEM_P2P, FI_HMEM_P2P_DISABLED),
			 -FI_EOPNOTSUPP);
	info.caps &= ~FI_RMA;
	assert_int_equal(options.p2p, FI_HMEM_P2P_PREFERRED);
}

static void test_permitted(void **state)
{
	struct ofi_hmem_options options = { 0 };
	bool permitted = true;

	(void)state;
	assert_int_equal(set(&options, FI_EP_MSG, FI_OPT_CUDA_API_PERMITTED, false), 0);
	assert_true(options.no_calls);
	assert_int_equal(get(&options, FI_OPT_CUDA_API_PERMITTED, &permitted, 1), 0);
	assert_false(permitted);
	assert_int_equal(set(&options, FI_EP_MSG, FI_OPT_CUDA_API_PERMITTED, true), 0);
	assert_false(options.no_calls);
	assert_int_equal(set(&options, FI_EP_RDM, FI_OPT_CUDA_API_PERMITTED, false), 0);
	assert_true(options.no_calls);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_has),	  cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_wrong),	  cmocka_unit_test(test_p2p),
		cmocka_unit_test(test_permitted),
	};

	return cmocka_run_group_tests_name("hmem_opt", tests, NULL, NULL);
}
