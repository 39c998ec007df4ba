/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What fi_getinfo of the provider efa offers, what it refuses and why, and which calls may fail. */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_errno.h>
#include "efa_rig.h"
#include "capture.h"
#include "prov/efa/device.h"
#include "prov/efa/efa.h"
#include "prov/verbs/discovery/info.h"
#include "prov/verbs/dgram/ud_name.h"

static struct fi_info *info, *hints;
static int fail_strdup; /* the call that fails, from 1 */

char *__real_strdup(const char *text);
char *__wrap_strdup(const char *text);

char *__wrap_strdup(const char *text)
{
	if (fail_strdup && !--fail_strdup)
		return NULL;
	return __real_strdup(text);
}

static int setup(void **state)
{
	(void)state;
	efa_rig_reset();
	hints = fi_allocinfo();
	hints->ep_attr->type = FI_EP_DGRAM;
	hints->mode = FI_MSG_PREFIX;
	hints->domain_attr->mr_mode = FI_MR_LOCAL;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fi_freeinfo(info);
	fi_freeinfo(hints);
	info = NULL;
	fail_strdup = 0;
	efa_rig_close();
	return 0;
}

static int get(void)
{
	fi_freeinfo(info);
	info = NULL;
	return efa_getinfo(FI_VERSION(2, 6), NULL, NULL, 0, hints, &info);
}

static void test_offer(void **state)
{
	struct vrb_ud_name name;

	(void)state;
	assert_int_equal(get(), 0);
	assert_null(info->next);
	assert_int_equal(info->caps, FI_MSG | FI_SEND | FI_RECV | FI_LOCAL_COMM | FI_REMOTE_COMM);
	assert_int_equal(info->mode, FI_MSG_PREFIX);
	assert_int_equal(info->addr_format, FI_ADDR_EFA);
	assert_int_equal(info->src_addrlen, sizeof(name));
	memcpy(&name, info->src_addr, sizeof(name));
	assert_int_equal(name.gid[0], 0xfe);
	assert_int_equal(info->fabric_attr->prov_version, FI_VERSION(0, 1));
	assert_int_equal(info->ep_attr->type, FI_EP_DGRAM);
	assert_int_equal(info->ep_attr->protocol, FI_PROTO_EFA);
	assert_int_equal(info->ep_attr->max_msg_size, EFA_RIG_MTU);
	assert_int_equal(info->ep_attr->msg_prefix_size, 40);
	assert_string_equal(info->fabric_attr->name, "efa");
	assert_string_equal(info->domain_attr->name, "efa0-dgram");
	assert_string_equal(info->nic->link_attr->network_type, "EFA");
	assert_int_equal(info->nic->link_attr->mtu, EFA_RIG_MTU);
	assert_int_equal(info->domain_attr->mr_mode, FI_MR_LOCAL);
	assert_int_equal(info->domain_attr->cntr_cnt, 0);
}

/* Reliable datagrams come first, and have everything but what needs another kind of names. */
static void test_rdm(void **state)
{
	(void)state;
	hints->ep_attr->type = FI_EP_UNSPEC;
	assert_int_equal(get(), 0);
	assert_int_equal(info->ep_attr->type, FI_EP_RDM);
	assert_int_equal(info->next->ep_attr->type, FI_EP_DGRAM);
	assert_int_equal(info->ep_attr->protocol, FI_PROTO_EFA);
	assert_int_equal(info->ep_attr->max_msg_size, SIZE_MAX);
	assert_int_equal(info->addr_format, FI_ADDR_EFA);
	assert_int_equal(info->src_addrlen, 32);
	assert_int_equal(info->mode, 0);
	assert_string_equal(info->fabric_attr->name, "efa");
	assert_string_equal(info->domain_attr->name, "efa0");
	assert_true(info->caps & FI_TAGGED && info->caps & FI_RMA && info->caps & FI_ATOMIC);
	assert_int_equal(info->caps & (FI_NAMED_RX_CTX | FI_HMEM), 0);
	assert_int_equal(info->domain_attr->max_ep_rx_ctx, 1);
	hints->ep_attr->type = FI_EP_RDM;
	hints->mode = 0;
	hints->caps = FI_HMEM;
	assert_int_equal(get(), -FI_ENODATA);
	/* FI_VARIABLE_MSG of API 1.x */
	hints->caps = FI_EXACT_DIRECTED_RECV;
	assert_int_equal(get(), 0);
	fi_freeinfo(info);
	info = NULL;
	assert_int_equal(efa_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info), -FI_ENODATA);
	hints->caps = 0;
	hints->addr_format = FI_SOCKADDR_IN;
	assert_int_equal(get(), -FI_ENODATA);
}

