/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which endpoint types are offered on devices that lack a feature, and the reasons for the others;
 * hints with half a key, and hints of older APIs.
 */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ofi/addr.h>
#include <ofi/explain.h>
#include <rdma/fi_errno.h>
#include "mock_device.h"
#include "prov/verbs/discovery/info.h"
#include "prov/verbs/discovery/known.h"
#include "prov/verbs/provider/prov.h"

static const uint8_t mac[6] = { 0x52, 0x54, 0, 0x12, 0x34, 0x56 };

static struct mock_device *device;
static struct fi_info *info, *hints;
static char why[4096];
static enum fi_ep_type type; /* what is looked at */

static void on_reject(const struct fi_explain_entry *entry)
{
	size_t len = strlen(why);

	if (entry->ep_type == type)
		snprintf(why + len, sizeof(why) - len, "%s port %u: %s: asked %s, has %s\n",
			 entry->domain_name, entry->port, entry->attr, entry->asked, entry->has);
}

/* rxe0 on eth0 with 10.0.0.1, rxe1 on eth1 with 10.0.1.1 */
static int setup(void **state)
{
	struct ofi_prov_context context = { .magic = OFI_PROV_CONTEXT_MAGIC, .reject = on_reject };
	struct mock_device *other;

	(void)state;
	memcpy(&vrb_prov.context, &context, sizeof(context));
	vrb_known_forget();
	mock_reset();
	vrb_params = (struct vrb_params){ .gid_idx = -1 };
	device = mock_add_device("rxe0");
	other = mock_add_device("rxe1");
	mock_add_gid(device, 1, 0, IBV_GID_TYPE_ROCE_V2, "::ffff:10.0.0.1", 2);
	mock_add_gid(other, 1, 0, IBV_GID_TYPE_ROCE_V2, "::ffff:10.0.1.1", 3);
	mock_add_if("eth0", 2, 0, mac, 6);
	mock_add_if("eth1", 3, 0, mac, 6);
	mock_add_ip("eth0", "10.0.0.1");
	mock_add_ip("eth1", "10.0.1.1");
	hints = fi_allocinfo();
	hints->mode = ~0ULL;
	hints->domain_attr->mr_mode =
		FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fi_freeinfo(info);
	fi_freeinfo(hints);
	info = NULL;
	return 0;
}

/* The domains of endpoints of a type, and why others have none. */
static void look(enum fi_ep_type of, const struct fi_info *asked, const char *domains,
		 const char *reasons)
{
	const struct fi_info *i;
	char text[512] = "";

	type = of;
	why[0] = '\0';
	fi_freeinfo(info);
	info = NULL;
	assert_int_equal(vrb_getinfo(FI_VERSION(2, 6), NULL, NULL, 0, asked, &info), 0);
	for (i = info; i; i = i->next)
		if (i->ep_attr->type == type)
			sprintf(text + strlen(text), "%s ", i->domain_attr->name);
	assert_string_equal(text, domains);
	assert_string_equal(why, reasons);
}

/* What reliable datagrams can't work on does not offer them, by either name. */
static void no_rdm(const char *reason)
{
	look(FI_EP_RDM, NULL, "rxe1 ", reason);
	hints->fabric_attr->prov_name = strdup("verbs;ofi_rxm");
	look(FI_EP_RDM, hints, "rxe1 ", reason);
	free(hints->fabric_attr->prov_name);
	hints->fabric_attr->prov_name = strdup("verbs;ofi_rxd");
	look(FI_EP_RDM, hints, "rxe1 ", reason);
	free(hints->fabric_attr->prov_name);
	hints->fabric_attr->prov_name = NULL;
	look(FI_EP_MSG, NULL, "rxe0 rxe1 ", "");
}

static void test_all(void **state)
{
	(void)state;
	look(FI_EP_RDM, NULL, "rxe0 rxe1 ", "");
	look(FI_EP_DGRAM, NULL, "rxe0-dgram rxe1-dgram rxe0-dgram rxe1-dgram ", "");
}

/* Of equally good addresses that of the device that comes first, for each type. */
static void test_affinity(void **state)
{
	(void)state;
	vrb_params.nic_affinity = "manual:rxe1";
	look(FI_EP_MSG, NULL, "rxe1 rxe0 ", "");
	look(FI_EP_RDM, NULL, "rxe1 rxe0 ", "");
	look(FI_EP_DGRAM, NULL, "rxe1-dgram rxe0-dgram rxe1-dgram rxe0-dgram ", "");
	vrb_params.nic_affinity = "none";
	look(FI_EP_MSG, NULL, "rxe0 rxe1 ", "");
}

