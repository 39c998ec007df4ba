/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* From a device and a port to fi_info: what the device reports is not a constant. */
#include "unit.h"

#include <errno.h>
#include <string.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include "prov/verbs/discovery/info.h"
#include "prov/verbs/msg/ep.h"
#include "prov/verbs/provider/prov.h"
#include "prov/verbs/discovery/info_rdm.h"

static struct vrb_device dev;
static struct vrb_port port;
static struct vrb_port_addr addr;
static struct fi_info *info, *hints;

static int setup(void **state)
{
	(void)state;
	vrb_params = (struct vrb_params){ .tx_size = 384,
					  .rx_size = 384,
					  .tx_iov_limit = 4,
					  .rx_iov_limit = 4,
					  .inline_size = 256,
					  .gid_idx = -1 };
	memset(&dev, 0, sizeof(dev));
	strcpy(dev.name, "mlx5_0");
	strcpy(dev.driver, "mlx5_core");
	strcpy(dev.attr.fw_ver, "16.35.2000");
	dev.transport = IBV_TRANSPORT_IB;
	dev.attr.vendor_id = 0x15b3;
	dev.attr.vendor_part_id = 0x1017;
	dev.attr.max_qp = 1000;
	dev.attr.max_qp_wr = 4096;
	dev.attr.max_cqe = 1 << 16;
	dev.attr.max_srq = 500;
	dev.attr.max_srq_wr = 8192;
	dev.attr.max_srq_sge = 27;
	dev.attr.max_sge = 30;
	dev.attr.max_cq = 2000;
	dev.attr.max_mr = 3000;
	dev.attr.atomic_cap = IBV_ATOMIC_HCA;
	dev.max_inline = 972;
	dev.on_pci = true;
	dev.pci.bus_id = 0x3b;
	memset(&port, 0, sizeof(port));
	port.num = 1;
	port.attr.state = IBV_PORT_ACTIVE;
	port.attr.max_msg_sz = 1 << 30;
	port.attr.active_mtu = IBV_MTU_4096;
	port.attr.active_width = 2;
	port.attr.active_speed = 32;
	port.attr.link_layer = IBV_LINK_LAYER_INFINIBAND;
	port.subnet = htobe64(0xfe80000000000000);
	strcpy(port.link_addr, "fe80::1");
	STAILQ_INIT(&port.addrs);
	STAILQ_INSERT_TAIL(&port.addrs, &addr, next);
	hints = fi_allocinfo();
	return hints ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	fi_freeinfo(info);
	fi_freeinfo(hints);
	info = NULL;
	return 0;
}

static void make(void)
{
	fi_freeinfo(info);
	info = vrb_info_msg(&dev, &port);
	assert_non_null(info);
}

static void test_infiniband(void **state)
{
	(void)state;
	make();
	assert_int_equal(info->caps, FI_MSG | FI_RMA | FI_ATOMIC | FI_SEND | FI_RECV | FI_READ |
					     FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE |
					     FI_FENCE | FI_TRIGGER | FI_LOCAL_COMM |
					     FI_REMOTE_COMM | FI_MULTI_RECV);
	assert_int_equal(info->mode, FI_RX_CQ_DATA);
	assert_string_equal(info->fabric_attr->name, "IB-0xfe80000000000000");
	assert_string_equal(info->domain_attr->name, "mlx5_0");
	assert_int_equal(info->ep_attr->type, FI_EP_MSG);
	assert_int_equal(info->ep_attr->protocol, FI_PROTO_RDMA_CM_IB_RC);
	assert_int_equal(info->ep_attr->max_msg_size, 1 << 30);
	assert_int_equal(info->ep_attr->max_order_raw_size, 1 << 30);
	assert_int_equal(info->ep_attr->max_order_waw_size, 1 << 30);
	assert_int_equal(info->ep_attr->max_order_war_size, 0);
	assert_int_equal(info->domain_attr->cq_data_size, 4);
	assert_int_equal(info->domain_attr->mr_key_size, 4);
	assert_int_equal(info->domain_attr->cq_cnt, 2000);
	assert_int_equal(info->domain_attr->ep_cnt, 1000);
	assert_int_equal(info->domain_attr->mr_cnt, 3000);
	assert_int_equal(info->domain_attr->max_ep_srx_ctx, 1000);
	assert_int_equal(info->domain_attr->max_ep_stx_ctx, 1000);
	assert_int_equal(info->tx_attr->size, 4096);
	assert_int_equal(info->tx_attr->iov_limit, 30);
	assert_int_equal(info->tx_attr->inject_size, 972);
	assert_int_equal(info->tx_attr->rma_iov_limit, 1);
}

