/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Multicast groups: joining and leaving in each order of events, and every call failing. */
#include "unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <rdma/fi_errno.h>
#include "prov/verbs/dgram/dgram.h"
#include "prov/verbs/provider/prov.h"
#include "prov/verbs/queue/ah.h"
#include "fake_cm.h"

static struct fake_bed bed;
static struct vrb_av av;
static struct vrb_dgram ep;
static struct ibv_qp qp;
static struct fid_mc *mc;
static int ahs, attached, ah_err, attach_err;
static bool silent, routed;
static enum rdma_cm_event_type joined;
static uint32_t qkey;

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	(void)pd;
	(void)attr;
	errno = ah_err;
	if (ah_err)
		return NULL;
	ahs++;
	return calloc(1, sizeof(struct ibv_ah));
}

int ibv_destroy_ah(struct ibv_ah *ah)
{
	ahs--;
	free(ah);
	return 0;
}

int ibv_attach_mcast(struct ibv_qp *of, const union ibv_gid *gid, uint16_t lid)
{
	(void)gid;
	(void)lid;
	assert_ptr_equal(of, &qp);
	attached |= !attach_err; /* ib_uverbs keeps one entry per queue pair and group */
	return attach_err;
}

int ibv_detach_mcast(struct ibv_qp *of, const union ibv_gid *gid, uint16_t lid)
{
	(void)gid;
	(void)lid;
	assert_ptr_equal(of, &qp);
	assert_int_equal(attached, 1);
	attached = 0;
	return 0;
}

