/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* fi_tostr prints every constant of the interface by its name, and every type. */
#include "unit.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "src/abi.h"
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

static FILE *constants(void)
{
	const char *dir = getenv("srcdir");
	char path[1024];
	FILE *file;

	snprintf(path, sizeof(path), "%s/tests/abi/api-2.6-constants.tsv", dir ? dir : ".");
	file = fopen(path, "r");
	if (!file)
		fail_msg("%s: not found, set srcdir", path);
	return file;
}

static bool starts(const char *name, const char *prefix)
{
	return !strncmp(name, prefix, strlen(prefix));
}

/* The fi_type that prints a constant, by its enumeration or its prefix; -1 if none does. */
static int type_of(const char *name, const char *enumeration)
{
	static const struct {
		const char *text;
		int type;
	} enums[] = {
		{ "fi_av_type", FI_TYPE_AV_TYPE },
		{ "fi_progress", FI_TYPE_PROGRESS },
		{ "fi_threading", FI_TYPE_THREADING },
		{ "fi_ep_type", FI_TYPE_EP_TYPE },
		{ "fi_datatype", FI_TYPE_ATOMIC_TYPE },
		{ "fi_op", FI_TYPE_ATOMIC_OP },
		{ "fi_op_type", FI_TYPE_OP_TYPE },
		{ "fi_collective_op", FI_TYPE_COLLECTIVE_OP },
		{ "fi_hmem_iface", FI_TYPE_HMEM_IFACE },
		{ "fi_cq_format", FI_TYPE_CQ_FORMAT },
		{ "fi_log_level", FI_TYPE_LOG_LEVEL },
		{ "fi_log_subsys", FI_TYPE_LOG_SUBSYS },
		{ "fi_cq_wait_cond", FI_TYPE_CQ_WAIT_COND },
		{ "fi_wait_obj", FI_TYPE_WAIT_OBJ },
	}, prefixes[] = {
		{ "FI_PROTO_", FI_TYPE_PROTOCOL },
		{ "FI_FORMAT_UNSPEC", FI_TYPE_ADDR_FORMAT },
		{ "FI_SOCKADDR", FI_TYPE_ADDR_FORMAT },
		{ "FI_ADDR_", FI_TYPE_ADDR_FORMAT },
	};
	size_t i;

	for (i = 0; i < sizeof(enums) / sizeof(enums[0]); i++) {
		if (!strcmp(enumeration, enums[i].text))
			return enums[i].type;
	}
	for (i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		if (!strcmp(enumeration, "(unnamed)") && starts(name, prefixes[i].text))
			return prefixes[i].type;
	}
	return -1;
}

static void test_enumerations(void **state)
{
	char line[256], name[128], enumeration[64];
	unsigned long long value;
	FILE *file = constants();
	int type, count = 0;
	uint32_t v;

	(void)state;
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%127s %llx %63s", name, &value, enumeration) != 3)
			continue;
		type = type_of(name, enumeration);
		if (type < 0)
			continue;
		v = (uint32_t)value;
		assert_string_equal(fi_tostr(&v, type), name);
		count++;
	}
	fclose(file);
	assert_true(count > 130);
}

static bool holds(const char *list, const char *name)
{
	const char *at = strstr(list, name);

	return at && (at == list || at[-1] == ' ') &&
	       (at[strlen(name)] == '\0' || at[strlen(name)] == ',');
}

static void check_flags(const char *prefix, int type, int least)
{
	char line[256], name[128];
	unsigned long long value;
	FILE *file = constants();
	int count = 0;
	uint64_t v;

	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%127s %llx", name, &value) != 2 || !starts(name, prefix) ||
		    !strcmp(name, "FI_MR_UNSPEC") || !strcmp(name, "FI_ORDER_STRICT") ||
		    !strcmp(name, "FI_ORDER_NONE"))
			continue;
		if (!strcmp(name, "FI_MR_DMABUF") || !strcmp(name, "FI_MR_SINGLE_USE") ||
		    starts(name, "FI_MR_COMPLETE"))
			continue;
		v = value;
		assert_true(holds(fi_tostr(&v, type), name));
		count++;
	}
	fclose(file);
	assert_true(count >= least);
}