/* A shared receive queue has limits of its own, and not every device has one. */
static void test_shared(void **state)
{
	(void)state;
	make();
	vrb_info_offer_shared(info, NULL, &dev);
	vrb_info_offer_shared(info, hints, &dev);
	assert_int_equal(info->rx_attr->size, 4096);
	assert_int_equal(info->rx_attr->iov_limit, 30);
	hints->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
	vrb_info_offer_shared(info, hints, &dev);
	assert_int_equal(info->rx_attr->size, 8192);
	assert_int_equal(info->rx_attr->iov_limit, 27);
	dev.attr.max_srq = 0;
	make();
	assert_int_equal(info->domain_attr->max_ep_srx_ctx, 0);
}

/* Only for who asks for it, and not where receives are shared. */
static void test_multi(void **state)
{
	(void)state;
	make();
	hints->caps = FI_MSG | FI_MULTI_RECV;
	vrb_info_offer_multi(info, hints);
	assert_true(info->caps & info->rx_attr->caps & info->rx_attr->op_flags & FI_MULTI_RECV);
	hints->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
	vrb_info_offer_multi(info, hints);
	assert_false((info->caps | info->rx_attr->caps | info->rx_attr->op_flags) & FI_MULTI_RECV);
	make();
	hints->ep_attr->rx_ctx_cnt = 0;
	hints->caps = FI_MSG;
	vrb_info_offer_multi(info, hints);
	assert_false(info->caps & FI_MULTI_RECV);
	make();
	vrb_info_offer_multi(info, NULL);
	assert_false(info->caps & FI_MULTI_RECV);
}

/* Neither a write nor a send waits for an earlier read. */
static void test_order(void **state)
{
	uint64_t order = FI_ORDER_RAR | FI_ORDER_RAW | FI_ORDER_RAS | FI_ORDER_WAW | FI_ORDER_WAS |
			 FI_ORDER_SAW | FI_ORDER_SAS | FI_ORDER_RMA_RAR | FI_ORDER_RMA_RAW |
			 FI_ORDER_RMA_WAW | FI_ORDER_ATOMIC_RAR | FI_ORDER_ATOMIC_RAW |
			 FI_ORDER_ATOMIC_WAW;

	(void)state;
	make();
	assert_int_equal(info->tx_attr->msg_order, order);
	assert_int_equal(info->rx_attr->msg_order, order);
	assert_int_equal(info->tx_attr->comp_order, FI_ORDER_STRICT);
	assert_int_equal(info->rx_attr->comp_order, FI_ORDER_STRICT | FI_ORDER_DATA);
}

static void test_no_atomics(void **state)
{
	(void)state;
	dev.attr.atomic_cap = IBV_ATOMIC_NONE;
	make();
	assert_false(info->caps & FI_ATOMIC);
	assert_false(info->tx_attr->caps & FI_ATOMIC);
	assert_false(info->tx_attr->msg_order & FI_ORDER_ATOMIC_RAR);
	assert_int_equal(info->domain_attr->cq_data_size, 4);
}

/* No queue pair is opened with more buffers. */
static void test_many_sge(void **state)
{
	(void)state;
	dev.attr.max_sge = VRB_IOV_MAX + 32;
	make();
	assert_int_equal(info->tx_attr->iov_limit, VRB_IOV_MAX);
	assert_int_equal(info->rx_attr->iov_limit, VRB_IOV_MAX);
}

static void test_iwarp(void **state)
{
	(void)state;
	dev.transport = IBV_TRANSPORT_IWARP;
	port.attr.link_layer = IBV_LINK_LAYER_ETHERNET;
	make();
	assert_int_equal(info->ep_attr->protocol, FI_PROTO_IWARP);
	assert_false(info->caps & FI_ATOMIC);
	assert_int_equal(info->domain_attr->cq_data_size, 0);
	assert_int_equal(info->mode, 0);
	assert_false(info->tx_attr->op_flags & (FI_REMOTE_CQ_DATA | FI_DELIVERY_COMPLETE));
	assert_true(info->tx_attr->op_flags & FI_TRANSMIT_COMPLETE);
	assert_string_equal(info->fabric_attr->name, "Ethernet");
}