/* A datagram is sent to a group; what is received from one is a message. */
static void test_groups(void **state)
{
	(void)state;
	hints->caps = FI_MULTICAST;
	look(FI_EP_DGRAM, hints, "rxe0-dgram rxe1-dgram rxe0-dgram rxe1-dgram ", "");
	assert_true(info->caps & info->tx_attr->caps & FI_MULTICAST);
	assert_int_equal(info->rx_attr->caps & FI_MULTICAST, 0);
	hints->tx_attr->op_flags = FI_MULTICAST;
	look(FI_EP_DGRAM, hints, "rxe0-dgram rxe1-dgram rxe0-dgram rxe1-dgram ", "");
}

/* Not every device has groups: bnxt_re and hns don't. */
static void test_no_groups(void **state)
{
	const struct fi_info *i;

	(void)state;
	device->attr.max_mcast_grp = 0;
	look(FI_EP_DGRAM, NULL, "rxe0-dgram rxe1-dgram rxe0-dgram rxe1-dgram ", "");
	for (i = info; strcmp(i->domain_attr->name, "rxe0-dgram"); i = i->next)
		;
	assert_int_equal((i->caps | i->tx_attr->caps) & FI_MULTICAST, 0);
	hints->caps = FI_MULTICAST;
	look(FI_EP_DGRAM, hints, "rxe1-dgram rxe1-dgram ",
	     "rxe0 port 1: caps: asked FI_MULTICAST, has no multicast groups (max_mcast_grp 0)\n");
	hints->caps = 0;
	hints->tx_attr->op_flags = FI_MULTICAST;
	look(FI_EP_DGRAM, hints, "rxe1-dgram rxe1-dgram ",
	     "rxe0 port 1: tx_attr->op_flags: asked FI_MULTICAST, has no multicast groups (max_mcast_grp 0)\n");
}

static void test_no_srq(void **state)
{
	(void)state;
	device->attr.max_srq = 0;
	no_rdm("rxe0 port 1: ep_attr->type: asked FI_EP_RDM, has no shared receive queues (max_srq 0); use FI_EP_MSG\n");
}

static void test_iwarp(void **state)
{
	(void)state;
	device->dev.transport_type = IBV_TRANSPORT_IWARP;
	memset(device->gid[0].gid.raw, 0, 16);
	memcpy(device->gid[0].gid.raw, mac, sizeof(mac));
	no_rdm("rxe0 port 1: ep_attr->type: asked FI_EP_RDM, has iWARP; use FI_EP_MSG\n");
	hints->ep_attr->type = FI_EP_MSG;
	look(FI_EP_MSG, hints, "rxe0 rxe1 ", "");
}

/* A device that has datagrams alone. */
static void test_no_rc(void **state)
{
	(void)state;
	device->no_rc_errno = EOPNOTSUPP;
	look(FI_EP_DGRAM, NULL, "rxe0-dgram rxe1-dgram rxe0-dgram rxe1-dgram ", "");
	assert_int_equal(device->alive, 0);
	look(FI_EP_RDM, NULL, "rxe1 ",
	     "rxe0 port 1: ep_attr->type: asked FI_EP_RDM, has no RC queue pair: Operation not supported\n");
	look(FI_EP_MSG, NULL, "rxe1 ",
	     "rxe0 port 1: ep_attr->type: asked FI_EP_MSG, has no RC queue pair: Operation not supported\n");
	hints->ep_attr->type = FI_EP_DGRAM;
	look(FI_EP_RDM, hints, "",
	     "rxe1 port 1: ep_attr->type: asked FI_EP_DGRAM, has FI_EP_RDM\n");
}

/*
 * A transient failure is not taken for a device without such queue pairs, and the next attempt
 * succeeds.
 */
static void test_failure_passes(void **state)
{
	(void)state;
	device->no_rc_errno = ENOMEM;
	look(FI_EP_MSG, NULL, "rxe1 ",
	     "rxe0 port 0: device: asked ibv_create_qp, has Cannot allocate memory: raise the limit of locked memory (ulimit -l)\n");
	device->no_rc_errno = 0;
	look(FI_EP_MSG, NULL, "rxe0 rxe1 ", "");
	device->no_ud_errno = ENOMEM;
	vrb_known_forget();
	look(FI_EP_MSG, NULL, "rxe0 rxe1 ", "");
	look(FI_EP_DGRAM, NULL, "rxe1-dgram rxe1-dgram ", "");
	device->no_ud_errno = 0;
	look(FI_EP_DGRAM, NULL, "rxe0-dgram rxe1-dgram rxe0-dgram rxe1-dgram ", "");
}

