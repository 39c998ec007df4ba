/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Callers of each older symbol version, whose structures have exactly their old length: under
 * AddressSanitizer this finds every access beyond them.
 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include "fake_prov.h"
#include "src/abi.h"

static const size_t sizes[][6] = {
	{ 112, 72, 64, 80, 120, 32 }, { 112, 72, 64, 96, 184, 32 },  { 120, 72, 64, 96, 184, 32 },
	{ 120, 80, 64, 96, 192, 32 }, { 120, 80, 64, 96, 200, 32 },  { 120, 80, 64, 96, 208, 32 },
	{ 120, 80, 64, 96, 224, 32 }, { 120, 80, 64, 104, 232, 32 },
};

static int nics;
static const struct fi_info *seen_hints;
static struct fi_info seen_info;
static struct fi_tx_attr seen_tx;
static struct fi_ep_attr seen_ep;
static struct fi_domain_attr seen_domain;
static struct fi_fabric_attr seen_fabric;
static bool seen_prov;

static int nic_close(struct fid *fid)
{
	nics--;
	free(fid);
	return 0;
}

static struct fi_ops nic_ops = { .size = sizeof(nic_ops), .close = nic_close };

static struct fid_nic *nic_new(void)
{
	struct fid_nic *nic = calloc(1, sizeof(*nic));

	assert_non_null(nic);
	nic->fid.ops = &nic_ops;
	nics++;
	return nic;
}

/* Everything that an older caller may not know about is filled in. */
static int rich_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
			const struct fi_info *hints, struct fi_info **info)
{
	int ret = fake_getinfo(version, node, service, flags, hints, info);

	assert_int_equal(ret, 0);
	(*info)->nic = nic_new();
	(*info)->tx_attr->tclass = 7;
	(*info)->ep_attr->auth_key = malloc(4);
	(*info)->ep_attr->auth_key_size = 4;
	(*info)->domain_attr->name = strdup("rxe0");
	(*info)->domain_attr->auth_key = malloc(4);
	(*info)->domain_attr->auth_key_size = 4;
	(*info)->domain_attr->max_cntr_value = 99;
	(*info)->next = fake_info("other");
	seen_hints = hints;
	if (hints) {
		seen_info = *hints;
		seen_tx = *hints->tx_attr;
		seen_ep = *hints->ep_attr;
		seen_domain = *hints->domain_attr;
		seen_fabric = *hints->fabric_attr;
		seen_prov = seen_fabric.prov_name && !strcmp(seen_fabric.prov_name, "fake");
	}
	return 0;
}

/* A structure of an older caller: no byte longer, filled with what he sees. */
static void *older(size_t size, int fill)
{
	void *mem = malloc(size);

	assert_non_null(mem);
	memset(mem, fill, size);
	return mem;
}

static struct fi_info *older_hints(enum ofi_abi_node node)
{
	const size_t *size = sizes[node];
	struct fi_info *hints = older(size[0], 0);

	hints->caps = FI_MSG;
	hints->tx_attr = older(size[1], 0);
	hints->rx_attr = older(size[2], 0);
	hints->ep_attr = older(size[3], 0);
	hints->domain_attr = older(size[4], 0);
	hints->fabric_attr = older(size[5], 0);
	hints->ep_attr->rx_ctx_cnt = 11;
	hints->domain_attr->max_ep_srx_ctx = 12;
	hints->domain_attr->name = strdup("rxe0");
	hints->fabric_attr->prov_name = strdup("fake");
	hints->src_addr = strdup("x");
	hints->src_addrlen = 2;
	return hints;
}

static int start(void **state)
{
	static struct fi_provider prov;

	(void)state;
	prov = fake_prov("fake", FI_VERSION(1, 0));
	prov.getinfo = rich_getinfo;
	ofi_registry_init(&fake_registry, NULL, false);
	return fake_add(&prov, 1, false);
}

static int stop(void **state)
{
	(void)state;
	ofi_registry_fini(&fake_registry);
	return nics;
}

static void check_hints(enum ofi_abi_node node)
{
	assert_non_null(seen_hints);
	assert_int_equal(seen_info.caps, FI_MSG);
	assert_null(seen_info.nic);
	assert_int_equal(seen_ep.rx_ctx_cnt, 11);
	assert_null(seen_ep.auth_key);
	assert_null(seen_ep.xpu_ctx);
	assert_int_equal(seen_tx.tclass, 0);
	assert_int_equal(seen_domain.max_ep_srx_ctx, 12);
	assert_int_equal(seen_domain.max_xpu_ctx_cnt, 0);
	assert_true(seen_prov);
	if (node == OFI_ABI_1_0)
		assert_int_equal(seen_fabric.api_version, 0);
}

static void check_info(enum ofi_abi_node node, const struct fi_info *info)
{
	assert_string_equal(info->fabric_attr->name, "net");
	assert_string_equal(info->fabric_attr->prov_name, "fake");
	assert_string_equal(info->domain_attr->name, "rxe0");
	assert_true(!info->nic == (sizes[node][0] < 120));
	assert_true(!info->ep_attr->auth_key == (node == OFI_ABI_1_0));
	assert_true(!info->domain_attr->auth_key == (node == OFI_ABI_1_0));
	assert_int_equal(info->tx_attr->tclass, node >= OFI_ABI_1_3 ? 7 : 0);
	assert_int_equal(info->domain_attr->max_cntr_value, node >= OFI_ABI_1_9 ? 99 : 0);
	assert_non_null(info->next);
}

