/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Which devices the provider efa takes, and what it asks them; each call that can fail does. */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "capture.h"
#include "efa_rig.h"
#include "fork_rig.h"
#include "mock_device.h"
#include "prov/efa/device.h"
#include "prov/efa/efa.h"
#include "prov/verbs/discovery/kind.h"
#include "prov/verbs/discovery/known.h"

static struct vrb_device *dev;
static struct ofi_miss why;

static bool no_memory; /* once the device has been asked */

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);

void *__wrap_calloc(size_t count, size_t size)
{
	return no_memory && efa_rig_queries ? NULL : __real_calloc(count, size);
}

static int setup(void **state)
{
	(void)state;
	efa_rig_reset();
	dev = efa_rig_snapshot();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	efa_rig_close();
	return 0;
}

static void test_takes(void **state)
{
	(void)state;
	assert_true(efa_device_takes(dev, &why));
	assert_int_equal(efa_rig_queries, 1);
}

static void test_other_vendor(void **state)
{
	(void)state;
	dev->attr.vendor_id = 0x15b3;
	assert_false(efa_device_takes(dev, &why));
	assert_string_equal(why.attr, "device");
	assert_string_equal(why.asked, "an Elastic Fabric Adapter");
	assert_string_equal(why.has, "a device of vendor 0x15b3");
	assert_int_equal(efa_rig_queries, 0);
}

/* A device is asked once, until another one has its name. */
static void test_kept(void **state)
{
	struct efadv_device_attr attr;
	const char *call;

	(void)state;
	assert_int_equal(efa_device_query(dev, &attr, &call), 0);
	assert_int_equal(attr.max_rq_wr, EFA_RIG_RQ_WR);
	memset(&attr, 0, sizeof(attr));
	assert_int_equal(efa_device_query(dev, &attr, &call), 0);
	assert_int_equal(attr.max_rq_wr, EFA_RIG_RQ_WR);
	assert_int_equal(efa_rig_queries, 1);
	dev->guid++;
	assert_int_equal(efa_device_query(dev, &attr, &call), 0);
	assert_int_equal(efa_rig_queries, 2);
	vrb_known_forget();
	assert_int_equal(efa_device_query(dev, &attr, &call), 0);
	assert_int_equal(efa_rig_queries, 3);
	assert_int_equal(efa_rig_device->alive, 0);
}

/* A failure is not kept, and leaves nothing open. */
static void test_query_fails(void **state)
{
	(void)state;
	efa_rig_err = EOPNOTSUPP;
	assert_false(efa_device_takes(dev, &why));
	assert_non_null(strstr(why.has, "efadv_query_device: Operation not supported"));
	assert_int_equal(efa_rig_device->alive, 0);
	efa_rig_err = 0;
	assert_true(efa_device_takes(dev, &why));
}

/* A device that is taken can describe itself later, whatever becomes of it. */
static void test_taken_is_kept(void **state)
{
	struct efadv_device_attr attr;
	const char *call;

	(void)state;
	no_memory = true;
	assert_int_equal(efa_device_query(dev, &attr, &call), ENOMEM);
	no_memory = false;
	assert_true(efa_device_takes(dev, &why));
	efa_rig_err = EIO;
	assert_int_equal(efa_device_query(dev, &attr, &call), 0);
}

static void test_open_fails(void **state)
{
	(void)state;
	efa_rig_device->open_errno = EACCES;
	assert_false(efa_device_takes(dev, &why));
	assert_non_null(strstr(why.has, "ibv_open_device: Permission denied"));
	assert_int_equal(efa_rig_queries, 0);
}

static uint32_t reads(void)
{
	struct ibv_context *ctx;
	uint32_t most;
	int err;

	ctx = vrb_device_open("efa0", false, &err);
	assert_non_null(ctx);
	most = efa_device_reads(ctx);
	ibv_close_device(ctx);
	return most;
}

/* The device decides, unless its RDMA is switched off. */
static void test_reads(void **state)
{
	(void)state;
	efa_rig_max_read = 1 << 30;
	assert_int_equal(reads(), 0);
	efa_rig_caps = EFADV_DEVICE_ATTR_CAPS_RNR_RETRY;
	assert_int_equal(reads(), 0);
	efa_rig_caps |= EFADV_DEVICE_ATTR_CAPS_RDMA_READ;
	assert_int_equal(reads(), 1 << 30);
	efa_rig_err = EIO;
	assert_int_equal(reads(), 0);
	efa_rig_err = 0;
	efa_rig_max_read = 0;
	assert_int_equal(reads(), 0);
	efa_rig_max_read = 4096;
	assert_int_equal(reads(), 4096);
	efa_params.use_device_rdma = 0;
	efa_rig_queries = 0;
	assert_int_equal(reads(), 0);
	assert_int_equal(efa_rig_queries, 0);
}

static void test_retries(void **state)
{
	struct ibv_context ctx = { 0 };

	(void)state;
	efa_rig_caps = EFADV_DEVICE_ATTR_CAPS_RDMA_READ;
	assert_false(efa_kind.retries(&ctx));
	efa_rig_caps |= EFADV_DEVICE_ATTR_CAPS_RNR_RETRY;
	assert_true(efa_kind.retries(&ctx));
	efa_rig_err = EIO;
	assert_false(efa_kind.retries(&ctx));
}

/* Whoever asks for what the device does not have is told so, once. */
static void test_reads_are_asked_for(void **state)
{
	const char *text;

	(void)state;
	efa_params_init();
	capture_start();
	reads();
	assert_string_equal(capture_stop(), "");
	setenv("FI_EFA_USE_DEVICE_RDMA", "1", 1);
	capture_start();
	reads();
	reads();
	text = strstr(capture_stop(), "FI_EFA_USE_DEVICE_RDMA is set, but efa0 has no RDMA reads");
	unsetenv("FI_EFA_USE_DEVICE_RDMA");
	assert_non_null(text);
	assert_null(strstr(text + 1, "FI_EFA_USE_DEVICE_RDMA is set"));
}

static void ask(void)
{
	vrb_known_forget();
	efa_device_takes(dev, &why);
}

static void test_fork(void **state)
{
	(void)state;
	fork_amid(ask);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_takes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_vendor, setup, teardown),
		cmocka_unit_test_setup_teardown(test_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(test_query_fails, setup, teardown),
		cmocka_unit_test_setup_teardown(test_taken_is_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(test_open_fails, setup, teardown),
		cmocka_unit_test_setup_teardown(test_retries, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reads, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reads_are_asked_for, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fork, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