static void test_mode(void **state)
{
	(void)state;
	make();
	vrb_info_offer_mode(info, NULL);
	assert_int_equal(info->mode, FI_RX_CQ_DATA);
	hints->mode = FI_RX_CQ_DATA;
	vrb_info_offer_mode(info, hints);
	assert_int_equal(info->domain_attr->cq_data_size, 4);
	hints->mode = 0;
	hints->caps = FI_MSG; /* without RMA nothing unexpected consumes a receive */
	vrb_info_offer_mode(info, hints);
	assert_int_equal(info->mode, 0);
	assert_int_equal(info->domain_attr->cq_data_size, 4);
	make();
	hints->caps = FI_MSG | FI_RMA;
	vrb_info_offer_mode(info, hints);
	assert_int_equal(info->mode | info->rx_attr->mode, 0);
	assert_int_equal(info->domain_attr->cq_data_size, 0);
	vrb_info_settle(&vrb_params, info, hints);
	assert_int_equal(info->mode | info->rx_attr->mode, 0);
}

/* Who asks for the data of writes gets it: an initiator without, a target with the mode. */
static void test_asked_data(void **state)
{
	(void)state;
	hints->caps = FI_MSG | FI_RMA;
	hints->domain_attr->cq_data_size = 4;
	make();
	vrb_info_offer_mode(info, hints);
	assert_int_equal(info->mode, 0); /* which fits the hints */
	assert_int_equal(info->domain_attr->cq_data_size, 4);
	ofi_attr_narrow(FI_VERSION(2, 0), info, hints);
	vrb_info_settle(&vrb_params, info, hints);
	assert_true(info->mode & info->rx_attr->mode & FI_RX_CQ_DATA);
	hints->caps |= FI_WRITE;
	make();
	vrb_info_offer_mode(info, hints);
	ofi_attr_narrow(FI_VERSION(2, 0), info, hints);
	vrb_info_settle(&vrb_params, info, hints);
	assert_int_equal(info->mode | info->rx_attr->mode, 0);
	assert_int_equal(info->domain_attr->cq_data_size, 4);
}

static void test_default_sizes(void **state)
{
	(void)state;
	make();
	vrb_info_settle(&vrb_params, info, NULL);
	assert_int_equal(info->tx_attr->size, 384);
	assert_int_equal(info->rx_attr->size, 384);
	assert_int_equal(info->tx_attr->iov_limit, 4);
	assert_int_equal(info->rx_attr->iov_limit, 4);
	assert_int_equal(info->tx_attr->inject_size, 256);
}

static void test_asked_sizes(void **state)
{
	(void)state;
	make();
	hints->tx_attr->size = 4096;
	hints->tx_attr->inject_size = 900;
	hints->tx_attr->iov_limit = 1;
	hints->rx_attr->size = 1;
	hints->rx_attr->iov_limit = 30;
	vrb_info_settle(&vrb_params, info, hints);
	assert_int_equal(info->tx_attr->size, 4096);
	assert_int_equal(info->tx_attr->inject_size, 900);
	assert_int_equal(info->tx_attr->iov_limit, 4);
	assert_int_equal(info->rx_attr->size, 384);
	assert_int_equal(info->rx_attr->iov_limit, 30);
}

/* A connection with short queues is made and closed faster: who asks for them gets them. */
static void test_asked_short(void **state)
{
	(void)state;
	make();
	hints->tx_attr->size = 64;
	hints->rx_attr->size = 65;
	vrb_info_settle(&vrb_params, info, hints);
	assert_int_equal(info->tx_attr->size, 64);
	assert_int_equal(info->rx_attr->size, 128);
	make();
	hints->tx_attr->size = 300;
	hints->rx_attr->size = 15;
	vrb_info_settle(&vrb_params, info, hints);
	assert_int_equal(info->tx_attr->size, 384);
	assert_int_equal(info->rx_attr->size, 384);
	make();
	info->ep_attr->type = FI_EP_DGRAM;
	hints->rx_attr->size = 64;
	vrb_info_settle(&vrb_params, info, hints);
	assert_int_equal(info->rx_attr->size, 384);
}