static void test_getinfo(void **state)
{
	struct fi_info *hints, *info;
	int node;

	(void)state;
	for (node = OFI_ABI_1_0; node <= OFI_ABI_1_10; node++) {
		hints = older_hints(node);
		if (node == OFI_ABI_1_0) /* was padding */
			hints->fabric_attr->api_version = 0x5a5a5a5a;
		assert_int_equal(
			ofi_abi_getinfo(node, FI_VERSION(1, 0), NULL, NULL, 0, hints, &info), 0);
		check_hints(node);
		check_info(node, info);
		ofi_abi_freeinfo(node, info);
		ofi_abi_freeinfo(node, hints);
		assert_int_equal(nics, 0);
		assert_int_equal(
			ofi_abi_getinfo(node, FI_VERSION(1, 0), NULL, NULL, 0, NULL, &info), 0);
		assert_null(seen_hints);
		ofi_abi_freeinfo(node, info);
	}
}

static void test_dupinfo(void **state)
{
	struct fi_info *hints, *copy, *copy2;
	int node;

	(void)state;
	for (node = OFI_ABI_1_0; node <= OFI_ABI_1_10; node++) {
		hints = older_hints(node);
		hints->next = hints; /* not to be followed */
		copy = ofi_abi_dupinfo(node, hints);
		assert_non_null(copy);
		assert_null(copy->next);
		assert_null(copy->nic);
		assert_int_equal(copy->ep_attr->rx_ctx_cnt, 11);
		assert_null(copy->ep_attr->auth_key);
		assert_string_equal(copy->domain_attr->name, "rxe0");
		assert_string_equal(copy->src_addr, "x");
		copy2 = ofi_abi_dupinfo(node, copy);
		hints->next = NULL;
		ofi_abi_freeinfo(node, hints);
		ofi_abi_freeinfo(node, copy);
		ofi_abi_freeinfo(node, copy2);
		copy = ofi_abi_dupinfo(node, NULL);
		assert_non_null(copy->domain_attr);
		ofi_abi_freeinfo(node, copy);
		ofi_abi_freeinfo(node, NULL);
	}
}

static void test_without_attributes(void **state)
{
	struct fi_info *bare, *copy;
	int node;

	(void)state;
	for (node = OFI_ABI_1_0; node <= OFI_ABI_1_10; node++) {
		bare = older(sizes[node][0], 0);
		copy = ofi_abi_dupinfo(node, bare);
		assert_null(copy->tx_attr);
		assert_null(copy->domain_attr);
		ofi_abi_freeinfo(node, copy);
		ofi_abi_freeinfo(node, bare);
	}
}

/* Providers return structures of the API that they are made for. */
static void import_of(uint32_t version, enum ofi_abi_node node)
{
	const size_t keys = offsetof(struct fi_domain_attr, max_ep_auth_key),
		     groups = offsetof(struct fi_domain_attr, max_group_id);
	struct fi_info *list = older_hints(node);
	bool has_keys = sizes[node][4] > keys, has_groups = sizes[node][4] > groups;

	list->next = older_hints(node);
	list->nic = NULL;
	if (has_keys)
		list->domain_attr->max_ep_auth_key = 5;
	if (has_groups)
		list->domain_attr->max_group_id = 6;
	assert_int_equal(ofi_abi_import(version, &list), 0);
	assert_int_equal(list->domain_attr->max_ep_auth_key, has_keys ? 5 : 0);
	assert_int_equal(list->domain_attr->max_group_id, has_groups ? 6 : 0);
	assert_int_equal(list->domain_attr->max_cntr_value, 0);
	assert_int_equal(list->domain_attr->max_xpu_ctx_cnt, 0);
	assert_null(list->ep_attr->xpu_ctx);
	assert_int_equal(list->next->ep_attr->rx_ctx_cnt, 11);
	assert_null(list->next->next);
	fi_freeinfo(list);
}

static void test_import(void **state)
{
	struct fi_info *list;

	(void)state;
	import_of(FI_VERSION(1, 9), OFI_ABI_1_3);
	import_of(FI_VERSION(1, 19), OFI_ABI_1_3);
	import_of(FI_VERSION(1, 20), OFI_ABI_1_7);
	import_of(FI_VERSION(1, 22), OFI_ABI_1_7);
	import_of(FI_VERSION(2, 0), OFI_ABI_1_8);
	import_of(FI_VERSION(2, 5), OFI_ABI_1_8);
	list = fi_allocinfo();
	assert_int_equal(ofi_abi_import(FI_VERSION(2, 6), &list), 0);
	fi_freeinfo(list);
}

static void test_errors(void **state)
{
	struct fi_info *info = (void *)1;

	(void)state;
	assert_int_equal(ofi_abi_getinfo(OFI_ABI_1_0, FI_VERSION(9, 0), NULL, NULL, 0, NULL, &info),
			 -FI_ENOSYS);
	assert_null(info);
	assert_int_equal(ofi_abi_getinfo(OFI_ABI_1_0, FI_VERSION(1, 0), NULL, NULL, 0, NULL, NULL),
			 -FI_EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_getinfo),
		cmocka_unit_test(test_dupinfo),
		cmocka_unit_test(test_without_attributes),
		cmocka_unit_test(test_import),
		cmocka_unit_test(test_errors),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
