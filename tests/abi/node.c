/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A program built for NODE, a symbol version. Its structures end where they ended in that version,
 * right before unreadable memory, and it checks each field that it knows.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include "tests/abi/app.h"
#include "tests/abi/bind.h"
#include "tests/abi/rich.h"

static const struct node *node;

__attribute__((format(printf, 2, 3))) static void expect(bool ok, const char *fmt, ...)
{
	va_list args;

	if (ok)
		return;
	va_start(args, fmt);
	fprintf(stderr, "FABRIC_" NODE ": ");
	vfprintf(stderr, fmt, args);
	fprintf(stderr, "\n");
	va_end(args);
	exit(1);
}

/* Zeroed, with its end at the end of what can be read. */
static void *guarded(size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *mem =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	expect(mem != MAP_FAILED && !mprotect(mem + page, page, PROT_NONE), "mmap failed");
	return mem + page - size;
}

static void *plain(size_t size)
{
	void *mem = calloc(1, size);

	expect(mem, "no memory");
	return mem;
}

static bool has_keys(void)
{
	return node->size[PART_EP] > offsetof(struct fi_ep_attr, auth_key) &&
	       node->size[PART_DOMAIN] > offsetof(struct fi_domain_attr, auth_key);
}

/* A fi_info that this caller has made himself. */
static struct fi_info *make(void *(*alloc)(size_t size))
{
	struct fi_info *info = alloc(node->size[PART_INFO]);
	const void *parts[PARTS];
	unsigned part;

	info->tx_attr = alloc(node->size[PART_TX]);
	info->rx_attr = alloc(node->size[PART_RX]);
	info->ep_attr = alloc(node->size[PART_EP]);
	info->domain_attr = alloc(node->size[PART_DOMAIN]);
	info->fabric_attr = alloc(node->size[PART_FABRIC]);
	rich_parts(info, parts);
	for (part = 0; part < PARTS; part++)
		rich_fill(part, (void *)parts[part], node->size[part]);
	info->src_addr = calloc(1, RICH_SRC_LEN);
	info->dest_addr = calloc(1, RICH_DEST_LEN);
	info->fabric_attr->prov_name = strdup("rich");
	if (has_keys()) {
		info->ep_attr->auth_key = calloc(1, RICH_KEY_LEN);
		info->domain_attr->auth_key = calloc(1, RICH_KEY_LEN);
	}
	return info;
}

/* What a guarded one points to; the structures themselves stay. */
static void unmake(struct fi_info *info)
{
	free(info->src_addr);
	free(info->dest_addr);
	free(info->fabric_attr->prov_name);
	if (has_keys()) {
		free(info->ep_attr->auth_key);
		free(info->domain_attr->auth_key);
	}
}

static void check_values(const struct fi_info *info, const char *what)
{
	const struct field *field;
	const void *parts[PARTS];
	unsigned part;

	rich_parts(info, parts);
	for (part = 0; part < PARTS; part++) {
		if (part == PART_FABRIC)
			continue; /* the versions in it are the library's to set */
		expect(parts[part], "%s: a structure is missing", what);
		field = rich_differs(part, parts[part], node->size[part]);
		expect(!field, "%s: %s.%s has another value", what, field ? field->type : "",
		       field ? field->name : "");
	}
	expect(info->src_addr && info->dest_addr, "%s: an address is missing", what);
}

static void check_info(const struct fi_info *info)
{
	check_values(info, "fi_getinfo");
	expect(!strcmp(info->domain_attr->name, "rich domain"), "domain_attr->name");
	expect(!strcmp(info->fabric_attr->name, "rich fabric"), "fabric_attr->name");
	expect(!strcmp(info->fabric_attr->prov_name, "rich"), "fabric_attr->prov_name");
	expect(info->fabric_attr->prov_version == FI_VERSION(7, 3), "fabric_attr->prov_version");
	if (has_keys())
		expect(info->ep_attr->auth_key && info->domain_attr->auth_key, "auth_key");
	if (strcmp(NODE, "1.0") != 0)
		expect(info->fabric_attr->api_version == API, "fabric_attr->api_version");
	if (node->size[PART_INFO] > offsetof(struct fi_info, nic))
		expect(info->nic && !strcmp(info->nic->device_attr->name, "rich nic"), "nic");
}