/* An InfiniBand port without IPoIB. */
static void test_no_ip(void **state)
{
	(void)state;
	device->port[0].link_layer = IBV_LINK_LAYER_INFINIBAND;
	device->gid_count = 0;
	mock_add_gid(device, 1, 0, IBV_GID_TYPE_IB, "fe80::2:c903:1:203", 0);
	look(FI_EP_RDM, NULL, "rxe1 ",
	     "rxe0 port 1: port address: asked an IP address, has none: set up IPoIB on the port\n");
	look(FI_EP_MSG, NULL, "rxe1 rxe0 ", "");
}

static int ask(uint32_t version)
{
	why[0] = '\0';
	fi_freeinfo(info);
	info = NULL;
	return vrb_getinfo(version, NULL, NULL, 0, hints, &info);
}

static int ask_rdm(void)
{
	return ask(FI_VERSION(2, 6));
}

/* A size without a key is refused, and it is said what is missing. */
static void test_key_without_bytes(void **state)
{
	uint8_t key[16];

	(void)state;
	type = FI_EP_RDM;
	hints->ep_attr->type = FI_EP_RDM;
	hints->ep_attr->auth_key_size = sizeof(key);
	assert_int_equal(ask_rdm(), -FI_ENODATA);
	assert_string_equal(
		why,
		"rxe0 port 1: ep_attr->auth_key_size: asked 16, has any size with a key, but auth_key is NULL\n"
		"rxe1 port 1: ep_attr->auth_key_size: asked 16, has any size with a key, but auth_key is NULL\n");
	hints->ep_attr->auth_key_size = 0;
	hints->domain_attr->auth_key_size = sizeof(key);
	assert_int_equal(ask_rdm(), -FI_ENODATA);
	assert_non_null(strstr(
		why,
		"domain_attr->auth_key_size: asked 16, has any size with a key, but auth_key is NULL"));
	hints->domain_attr->auth_key = malloc(sizeof(key));
	assert_non_null(hints->domain_attr->auth_key);
	memset(hints->domain_attr->auth_key, 7, sizeof(key));
	assert_int_equal(ask_rdm(), 0);
}

/* Receives may complete as early as that, but never do. */
static void test_early_receives(void **state)
{
	(void)state;
	hints->rx_attr->op_flags = FI_TRANSMIT_COMPLETE;
	look(FI_EP_MSG, hints, "rxe0 rxe1 ", "");
	look(FI_EP_RDM, hints, "rxe0 rxe1 ", "");
	look(FI_EP_DGRAM, hints, "rxe0-dgram rxe1-dgram rxe0-dgram rxe1-dgram ", "");
	assert_int_equal(info->rx_attr->op_flags, FI_TRANSMIT_COMPLETE);
}

/* Other releases name a domain of reliable datagrams so on efa only. */
static void test_name_of_efa(void **state)
{
	(void)state;
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->name = strdup("rxe1");
	assert_int_equal(ask_rdm(), 0);
	free(hints->domain_attr->name);
	hints->domain_attr->name = strdup("rxe1-rdm");
	assert_int_equal(ask_rdm(), -FI_ENODATA);
}

/* API 1.x had FI_VARIABLE_MSG where later ones have FI_EXACT_DIRECTED_RECV. */
static void test_variable_messages(void **state)
{
	const uint64_t variable_msg = 1ULL << 48;

	(void)state;
	hints->ep_attr->type = FI_EP_RDM;
	hints->caps = FI_MSG | variable_msg;
	assert_int_equal(ask(FI_VERSION(1, 17)), -FI_ENODATA);
	assert_int_equal(ask(FI_VERSION(1, 22)), -FI_ENODATA);
	assert_int_equal(ask(FI_VERSION(2, 0)), 0);
	assert_true(info->caps & info->rx_attr->caps & FI_EXACT_DIRECTED_RECV);
	hints->caps = FI_MSG;
	hints->rx_attr->caps = FI_MSG | variable_msg;
	assert_int_equal(ask(FI_VERSION(1, 17)), -FI_ENODATA);
}