static void test_flag_families(void **state)
{
	(void)state;
	check_flags("FI_MR_", FI_TYPE_MR_MODE, 13);
	check_flags("FI_ORDER_", FI_TYPE_MSG_ORDER, 18);
}

#define FLAG(type, flag)          \
	{                         \
		type, flag, #flag \
	}

static const struct {
	int type;
	uint64_t value;
	const char *name;
} flags[] = {
	FLAG(FI_TYPE_CAPS, FI_MSG),
	FLAG(FI_TYPE_CAPS, FI_RMA),
	FLAG(FI_TYPE_CAPS, FI_TAGGED),
	FLAG(FI_TYPE_CAPS, FI_ATOMIC),
	FLAG(FI_TYPE_CAPS, FI_MULTICAST),
	FLAG(FI_TYPE_CAPS, FI_COLLECTIVE),
	FLAG(FI_TYPE_CAPS, FI_READ),
	FLAG(FI_TYPE_CAPS, FI_WRITE),
	FLAG(FI_TYPE_CAPS, FI_RECV),
	FLAG(FI_TYPE_CAPS, FI_SEND),
	FLAG(FI_TYPE_CAPS, FI_REMOTE_READ),
	FLAG(FI_TYPE_CAPS, FI_REMOTE_WRITE),
	FLAG(FI_TYPE_CAPS, FI_MULTI_RECV),
	FLAG(FI_TYPE_CAPS, FI_TRIGGER),
	FLAG(FI_TYPE_CAPS, FI_FENCE),
	FLAG(FI_TYPE_CAPS, FI_AV_USER_ID),
	FLAG(FI_TYPE_CAPS, FI_PEER),
	FLAG(FI_TYPE_CAPS, FI_XPU),
	FLAG(FI_TYPE_CAPS, FI_TAGGED_DIRECTED_RECV),
	FLAG(FI_TYPE_CAPS, FI_TAGGED_MULTI_RECV),
	FLAG(FI_TYPE_CAPS, FI_HMEM),
	FLAG(FI_TYPE_CAPS, FI_EXACT_DIRECTED_RECV),
	FLAG(FI_TYPE_CAPS, FI_RMA_PMEM),
	FLAG(FI_TYPE_CAPS, FI_SOURCE_ERR),
	FLAG(FI_TYPE_CAPS, FI_LOCAL_COMM),
	FLAG(FI_TYPE_CAPS, FI_REMOTE_COMM),
	FLAG(FI_TYPE_CAPS, FI_SHARED_AV),
	FLAG(FI_TYPE_CAPS, FI_RMA_EVENT),
	FLAG(FI_TYPE_CAPS, FI_SOURCE),
	FLAG(FI_TYPE_CAPS, FI_NAMED_RX_CTX),
	FLAG(FI_TYPE_CAPS, FI_DIRECTED_RECV),
	FLAG(FI_TYPE_CAPS, FI_FIREWALL_ADDR),
	FLAG(FI_TYPE_MODE, FI_CONTEXT),
	FLAG(FI_TYPE_MODE, FI_CONTEXT2),
	FLAG(FI_TYPE_MODE, FI_LOCAL_MR),
	FLAG(FI_TYPE_MODE, FI_RX_CQ_DATA),
	FLAG(FI_TYPE_MODE, FI_ASYNC_IOV),
	FLAG(FI_TYPE_MODE, FI_MSG_PREFIX),
	FLAG(FI_TYPE_OP_FLAGS, FI_INJECT),
	FLAG(FI_TYPE_OP_FLAGS, FI_COMPLETION),
	FLAG(FI_TYPE_OP_FLAGS, FI_INJECT_COMPLETE),
	FLAG(FI_TYPE_OP_FLAGS, FI_TRANSMIT_COMPLETE),
	FLAG(FI_TYPE_OP_FLAGS, FI_DELIVERY_COMPLETE),
	FLAG(FI_TYPE_OP_FLAGS, FI_COMMIT_COMPLETE),
	FLAG(FI_TYPE_OP_FLAGS, FI_MATCH_COMPLETE),
	FLAG(FI_TYPE_OP_FLAGS, FI_MORE),
	FLAG(FI_TYPE_OP_FLAGS, FI_PEEK),
	FLAG(FI_TYPE_OP_FLAGS, FI_CLAIM),
	FLAG(FI_TYPE_OP_FLAGS, FI_DISCARD),
	FLAG(FI_TYPE_OP_FLAGS, FI_FENCE),
	FLAG(FI_TYPE_OP_FLAGS, FI_REMOTE_CQ_DATA),
	FLAG(FI_TYPE_OP_FLAGS, FI_AFFINITY),
	FLAG(FI_TYPE_OP_FLAGS, FI_PEER_TRANSFER),
	FLAG(FI_TYPE_OP_FLAGS, FI_AUTH_KEY),
	FLAG(FI_TYPE_OP_FLAGS, FI_RESCAN),
	FLAG(FI_TYPE_OP_FLAGS, FI_NUMERICHOST),
	FLAG(FI_TYPE_CQ_EVENT_FLAGS, FI_REMOTE_CQ_DATA),
	FLAG(FI_TYPE_CQ_EVENT_FLAGS, FI_MULTI_RECV),
	FLAG(FI_TYPE_CQ_EVENT_FLAGS, FI_TAGGED),
	FLAG(FI_TYPE_CQ_EVENT_FLAGS, FI_CLAIM),
};