static void test_tiny_limits(void **state)
{
	(void)state;
	dev.attr.max_qp_wr = 16;
	dev.attr.max_sge = 1;
	dev.max_inline = 0;
	make();
	vrb_info_settle(&vrb_params, info, NULL);
	assert_int_equal(info->tx_attr->size, 16);
	assert_int_equal(info->rx_attr->size, 16);
	assert_int_equal(info->tx_attr->iov_limit, 1);
	assert_int_equal(info->rx_attr->iov_limit, 1);
	assert_int_equal(info->tx_attr->inject_size, 0);
}

static void test_inline_maximum(void **state)
{
	(void)state;
	vrb_params.inline_size = 0;
	make();
	vrb_info_settle(&vrb_params, info, NULL);
	assert_int_equal(info->tx_attr->inject_size, 972);
}

static void expect_unusable(const char *attr, const char *asked, const char *has)
{
	struct ofi_miss why;

	assert_false(vrb_port_usable(&port, true, &why));
	assert_string_equal(why.attr, attr);
	assert_string_equal(why.asked, asked);
	assert_string_equal(why.has, has);
}

static void test_usable(void **state)
{
	struct ofi_miss why;

	(void)state;
	assert_true(vrb_port_usable(&port, true, &why));
	STAILQ_INIT(&port.addrs);
	expect_unusable("port address", "an address of an interface that is up",
			"none: give its network interface an IP address");
	vrb_params.iface = "ib";
	expect_unusable("port address", "an address of an interface that is up",
			"none that FI_VERBS_IFACE lets pass");
	vrb_params.iface = NULL;
	port.gid_index = -1;
	expect_unusable("port GID", "one GID", "none");
	vrb_params.gid_idx = 7;
	expect_unusable("FI_VERBS_GID_IDX", "7", "no GID at this index");
	port.attr.state = IBV_PORT_DOWN;
	expect_unusable("port state", "ACTIVE", "DOWN");
	port.attr.state = IBV_PORT_INIT;
	expect_unusable("port state", "ACTIVE", "INIT");
	port.attr.state = 42;
	expect_unusable("port state", "ACTIVE", "unknown");
}

static void expect_nic(const struct fid_nic *nic)
{
	assert_string_equal(nic->device_attr->name, "mlx5_0");
	assert_string_equal(nic->device_attr->vendor_id, "0x15b3");
	assert_string_equal(nic->device_attr->device_id, "0x1017");
	assert_string_equal(nic->device_attr->driver, "mlx5_core");
	assert_string_equal(nic->device_attr->firmware, "16.35.2000");
	assert_int_equal(nic->bus_attr->bus_type, FI_BUS_PCI);
	assert_int_equal(nic->bus_attr->attr.pci.bus_id, 0x3b);
	assert_string_equal(nic->link_attr->address, "fe80::1");
	assert_string_equal(nic->link_attr->network_type, "InfiniBand");
	assert_int_equal(nic->link_attr->mtu, 4096);
	assert_true(nic->link_attr->speed == 100000000000);
	assert_int_equal(nic->link_attr->state, FI_LINK_UP);
}

static void test_nic(void **state)
{
	struct fi_info *copy;

	(void)state;
	make();
	expect_nic(info->nic);
	copy = fi_dupinfo(info);
	assert_true(copy && copy->nic != info->nic);
	fi_freeinfo(info);
	info = NULL;
	expect_nic(copy->nic);
	assert_int_equal(fi_control(&copy->nic->fid, FI_ENABLE, NULL), -FI_ENOSYS);
	assert_int_equal(fi_control(&copy->nic->fid, FI_DUP, NULL), -FI_EINVAL);
	fi_freeinfo(copy);
}

