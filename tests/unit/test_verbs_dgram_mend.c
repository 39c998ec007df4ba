/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Datagram endpoints that have sent without a completion and then stop at an error. */
#include "unit.h"

#include <unistd.h>
#include "prov/verbs/dgram/dgram.h"
#include "verbs_rig.h"

static struct fid_av *av;
static fi_addr_t to;
static uint8_t buf[256];

static void dgram_hints(struct rig *rig)
{
	rig->info->caps = FI_MSG | FI_SEND | FI_RECV;
	rig->info->addr_format = FI_ADDR_IB_UD;
	rig->info->ep_attr->type = FI_EP_DGRAM;
	rig->info->ep_attr->max_msg_size = sizeof(buf);
}

/* Enables the endpoint, too. */
static void open_av(struct rig *rig)
{
	struct fi_av_attr attr = { .type = FI_AV_TABLE };

	assert_int_equal(fi_av_open(rig->domain, &attr, &av, NULL), 0);
	assert_int_equal(fi_ep_bind(rig->ep, &av->fid, 0), 0);
	assert_int_equal(fi_enable(rig->ep), 0);
	assert_int_equal(fi_av_insert(av, &vrb_dgram(rig->ep)->name, 1, &to, 0, NULL), 1);
}

static void open_dgram(struct rig *rig)
{
	dgram_hints(rig);
	rig_open_ep(rig);
	open_av(rig);
}

static void close_dgram(struct rig *rig)
{
	assert_int_equal(fi_close(&rig->ep->fid), 0);
	rig->ep = NULL;
	assert_int_equal(fi_close(&av->fid), 0);
}

/* As a device does whose queue pair stops at an error. */
static void fail_recv(struct rig *rig)
{
	struct ibv_qp *qp = rig_qp(rig);

	fake_complete_recv(qp, IBV_WC_LOC_LEN_ERR, IBV_WC_RECV, 0, NULL);
	qp->state = IBV_QPS_ERR;
	fake_flush(qp);
	assert_int_equal(rig_error(rig->cq[1]).err, FI_ETRUNC);
}

/* Sends without a completion that were sent before the error are retired, too. */
static void mend_after_inject(struct rig *rig)
{
	int i;

	open_dgram(rig);
	for (i = 0; i < 3; i++) {
		assert_int_equal(fi_inject(rig->ep, buf, 8, to), 0);
		fake_complete_sends(rig_qp(rig), 1, IBV_WC_SUCCESS);
		assert_int_equal(fi_recv(rig->ep, buf, 10, NULL, 0, NULL), 0);
		fail_recv(rig);
		assert_int_equal(fi_inject(rig->ep, buf, 8, to), 0);
		assert_int_equal(rig_qp(rig)->state, IBV_QPS_RTS);
		fake_complete_sends(rig_qp(rig), 1, IBV_WC_SUCCESS);
		rig_no_entry(rig->cq[0]);
	}
	close_dgram(rig);
}

static void test_mend_after_inject(void **state)
{
	mend_after_inject(*state);
}

/* No marker can be posted, so the queue pair is reset. */
static void test_mend_strict(void **state)
{
	fake.strict = true;
	mend_after_inject(*state);
}

/* The reset discards no completion that the application has not read, and none is read twice. */
static void test_mend_strict_unread(void **state)
{
	struct rig *rig = *state;
	int i;

	fake.strict = fake.forgets = true;
	open_dgram(rig);
	for (i = 0; i < 3; i++) {
		assert_int_equal(fi_recv(rig->ep, buf, 10, NULL, 0, NULL), 0);
		assert_int_equal(fi_send(rig->ep, buf, 8, NULL, to, &i), 0);
		assert_int_equal(fi_inject(rig->ep, buf, 8, to), 0);
		fake_complete_sends(rig_qp(rig), 2, IBV_WC_SUCCESS);
		fail_recv(rig);
		assert_int_equal(fi_inject(rig->ep, buf, 8, to), -FI_EAGAIN);
		assert_int_equal(rig_qp(rig)->state, IBV_QPS_ERR);
		assert_ptr_equal(rig_entry(rig->cq[0]).op_context, &i);
		rig_no_entry(rig->cq[0]);
		assert_int_equal(fi_inject(rig->ep, buf, 8, to), 0);
		assert_int_equal(rig_qp(rig)->state, IBV_QPS_RTS);
		fake_complete_sends(rig_qp(rig), 1, IBV_WC_SUCCESS);
		rig_no_entry(rig->cq[0]);
	}
	close_dgram(rig);
}

