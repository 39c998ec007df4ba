/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The access bits of memory regions, and when they are paged on demand. */
#include "unit.h"
#include <errno.h>
#include <string.h>
#include "capture.h"
#include "prov/verbs/discovery/kind.h"
#include "prov/verbs/provider/prov.h"
#include "verbs_rig.h"

#define LOCAL	     IBV_ACCESS_LOCAL_WRITE
#define REMOTE_READ  IBV_ACCESS_REMOTE_READ
#define REMOTE_WRITE IBV_ACCESS_REMOTE_WRITE
#define ATOMIC	     IBV_ACCESS_REMOTE_ATOMIC

static void check_access(struct rig *rig, uint64_t access, int expected)
{
	static char buf[4096];
	struct fid_mr *mr;

	assert_int_equal(fi_mr_reg(rig->domain, buf, sizeof(buf), access, 0, 0, 0, &mr, rig), 0);
	assert_int_equal(fake.mr_access, expected);
	assert_int_equal(fi_close(&mr->fid), 0);
}

static void test_access(void **state)
{
	struct rig *rig = *state;

	rig_open_domain(rig);
	check_access(rig, FI_SEND, 0);
	check_access(rig, FI_WRITE, 0);
	check_access(rig, FI_RECV, LOCAL);
	check_access(rig, FI_READ, LOCAL);
	check_access(rig, FI_SEND | FI_REMOTE_READ, REMOTE_READ);
	check_access(rig, FI_REMOTE_WRITE, LOCAL | REMOTE_WRITE | ATOMIC);
	/* Nothing local is named, and capabilities are no access. */
	check_access(rig, FI_REMOTE_READ, LOCAL | REMOTE_READ);
	check_access(rig, FI_MSG | FI_RMA | FI_TAGGED | FI_ATOMIC, LOCAL);
	check_access(rig, FI_RMA | FI_REMOTE_READ, LOCAL | REMOTE_READ);
	/* Read-only memory. */
	fake.fail_at = fake.calls + 1;
	fake.fail_errno = EFAULT;
	check_access(rig, FI_REMOTE_READ, REMOTE_READ);
	check_access(rig, FI_SEND | FI_RECV | FI_COLLECTIVE, LOCAL);
	check_access(rig, FI_SEND | FI_COLLECTIVE, 0);
	check_access(rig, FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE,
		     LOCAL | REMOTE_READ | REMOTE_WRITE | ATOMIC);
}

/* A driver that fails without setting errno does not make the application try again. */
static void test_errno_of_before(void **state)
{
	struct rig *rig = *state;
	struct fid_mr *mr;
	char byte;

	rig_open_domain(rig);
	fake.fail_at = fake.calls + 1;
	fake.fail_errno = -1;
	errno = EAGAIN;
	assert_int_equal(fi_mr_reg(rig->domain, &byte, 1, FI_SEND, 0, 0, 0, &mr, NULL), -FI_EINVAL);
	assert_string_equal(fake.failed, "ibv_reg_mr");
}

static void test_access_no_atomics(void **state)
{
	struct rig *rig = *state;

	fake.attr.atomic_cap = IBV_ATOMIC_NONE;
	rig_open_domain(rig);
	check_access(rig, FI_REMOTE_WRITE, LOCAL | REMOTE_WRITE);
}

/* An Elastic Fabric Adapter refuses access by peers, unless it reads for them. */
static void test_access_local(void **state)
{
	struct rig *rig = *state;

	fake.attr.vendor_id = VRB_VENDOR_AMAZON;
	rig_open_domain(rig);
	check_access(rig, FI_SEND, 0);
	check_access(rig, FI_RECV, LOCAL);
	check_access(rig, FI_SEND | FI_REMOTE_READ, 0);
	check_access(rig, FI_REMOTE_WRITE, LOCAL);
	vrb_domain(rig->domain)->max_read = 1;
	check_access(rig, FI_REMOTE_READ | FI_REMOTE_WRITE, LOCAL | REMOTE_READ);
	check_access(rig, FI_REMOTE_WRITE, LOCAL);
}