static void test_getinfo(void)
{
	struct fi_info *hints = make(guarded), *info, *each;
	int count = 0, ret;

	ret = fi_getinfo(API, NULL, NODE, 0, hints, &info);
	unmake(hints);
	expect(!ret, "fi_getinfo: %s", fi_strerror(-ret));
	for (each = info; each; each = each->next) {
		check_info(each);
		count++;
	}
	expect(count == 2, "%d infos", count);
	fi_freeinfo(info);
	ret = fi_getinfo(API, NULL, NODE, 0, NULL, &info);
	expect(!ret, "fi_getinfo without hints: %s", fi_strerror(-ret));
	fi_freeinfo(info);
}

static void test_dupinfo(void)
{
	struct fi_info *made = make(plain), *again, *copy = fi_dupinfo(made);

	fi_freeinfo(made);
	expect(copy, "fi_dupinfo: no memory");
	check_values(copy, "fi_dupinfo");
	again = fi_dupinfo(copy);
	fi_freeinfo(copy);
	check_values(again, "fi_dupinfo of a copy");
	fi_freeinfo(again);
	made = make(guarded);
	copy = fi_dupinfo(made);
	unmake(made);
	check_values(copy, "fi_dupinfo of one before the guard");
	fi_freeinfo(copy);
	copy = fi_allocinfo();
	expect(copy && copy->domain_attr && copy->fabric_attr, "fi_allocinfo");
	fi_freeinfo(copy);
}

/*
 * Fields that the caller has are printed, and others are not, once the library knows the caller's
 * version.
 */
static void check_text(unsigned part, const char *text, bool known)
{
	const struct field *field;
	char line[64];
	size_t i;

	for (i = 0; i < rich_field_count(); i++) {
		field = rich_field(i);
		if (field->part != part || field->kind != VALUE)
			continue;
		snprintf(line, sizeof(line), "\n    %s: ", field->name);
		if (field->offset + field->size > node->size[part])
			expect(!strstr(text, line), "fi_tostr: %s is not his", field->name);
		else if (known)
			expect(strstr(text, line), "fi_tostr: no %s in\n%s", field->name, text);
	}
}

static void test_tostr(bool known)
{
	static const enum fi_type types[] = { FI_TYPE_INFO,	   FI_TYPE_TX_ATTR,
					      FI_TYPE_RX_ATTR,	   FI_TYPE_EP_ATTR,
					      FI_TYPE_DOMAIN_ATTR, FI_TYPE_FABRIC_ATTR };
	struct fi_info *info = make(guarded);
	const void *parts[PARTS];
	unsigned part;

	rich_parts(info, parts);
	for (part = 0; part < PARTS; part++)
		check_text(part, fi_tostr(parts[part], types[part]), known);
	unmake(info);
}

static void test_fabric(void)
{
	struct fi_fabric_attr *attr = guarded(node->size[PART_FABRIC]);
	bool padding = !strcmp(NODE_OF_FABRIC, "1.0");
	struct fid_fabric *fabric;
	int ret;

	attr->name = "rich fabric";
	attr->prov_name = "rich";
	attr->api_version = padding ? UINT32_MAX : API;
	ret = fi_fabric(attr, &fabric, &node);
	expect(!ret, "fi_fabric: %s", fi_strerror(-ret));
	expect(fabric->fid.context == &node, "fi_fabric: context");
	expect(fabric->api_version == (padding ? FI_VERSION(1, 4) : API), "fi_fabric: version");
	expect(!fi_close(&fabric->fid), "fi_close of the fabric");
}

static void ok(const char *call, int ret)
{
	expect(!ret, "%s: %s", call, fi_strerror(-ret));
}