/* The device is late to flush: a send that asks for a completion gets it. */
static void test_mend_strict_late(void **state)
{
	struct rig *rig = *state;
	struct ibv_qp *qp;
	int i;

	fake.strict = fake.forgets = true;
	rig->info->domain_attr->threading = FI_THREAD_FID;
	open_dgram(rig);
	qp = rig_qp(rig);
	assert_int_equal(fi_recv(rig->ep, buf, 10, NULL, 0, NULL), 0);
	assert_int_equal(fi_send(rig->ep, buf, 8, NULL, to, &i), 0);
	assert_int_equal(fi_inject(rig->ep, buf, 8, to), 0);
	fake_complete_recv(qp, IBV_WC_LOC_LEN_ERR, IBV_WC_RECV, 0, NULL);
	qp->state = IBV_QPS_ERR;
	assert_int_equal(rig_error(rig->cq[1]).err, FI_ETRUNC);
	for (i = 0; i < 3; i++)
		assert_int_equal(fi_inject(rig->ep, buf, 8, to), -FI_EAGAIN);
	assert_int_equal(qp->state, IBV_QPS_ERR);
	fake_flush(qp);
	assert_ptr_equal(rig_error(rig->cq[0]).op_context, &i);
	assert_int_equal(rig_error(rig->cq[0]).err, FI_ECANCELED);
	rig_no_entry(rig->cq[0]);
	assert_int_equal(fi_inject(rig->ep, buf, 8, to), 0);
	assert_int_equal(qp->state, IBV_QPS_RTS);
	close_dgram(rig);
}

/* The application learns of each send that the device flushes, but not of the marker behind. */
static void test_flushed_inject(void **state)
{
	struct rig *rig = *state;

	open_dgram(rig);
	assert_int_equal(fi_recv(rig->ep, buf, 10, NULL, 0, NULL), 0);
	assert_int_equal(fi_inject(rig->ep, buf, 8, to), 0);
	assert_int_equal(fi_inject(rig->ep, buf, 8, to), 0);
	fake_complete_sends(rig_qp(rig), 1, IBV_WC_SUCCESS);
	fail_recv(rig);
	assert_int_equal(fi_recv(rig->ep, buf, 8, NULL, 0, NULL), -FI_EAGAIN);
	assert_int_equal(fi_recv(rig->ep, buf, 8, NULL, 0, NULL), -FI_EAGAIN);
	assert_int_equal(rig_error(rig->cq[0]).err, FI_ECANCELED);
	assert_int_equal(fi_cq_readerr(rig->cq[0], &(struct fi_cq_err_entry){ 0 }, 0), -FI_EAGAIN);
	rig_no_entry(rig->cq[0]);
	assert_int_equal(fi_recv(rig->ep, buf, 8, NULL, 0, NULL), 0);
	close_dgram(rig);
}

/* Posts to a queue of an endpoint that counts and has no completion queue, until it is full. */
static int fill(struct fid_ep *ep, bool sends)
{
	int n;

	for (n = 0; !(sends ? fi_send(ep, buf, 8, NULL, to, NULL)
			    : fi_recv(ep, buf, sizeof(buf), NULL, 0, NULL));
	     n++)
		;
	return n;
}

/* The post itself reads the error, while it holds the lock of the queue that the error shuts. */
static void full_queue_fails(struct rig *rig, bool sends)
{
	struct fi_cntr_attr attr = { .events = FI_CNTR_EVENTS_COMP };
	struct fid_cntr *cntr;
	int n;

	dgram_hints(rig);
	rig_open_domain(rig);
	assert_int_equal(fi_endpoint(rig->domain, rig->info, &rig->ep, NULL), 0);
	assert_int_equal(fi_cntr_open(rig->domain, &attr, &cntr, NULL), 0);
	assert_int_equal(fi_ep_bind(rig->ep, &cntr->fid, FI_SEND | FI_RECV), 0);
	open_av(rig);
	n = fill(rig->ep, sends);
	assert_true(n > 1);
	if (sends)
		fake_complete_sends(rig_qp(rig), 1, IBV_WC_LOC_QP_OP_ERR);
	else
		fake_complete_recv(rig_qp(rig), IBV_WC_LOC_LEN_ERR, IBV_WC_RECV, 0, NULL);
	rig_qp(rig)->state = IBV_QPS_ERR;
	alarm(20);
	assert_int_equal(fill(rig->ep, sends), 0);
	fake_flush(rig_qp(rig));
	assert_int_equal(fill(rig->ep, sends), n);
	alarm(0);
	assert_int_equal(rig_qp(rig)->state, IBV_QPS_RTS);
	assert_int_equal(fi_cntr_readerr(cntr), n);
	close_dgram(rig);
	assert_int_equal(fi_close(&cntr->fid), 0);
}

static void test_full_send_queue_fails(void **state)
{
	full_queue_fails(*state, true);
}

static void test_full_recv_queue_fails(void **state)
{
	full_queue_fails(*state, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(test_mend_after_inject),     RIG_TEST(test_mend_strict),
		RIG_TEST(test_mend_strict_unread),    RIG_TEST(test_mend_strict_late),
		RIG_TEST(test_flushed_inject),	      RIG_TEST(test_full_send_queue_fails),
		RIG_TEST(test_full_recv_queue_fails),
	};

	return RIG_RUN("dgram mend", tests);
}