/* Other releases have another name for the domain of reliable datagrams, by which it opens, too. */
static void test_names(void **state)
{
	static const struct {
		const char *name;
		enum fi_ep_type type;
		const char *domain;
	} row[] = {
		{ "efa0", FI_EP_RDM, "efa0" },
		{ "efa0-rdm", FI_EP_RDM, "efa0" },
		{ "efa0-dgram", FI_EP_RDM, NULL },
		{ "efa0-rdm0", FI_EP_RDM, NULL },
		{ "efa1-rdm", FI_EP_RDM, NULL },
		{ "efa0", FI_EP_DGRAM, "efa0-dgram" },
		{ "efa0-dgram", FI_EP_DGRAM, "efa0-dgram" },
		{ "efa0-rdm", FI_EP_DGRAM, NULL },
		{ "efa0-rdm", FI_EP_UNSPEC, "efa0" },
	};
	struct ibv_context *ctx;
	bool is_rdm;
	size_t i;
	int err;

	(void)state;
	for (i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		free(hints->domain_attr->name);
		hints->domain_attr->name = strdup(row[i].name);
		hints->ep_attr->type = row[i].type;
		assert_int_equal(get(), row[i].domain ? 0 : -FI_ENODATA);
		if (!row[i].domain)
			continue;
		assert_string_equal(info->domain_attr->name, row[i].domain);
		assert_null(info->next);
		is_rdm = info->ep_attr->type == FI_EP_RDM;
		ctx = vrb_device_open(row[i].name, is_rdm, &err);
		assert_non_null(ctx);
		assert_int_equal(vrb_device_check(ctx->device, row[i].name, is_rdm), 0);
		assert_int_equal(vrb_device_check(ctx->device, "efa0-rdm", false), -FI_EINVAL);
		ibv_close_device(ctx);
	}
	/* Nothing else has that name. */
	assert_null(vrb_device_open("efa0-rdm", false, &err));
	assert_int_equal(err, -FI_ENODEV);
}

static void test_attr_only(void **state)
{
	(void)state;
	assert_int_equal(efa_getinfo(FI_VERSION(2, 6), NULL, NULL, FI_PROV_ATTR_ONLY, NULL, &info),
			 0);
	assert_int_equal(info->fabric_attr->prov_version, efa_prov.version);
}

static void test_queues(void **state)
{
	(void)state;
	assert_int_equal(get(), 0);
	assert_int_equal(info->tx_attr->size, EFA_RIG_SQ_WR);
	/* Each receive may have three segments. */
	assert_int_equal(info->rx_attr->size, EFA_RIG_RQ_WR / 3);
	assert_int_equal(info->tx_attr->iov_limit, 2);
	assert_int_equal(info->rx_attr->iov_limit, 3);
	assert_int_equal(info->tx_attr->inject_size, 32);
	assert_int_equal(info->tx_attr->comp_order, FI_ORDER_NONE);
	assert_int_equal(info->rx_attr->comp_order, FI_ORDER_NONE);
	assert_int_equal(info->tx_attr->mode & info->rx_attr->mode, FI_MSG_PREFIX);
	assert_int_equal(info->tx_attr->op_flags & (FI_FENCE | FI_MULTICAST), 0);
	hints->rx_attr->size = EFA_RIG_RQ_WR / 3;
	assert_int_equal(get(), 0);
	hints->rx_attr->size = EFA_RIG_RQ_WR / 3 + 1;
	assert_int_equal(get(), -FI_ENODATA);
}

