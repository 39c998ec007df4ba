/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Buffers of FI_MULTI_RECV: segments, their completions, the last one of a buffer, failures;
 * fi_cancel.
 */
#include "unit.h"

#include <errno.h>
#include "prov/base/cntr.h"
#include "prov/base/ep.h"
#include "prov/verbs/msg/multi.h"
#include "verbs_rig.h"

enum { LEN = 1024, PART = 256 };

static char buf[LEN];
static int mark;

static void open_ep(struct rig *rig, size_t min)
{
	rig->info->caps |= FI_MULTI_RECV;
	rig_connect(rig);
	assert_int_equal(
		fi_setopt(&rig->ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &min, sizeof(min)),
		0);
}

static ssize_t post(struct rig *rig, size_t len, uint64_t flags)
{
	struct iovec iov = { buf, len };
	void *desc = (void *)7;
	struct fi_msg msg = { .msg_iov = &iov, .desc = &desc, .iov_count = 1, .context = &mark };

	return fi_recvmsg(rig->ep, &msg, flags);
}

static void arrive(struct rig *rig, uint32_t len)
{
	fake_complete_recv(rig_qp(rig), IBV_WC_SUCCESS, IBV_WC_RECV, len, NULL);
}

static void expect_part(struct rig *rig, size_t at, size_t len, bool last)
{
	struct fi_cq_data_entry entry = rig_entry(rig->cq[1]);

	assert_ptr_equal(entry.op_context, &mark);
	assert_ptr_equal(entry.buf, buf + at);
	assert_int_equal(entry.len, len);
	assert_int_equal(entry.flags, FI_MSG | FI_RECV | (last ? FI_MULTI_RECV : 0));
}

static void test_parts(void **state)
{
	size_t size;

	(void)state;
	assert_int_equal(vrb_multi_parts(1000, 1000, 8, &size), 1);
	assert_int_equal(size, 1000);
	assert_int_equal(vrb_multi_parts(1999, 1000, 8, &size), 1);
	assert_int_equal(vrb_multi_parts(2000, 1000, 8, &size), 2);
	assert_int_equal(size, 1000);
	assert_int_equal(vrb_multi_parts(2600, 1000, 8, &size), 2);
	assert_int_equal(size, 1280);
	assert_int_equal(vrb_multi_parts(64 * 1000, 1000, 384, &size), 64);
	assert_int_equal(size, 1000);
	assert_int_equal(vrb_multi_parts(1 << 20, 64, 384, &size), VRB_MULTI_PARTS);
	assert_int_equal(size, (1 << 20) / VRB_MULTI_PARTS);
	assert_int_equal(vrb_multi_parts(1 << 20, 64, 8, &size), 8);
}

static void test_completions(void **state)
{
	struct rig *rig = *state;
	int round, i;

	open_ep(rig, PART);
	for (round = 0; round < 5; round++) {
		assert_int_equal(post(rig, LEN, FI_MULTI_RECV | FI_COMPLETION), 0);
		assert_int_equal(fi_rx_size_left(rig->ep), 4);
		assert_int_equal(fi_recv(rig->ep, buf, 8, NULL, 0, NULL), 0);
		for (i = 0; i < 4; i++) {
			arrive(rig, (uint32_t)(10 + i));
			expect_part(rig, (size_t)i * PART, (size_t)(10 + i), i == 3);
		}
		arrive(rig, 1);
		assert_null(rig_entry(rig->cq[1]).buf);
		assert_int_equal(fi_rx_size_left(rig->ep), 8);
	}
	assert_int_equal(fake_qp(rig_qp(rig))->recvs.last.sge[0].lkey, 0);
}

static void test_room(void **state)
{
	struct rig *rig = *state;

	open_ep(rig, PART);
	assert_int_equal(post(rig, LEN, FI_MULTI_RECV), 0);
	assert_int_equal(fi_recv(rig->ep, buf, 8, NULL, 0, NULL), 0);
	assert_int_equal(post(rig, LEN, FI_MULTI_RECV), -FI_EAGAIN);
	assert_int_equal(fi_rx_size_left(rig->ep), 3);
	assert_int_equal(post(rig, 3 * PART, FI_MULTI_RECV), 0);
	assert_int_equal(fi_recv(rig->ep, buf, 8, NULL, 0, NULL), -FI_EAGAIN);
	assert_int_equal(post(rig, PART, FI_MULTI_RECV), -FI_EAGAIN);
}