static struct fi_info *find(enum fi_ep_type type)
{
	struct fi_info *hints = fi_allocinfo(), *info;

	expect(hints, "fi_allocinfo");
	hints->caps = FI_MSG;
	hints->mode = ~0ULL;
	hints->ep_attr->type = type;
	hints->domain_attr->mr_mode =
		FI_VERSION_LT(API, FI_VERSION(1, 5))
			? FI_MR_UNSPEC
			: FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	hints->fabric_attr->prov_name = strdup("verbs");
	ok("fi_getinfo", fi_getinfo(API, NULL, NULL, 0, hints, &info));
	fi_freeinfo(hints);
	return info;
}

static void *own(const void *from, unsigned part)
{
	return memcpy(guarded(node->size[part]), from, node->size[part]);
}

/* A copy of what the library returned, such as programs make to change some fields. */
static struct fi_info *own_copy(const struct fi_info *from)
{
	struct fi_info *info = own(from, PART_INFO);

	info->tx_attr = own(from->tx_attr, PART_TX);
	info->rx_attr = own(from->rx_attr, PART_RX);
	info->ep_attr = own(from->ep_attr, PART_EP);
	info->domain_attr = own(from->domain_attr, PART_DOMAIN);
	info->fabric_attr = own(from->fabric_attr, PART_FABRIC);
	if (!strcmp(NODE_OF_FABRIC, "1.0")) /* padding, in the oldest programs */
		info->fabric_attr->api_version = UINT32_MAX;
	return info;
}

/* The library reads the structures, and writes attributes, as far as the caller's go. */
static void test_rdm(void)
{
	struct fi_info *info = find(FI_EP_RDM), *copy = own_copy(info);
	struct fi_tx_attr *attr = guarded(node->size[PART_TX]);
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_ep *ep, *sep, *tx;

	ok("fi_fabric", fi_fabric(copy->fabric_attr, &fabric, NULL));
	ok("fi_domain", fi_domain(fabric, copy, &domain, NULL));
	ok("fi_endpoint", fi_endpoint(domain, copy, &ep, NULL));
	ok("fi_scalable_ep", fi_scalable_ep(domain, copy, &sep, NULL));
	ok("fi_tx_context", fi_tx_context(sep, 0, attr, &tx, NULL));
	expect(attr->size == info->tx_attr->size, "fi_tx_context: size");
	expect(attr->rma_iov_limit == info->tx_attr->rma_iov_limit, "fi_tx_context: rma_iov_limit");
	ok("fi_close", fi_close(&tx->fid));
	ok("fi_close", fi_close(&sep->fid));
	ok("fi_close", fi_close(&ep->fid));
	ok("fi_close", fi_close(&domain->fid));
	ok("fi_close", fi_close(&fabric->fid));
	fi_freeinfo(info);
}

static void test_msg(void)
{
	struct fi_info *info = find(FI_EP_MSG), *copy = own_copy(info);
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_pep *pep;
	struct fid_ep *ep;

	ok("fi_fabric", fi_fabric(copy->fabric_attr, &fabric, NULL));
	ok("fi_domain", fi_domain(fabric, copy, &domain, NULL));
	ok("fi_endpoint", fi_endpoint(domain, copy, &ep, NULL));
	ok("fi_passive_ep", fi_passive_ep(fabric, copy, &pep, NULL));
	ok("fi_close", fi_close(&pep->fid));
	ok("fi_close", fi_close(&ep->fid));
	ok("fi_close", fi_close(&domain->fid));
	ok("fi_close", fi_close(&fabric->fid));
	fi_freeinfo(info);
}

int main(void)
{
	node = rich_node(NODE);
	expect(node, "not in the table of sizes");
	setenv("FI_PROVIDER_PATH", "+" RICH_PROV, 1);
	test_tostr(false);
	test_dupinfo();
	test_getinfo();
	test_tostr(true);
	test_fabric();
	if (!getenv("WEFT_DEVICE"))
		return 0;
	test_rdm();
	test_msg();
	return app_run(API);
}