static void test_refused(void **state)
{
	static const uint64_t caps[] = { FI_TAGGED, FI_RMA,	  FI_ATOMIC, FI_SOURCE,
					 FI_FENCE,  FI_MULTICAST, FI_HMEM,   FI_TRIGGER };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(caps) / sizeof(caps[0]); i++) {
		hints->caps = FI_MSG | caps[i];
		assert_int_equal(get(), -FI_ENODATA);
	}
	hints->caps = 0;
	hints->ep_attr->type = FI_EP_MSG;
	assert_int_equal(get(), -FI_ENODATA);
	hints->ep_attr->type = FI_EP_DGRAM;
	hints->mode = 0;
	assert_int_equal(get(), -FI_ENODATA);
	hints->mode = FI_MSG_PREFIX;
	hints->domain_attr->mr_mode = 0;
	assert_int_equal(get(), -FI_ENODATA);
	hints->domain_attr->mr_mode = FI_MR_LOCAL;
	hints->domain_attr->cntr_cnt = 1;
	assert_int_equal(get(), -FI_ENODATA);
	hints->domain_attr->cntr_cnt = 0;
	hints->addr_format = FI_SOCKADDR_IN;
	assert_int_equal(get(), -FI_ENODATA);
	hints->addr_format = FI_ADDR_EFA;
	assert_int_equal(get(), 0);
}

/* verbs does not have the device, efa has no other. */
static void test_one_provider(void **state)
{
	(void)state;
	assert_int_equal(vrb_getinfo(FI_VERSION(2, 6), NULL, NULL, 0, NULL, &info), -FI_ENODATA);
	efa_rig_device->attr.vendor_id = 0x15b3;
	assert_int_equal(get(), -FI_ENODATA);
}

static void test_query_fails(void **state)
{
	(void)state;
	efa_rig_err = EIO;
	assert_int_equal(get(), -FI_ENODATA);
	efa_rig_err = 0;
	assert_int_equal(get(), 0);
}

/* The kind's own function, whose device may have gone meanwhile. */
static void test_info_fails(void **state)
{
	struct vrb_device *dev = efa_rig_snapshot();

	(void)state;
	efa_rig_err = EIO;
	assert_null(efa_kind.dgram(dev, &dev->ports[0]));
	efa_rig_err = 0;
	info = efa_kind.dgram(dev, &dev->ports[0]);
	assert_non_null(info);
}

/* Each copy of a text fails in turn. */
static void test_no_memory(void **state)
{
	struct vrb_device *dev = efa_rig_snapshot();
	int i, failed = 0;

	(void)state;
	for (i = 1; !info; i++) {
		fail_strdup = i;
		info = efa_kind.dgram(dev, &dev->ports[0]);
		failed += !info;
	}
	assert_true(failed >= 4);
}

/* A queue pair that reads is asked for both of its interfaces; otherwise nothing is. */
static void test_queue_pair(void **state)
{
	struct ibv_context ctx = { 0 };
	struct ibv_pd pd = { .context = &ctx };
	struct ibv_qp_init_attr attr = { .cap = { .max_send_wr = 7, .max_inline_data = 80 } };

	(void)state;
	assert_null(efa_kind.srd(&pd, &attr, false));
	assert_int_equal(efa_rig_qp.comp_mask, IBV_QP_INIT_ATTR_PD);
	assert_int_equal(efa_rig_qp.qp_type, IBV_QPT_DRIVER);
	assert_int_equal(efa_rig_qp.cap.max_send_wr, 7);
	assert_ptr_equal(efa_rig_qp.pd, &pd);
	/* More would make its entries larger. */
	assert_int_equal(efa_rig_qp.cap.max_inline_data, 32);
	assert_int_equal(attr.cap.max_inline_data, 32);
	assert_null(efa_kind.srd(&pd, &attr, true));
	assert_int_equal(efa_rig_qp.comp_mask,
			 IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS);
	assert_int_equal(efa_rig_qp.send_ops_flags, IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_READ);
	attr.cap.max_inline_data = 16;
	assert_null(efa_kind.srd(&pd, &attr, true));
	assert_int_equal(attr.cap.max_inline_data, 16);
	efa_rig_err = EIO;
	attr.cap.max_inline_data = 80;
	assert_null(efa_kind.srd(&pd, &attr, true));
	assert_int_equal(attr.cap.max_inline_data, 80);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_offer, setup, teardown),
		cmocka_unit_test_setup_teardown(test_rdm, setup, teardown),
		cmocka_unit_test_setup_teardown(test_names, setup, teardown),
		cmocka_unit_test_setup_teardown(test_attr_only, setup, teardown),
		cmocka_unit_test_setup_teardown(test_queues, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_one_provider, setup, teardown),
		cmocka_unit_test_setup_teardown(test_query_fails, setup, teardown),
		cmocka_unit_test_setup_teardown(test_info_fails, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(test_queue_pair, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