static void test_bad(void **state)
{
	struct iovec iov[2] = { { buf, PART }, { buf, PART } };
	struct fi_msg msg = { .msg_iov = iov, .iov_count = 2 };
	struct rig *rig = *state;
	size_t value = 0, len = sizeof(value);
	fid_t fid;

	open_ep(rig, PART);
	fid = &rig->ep->fid;
	assert_int_equal(fi_recvmsg(rig->ep, &msg, FI_MULTI_RECV), -FI_EINVAL);
	assert_int_equal(fi_recvmsg(rig->ep, NULL, FI_MULTI_RECV), -FI_EINVAL);
	assert_int_equal(post(rig, PART - 1, FI_MULTI_RECV), -FI_EINVAL);
	assert_int_equal(post(rig, 1ULL << 32, FI_MULTI_RECV), -FI_EMSGSIZE);
	assert_int_equal(post(rig, 1ULL << 32, FI_MULTI_RECV | OFI_RX_FLAGS), -FI_EMSGSIZE);
	assert_int_equal(post(rig, LEN, FI_MULTI_RECV | FI_PEEK), -FI_EBADFLAGS);
	assert_int_equal(fi_setopt(fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &value, len),
			 -FI_EINVAL);
	value = SIZE_MAX;
	assert_int_equal(fi_setopt(fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &value, len),
			 -FI_EINVAL);
	assert_int_equal(fi_getopt(fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &value, &len), 0);
	assert_int_equal(value, PART);
	assert_int_equal(fi_rx_size_left(rig->ep), 8);
}

static void test_not_asked(void **state)
{
	size_t value, len = sizeof(value);
	struct rig *rig = *state;

	rig_connect(rig);
	assert_int_equal(post(rig, LEN, FI_MULTI_RECV), -FI_EBADFLAGS);
	assert_int_equal(
		fi_getopt(&rig->ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &value, &len),
		-FI_ENOPROTOOPT);
	assert_int_equal(vrb_cq(rig->cq[1])->special & VRB_CQ_TRACED, 0);
}

/* As a default, and without entries but for the last. */
static void test_op_flags(void **state)
{
	struct rig *rig = *state;

	rig->info->rx_attr->op_flags = FI_MULTI_RECV;
	rig->rx_bind = FI_SELECTIVE_COMPLETION;
	open_ep(rig, PART);
	assert_int_equal(fi_recv(rig->ep, buf, LEN, NULL, 0, &mark), 0);
	assert_int_equal(fi_rx_size_left(rig->ep), 4);
	arrive(rig, 1);
	arrive(rig, 1);
	arrive(rig, 1);
	rig_no_entry(rig->cq[1]);
	arrive(rig, 5);
	expect_part(rig, 3 * PART, 5, true);
}

/* One error for a buffer that is flushed; a part that fails by itself is told too. */
static void test_errors(void **state)
{
	struct rig *rig = *state;
	struct fi_cq_err_entry error;

	open_ep(rig, PART);
	assert_int_equal(post(rig, LEN, FI_MULTI_RECV), 0);
	arrive(rig, 3);
	fake_complete_recv(rig_qp(rig), IBV_WC_LOC_LEN_ERR, IBV_WC_RECV, 0, NULL);
	vrb_ep_down(vrb_ep(rig->ep), -FI_ENOTCONN);
	expect_part(rig, 0, 3, false);
	error = rig_error(rig->cq[1]);
	assert_int_equal(error.err, FI_ETRUNC);
	assert_int_equal(error.flags, FI_MSG | FI_RECV);
	error = rig_error(rig->cq[1]);
	assert_int_equal(error.err, FI_ECANCELED);
	assert_int_equal(error.flags, FI_MSG | FI_RECV | FI_MULTI_RECV);
	rig_no_entry(rig->cq[1]);
	assert_int_equal(post(rig, LEN, FI_MULTI_RECV), -FI_ENOTCONN);
}

