/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* An endpoint whose device has no completion events: nobody sleeps until one comes. */
#include "unit.h"
#include <errno.h>
#include <fcntl.h>
#include <rdma/fi_errno.h>
#include "fake_verbs.h"
#include "prov/verbs/rdm/progress.h"

enum { SIZE = 100 };

static struct vrb_domain domain;
static struct vrb_rc_ep rc;

static int begin(void **state)
{
	(void)state;
	fake_reset();
	memset(&rc, 0, sizeof(rc));
	domain.ctx = &fake.ctx;
	rc.rdm.domain = &domain.base;
	rc.channel = ibv_create_comp_channel(&fake.ctx);
	assert_int_equal(fcntl(rc.channel->fd, F_SETFL, O_NONBLOCK), 0);
	return 0;
}

static int end(void **state)
{
	(void)state;
	if (rc.cq)
		ibv_destroy_cq(rc.cq);
	ibv_destroy_comp_channel(rc.channel);
	fake_all_closed();
	return 0;
}

static void test_events(void **state)
{
	(void)state;
	assert_int_equal(vrb_rdm_create_cq(&rc.rdm, SIZE), 0);
	assert_ptr_equal(rc.cq->channel, rc.channel);
	assert_ptr_equal(rc.poll_cq, rc.cq);
	assert_int_equal(fake_cq(rc.cq)->requested, SIZE);
	assert_int_equal(vrb_rdm_arm(&rc.rdm.proto), 0);
	assert_true(fake_cq(rc.cq)->armed);
}

static void test_no_events(void **state)
{
	(void)state;
	fake.no_events = true;
	assert_int_equal(vrb_rdm_create_cq(&rc.rdm, SIZE), 0);
	assert_null(rc.cq->channel);
	assert_ptr_equal(rc.poll_cq, rc.cq);
	assert_int_equal(fake_cq(rc.cq)->requested, SIZE);
	/* libefa has nothing to request events with. */
	assert_int_equal(vrb_rdm_arm(&rc.rdm.proto), -FI_EAGAIN);
	assert_int_equal(vrb_rdm_arm(&rc.rdm.proto), -FI_EAGAIN);
	assert_false(fake_cq(rc.cq)->armed);
}

static void test_other_failures(void **state)
{
	(void)state;
	fake.fail_at = fake.calls + 1;
	fake.fail_errno = ENOMEM;
	assert_int_equal(vrb_rdm_create_cq(&rc.rdm, SIZE), -1);
	assert_int_equal(errno, ENOMEM);
	assert_null(rc.cq);
	assert_false(rc.deaf);
	fake.no_events = true;
	fake.fail_at = fake.calls + 2;
	assert_int_equal(vrb_rdm_create_cq(&rc.rdm, SIZE), -1);
	assert_null(rc.cq);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_events, begin, end),
		cmocka_unit_test_setup_teardown(test_no_events, begin, end),
		cmocka_unit_test_setup_teardown(test_other_failures, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
