/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Traffic classes: code points, service levels, and where they are applied. */
#include "unit.h"
#include "capture.h"

#include <arpa/inet.h>
#include <errno.h>
#include "prov/verbs/dgram/dgram.h"
#include "prov/verbs/provider/prov.h"
#include "prov/verbs/provider/tclass.h"
#include "prov/verbs/queue/qp.h"
#include "verbs_rig.h"

enum { QPN = 0x4711, POINT = 33 };

static struct {
	int calls, err;
	uint8_t tos;
} option;

int rdma_set_option(struct rdma_cm_id *id, int level, int name, void *value, size_t len)
{
	(void)id;
	assert_int_equal(level, RDMA_OPTION_ID);
	assert_int_equal(name, RDMA_OPTION_ID_TOS);
	assert_int_equal(len, 1);
	option.calls++;
	option.tos = *(uint8_t *)value;
	errno = option.err;
	return option.err ? -1 : 0;
}

static int setup(void **state)
{
	memset(&option, 0, sizeof(option));
	rig_setup(state);
	vrb_params.tclass_sl = NULL;
	vrb_params.tclass_low_latency = 18;
	vrb_params.tclass_network_ctrl = 48;
	vrb_tclass_init();
	return 0;
}

static struct vrb_tclass class_of(const struct fi_info *info)
{
	return vrb_tclass_of(info, info);
}

/*
 * The endpoint's class, or its fi_info's for the domain, or the one with which the domain was
 * opened.
 */
static void test_code_point(void **state)
{
	struct rig *rig = *state;
	struct fi_info *info = rig->info, *domain = fi_dupinfo(info);

	assert_false(class_of(info).asked);
	assert_int_equal(class_of(info).level, -1);
	domain->domain_attr->tclass = fi_tc_dscp_set(POINT);
	assert_int_equal(vrb_tclass_of(domain, info).tos, POINT << 2);
	info->domain_attr->tclass = FI_TC_LOW_LATENCY;
	assert_int_equal(vrb_tclass_of(domain, info).tos, 18 << 2);
	info->tx_attr->tclass = FI_TC_NETWORK_CTRL;
	assert_true(vrb_tclass_of(domain, info).asked);
	assert_int_equal(vrb_tclass_of(domain, info).tos, 48 << 2);
	info->tx_attr->tclass = fi_tc_dscp_set(0);
	assert_true(class_of(info).asked);
	assert_int_equal(class_of(info).tos, 0);
	vrb_params.tclass_network_ctrl = 7;
	info->tx_attr->tclass = FI_TC_NETWORK_CTRL;
	assert_int_equal(class_of(info).tos, 7 << 2);
	fi_freeinfo(domain);
}

static void test_levels(void **state)
{
	static const char *const bad[] = { "18", "18=", "=3", "64=1", "18=16", "18=3;", "18=3,x" };
	struct rig *rig = *state;
	size_t i;

	rig->info->tx_attr->tclass = FI_TC_LOW_LATENCY;
	assert_int_equal(class_of(rig->info).level, -1);
	vrb_params.tclass_sl = "0=1,18=3";
	vrb_tclass_init();
	assert_int_equal(class_of(rig->info).level, 3);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		vrb_params.tclass_sl = bad[i];
		capture_start();
		vrb_tclass_init();
		assert_non_null(strstr(capture_stop(), "is ignored"));
		assert_int_equal(class_of(rig->info).level, -1);
	}
}

static void test_refused(void **state)
{
	struct rig *rig = *state;
	struct fid_domain *domain;
	struct fid_ep *ep;

	rig_open_domain(rig);
	rig->info->tx_attr->tclass = FI_TC_NETWORK_CTRL + 1;
	capture_start();
	assert_int_equal(fi_endpoint(rig->domain, rig->info, &ep, NULL), -FI_EINVAL);
	assert_non_null(strstr(capture_stop(), "tx_attr->tclass is 0x206; a traffic class is"));
	rig->info->tx_attr->tclass = 0;
	rig->info->domain_attr->tclass = FI_TC_DSCP + 64;
	capture_start();
	assert_int_equal(vrb_domain_open(&rig_fabric.fid, rig->info, &domain, NULL), -FI_EINVAL);
	assert_non_null(strstr(capture_stop(), "fi_domain: domain_attr->tclass is 0x140;"));
}

static struct ibv_qp_attr settled(struct rig *rig, bool global)
{
	struct ibv_qp_attr attr = {
		.ah_attr = { .is_global = global, .sl = 5, .grh.traffic_class = 8 },
	};

	vrb_qp_settle(vrb_domain(rig->domain), rig->info, &attr, IBV_QP_AV);
	return attr;
}