static void test_flags(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		assert_string_equal(fi_tostr(&flags[i].value, flags[i].type), flags[i].name);
}

static void test_combined(void **state)
{
	uint64_t caps = FI_MSG | FI_RMA | FI_DIRECTED_RECV, none = 0, odd = FI_MSG | 1;
	uint32_t unknown = 77, event;
	int mr_mode = FI_MR_LOCAL | FI_MR_PROV_KEY;

	(void)state;
	assert_string_equal(fi_tostr(&caps, FI_TYPE_CAPS), "FI_MSG, FI_RMA, FI_DIRECTED_RECV");
	assert_string_equal(fi_tostr(&none, FI_TYPE_CAPS), "");
	assert_string_equal(fi_tostr(&none, FI_TYPE_MSG_ORDER), "");
	assert_string_equal(fi_tostr(&odd, FI_TYPE_CAPS), "FI_MSG, 0x1");
	assert_string_equal(fi_tostr(&mr_mode, FI_TYPE_MR_MODE), "FI_MR_LOCAL, FI_MR_PROV_KEY");
	assert_string_equal(fi_tostr(&unknown, FI_TYPE_EP_TYPE), "77");
	assert_string_equal(fi_tostr(NULL, FI_TYPE_VERSION), "2.6.0 (weft " PACKAGE_VERSION ")");
	assert_string_equal(fi_tostr(NULL, FI_TYPE_CAPS), "(null)");
	assert_string_equal(fi_tostr(&none, (enum fi_type)999), "unknown fi_type 999");
	event = FI_SHUTDOWN;
	assert_string_equal(fi_tostr(&event, FI_TYPE_EQ_EVENT), "FI_SHUTDOWN");
}

static struct fi_info *filled(void)
{
	struct fi_info *info = fi_allocinfo();
	struct sockaddr_in *in = calloc(1, sizeof(*in));

	assert_true(info && in);
	in->sin_family = AF_INET;
	in->sin_port = htons(7);
	in->sin_addr.s_addr = htonl(0x0a000001);
	info->caps = FI_MSG | FI_RMA;
	info->addr_format = FI_SOCKADDR_IN;
	info->src_addr = in;
	info->src_addrlen = sizeof(*in);
	info->tx_attr->caps = FI_SEND;
	info->ep_attr->type = FI_EP_MSG;
	info->ep_attr->protocol = FI_PROTO_RDMA_CM_IB_RC;
	info->domain_attr->name = strdup("rxe0");
	info->domain_attr->mr_mode = FI_MR_LOCAL;
	info->fabric_attr->prov_name = strdup("verbs");
	info->fabric_attr->api_version = FI_VERSION(1, 17);
	return info;
}

