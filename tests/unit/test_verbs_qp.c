/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Queue pairs: their attributes at creation, timers set explicitly, each call failing in turn. */
#include "unit.h"

#include <errno.h>
#include <string.h>
#include "prov/verbs/provider/prov.h"
#include "prov/verbs/msg/ep.h"
#include "prov/verbs/queue/qp.h"
#include "capture.h"
#include "verbs_rig.h"

#define ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE)

static void test_create(void **state)
{
	struct rig *rig = *state;
	struct ibv_qp_cap *cap;
	struct fake_qp *qp;

	rig->info->rx_attr->size = 5;
	rig->info->rx_attr->iov_limit = 3;
	rig_enable(rig);
	qp = fake_qp(rig_qp(rig));
	cap = &qp->init.cap;
	assert_int_equal(cap->max_send_wr, 8);
	assert_int_equal(cap->max_recv_wr, 5);
	assert_int_equal(cap->max_send_sge, 4);
	assert_int_equal(cap->max_recv_sge, 3);
	assert_int_equal(cap->max_inline_data, 64);
	assert_int_equal(qp->init.qp_type, IBV_QPT_RC);
	assert_int_equal(qp->init.sq_sig_all, 0);
	assert_ptr_equal(qp->init.qp_context, &vrb_ep(rig->ep)->owner);
	assert_ptr_equal(vrb_ep(rig->ep)->owner.ops, &vrb_ep_owner_ops);
	assert_ptr_equal(qp->init.send_cq, vrb_cq(rig->cq[0])->ibv);
	assert_ptr_equal(qp->init.recv_cq, vrb_cq(rig->cq[1])->ibv);
	assert_int_equal(qp->ibv.state, IBV_QPS_INIT);
	assert_int_equal(qp->attr.qp_access_flags, ACCESS | IBV_ACCESS_REMOTE_ATOMIC);
	assert_int_equal(qp->attr.port_num, 1);
}

static void test_inline(void **state)
{
	struct rig *rig = *state;

	rig_open_ep(rig);
	fake.ungranted = 1;
	capture_start();
	assert_int_equal(fi_enable(rig->ep), -FI_EOPNOTSUPP);
	assert_non_null(strstr(capture_stop(), "takes 63 bytes of inline data, not 64"));
	assert_int_equal(fake.qps, 0);
	fake.ungranted = 0;
	assert_int_equal(fi_enable(rig->ep), 0);
}

/* The message names what the queue pair was to have. */
static void test_too_much(void **state)
{
	struct rig *rig = *state;

	rig_open_ep(rig);
	fake.fail_at = fake.calls + 1;
	fake.fail_errno = EINVAL;
	capture_start();
	assert_int_equal(fi_enable(rig->ep), -FI_EINVAL);
	assert_non_null(strstr(capture_stop(), "tx_attr size 8, iov_limit 4, inject_size 64"));
	assert_string_equal(fake.failed, "ibv_create_qp");
}

/* A driver that refuses without setting errno does not make the application try again. */
static void test_errno_of_before(void **state)
{
	struct rig *rig = *state;

	rig_open_ep(rig);
	fake.fail_at = fake.calls + 1;
	fake.fail_errno = -1;
	errno = EAGAIN;
	assert_int_equal(fi_enable(rig->ep), -FI_EINVAL);
	assert_string_equal(fake.failed, "ibv_create_qp");
}

static void test_no_atomics(void **state)
{
	struct rig *rig = *state;

	fake.attr.atomic_cap = IBV_ATOMIC_NONE;
	rig_enable(rig);
	assert_int_equal(fake_qp(rig_qp(rig))->attr.qp_access_flags, ACCESS);
}

/* The first port that is up; the last one when none is. */
static void test_port(void **state)
{
	struct rig *rig = *state;

	fake.attr.phys_port_cnt = 2;
	fake.ports[1].state = IBV_PORT_DOWN;
	fake.ports[2].state = IBV_PORT_ACTIVE;
	rig_enable(rig);
	assert_int_equal(fake_qp(rig_qp(rig))->attr.port_num, 2);
	rig_close(rig);
	rig_init(rig);
	fake.attr.phys_port_cnt = 2;
	rig_enable(rig);
	assert_int_equal(fake_qp(rig_qp(rig))->attr.port_num, 1);
}

