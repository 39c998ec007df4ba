/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Devices that verbs leaves to another provider, whatever they say they can do. */
#include "unit.h"

#include <stdio.h>
#include <string.h>
#include <rdma/fi_errno.h>
#include "mock_device.h"
#include "prov/verbs/discovery/info.h"
#include "prov/verbs/discovery/known.h"
#include "prov/verbs/discovery/kind.h"
#include "prov/verbs/discovery/snapshot.h"
#include "prov/verbs/provider/prov.h"

static struct mock_device *device;

static int setup(void **state)
{
	(void)state;
	vrb_snapshot_forget();
	vrb_known_forget();
	mock_reset();
	vrb_params = (struct vrb_params){ .tx_size = 384, .rx_size = 384, .gid_idx = -1 };
	device = mock_add_device("one0");
	mock_add_gid(device, 1, 0, IBV_GID_TYPE_ROCE_V2, "::ffff:10.0.0.1", 2);
	mock_add_if("eth0", 2, 0, "\x52\x54\x00\x12\x34\x56", 6);
	mock_add_ip("eth0", "10.0.0.1");
	return 0;
}

static int get(struct fi_info **info)
{
	return vrb_getinfo(FI_VERSION(2, 6), NULL, NULL, 0, NULL, info);
}

static void test_others(void **state)
{
	struct fi_info *info = NULL;

	(void)state;
	device->attr.vendor_id = 0x15b3;
	assert_int_equal(get(&info), 0);
	assert_non_null(info);
	fi_freeinfo(info);
}

static void test_amazon(void **state)
{
	struct vrb_device dev = { .attr.vendor_id = VRB_VENDOR_AMAZON };
	struct fi_info *info = NULL;
	struct ofi_miss why;

	(void)state;
	device->attr.vendor_id = VRB_VENDOR_AMAZON;
	assert_int_equal(get(&info), -FI_ENODATA);
	assert_null(info);
	assert_false(vrb_kind.takes(&dev, &why));
	assert_string_equal(why.attr, "device");
	assert_non_null(strstr(why.has, "which verbs does not support"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_others, setup),
		cmocka_unit_test_setup(test_amazon, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