/* As the tools of older releases print it. */
static void test_details(void **state)
{
	struct fi_tx_attr tx = { .comp_order = FI_ORDER_STRICT };
	struct fi_rx_attr rx = { .comp_order = FI_ORDER_STRICT | FI_ORDER_DATA };
	struct fi_ep_attr ep = { .mem_tag_format = 0x5, .tx_ctx_cnt = FI_SHARED_CONTEXT };
	uint8_t key[] = { 1, 2 };

	(void)state;
	assert_non_null(
		strstr(fi_tostr(&tx, FI_TYPE_TX_ATTR), "comp_order: [ FI_ORDER_STRICT ]\n"));
	assert_non_null(strstr(fi_tostr(&rx, FI_TYPE_RX_ATTR),
			       "comp_order: [ FI_ORDER_STRICT, FI_ORDER_DATA ]\n"));
	rx.comp_order = FI_ORDER_NONE;
	assert_non_null(strstr(fi_tostr(&rx, FI_TYPE_RX_ATTR), "comp_order: [ FI_ORDER_NONE ]\n"));
	rx.comp_order = FI_ORDER_RAR | FI_ORDER_SAS;
	assert_non_null(strstr(fi_tostr(&rx, FI_TYPE_RX_ATTR),
			       "comp_order: [ FI_ORDER_RAR, FI_ORDER_SAS ]\n"));
	assert_non_null(
		strstr(fi_tostr(&ep, FI_TYPE_EP_ATTR), "mem_tag_format: 0x0000000000000005\n"));
	assert_non_null(strstr(fi_tostr(&ep, FI_TYPE_EP_ATTR), "tx_ctx_cnt: FI_SHARED_CONTEXT\n"));
	assert_non_null(strstr(fi_tostr(&ep, FI_TYPE_EP_ATTR), "rx_ctx_cnt: 0\n"));
	assert_null(strstr(fi_tostr(&ep, FI_TYPE_EP_ATTR), "auth_key:"));
	ep.auth_key = key;
	ep.auth_key_size = sizeof(key);
	assert_non_null(strstr(fi_tostr(&ep, FI_TYPE_EP_ATTR), "auth_key: 0x0102\n"));
}

/* A structure of a caller whose node is older ends where his ends. */
static void test_older_callers(void **state)
{
	struct fi_domain_attr domain = { .tclass = 1, .max_cntr_value = 9 };

	(void)state;
	ofi_abi_note(OFI_ABI_1_10);
	assert_non_null(strstr(fi_tostr(&domain, FI_TYPE_DOMAIN_ATTR), "max_cntr_value: 9\n"));
	ofi_abi_note(OFI_ABI_1_3);
	ofi_abi_note(OFI_ABI_1_8);
	assert_null(strstr(fi_tostr(&domain, FI_TYPE_DOMAIN_ATTR), "max_cntr_value"));
	assert_non_null(strstr(fi_tostr(&domain, FI_TYPE_DOMAIN_ATTR), "tclass: 0x1\n"));
	ofi_abi_note(OFI_ABI_1_0);
	assert_null(strstr(fi_tostr(&domain, FI_TYPE_DOMAIN_ATTR), "tclass"));
	assert_non_null(strstr(fi_tostr(&domain, FI_TYPE_DOMAIN_ATTR), "rx_ctx_cnt: 0\n"));
}