static void test_lost(void **state)
{
	struct rig *rig = *state;
	struct fi_cq_err_entry error;

	open_ep(rig, PART);
	fake_qp(rig_qp(rig))->deaf = true;
	assert_int_equal(post(rig, LEN, FI_MULTI_RECV), 0);
	vrb_ep_down(vrb_ep(rig->ep), -FI_ENODEV);
	error = rig_error(rig->cq[1]);
	assert_int_equal(error.flags, FI_MSG | FI_RECV | FI_MULTI_RECV);
	rig_no_entry(rig->cq[1]);
}

static void test_post_fails(void **state)
{
	struct rig *rig = *state;

	open_ep(rig, PART);
	fake_qp(rig_qp(rig))->post_err = EINVAL;
	assert_int_equal(post(rig, LEN, FI_MULTI_RECV), -FI_EINVAL);
	assert_int_equal(fi_rx_size_left(rig->ep), 8);
	fake_qp(rig_qp(rig))->post_err = ENOMEM;
	fake_qp(rig_qp(rig))->post_good = 2;
	assert_int_equal(post(rig, LEN, FI_MULTI_RECV), -FI_ENOMEM);
	assert_int_equal(rig_qp(rig)->state, IBV_QPS_ERR);
	rig_no_entry(rig->cq[1]);
	assert_int_equal(post(rig, LEN, FI_MULTI_RECV), -FI_EIO);
	assert_int_equal(fi_recv(rig->ep, buf, 8, NULL, 0, NULL), -FI_EIO);
}

static void test_counted(void **state)
{
	struct fi_cntr_attr attr = { 0 };
	struct rig *rig = *state;
	struct fid_cntr *cntr;
	size_t min = PART;

	rig->info->caps |= FI_MULTI_RECV;
	rig_open_ep(rig);
	assert_int_equal(fi_cntr_open(rig->domain, &attr, &cntr, NULL), 0);
	assert_int_equal(fi_ep_bind(rig->ep, &cntr->fid, FI_RECV), 0);
	assert_int_equal(
		fi_setopt(&rig->ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &min, sizeof(min)),
		0);
	assert_int_equal(fi_enable(rig->ep), 0);
	assert_int_equal(post(rig, LEN, FI_MULTI_RECV), 0);
	arrive(rig, 1);
	arrive(rig, 2);
	assert_int_equal(fi_cntr_read(cntr), 2);
	fake_flush(rig_qp(rig));
	assert_int_equal(fi_cntr_readerr(cntr), 1);
	expect_part(rig, 0, 1, false);
	expect_part(rig, PART, 2, false);
	assert_int_equal(rig_error(rig->cq[1]).err, FI_ECANCELED);
	assert_int_equal(fi_close(&rig->ep->fid), 0);
	rig->ep = NULL;
	assert_int_equal(fi_close(&cntr->fid), 0);
}

static void test_cancel(void **state)
{
	struct rig *rig = *state;

	open_ep(rig, PART);
	assert_int_equal(fi_recv(rig->ep, buf, 8, NULL, 0, &mark), 0);
	assert_int_equal(fi_cancel(&rig->ep->fid, &mark), -FI_ENOENT);
	assert_int_equal(fi_cancel(&rig->ep->fid, NULL), -FI_ENOENT);
	arrive(rig, 1);
	assert_ptr_equal(rig_entry(rig->cq[1]).op_context, &mark);
}

static void test_long(void **state)
{
	struct rig *rig = *state;

	rig->info->rx_attr->size = 1;
	open_ep(rig, PART);
	assert_int_equal(post(rig, UINT32_MAX, FI_MULTI_RECV), 0);
	assert_int_equal(fake_qp(rig_qp(rig))->recvs.last.sge[0].length, INT32_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(test_parts),	RIG_TEST(test_completions), RIG_TEST(test_room),
		RIG_TEST(test_bad),	RIG_TEST(test_not_asked),   RIG_TEST(test_op_flags),
		RIG_TEST(test_errors),	RIG_TEST(test_lost),	    RIG_TEST(test_post_fails),
		RIG_TEST(test_counted), RIG_TEST(test_cancel),	    RIG_TEST(test_long),
	};

	return RIG_RUN("verbs_multi", tests);
}