/* What the connection manager put into the timers does not matter. */
static void test_timers(void **state)
{
	struct rig *rig = *state;
	struct fake_qp *qp;

	rig_enable(rig);
	qp = fake_qp(rig_qp(rig));
	fake.timers = 0;
	vrb_params.min_rnr_timer = 12;
	vrb_params.retry_count = 6;
	vrb_params.rnr_retry_count = 5;
	vrb_params.ack_timeout = 14;
	assert_int_equal(vrb_qp_connect(vrb_ep(rig->ep), NULL), 0);
	assert_int_equal(qp->ibv.state, IBV_QPS_RTS);
	assert_int_equal(qp->attr.retry_cnt, 6);
	assert_int_equal(qp->attr.rnr_retry, 5);
	assert_int_equal(qp->attr.timeout, 14);
	assert_int_equal(vrb_ep(rig->ep)->peer_qp_num, 0x2b1);
	fake.timers = 17;
	vrb_params.ack_timeout = 0;
	qp->ibv.state = IBV_QPS_INIT;
	assert_int_equal(vrb_qp_connect(vrb_ep(rig->ep), NULL), 0);
	assert_int_equal(qp->attr.timeout, 17);
}

/* On the way to RTR; the fake keeps what came last, so the next call fails. */
static void test_rnr_timer(void **state)
{
	struct rig *rig = *state;
	struct fake_qp *qp;

	rig_enable(rig);
	qp = fake_qp(rig_qp(rig));
	vrb_params.min_rnr_timer = 9;
	fake.fail_at = fake.calls + 5;
	fake.fail_errno = EINVAL;
	assert_int_equal(vrb_qp_connect(vrb_ep(rig->ep), NULL), -FI_EINVAL);
	assert_string_equal(fake.failed, "rdma_init_qp_attr");
	assert_int_equal(qp->ibv.state, IBV_QPS_RTR);
	assert_int_equal(qp->attr.min_rnr_timer, 9);
}

static void test_connect_fails(void **state)
{
	struct rig *rig = *state;
	int n, ret;

	rig_enable(rig);
	for (n = 1;; n++) {
		fake.fail_at = fake.calls + n;
		fake.fail_errno = 20 + n;
		fake.failed = NULL;
		rig_qp(rig)->state = IBV_QPS_INIT;
		ret = vrb_qp_connect(vrb_ep(rig->ep), NULL);
		if (!fake.failed)
			break;
		assert_int_equal(ret, -(20 + n));
		/* Another attempt goes on from there; a third has nothing to do. */
		assert_int_equal(vrb_qp_connect(vrb_ep(rig->ep), NULL), 0);
		assert_int_equal(vrb_qp_connect(vrb_ep(rig->ep), NULL), 0);
		assert_int_equal(rig_qp(rig)->state, IBV_QPS_RTS);
	}
	assert_int_equal(ret, 0);
	assert_int_equal(n, 7);
}

static void test_flush(void **state)
{
	struct rig *rig = *state;

	rig_connect(rig);
	assert_int_equal(rig_send(rig->ep, rig), 0);
	vrb_qp_flush(vrb_ep(rig->ep));
	assert_int_equal(rig_qp(rig)->state, IBV_QPS_ERR);
	assert_ptr_equal(rig_error(rig->cq[0]).op_context, rig);
	vrb_qp_destroy(vrb_ep(rig->ep));
	vrb_qp_destroy(vrb_ep(rig->ep));
	vrb_qp_flush(vrb_ep(rig->ep));
	assert_int_equal(fake.qps, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(test_create),		RIG_TEST(test_inline), RIG_TEST(test_too_much),
		RIG_TEST(test_no_atomics),	RIG_TEST(test_port),   RIG_TEST(test_timers),
		RIG_TEST(test_rnr_timer),	RIG_TEST(test_flush),  RIG_TEST(test_connect_fails),
		RIG_TEST(test_errno_of_before),
	};

	return cmocka_run_group_tests_name("verbs_qp", tests, NULL, NULL);
}