static void network(struct rdma_cm_id *id, const char *call)
{
	if (!strcmp(call, "resolve_addr")) {
		routed = true;
		id->verbs = &bed.ctx;
		id->port_num = 1;
		fake_event(id, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	} else if (!silent && joined == RDMA_CM_EVENT_MULTICAST_JOIN) {
		fake_event_ud(id, joined, VRB_UD_QPN_MCAST, qkey, NULL, 0);
	} else if (!silent) {
		fake_event(id, joined, -EHOSTUNREACH);
	}
}

static struct fi_ops_cm cm_ops = { .size = sizeof(cm_ops), .join = vrb_mc_join };

static int setup(void **state)
{
	(void)state;
	fake_init(&bed);
	bed.info->caps = FI_MSG | FI_SEND | FI_RECV | FI_MULTICAST;
	av = (struct vrb_av){ .domain = &bed.domain, .port = { .num = 1 } };
	ofi_table_init(&av.groups, sizeof(struct vrb_dest));
	ep = (struct vrb_dgram){ .av = &av, .qkey = VRB_UD_QKEY_CM };
	ep.ep.self = &ep.ep;
	ep.ep.fid.cm = &cm_ops;
	ep.ep.domain = &bed.domain;
	ep.ep.info = bed.info;
	ep.ep.eq = ofi_eq(bed.eq);
	ep.ep.qp = &qp;
	ep.ep.enabled = true;
	ep.port.num = 1;
	ep.port.gid.raw[10] = ep.port.gid.raw[11] = 0xff;
	memcpy(ep.port.gid.raw + 12, "\x0a\0\0\x01", 4);
	joined = RDMA_CM_EVENT_MULTICAST_JOIN;
	qkey = VRB_UD_QKEY_CM;
	silent = routed = false;
	ah_err = attach_err = 0;
	mc = NULL;
	fake.on_call = network;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	assert_int_equal(ep.ref.children, 0);
	assert_int_equal(attached, 0);
	vrb_ahs_fini(&av.paths);
	ofi_table_fini(&av.groups);
	assert_int_equal(ahs, 0);
	fake_fini(&bed);
	return 0;
}

static int join(uint64_t flags)
{
	struct sockaddr_in in = { .sin_family = AF_INET };

	inet_pton(AF_INET, "239.1.2.3", &in.sin_addr);
	return fi_join(&ep.ep.fid, &in, flags, &mc, &av);
}

static void expect_joined(void)
{
	struct fi_eq_entry entry;
	uint32_t event;

	fake_settle();
	assert_int_equal(fi_eq_read(bed.eq, &event, &entry, sizeof(entry), 0), sizeof(entry));
	assert_int_equal(event, FI_JOIN_COMPLETE);
	assert_ptr_equal(entry.fid, &mc->fid);
	assert_ptr_equal(entry.context, &av);
}

static void expect_error(int err)
{
	struct fi_eq_err_entry entry = { 0 };

	fake_settle();
	assert_int_equal(fi_eq_readerr(bed.eq, &entry, 0), sizeof(entry));
	assert_int_equal(entry.err, err);
	assert_ptr_equal(entry.fid, &mc->fid);
	assert_ptr_equal(entry.context, &av);
	assert_int_equal(fi_mc_addr(mc), FI_ADDR_NOTAVAIL);
}

static void leave(void)
{
	assert_int_equal(ep.ref.children, 1);
	assert_int_equal(fi_close(&mc->fid), 0);
	assert_int_equal(ep.ref.children, 0);
	assert_int_equal(fake.ids, 0);
	assert_int_equal(fake_read(bed.eq, NULL, NULL), 0);
}

static void test_join(void **state)
{
	const struct vrb_dest *dest;
	fi_addr_t addr;

	(void)state;
	assert_int_equal(join(0), 0);
	expect_joined();
	assert_false(routed);
	assert_int_equal(attached, 1);
	addr = fi_mc_addr(mc);
	dest = vrb_av_dest(&av, addr);
	assert_int_equal(dest->qpn, VRB_UD_QPN_MCAST);
	assert_int_equal(dest->qkey, VRB_UD_QKEY_CM);
	leave();
	assert_null(vrb_av_dest(&av, addr));
	assert_non_null(strstr(fake.calls, "leave "));
}

/* The queue pair stays attached until the last join of the group that receives is closed. */
static void test_join_twice(void **state)
{
	struct fid_mc *all[4];
	int i;

	(void)state;
	for (i = 0; i < 4; i++) {
		assert_int_equal(join(i ? FI_RECV : FI_SEND), 0);
		expect_joined();
		all[i] = mc;
	}
	assert_int_equal(fi_close(&all[2]->fid), 0);
	assert_int_equal(attached, 1);
	assert_int_equal(fi_close(&all[1]->fid), 0);
	assert_int_equal(attached, 1);
	assert_int_equal(fi_close(&all[3]->fid), 0);
	assert_int_equal(attached, 0);
	mc = all[0];
	leave();
}

/* Sent to with a traffic class that is not the address vector's: an endless loop is killed. */
static void test_other_class(void **state)
{
	const struct vrb_tclass other = { .asked = true, .tos = 32 };
	struct vrb_dest own;

	(void)state;
	assert_int_equal(join(0), 0);
	expect_joined();
	alarm(20);
	assert_ptr_equal(vrb_av_dest_as(&av, fi_mc_addr(mc), other, &own), &own);
	alarm(0);
	assert_int_equal(own.qpn, VRB_UD_QPN_MCAST);
	assert_int_equal(ahs, 2);
	leave();
}

static void test_send_only(void **state)
{
	(void)state;
	assert_int_equal(join(FI_SEND), 0);
	expect_joined();
	assert_int_equal(attached, 0);
	leave();
}

/* The port's GID is no IPv4 address: the routing table says where the group is. */
static void test_routed(void **state)
{
	(void)state;
	ep.port.gid.raw[0] = 0xfe;
	assert_int_equal(join(0), 0);
	expect_joined();
	assert_true(routed);
	leave();
}

static void test_name(void **state)
{
	struct vrb_ud_name name = { .gid = { [10] = 0xff, 0xff, 239, 1, 2, 3 } };

	(void)state;
	bed.info->addr_format = FI_ADDR_IB_UD;
	assert_int_equal(fi_join(&ep.ep.fid, &name, 0, &mc, &av), 0);
	expect_joined();
	leave();
	name.gid[12] = 10;
	assert_int_equal(fi_join(&ep.ep.fid, &name, 0, &mc, &av), -FI_EINVAL);
	/* A socket address will do as well. */
	assert_int_equal(join(0), 0);
	expect_joined();
	leave();
}

static void test_failed(void **state)
{
	(void)state;
	joined = RDMA_CM_EVENT_MULTICAST_ERROR;
	assert_int_equal(join(0), 0);
	expect_error(FI_EHOSTUNREACH);
	leave();
	joined = RDMA_CM_EVENT_MULTICAST_JOIN;
	qkey = 5;
	assert_int_equal(join(0), 0);
	expect_error(FI_EADDRNOTAVAIL);
	leave();
	qkey = VRB_UD_QKEY_CM;
	attach_err = ENOMEM;
	assert_int_equal(join(0), 0);
	expect_error(FI_ENOMEM);
	leave();
	attach_err = 0;
	ah_err = ENOMEM;
	assert_int_equal(join(0), 0);
	expect_error(FI_ENOMEM);
	leave();
}

/* What fails at once leaves nothing. */
static void test_calls_fail(void **state)
{
	static const char *const calls[] = { "create_event_channel", "create_id", "bind_addr",
					     "join" };
	size_t i;

	(void)state;
	fake.err = ENOMEM;
	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		fake.fail = calls[i];
		assert_int_equal(join(0), -FI_ENOMEM);
		assert_null(mc);
		assert_int_equal(fake.ids, 0);
	}
}

/* Before the answer has come, and with it in the queue. */
static void test_close_early(void **state)
{
	(void)state;
	silent = true;
	assert_int_equal(join(0), 0);
	leave();
	silent = false;
	assert_int_equal(join(0), 0);
	fake_settle();
	leave();
}

static void test_refused(void **state)
{
	(void)state;
	assert_int_equal(join(FI_READ), -FI_EBADFLAGS);
	assert_int_equal(join(FI_COLLECTIVE), -FI_ENOSYS);
	bed.info->caps &= ~FI_RECV;
	assert_int_equal(join(FI_RECV), -FI_EINVAL);
	bed.info->caps &= ~FI_MULTICAST;
	assert_int_equal(join(0), -FI_EINVAL);
	bed.info->caps |= FI_MULTICAST;
	ep.ep.enabled = false;
	assert_int_equal(join(0), -FI_EOPBADSTATE);
	ep.ep.eq = NULL;
	assert_int_equal(join(0), -FI_ENOEQ);
	assert_null(mc);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_join),	TEST(test_send_only), TEST(test_routed),
		TEST(test_name),	TEST(test_failed),    TEST(test_calls_fail),
		TEST(test_close_early), TEST(test_refused),   TEST(test_other_class),
		TEST(test_join_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