/* An iWARP read arrives as a write of the peer. */
static void test_access_iwarp(void **state)
{
	struct rig *rig = *state;

	fake.device.transport_type = IBV_TRANSPORT_IWARP;
	rig_open_domain(rig);
	check_access(rig, FI_READ, LOCAL | REMOTE_WRITE);
	check_access(rig, FI_RECV, LOCAL);
}

static uint32_t odp_caps, odp_ud_caps;

static int query_device_ex(struct ibv_context *ctx, const struct ibv_query_device_ex_input *input,
			   struct ibv_device_attr_ex *attr, size_t size)
{
	(void)ctx;
	(void)input;
	memset(attr, 0, size);
	attr->odp_caps.general_caps = odp_caps ? IBV_ODP_SUPPORT : 0;
	attr->odp_caps.per_transport_caps.ud_odp_caps = odp_ud_caps;
	attr->odp_caps.per_transport_caps.rc_odp_caps = odp_caps;
	return 0;
}

enum {
	DGRAM_ODP = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV,
	RC_ODP = DGRAM_ODP | IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_READ,
};

static void ask_for_odp(uint32_t caps)
{
	fake.ctx.abi_compat = __VERBS_ABI_IS_EXTENDED;
	fake.ex.sz = sizeof(fake.ex);
	fake.ex.query_device_ex = query_device_ex;
	odp_caps = caps;
	vrb_params.use_odp = 1;
}

static void open_with_odp(struct rig *rig, uint32_t caps)
{
	ask_for_odp(caps);
	capture_start();
	rig_open_domain(rig);
	assert_int_equal(!strstr(capture_stop(), "FI_VERBS_USE_ODP has no effect"), caps > 3);
}

static void test_odp(void **state)
{
	struct rig *rig = *state;

	open_with_odp(rig, RC_ODP);
	check_access(rig, FI_SEND, IBV_ACCESS_ON_DEMAND);
	check_access(rig, FI_REMOTE_WRITE, LOCAL | REMOTE_WRITE | ATOMIC);
	rig_close(rig);
	rig_init(rig);
	open_with_odp(rig, RC_ODP | IBV_ODP_SUPPORT_ATOMIC);
	check_access(rig, FI_REMOTE_WRITE, LOCAL | REMOTE_WRITE | ATOMIC | IBV_ACCESS_ON_DEMAND);
	rig_close(rig);
	rig_init(rig);
	open_with_odp(rig, DGRAM_ODP);
	check_access(rig, FI_SEND, 0);
	rig_close(rig);
	rig_init(rig);
	open_with_odp(rig, 0);
	check_access(rig, FI_SEND, 0);
}

/* Datagrams and shared receive contexts have capabilities of their own. */
static void test_odp_receives(void **state)
{
	struct rig *rig = *state;

	open_with_odp(rig, RC_ODP);
	check_access(rig, FI_RECV, LOCAL);
	rig_close(rig);
	rig_init(rig);
	open_with_odp(rig, RC_ODP | IBV_ODP_SUPPORT_SRQ_RECV);
	check_access(rig, FI_RECV, LOCAL | IBV_ACCESS_ON_DEMAND);
	rig_close(rig);
	rig_init(rig);
	rig->info->ep_attr->type = FI_EP_DGRAM;
	odp_ud_caps = DGRAM_ODP;
	open_with_odp(rig, RC_ODP);
	check_access(rig, FI_RECV, LOCAL | IBV_ACCESS_ON_DEMAND);
	rig_close(rig);
	rig_init(rig);
	rig->info->ep_attr->type = FI_EP_DGRAM;
	odp_ud_caps = IBV_ODP_SUPPORT_SEND;
	ask_for_odp(RC_ODP);
	capture_start();
	rig_open_domain(rig);
	assert_non_null(strstr(capture_stop(), "on-demand paging for datagrams"));
	check_access(rig, FI_SEND, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(test_access),
		RIG_TEST(test_errno_of_before),
		RIG_TEST(test_access_no_atomics),
		RIG_TEST(test_access_local),
		RIG_TEST(test_access_iwarp),
		RIG_TEST(test_odp),
		RIG_TEST(test_odp_receives),
	};

	return cmocka_run_group_tests_name("verbs_mr_access", tests, NULL, NULL);
}
