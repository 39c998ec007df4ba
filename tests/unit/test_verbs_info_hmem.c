/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* FI_HMEM in what fi_getinfo offers: on request only, and the reason where it is not offered. */
#include "unit.h"

#include <string.h>
#include <rdma/fi_endpoint.h>
#include "prov/base/hmem.h"
#include "prov/verbs/discovery/info.h"
#include "prov/verbs/discovery/inline.h"
#include "prov/verbs/provider/prov.h"

struct fi_provider vrb_prov = { .name = "verbs" };
struct vrb_params vrb_params;
static bool works, disabled;
static int asked;

bool ofi_hmem_any(const struct fi_provider *prov, const char **why)
{
	assert_ptr_equal(prov, &vrb_prov);
	asked++;
	if (!works)
		*why = "cuda: it is Sunday";
	return works;
}

bool ofi_hmem_p2p_disabled(void)
{
	return disabled;
}

static struct fi_info *hints, *info;

static int set_up(void **state)
{
	(void)state;
	works = true;
	disabled = false;
	asked = 0;
	hints = fi_allocinfo();
	info = fi_allocinfo();
	hints->caps = FI_MSG | FI_HMEM;
	info->caps = FI_MSG;
	info->ep_attr->type = FI_EP_MSG;
	info->tx_attr->inject_size = 100000;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	fi_freeinfo(hints);
	fi_freeinfo(info);
	return 0;
}

static bool offered(enum fi_ep_type type)
{
	info->caps = info->tx_attr->caps = info->rx_attr->caps = FI_MSG;
	info->domain_attr->mr_mode = 0;
	info->ep_attr->type = type;
	vrb_info_offer_hmem(info, hints);
	assert_int_equal(!(info->caps & FI_HMEM), !(info->tx_attr->caps & FI_HMEM));
	assert_int_equal(!(info->caps & FI_HMEM), !(info->rx_attr->caps & FI_HMEM));
	assert_int_equal(!(info->caps & FI_HMEM), !(info->domain_attr->mr_mode & FI_MR_HMEM));
	return info->caps & FI_HMEM;
}

static void test_offered(void **state)
{
	(void)state;
	assert_true(offered(FI_EP_RDM));
	assert_int_equal(info->tx_attr->inject_size, 100000);
	assert_true(offered(FI_EP_MSG));
	assert_int_equal(info->tx_attr->inject_size, VRB_INLINE_MAX);
	assert_false(offered(FI_EP_DGRAM));
	vrb_params.rdm_transport = "ud";
	assert_false(offered(FI_EP_RDM));
	assert_true(offered(FI_EP_MSG));
	vrb_params.rdm_transport = NULL;
	works = false;
	assert_false(offered(FI_EP_RDM));
	works = disabled = true;
	assert_false(offered(FI_EP_MSG));
}

/* Who does not request it loads no library of a GPU. */
static void test_not_asked(void **state)
{
	struct ofi_miss miss = { .attr = "caps", .asked = "FI_MSG", .has = "something" };

	(void)state;
	hints->caps = FI_MSG;
	assert_false(offered(FI_EP_MSG));
	vrb_info_offer_hmem(info, NULL);
	vrb_info_explain_hmem(info, hints, &miss);
	vrb_info_explain_hmem(info, NULL, &miss);
	assert_int_equal(asked, 0);
	assert_string_equal(miss.has, "something");
}

static const char *reason(enum fi_ep_type type, const char *attr, const char *wanted)
{
	static struct ofi_miss miss;

	miss = (struct ofi_miss){ .has = "FI_MSG" };
	miss.attr = attr;
	strcpy(miss.asked, wanted);
	info->ep_attr->type = type;
	vrb_info_explain_hmem(info, hints, &miss);
	return miss.has;
}

static void test_explained(void **state)
{
	(void)state;
	assert_string_equal(reason(FI_EP_MSG, "caps", "FI_HMEM"), "FI_MSG");
	assert_non_null(strstr(reason(FI_EP_DGRAM, "caps", "FI_HMEM"), "FI_EP_DGRAM"));
	works = false;
	assert_string_equal(reason(FI_EP_MSG, "caps", "FI_MSG, FI_HMEM"), "cuda: it is Sunday");
	assert_string_equal(reason(FI_EP_MSG, "caps", "FI_TAGGED"), "FI_MSG");
	assert_string_equal(reason(FI_EP_MSG, "mode", "FI_HMEM"), "FI_MSG");
	works = disabled = true;
	assert_non_null(strstr(reason(FI_EP_RDM, "caps", "FI_HMEM"), "FI_HMEM_DISABLE_P2P"));
	vrb_info_explain_hmem(info, hints, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_offered, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_not_asked, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_explained, set_up, tear_down),
	};

	return cmocka_run_group_tests_name("verbs_info_hmem", tests, NULL, NULL);
}