/* Before API 1.5 a program that asks for no mode gets FI_MR_BASIC, and may ask with the result. */
static void test_basic(void **state)
{
	(void)state;
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->mr_mode = 0;
	assert_int_equal(ask(FI_VERSION(1, 4)), 0);
	assert_int_equal(info->domain_attr->mr_mode, FI_MR_BASIC);
	assert_int_equal(info->domain_attr->mr_key_size, sizeof(uint32_t));
	assert_int_equal(info->domain_attr->mr_iov_limit, 1);
	fi_freeinfo(hints);
	hints = info;
	info = NULL;
	fi_freeinfo(hints->next);
	hints->next = NULL;
	assert_int_equal(ask(FI_VERSION(1, 4)), 0);
	assert_int_equal(info->domain_attr->mr_mode, FI_MR_BASIC);
	hints->domain_attr->mr_mode = FI_MR_SCALABLE;
	hints->domain_attr->mr_key_size = sizeof(uint64_t);
	assert_int_equal(ask(FI_VERSION(1, 4)), 0);
	assert_int_equal(info->domain_attr->mr_key_size, sizeof(uint64_t));
	hints->domain_attr->mr_mode = 0;
	assert_int_equal(ask(FI_VERSION(1, 5)), 0);
	assert_int_equal(info->domain_attr->mr_mode, 0);
	assert_int_equal(info->domain_attr->mr_key_size, sizeof(uint64_t));
}

/* Memory exists when it is registered; who does not say that it does is not told. */
static void test_allocated(void **state)
{
	(void)state;
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->mr_mode = FI_MR_ALLOCATED;
	assert_int_equal(ask(FI_VERSION(1, 17)), 0);
	assert_int_equal(info->domain_attr->mr_mode, FI_MR_ALLOCATED);
	assert_int_equal(info->domain_attr->mr_key_size, sizeof(uint64_t));
	hints->caps = FI_MSG;
	assert_int_equal(ask(FI_VERSION(1, 17)), 0);
	assert_int_equal(info->domain_attr->mr_mode, FI_MR_ALLOCATED);
	hints->ep_attr->type = FI_EP_MSG;
	hints->domain_attr->mr_mode |= FI_MR_LOCAL;
	assert_int_equal(ask(FI_VERSION(1, 17)), 0);
	assert_int_equal(info->domain_attr->mr_mode, FI_MR_LOCAL | FI_MR_ALLOCATED);
	hints->domain_attr->mr_mode = FI_MR_LOCAL;
	assert_int_equal(ask(FI_VERSION(1, 17)), 0);
	assert_int_equal(info->domain_attr->mr_mode, FI_MR_LOCAL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static bool nobody(void)
{
	return false;
}

/* Who only wants what is offered pays for no explanation, and hears all of them if nothing is. */
static void test_unwanted(void **state)
{
	struct ofi_prov_context context = { .magic = OFI_PROV_CONTEXT_MAGIC,
					    .reject = on_reject,
					    .wanted = nobody };
	const char *reason = "rxe1 port 1: domain_attr->name: asked rxe0, has rxe1\n";

	(void)state;
	free(hints->domain_attr->name);
	hints->domain_attr->name = strdup("rxe0");
	look(FI_EP_RDM, hints, "rxe0 ", reason);
	memcpy(&vrb_prov.context, &context, sizeof(context));
	look(FI_EP_RDM, hints, "rxe0 ", "");
	hints->ep_attr->type = FI_EP_RDM;
	look(FI_EP_RDM, hints, "rxe0 ", "");
	hints->caps = FI_HMEM;
	why[0] = '\0';
	fi_freeinfo(info);
	info = NULL;
	assert_int_equal(vrb_getinfo(FI_VERSION(2, 6), NULL, NULL, 0, hints, &info), -FI_ENODATA);
	assert_non_null(strstr(why, "rxe0 port 1: caps: asked FI_HMEM"));
	assert_non_null(strstr(why, reason));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_all),
		TEST(test_affinity),
		TEST(test_groups),
		TEST(test_no_groups),
		TEST(test_no_srq),
		TEST(test_iwarp),
		TEST(test_no_rc),
		TEST(test_no_ip),
		TEST(test_failure_passes),
		TEST(test_key_without_bytes),
		TEST(test_unwanted),
		TEST(test_early_receives),
		TEST(test_name_of_efa),
		TEST(test_variable_messages),
		TEST(test_basic),
		TEST(test_allocated),
	};

	return cmocka_run_group_tests_name("verbs_types", tests, NULL, NULL);
}
