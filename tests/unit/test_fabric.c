/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* fi_fabric finds the provider; fi_open finds its named objects. */
#include "unit.h"

#include "fake_prov.h"

static struct fi_provider verbs, tcp;
static const char *opened;

static int verbs_fabric(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
	opened = "verbs";
	return fake_fabric(attr, fabric, context);
}

static int tcp_fabric(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
	opened = "tcp";
	(void)attr;
	(void)fabric;
	(void)context;
	return -FI_EBUSY;
}

static int tcp_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
		       const struct fi_info *hints, struct fi_info **info)
{
	(void)version;
	(void)node;
	(void)service;
	(void)flags;
	(void)hints;
	*info = fake_info("tcpnet");
	return 0;
}

static int start(void **state)
{
	(void)state;
	verbs = fake_prov("verbs", 1);
	verbs.fabric = verbs_fabric;
	tcp = fake_prov("tcp", 1);
	tcp.fabric = tcp_fabric;
	tcp.getinfo = tcp_getinfo;
	ofi_registry_init(&fake_registry, NULL, false);
	return fake_add(&verbs, 1, false) || fake_add(&tcp, 2, false);
}

static int stop(void **state)
{
	(void)state;
	ofi_registry_fini(&fake_registry);
	return 0;
}

static int open_fabric(char *prov_name, char *name, uint32_t api, struct fid_fabric **fabric)
{
	struct fi_fabric_attr attr = { .prov_name = prov_name, .name = name, .api_version = api };

	opened = NULL;
	return fi_fabric(&attr, fabric, NULL);
}

static void test_by_provider(void **state)
{
	struct fid_fabric *fabric;

	(void)state;
	assert_int_equal(open_fabric("verbs", "net", FI_VERSION(1, 9), &fabric), 0);
	assert_string_equal(opened, "verbs");
	assert_int_equal(fabric->api_version, FI_VERSION(1, 9));
	assert_int_equal(open_fabric("verbs;ofi_rxm", "net", 0, &fabric), 0);
	assert_int_equal(open_fabric("tcp", "net", 0, &fabric), -FI_EBUSY);
	assert_string_equal(opened, "tcp");
	assert_int_equal(open_fabric("verb", "net", 0, &fabric), -FI_ENODEV);
	assert_null(opened);
}

static void test_by_fabric(void **state)
{
	struct fid_fabric *fabric;

	(void)state;
	assert_int_equal(open_fabric(NULL, "net", 0, &fabric), 0);
	assert_string_equal(opened, "verbs");
	assert_int_equal(open_fabric(NULL, "tcpnet", FI_VERSION(1, 0), &fabric), -FI_EBUSY);
	assert_string_equal(opened, "tcp");
	assert_int_equal(open_fabric(NULL, "other", 0, &fabric), -FI_ENODEV);
}

static void test_fabric_arguments(void **state)
{
	struct fid_fabric *fabric;

	(void)state;
	assert_int_equal(fi_fabric(NULL, &fabric, NULL), -FI_EINVAL);
	assert_int_equal(open_fabric("verbs", NULL, 0, NULL), -FI_EINVAL);
	assert_int_equal(open_fabric(NULL, NULL, 0, &fabric), -FI_EINVAL);
	assert_int_equal(open_fabric("verbs", NULL, FI_VERSION(3, 0), &fabric), -FI_ENOSYS);
}

static void test_fabric2(void **state)
{
	struct fi_fabric_attr attr = { .prov_name = "verbs" };
	struct fi_info info = { .fabric_attr = &attr };
	struct fid_fabric *fabric;

	(void)state;
	assert_int_equal(fi_fabric2(&info, &fabric, 0, &attr), 0);
	assert_ptr_equal(fabric->fid.context, &attr);
	assert_int_equal(fi_fabric2(&info, &fabric, 1, NULL), -FI_EBADFLAGS);
	assert_int_equal(fi_fabric2(NULL, &fabric, 0, NULL), -FI_EINVAL);
	info.fabric_attr = NULL;
	assert_int_equal(fi_fabric2(&info, &fabric, 0, NULL), -FI_EINVAL);
}

static void test_open(void **state)
{
	const uint32_t v = FI_VERSION(2, 6);
	struct fid *fid;

	(void)state;
	assert_int_equal(fi_open(v, NULL, NULL, 0, 0, &fid, NULL), -FI_EINVAL);
	assert_int_equal(fi_open(v, "logging", NULL, 0, 0, NULL, NULL), -FI_EINVAL);
	assert_int_equal(fi_open(v, "logging", NULL, 4, 0, &fid, NULL), -FI_EINVAL);
	assert_int_equal(fi_open(v + 1, "logging", NULL, 0, 0, &fid, NULL), -FI_ENOSYS);
	assert_int_equal(fi_open(v, "mr_cache", NULL, 0, 0, &fid, NULL), -FI_ENOSYS);
	assert_int_equal(fi_open(v, "logging", NULL, 0, 0, &fid, NULL), 0);
	assert_int_equal(fi_close(fid), 0);
	assert_int_equal(fi_version(), v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_provider),
		cmocka_unit_test(test_by_fabric),
		cmocka_unit_test(test_fabric_arguments),
		cmocka_unit_test(test_fabric2),
		cmocka_unit_test(test_open),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
