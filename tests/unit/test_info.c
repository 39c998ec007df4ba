/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* fi_dupinfo copies everything, and leaks nothing whichever allocation fails. */
#include "unit.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/fabric.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
char *__real_strdup(const char *str);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
char *__wrap_strdup(const char *str);

/* The allocation that fails, counted down; 0 for none. */
static int fail_at;
static int nics;

static bool fails(void)
{
	return fail_at && !--fail_at;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

char *__wrap_strdup(const char *str)
{
	return fails() ? NULL : __real_strdup(str);
}

static int nic_close(struct fid *fid)
{
	nics--;
	free(fid);
	return 0;
}

static int nic_control(struct fid *fid, int command, void *arg);

static struct fi_ops nic_ops = { .size = sizeof(nic_ops),
				 .close = nic_close,
				 .control = nic_control };

static int nic_control(struct fid *fid, int command, void *arg)
{
	struct fid_nic *copy;

	(void)fid;
	if (command != FI_DUP)
		return -FI_ENOSYS;
	copy = calloc(1, sizeof(*copy));
	if (!copy)
		return -FI_ENOMEM;
	copy->fid.fclass = FI_CLASS_NIC;
	copy->fid.ops = &nic_ops;
	nics++;
	*(struct fid **)arg = &copy->fid;
	return 0;
}

static struct fi_info *filled(void)
{
	static struct fid handle, domain_fid;
	struct fi_info *info = fi_allocinfo();
	struct fid *nic = NULL;

	assert_non_null(info);
	info->src_addr = strdup("source");
	info->src_addrlen = 7;
	info->dest_addr = strdup("target");
	info->dest_addrlen = 7;
	info->handle = &handle;
	info->tx_attr->tclass = 3;
	info->rx_attr->size = 5;
	info->ep_attr->auth_key = (uint8_t *)strdup("epkey");
	info->ep_attr->auth_key_size = 6;
	info->domain_attr->domain = (struct fid_domain *)&domain_fid;
	info->domain_attr->name = strdup("rxe0");
	info->domain_attr->auth_key = (uint8_t *)strdup("domkey");
	info->domain_attr->auth_key_size = 7;
	info->domain_attr->max_xpu_ctx_cnt = 9;
	info->fabric_attr->name = strdup("net");
	info->fabric_attr->prov_name = strdup("verbs");
	assert_int_equal(nic_control(NULL, FI_DUP, &nic), 0);
	info->nic = (struct fid_nic *)nic;
	return info;
}

static void test_alloc(void **state)
{
	struct fi_info *info = fi_allocinfo();

	(void)state;
	assert_non_null(info);
	assert_non_null(info->tx_attr);
	assert_non_null(info->rx_attr);
	assert_non_null(info->ep_attr);
	assert_non_null(info->domain_attr);
	assert_non_null(info->fabric_attr);
	assert_null(info->nic);
	assert_null(info->next);
	assert_int_equal(info->caps, 0);
	/* This size says that address vectors have the keys. */
	info->domain_attr->auth_key = malloc(1);
	info->domain_attr->auth_key_size = FI_AV_AUTH_KEY;
	fi_freeinfo(info);
	fi_freeinfo(NULL);
}

static void test_dup(void **state)
{
	struct fi_info *info = filled(), *copy = fi_dupinfo(info);

	(void)state;
	assert_non_null(copy);
	assert_string_equal(copy->src_addr, "source");
	assert_ptr_not_equal(copy->src_addr, info->src_addr);
	assert_string_equal(copy->dest_addr, "target");
	assert_ptr_equal(copy->handle, info->handle);
	assert_int_equal(copy->tx_attr->tclass, 3);
	assert_int_equal(copy->rx_attr->size, 5);
	assert_string_equal((char *)copy->ep_attr->auth_key, "epkey");
	assert_ptr_not_equal(copy->ep_attr->auth_key, info->ep_attr->auth_key);
	assert_ptr_equal(copy->domain_attr->domain, info->domain_attr->domain);
	assert_string_equal(copy->domain_attr->name, "rxe0");
	assert_string_equal((char *)copy->domain_attr->auth_key, "domkey");
	assert_int_equal(copy->domain_attr->max_xpu_ctx_cnt, 9);
	assert_string_equal(copy->fabric_attr->name, "net");
	assert_string_equal(copy->fabric_attr->prov_name, "verbs");
	assert_ptr_not_equal(copy->nic, info->nic);
	assert_int_equal(nics, 2);
	fi_freeinfo(info);
	fi_freeinfo(copy);
	assert_int_equal(nics, 0);
}

static int no_control(struct fid *fid, int command, void *arg)
{
	(void)fid;
	(void)command;
	(void)arg;
	return -FI_ENOSYS;
}

/* The copy lacks what a provider cannot copy. */
static void test_dup_without_nic(void **state)
{
	struct fi_ops ops = { .size = sizeof(ops), .close = nic_close, .control = no_control };
	struct fi_info *info = filled(), *copy;

	(void)state;
	info->nic->fid.ops = &ops;
	copy = fi_dupinfo(info);
	assert_non_null(copy);
	assert_null(copy->nic);
	assert_string_equal(copy->src_addr, "source");
	fi_freeinfo(copy);
	fi_freeinfo(info);
	assert_int_equal(nics, 0);
}

static void test_dup_is_single(void **state)
{
	struct fi_info *list = filled(), *copy;

	(void)state;
	list->next = filled();
	copy = fi_dupinfo(list);
	assert_null(copy->next);
	fi_freeinfo(copy);
	fi_freeinfo(list);
	assert_int_equal(nics, 0);
}

/* What is missing in the original is missing in the copy. */
static void test_dup_sparse(void **state)
{
	struct fi_ep_attr ep = { .auth_key_size = FI_AV_AUTH_KEY };
	struct fi_info sparse = { .caps = FI_MSG, .ep_attr = &ep, .src_addrlen = 8 };
	struct fi_info *copy = fi_dupinfo(&sparse);

	(void)state;
	assert_non_null(copy);
	assert_null(copy->tx_attr);
	assert_null(copy->domain_attr);
	assert_null(copy->src_addr);
	assert_null(copy->ep_attr->auth_key);
	assert_true(copy->ep_attr->auth_key_size == FI_AV_AUTH_KEY);
	fi_freeinfo(copy);
}

static void test_dup_failing(void **state)
{
	struct fi_info *info = filled(), *copy = NULL;
	int n;

	(void)state;
	for (n = 1; !copy; n++) {
		fail_at = n;
		copy = fi_dupinfo(info);
	}
	fail_at = 0;
	assert_int_equal(n - 1, 15);
	fi_freeinfo(copy);
	fi_freeinfo(info);
	assert_int_equal(nics, 0);
}

static void test_alloc_failing(void **state)
{
	struct fi_info *info = NULL;
	int n;

	(void)state;
	for (n = 1; !info; n++) {
		fail_at = n;
		info = fi_allocinfo();
	}
	fail_at = 0;
	assert_int_equal(n - 1, 7);
	fi_freeinfo(info);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alloc),		cmocka_unit_test(test_dup),
		cmocka_unit_test(test_dup_without_nic), cmocka_unit_test(test_dup_is_single),
		cmocka_unit_test(test_dup_sparse),	cmocka_unit_test(test_dup_failing),
		cmocka_unit_test(test_alloc_failing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