static void test_link(void **state)
{
	(void)state;
	port.attr.state = IBV_PORT_DOWN;
	port.attr.link_layer = IBV_LINK_LAYER_ETHERNET;
	port.attr.active_speed = 0;
	port.attr.active_mtu = 0;
	dev.on_pci = false;
	dev.driver[0] = '\0';
	make();
	assert_int_equal(info->nic->link_attr->state, FI_LINK_DOWN);
	assert_string_equal(info->nic->link_attr->network_type, "Ethernet");
	assert_int_equal(info->nic->link_attr->speed, 0);
	assert_int_equal(info->nic->link_attr->mtu, 0);
	assert_int_equal(info->nic->bus_attr->bus_type, FI_BUS_UNSPEC);
	assert_null(info->nic->device_attr->driver);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* It costs something: it is there for who asks. */
static void test_trigger(void **state)
{
	(void)state;
	make();
	vrb_info_settle(&vrb_params, info, hints);
	assert_int_equal((info->caps | info->tx_attr->caps | info->rx_attr->caps) & FI_TRIGGER, 0);
	make();
	hints->caps = FI_MSG | FI_TRIGGER;
	vrb_info_settle(&vrb_params, info, hints);
	assert_true(info->caps & info->tx_attr->caps & info->rx_attr->caps & FI_TRIGGER);
}

static void make_rdm(void)
{
	fi_freeinfo(info);
	info = vrb_info_rdm(&dev, &port);
	assert_non_null(info);
	vrb_rdm_offer_mode(FI_VERSION(2, 6), info, hints);
}

/* What costs those who have it is for who asks. */
static void test_rdm(void **state)
{
	(void)state;
	vrb_params.rdm_buffer_size = 16896;
	make_rdm();
	assert_int_equal((info->caps | info->rx_attr->caps) & FI_RMA_EVENT, 0);
	assert_int_equal(info->domain_attr->data_progress, FI_PROGRESS_MANUAL);
	assert_int_equal(info->domain_attr->max_ep_stx_ctx, 1000);
	assert_int_equal(info->domain_attr->max_ep_srx_ctx, 1000);
	assert_int_equal(info->domain_attr->max_ep_tx_ctx, 64);
	assert_int_equal(info->domain_attr->max_ep_rx_ctx, 64);
	hints->caps = FI_RMA | FI_RMA_EVENT;
	hints->domain_attr->data_progress = FI_PROGRESS_AUTO;
	make_rdm();
	assert_true(info->caps & info->rx_attr->caps & FI_RMA_EVENT);
	assert_int_equal(info->domain_attr->data_progress, FI_PROGRESS_AUTO);
}

/* What keeps the device from reliable datagrams; "" if nothing does. */
static const char *rdm_lacks(const char *name)
{
	static struct ofi_miss why;

	return vrb_rdm_fits(&dev, name, &why) ? "" : why.has;
}

/* Of all transports, connections only need what datagrams can do without. */
static void test_rdm_segments(void **state)
{
	(void)state;
	dev.attr.max_sge = 4;
	assert_string_equal(rdm_lacks(NULL), "");
	dev.attr.max_sge = 1;
	assert_non_null(strstr(rdm_lacks(NULL), "1 segment in a work request (max_sge)"));
	assert_string_equal(rdm_lacks("verbs;ofi_rxd"), "");
	vrb_params.rdm_transport = "ud";
	assert_string_equal(rdm_lacks(NULL), "");
}

static void test_rdm_queues(void **state)
{
	(void)state;
	dev.attr.max_qp_wr = 133;
	dev.attr.max_cqe = 266;
	assert_string_equal(rdm_lacks(NULL), "");
	dev.attr.max_qp_wr = 132;
	assert_non_null(strstr(rdm_lacks(NULL), "132 work requests"));
	dev.attr.max_qp_wr = 133;
	dev.attr.max_cqe = 265;
	assert_non_null(strstr(rdm_lacks(NULL), "265 completions"));
	vrb_params.rdm_transport = "ud";
	dev.attr.max_qp_wr = 64;
	dev.attr.max_cqe = 128;
	assert_string_equal(rdm_lacks(NULL), "");
	dev.attr.max_qp_wr = 63;
	assert_non_null(strstr(rdm_lacks(NULL), "63 work requests"));
}

static void test_rdm_inline(void **state)
{
	(void)state;
	dev.max_inline = 16;
	assert_string_equal(rdm_lacks(NULL), "");
	dev.max_inline = 15;
	assert_non_null(strstr(rdm_lacks(NULL), "15 B of inline data"));
	vrb_params.rdm_transport = "auto";
	assert_string_equal(rdm_lacks(NULL), "");
}

/* A device of one segment has none for the header of a datagram. */
static void test_dgram_segment(void **state)
{
	struct fi_info *dgram;

	(void)state;
	dev.attr.max_sge = 1;
	dgram = vrb_info_dgram(&dev, &port);
	assert_non_null(dgram);
	vrb_info_offer_mode(dgram, NULL);
	assert_true(dgram->mode & dgram->tx_attr->mode & dgram->rx_attr->mode & FI_MSG_PREFIX);
	assert_int_equal(dgram->ep_attr->msg_prefix_size, 40);
	assert_int_equal(dgram->rx_attr->iov_limit, 1);
	fi_freeinfo(dgram);
	dev.attr.max_sge = 2;
	dgram = vrb_info_dgram(&dev, &port);
	assert_non_null(dgram);
	assert_int_equal(dgram->mode | dgram->ep_attr->msg_prefix_size, 0);
	fi_freeinfo(dgram);
}

/* Address vectors take user ids; endpoints without one have no use for them. */
static void test_user_ids(void **state)
{
	(void)state;
	vrb_params.rdm_buffer_size = 16896;
	info = vrb_info_msg(&dev, &port);
	assert_non_null(info);
	assert_int_equal((info->caps | info->domain_attr->caps) & FI_AV_USER_ID, 0);
	make_rdm();
	assert_true(info->caps & info->domain_attr->caps & FI_AV_USER_ID);
	fi_freeinfo(info);
	info = vrb_info_dgram(&dev, &port);
	assert_non_null(info);
	assert_true(info->caps & info->domain_attr->caps & FI_AV_USER_ID);
}

static void test_no_delivery(void **state)
{
	struct ofi_miss miss = { .attr = "tx_attr->op_flags", .has = "flags" };

	(void)state;
	info = vrb_info_dgram(&dev, &port);
	assert_non_null(info);
	hints->domain_attr->mr_mode = FI_MR_LOCAL;
	hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
	assert_int_equal(ofi_attr_misses(FI_VERSION(2, 0), info, hints, &miss), 1);
	vrb_info_explain_dgram(info, hints, &miss);
	assert_string_equal(miss.asked, "FI_DELIVERY_COMPLETE");
	assert_non_null(strstr(miss.has, "receivers do not acknowledge datagrams"));
	hints->tx_attr->op_flags = FI_TRANSMIT_COMPLETE;
	assert_int_equal(ofi_attr_misses(FI_VERSION(2, 0), info, hints, &miss), 0);
}

/*
 * Address vectors of other domains are not shared; a receive context is named if this is requested.
 */
static void test_addresses(void **state)
{
	(void)state;
	vrb_params.rdm_buffer_size = 16896;
	info = vrb_info_msg(&dev, &port);
	assert_non_null(info);
	assert_int_equal((info->caps | info->domain_attr->caps) & FI_SHARED_AV, 0);
	make_rdm();
	assert_true(info->caps & info->domain_attr->caps & FI_SHARED_AV);
	assert_true(info->caps & info->tx_attr->caps & FI_NAMED_RX_CTX);
	hints->caps = FI_TAGGED;
	ofi_attr_narrow(FI_VERSION(1, 17), info, hints);
	assert_true(info->caps & FI_SHARED_AV);
	assert_int_equal((info->caps | info->tx_attr->caps) & FI_NAMED_RX_CTX, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_infiniband),	  TEST(test_order),	     TEST(test_no_atomics),
		TEST(test_many_sge),	  TEST(test_iwarp),	     TEST(test_mode),
		TEST(test_default_sizes), TEST(test_asked_sizes),    TEST(test_asked_short),
		TEST(test_tiny_limits),	  TEST(test_inline_maximum), TEST(test_usable),
		TEST(test_nic),		  TEST(test_link),	     TEST(test_trigger),
		TEST(test_shared),	  TEST(test_multi),	     TEST(test_addresses),
		TEST(test_rdm),		  TEST(test_rdm_segments),   TEST(test_rdm_queues),
		TEST(test_rdm_inline),	  TEST(test_dgram_segment),  TEST(test_user_ids),
		TEST(test_asked_data),	  TEST(test_no_delivery),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
