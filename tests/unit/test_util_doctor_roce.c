/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* fi_doctor on the default DSCP of RoCE and on flow control, of which the kernel tells. */
#include "unit.h"

#include <linux/dcbnl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "doctor_rig.h"
#include "util/doctor_dcb.h"
#include "util/doctor_roce.h"

#define CONFIG "/sys/kernel/config/rdma_cm"

static void check(void)
{
	struct doctor_ports ports;

	rig_listen();
	assert_true(doctor_ports_read(&ports, doctor.root));
	doctor_roce_check(&doctor, &ports);
	doctor_ports_free(&ports);
	rig_heard();
}

static void test_default(void **state)
{
	(void)state;
	rig_healthy();
	check();
	rig_expect("ok", "rxe0 port 1: the default DSCP cannot be read", NULL);
	rig_expect("ok", "rxe0 is software: it sends lost packets again", NULL);
	rig_file(CONFIG "/other/ports/1/default_roce_tos", "8\n");
	check();
	rig_expect("ok", "rxe0 port 1: DSCP 0 by default, since " CONFIG "/rxe0 does not exist",
		   NULL);
	rig_file(CONFIG "/rxe0/ports/1/default_roce_tos", "106\n");
	check();
	rig_expect("ok", "rxe0 port 1: DSCP 26 (TOS 106) by default", NULL);
}

/* Files do not tell about the flow control of an adapter; InfiniBand has none of this. */
static void test_unknown(void **state)
{
	(void)state;
	rig_healthy();
	rig_remove("/sys/class/infiniband/rxe0/parent");
	check();
	rig_expect("note", "eth0: flow control (PFC) and what it trusts cannot be read",
		   "dcb pfc show dev eth0");
	rig_file("/sys/class/infiniband/rxe0/ports/1/link_layer", "InfiniBand\n");
	check();
	rig_none("ok");
	rig_none("note");
}

static void judge(uint8_t pfc, bool dscp)
{
	struct doctor_dcb dcb = { pfc, dscp };

	rig_listen();
	doctor_roce_dcb(&doctor, "eth0", &dcb);
	rig_heard();
}

static void test_judge(void **state)
{
	(void)state;
	judge(0, true);
	rig_expect("note", "eth0 has no priority with flow control", "dcb pfc set dev eth0");
	judge(1 << 3, false);
	rig_expect("note", "eth0 has flow control (PFC) on priorities 3, but no DSCP",
		   "dcb app add");
	judge(1 << 3 | 1 << 5, true);
	rig_expect("ok", "eth0 has flow control (PFC) on priorities 3 5, and DSCP", NULL);
	judge(0xff, true);
	rig_expect("ok", "on priorities 0 1 2 3 4 5 6 7, and DSCP", NULL);
}

/* An answer as the kernel builds it: attributes in attributes, each padded to 4 bytes. */
static char answer[256];
static size_t answer_len;

static size_t begin(int type)
{
	struct nlattr attr = { .nla_type = (uint16_t)type };

	memcpy(answer + answer_len, &attr, sizeof(attr));
	answer_len += sizeof(attr);
	return answer_len - sizeof(attr);
}

static void end(size_t at)
{
	uint16_t len = (uint16_t)(answer_len - at);

	memcpy(answer + at, &len, sizeof(len));
	answer_len = NLMSG_ALIGN(answer_len);
}

static void put(int type, const void *data, size_t len)
{
	size_t at = begin(type);

	memcpy(answer + answer_len, data, len);
	answer_len += len;
	end(at);
}

static void build(uint8_t selector)
{
	struct dcb_app app = { .selector = selector, .priority = 3, .protocol = 26 };
	struct ieee_pfc pfc = { .pfc_cap = 8, .pfc_en = 1 << 3 };
	struct nlmsghdr head = { .nlmsg_type = RTM_GETDCB };
	size_t ieee, table;

	memset(answer, 0, sizeof(answer));
	answer_len = NLMSG_LENGTH(sizeof(struct dcbmsg));
	put(DCB_ATTR_IFNAME, "eth0", 5);
	ieee = begin(DCB_ATTR_IEEE);
	put(DCB_ATTR_IEEE_PFC, &pfc, sizeof(pfc));
	table = begin(DCB_ATTR_IEEE_APP_TABLE);
	put(DCB_ATTR_IEEE_APP, &app, sizeof(app));
	end(table);
	end(ieee);
	head.nlmsg_len = (uint32_t)answer_len;
	memcpy(answer, &head, sizeof(head));
}

static void test_answer(void **state)
{
	struct doctor_dcb dcb;

	(void)state;
	build(IEEE_8021QAZ_APP_SEL_DSCP);
	assert_true(doctor_dcb_parse(answer, answer_len, &dcb));
	assert_int_equal(dcb.pfc, 1 << 3);
	assert_true(dcb.dscp);
	build(IEEE_8021QAZ_APP_SEL_ETHERTYPE);
	assert_true(doctor_dcb_parse(answer, answer_len, &dcb));
	assert_false(dcb.dscp);
}

/* A short answer, an error, or one with lengths that do not fit says nothing. */
static void test_bad_answer(void **state)
{
	struct doctor_dcb dcb;
	size_t len;

	(void)state;
	build(IEEE_8021QAZ_APP_SEL_DSCP);
	for (len = 0; len < answer_len; len++)
		assert_false(doctor_dcb_parse(answer, len, &dcb));
	((struct nlmsghdr *)answer)->nlmsg_type = NLMSG_ERROR;
	assert_false(doctor_dcb_parse(answer, answer_len, &dcb));
	build(IEEE_8021QAZ_APP_SEL_DSCP);
	memset(answer + NLMSG_LENGTH(sizeof(struct dcbmsg)), 0xff,
	       answer_len - NLMSG_LENGTH(sizeof(struct dcbmsg)));
	assert_false(doctor_dcb_parse(answer, answer_len, &dcb));
	assert_false(doctor_dcb_read("no-such-netdev", &dcb));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_default), TEST(test_unknown),	   TEST(test_judge),
		TEST(test_answer),  TEST(test_bad_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