/* Without a class the connection keeps what the connection manager chose. */
static void test_connection(void **state)
{
	struct rig *rig = *state;

	rig_open_domain(rig);
	assert_int_equal(settled(rig, true).ah_attr.grh.traffic_class, 8);
	rig->info->tx_attr->tclass = FI_TC_LOW_LATENCY;
	assert_int_equal(settled(rig, true).ah_attr.grh.traffic_class, 18 << 2);
	assert_int_equal(settled(rig, true).ah_attr.sl, 5);
	assert_int_equal(settled(rig, false).ah_attr.grh.traffic_class, 8);
	vrb_params.tclass_sl = "18=0";
	vrb_tclass_init();
	assert_int_equal(settled(rig, false).ah_attr.sl, 0);
}

static void test_request(void **state)
{
	struct rig *rig = *state;

	vrb_tclass_set_id(class_of(rig->info), NULL);
	assert_int_equal(option.calls, 0);
	rig->info->tx_attr->tclass = FI_TC_LOW_LATENCY;
	vrb_tclass_set_id(class_of(rig->info), NULL);
	assert_int_equal(option.calls, 1);
	assert_int_equal(option.tos, 18 << 2);
	option.err = ENOSYS;
	capture_start();
	vrb_tclass_set_id(class_of(rig->info), NULL);
	assert_non_null(strstr(capture_stop(), "does not know the traffic class"));
}

static struct fid_ep *open_ep(struct rig *rig, struct fid_av *av, uint32_t tclass)
{
	struct fid_ep *ep;

	rig->info->tx_attr->tclass = tclass;
	assert_int_equal(fi_endpoint(rig->domain, rig->info, &ep, NULL), 0);
	assert_int_equal(fi_ep_bind(ep, &rig->cq[0]->fid, FI_TRANSMIT), 0);
	assert_int_equal(fi_ep_bind(ep, &rig->cq[1]->fid, FI_RECV), 0);
	assert_int_equal(fi_ep_bind(ep, &av->fid, 0), 0);
	assert_int_equal(fi_enable(ep), 0);
	return ep;
}

static fi_addr_t insert_peer(struct fid_av *av)
{
	struct vrb_dest dest = { .qpn = QPN, .qkey = 1, .pkey = 0xffff };
	struct vrb_ud_name name;
	fi_addr_t to;

	inet_pton(AF_INET6, "::ffff:10.0.0.9", dest.gid.raw);
	vrb_ud_name_out(&dest, &name);
	assert_int_equal(fi_av_insert(av, &name, 1, &to, 0, NULL), 1);
	return to;
}

static const struct ibv_ah *sent_by(struct fid_ep *ep, fi_addr_t to)
{
	static uint8_t buf[64];
	struct ibv_qp *qp = vrb_ep(ep)->qp;

	assert_int_equal(fi_inject(ep, buf, sizeof(buf), to), 0);
	fake_complete_sends(qp, 1, IBV_WC_SUCCESS);
	return fake_qp(qp)->sends.last.wr.wr.ud.ah;
}

static void ask_dgram(struct fi_info *info)
{
	info->caps = FI_MSG | FI_SEND | FI_RECV;
	info->addr_format = FI_ADDR_IB_UD;
	info->ep_attr->type = FI_EP_DGRAM;
	info->ep_attr->max_msg_size = 1024;
}

/* Endpoints of different classes on one address vector: each path has a handle for each class. */
static void test_datagrams(void **state)
{
	struct fi_av_attr attr = { .type = FI_AV_TABLE };
	struct rig *rig = *state;
	struct fid_ep *low, *own;
	const struct ibv_ah *ah;
	struct fid_av *av;
	fi_addr_t to;

	ask_dgram(rig->info);
	rig_open_cqs(rig);
	assert_int_equal(fi_av_open(rig->domain, &attr, &av, NULL), 0);
	low = open_ep(rig, av, FI_TC_LOW_LATENCY);
	to = insert_peer(av);
	ah = sent_by(low, to);
	assert_int_equal(fake.ah_attr.grh.traffic_class, 18 << 2);
	own = open_ep(rig, av, fi_tc_dscp_set(POINT));
	assert_int_equal(fi_inject(own, "x", 1, to + 1), -FI_EINVAL);
	assert_ptr_not_equal(sent_by(own, to), ah);
	assert_int_equal(fake.ah_attr.grh.traffic_class, POINT << 2);
	assert_ptr_not_equal(sent_by(own, to), ah);
	assert_ptr_equal(sent_by(low, to), ah);
	assert_int_equal(fake.ahs_made, 2);
	assert_int_equal(fi_close(&low->fid), 0);
	assert_int_equal(fi_close(&own->fid), 0);
	assert_int_equal(fi_close(&av->fid), 0);
	assert_int_equal(fake.ahs, 0);
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, rig_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_code_point), TEST(test_levels),  TEST(test_refused),
		TEST(test_connection), TEST(test_request), TEST(test_datagrams),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