static void test_info(void **state)
{
	static const char *const lines[] = {
		"fi_info:\n    caps: [ FI_MSG, FI_RMA ]\n    mode: [  ]\n"
		"    addr_format: FI_SOCKADDR_IN\n    src_addrlen: 16\n    dest_addrlen: 0\n"
		"    src_addr: fi_sockaddr_in://10.0.0.1:7\n    dest_addr: (null)\n"
		"    handle: (nil)\n    fi_tx_attr:\n        caps: [ FI_SEND ]\n",
		"    fi_ep_attr:\n        type: FI_EP_MSG\n",
		"        protocol: FI_PROTO_RDMA_CM_IB_RC\n",
		"        name: rxe0\n",
		"        mr_mode: [ FI_MR_LOCAL ]\n",
		"        prov_name: verbs\n",
		"        api_version: 1.17\n",
		"    nic: (nil)\n",
	};
	struct fi_info *info = filled();
	char *text = fi_tostr(info, FI_TYPE_INFO);
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		if (!strstr(text, lines[i]))
			fail_msg("missing:\n%s\nin:\n%s", lines[i], text);
	}
	fi_freeinfo(info);
}

static void test_nic(void **state)
{
	struct fi_device_attr device = { .name = "rxe0", .firmware = "1" };
	struct fi_bus_attr bus = { .bus_type = FI_BUS_PCI, .attr.pci = { 0, 0x3b, 0, 1 } };
	struct fi_link_attr link = { .mtu = 4096, .speed = 100, .state = FI_LINK_UP };
	struct fid_nic nic = { .device_attr = &device, .bus_attr = &bus, .link_attr = &link };
	struct fi_info info = { .nic = &nic };
	char *text = fi_tostr(&info, FI_TYPE_INFO);

	(void)state;
	assert_non_null(strstr(text, "    fi_tx_attr: (null)\n"));
	assert_non_null(
		strstr(text, "    nic:\n        fi_device_attr:\n            name: rxe0\n"));
	assert_non_null(strstr(text, "            fi_pci_attr:\n                domain_id: 0x0\n"
				     "                bus_id: 0x3b\n"));
	assert_non_null(strstr(text, "            state: FI_LINK_UP\n"));
}

static void test_other_structures(void **state)
{
	struct fi_cq_err_entry err = { .flags = FI_SEND | FI_MSG, .err = FI_ECANCELED };
	struct fi_mr_attr mr = { .access = FI_REMOTE_READ, .iface = FI_HMEM_CUDA };
	struct fi_cq_attr cq = { .format = FI_CQ_FORMAT_DATA, .wait_obj = FI_WAIT_FD };
	struct fi_cntr_attr cntr = { .events = FI_CNTR_EVENTS_BYTES };
	struct fi_av_attr av = { .type = FI_AV_TABLE, .flags = FI_EVENT };
	struct fid fid = { .fclass = FI_CLASS_CQ };

	(void)state;
	assert_non_null(strstr(fi_tostr(&err, FI_TYPE_CQ_ERR_ENTRY), "flags: [ FI_MSG, FI_SEND ]"));
	assert_non_null(strstr(fi_tostr(&err, FI_TYPE_CQ_ERR_ENTRY), "err: 125 ("));
	assert_non_null(strstr(fi_tostr(&mr, FI_TYPE_MR_ATTR), "iface: FI_HMEM_CUDA"));
	assert_non_null(strstr(fi_tostr(&cq, FI_TYPE_CQ_ATTR), "format: FI_CQ_FORMAT_DATA"));
	assert_non_null(strstr(fi_tostr(&cntr, FI_TYPE_CNTR_ATTR), "events: FI_CNTR_EVENTS_BYTES"));
	assert_non_null(strstr(fi_tostr(&av, FI_TYPE_AV_ATTR), "flags: [ FI_EVENT ]"));
	assert_string_equal(fi_tostr(&fid, FI_TYPE_FID),
			    "fid: { fclass: FI_CLASS_CQ, context: (nil) }");
}

static int no_text(const struct fid *fid, char *buf, size_t len)
{
	(void)fid;
	snprintf(buf, len, "half of a text");
	return -FI_ENOSYS;
}

static int own_text(const struct fid *fid, char *buf, size_t len)
{
	snprintf(buf, len, "class %zu", fid->fclass);
	return 0;
}

static void test_text_of_object(void **state)
{
	struct fi_ops ops = { .size = sizeof(ops), .tostr = own_text };
	struct fid fid = { .fclass = FI_CLASS_EQ, .ops = &ops };
	char text[32];

	(void)state;
	snprintf(text, sizeof(text), "class %d", FI_CLASS_EQ);
	assert_string_equal(fi_tostr(&fid, FI_TYPE_FID), text);
	ops.tostr = no_text;
	assert_string_equal(fi_tostr(&fid, FI_TYPE_FID),
			    "fid: { fclass: FI_CLASS_EQ, context: (nil) }");
}

static void test_every_type(void **state)
{
	static const char zeros[1024];
	int type;

	(void)state;
	for (type = FI_TYPE_INFO; type <= FI_TYPE_WAIT_OBJ; type++)
		assert_null(strstr(fi_tostr(zeros, type), "unknown"));
}

static void test_bounds(void **state)
{
	struct fi_info *info = filled();
	char *buf, whole[8192];
	size_t len;

	(void)state;
	fi_tostr_r(whole, sizeof(whole), info, FI_TYPE_INFO);
	for (len = 1; len <= strlen(whole) + 1; len++) {
		buf = malloc(len);
		assert_ptr_equal(fi_tostr_r(buf, len, info, FI_TYPE_INFO), buf);
		assert_int_equal(strlen(buf), len - 1);
		assert_memory_equal(buf, whole, len - 1);
		free(buf);
	}
	whole[0] = 'x';
	assert_ptr_equal(fi_tostr_r(whole, 0, info, FI_TYPE_INFO), whole);
	assert_int_equal(whole[0], 'x');
	assert_null(fi_tostr_r(NULL, 8, info, FI_TYPE_INFO));
	fi_freeinfo(info);
}

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void __real_free(void *memory);
void __wrap_free(void *memory);

static bool no_memory;
static char *text_of_thread;
static int freed; /* number of times that it was freed */

void *__wrap_malloc(size_t size)
{
	return no_memory ? NULL : __real_malloc(size);
}

void __wrap_free(void *memory)
{
	freed += memory && memory == text_of_thread;
	__real_free(memory);
}

static void *print_type(void *arg)
{
	const enum fi_ep_type type = FI_EP_RDM;
	char *text = fi_tostr(&type, FI_TYPE_EP_TYPE);

	strcpy(arg, text);
	text_of_thread = text;
	return NULL;
}

/* The buffer is of a thread that uses it, and is gone with it. */
static void test_buffer_of_thread(void **state)
{
	const enum fi_ep_type type = FI_EP_MSG;
	char *own = fi_tostr(&type, FI_TYPE_EP_TYPE), text[64];
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, print_type, text), 0);
	pthread_join(thread, NULL);
	assert_string_equal(text, "FI_EP_RDM");
	assert_string_equal(own, "FI_EP_MSG");
	assert_int_equal(freed, 1);
}

static void test_no_memory(void **state)
{
	char text[64];
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, print_type, text), 0);
	pthread_join(thread, NULL);
	assert_string_equal(text, "FI_EP_RDM");
	no_memory = true;
	assert_int_equal(pthread_create(&thread, NULL, print_type, text), 0);
	pthread_join(thread, NULL);
	no_memory = false;
	assert_string_equal(text, "(no memory for this text)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_enumerations),
		cmocka_unit_test(test_flag_families),
		cmocka_unit_test(test_flags),
		cmocka_unit_test(test_combined),
		cmocka_unit_test(test_info),
		cmocka_unit_test(test_nic),
		cmocka_unit_test(test_other_structures),
		cmocka_unit_test(test_text_of_object),
		cmocka_unit_test(test_every_type),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_details),
		cmocka_unit_test(test_older_callers),
		cmocka_unit_test(test_buffer_of_thread),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
