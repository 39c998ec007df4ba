/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* FI_MORE: one doorbell for several operations, and each of them completes exactly once. */
#include "unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <rdma/fi_rma.h>
#include "prov/verbs/queue/batch.h"
#include "verbs_rig.h"

#define SIZE   64
#define INJECT 64

static char context[SIZE];

static struct fake_qp *open_all(struct rig *rig)
{
	rig->info->tx_attr->size = SIZE;
	rig_connect(rig);
	return fake_qp(rig_qp(rig));
}

/* A message of 0 bytes with context[i]. */
static ssize_t post(struct rig *rig, int i, uint64_t flags)
{
	struct fi_msg msg = { .context = &context[i] };

	return fi_sendmsg(rig->ep, &msg, flags);
}

static void expect(struct rig *rig, int first, int count)
{
	int i;

	for (i = first; i < first + count; i++)
		assert_ptr_equal(rig_entry(rig->cq[0]).op_context, &context[i]);
}

static void expect_errors(struct rig *rig, int first, int count, int err)
{
	struct fi_cq_err_entry error;
	int i;

	for (i = first; i < first + count; i++) {
		error = rig_error(rig->cq[0]);
		assert_ptr_equal(error.op_context, &context[i]);
		assert_int_equal(error.err, err);
	}
	rig_no_entry(rig->cq[0]);
}

static void test_one_doorbell(void **state)
{
	struct rig *rig = *state;
	struct fake_qp *qp = open_all(rig);
	int i;

	for (i = 0; i < 15; i++)
		assert_int_equal(post(rig, i, FI_MORE), 0);
	assert_int_equal(qp->doorbells, 0);
	assert_int_equal(fi_tx_size_left(rig->ep), SIZE - 15);
	assert_int_equal(post(rig, 15, 0), 0);
	assert_int_equal(qp->doorbells, 1);
	assert_int_equal(qp->sends.count, 16);
	fake_complete_sends(rig_qp(rig), 16, IBV_WC_SUCCESS);
	expect(rig, 0, 16);
	rig_no_entry(rig->cq[0]);

	/* Any call that comes next ends the batch. */
	assert_int_equal(post(rig, 0, FI_MORE), 0);
	assert_int_equal(fi_send(rig->ep, NULL, 0, NULL, 0, &context[1]), 0);
	assert_int_equal(post(rig, 2, FI_MORE), 0);
	assert_int_equal(fi_inject(rig->ep, NULL, 0, 0), 0);
	assert_int_equal(qp->doorbells, 3);
	assert_int_equal(qp->sends.count, 4);
}

/* A poll posts what is held, and looks at no other queues. */
static void test_polls_find_what_is_held(void **state)
{
	struct rig *rig = *state;
	struct fake_qp *qp = open_all(rig);
	struct fid_ep *other = rig_another_ep(rig);
	struct vrb_cq *cq = vrb_cq(rig->cq[0]);
	struct vrb_wq *first = LIST_FIRST(&cq->wqs);
	struct fi_msg msg = { .context = context };
	int round;

	LIST_INIT(&cq->wqs);
	for (round = 0; round < 3; round++) {
		assert_int_equal(post(rig, 0, FI_MORE), 0);
		rig_no_entry(rig->cq[0]);
		assert_int_equal(qp->doorbells, 3 * round + 1);
		/* What is posted without a poll is not found, what follows is. */
		assert_int_equal(post(rig, 0, FI_MORE), 0);
		assert_int_equal(post(rig, 0, 0), 0);
		assert_int_equal(post(rig, 0, FI_MORE), 0);
		assert_int_equal(fi_sendmsg(other, &msg, FI_MORE), 0);
		rig_no_entry(rig->cq[0]);
		rig_no_entry(rig->cq[0]);
		assert_int_equal(qp->doorbells, 3 * round + 3);
		assert_int_equal(fake_qp(vrb_ep(other)->qp)->doorbells, round + 1);
	}
	/* An endpoint that closes is not found any more. */
	assert_int_equal(fi_sendmsg(other, &msg, FI_MORE), 0);
	LIST_FIRST(&cq->wqs) = first;
	assert_int_equal(fi_close(&other->fid), 0);
	assert_int_equal(post(rig, 0, FI_MORE), 0);
	rig_no_entry(rig->cq[0]);
	assert_int_equal(qp->doorbells, 10);
}

/* Endless FI_MORE rings by itself: when a batch is full, and when the queue is. */
static void test_full(void **state)
{
	struct rig *rig = *state;
	struct fake_qp *qp = open_all(rig);
	int i;

	for (i = 0; i < VRB_BATCH_MAX; i++)
		assert_int_equal(post(rig, i, FI_MORE), 0);
	assert_int_equal(qp->doorbells, 1);
	for (; i < SIZE - 1; i++)
		assert_int_equal(post(rig, i, FI_MORE), 0);
	assert_int_equal(qp->doorbells, 1);
	fake_complete_sends(rig_qp(rig), VRB_BATCH_MAX, IBV_WC_SUCCESS);
	expect(rig, 0, VRB_BATCH_MAX);
	for (i = 0; i < SIZE; i++)
		if (post(rig, i, FI_MORE) == -FI_EAGAIN)
			break;
	assert_int_equal(qp->sends.count, SIZE);
	assert_int_equal(i, VRB_BATCH_MAX + 1);
}

/* What is held is a copy: data that goes inline, and the arrays. */
static void test_copies(void **state)
{
	char data[INJECT], kept[INJECT], far[200];
	struct iovec iov[3] = { { data, 10 }, { data + 10, 0 }, { data + 20, 20 } };
	struct fi_msg msg = { .msg_iov = iov, .iov_count = 3, .context = context };
	struct rig *rig = *state;
	struct fake_qp *qp = open_all(rig);
	struct fake_post *posts = qp->sends.posts;
	int i;

	for (i = 0; i < INJECT; i++)
		kept[i] = data[i] = (char)i;
	assert_int_equal(fi_sendmsg(rig->ep, &msg, FI_MORE | FI_INJECT), 0);
	iov[0] = (struct iovec){ far, 150 };
	iov[1] = (struct iovec){ far + 150, 50 };
	msg.iov_count = 2;
	assert_int_equal(fi_sendmsg(rig->ep, &msg, FI_MORE), 0);
	iov[0] = (struct iovec){ data, INJECT };
	msg.iov_count = 1;
	assert_int_equal(fi_sendmsg(rig->ep, &msg, FI_MORE), 0);
	memset(data, 0xff, sizeof(data));
	memset(iov, 0xff, sizeof(iov));
	assert_int_equal(post(rig, 1, FI_MORE), 0);
	assert_int_equal(post(rig, 2, 0), 0);

	assert_int_equal(posts[0].len, 30);
	assert_memory_equal(posts[0].data, kept, 10);
	assert_memory_equal(posts[0].data + 10, kept + 20, 20);
	assert_int_equal(posts[1].wr.num_sge, 2);
	assert_ptr_equal((void *)(uintptr_t)posts[1].sge[1].addr, far + 150);
	assert_int_equal(posts[1].sge[1].length, 50);
	assert_int_equal(posts[2].len, INJECT);
	assert_memory_equal(posts[2].data, kept, INJECT);
	assert_int_equal(posts[3].wr.num_sge, 0);
}

static void check_singles(const struct fake_post *posts, const char *data)
{
	assert_string_equal((char *)posts[0].data, "some text");
	assert_int_equal(posts[0].len, 10);
	assert_int_equal(posts[0].wr.opcode, IBV_WR_SEND);
	assert_int_equal(posts[0].wr.send_flags & ~IBV_SEND_SIGNALED,
			 IBV_SEND_INLINE | IBV_SEND_FENCE);
	assert_int_equal(posts[1].wr.opcode, IBV_WR_SEND_WITH_IMM);
	assert_int_equal(posts[1].wr.imm_data, htonl(0x01020304));
	assert_int_equal(posts[1].wr.send_flags, IBV_SEND_SIGNALED);
	assert_ptr_equal((void *)(uintptr_t)posts[1].sge[0].addr, data);
	assert_int_equal(posts[1].sge[0].length, INJECT + 1);
	assert_int_equal(posts[1].sge[0].lkey, 0x77);
}

/* One buffer, as in most messages: the fast path sets everything that the slow path does. */
static void test_single(void **state)
{
	char data[INJECT + 8] = "some text";
	void *desc = (void *)(uintptr_t)0x77;
	struct iovec iov = { data, 10 };
	struct fi_msg msg = { .msg_iov = &iov, .iov_count = 1, .data = 0x01020304 };
	struct rig *rig = *state;
	struct fake_qp *qp;
	struct fake_post *posts;
	unsigned int i;

	rig->tx_bind = FI_SELECTIVE_COMPLETION;
	qp = open_all(rig);
	posts = qp->sends.posts;
	assert_int_equal(fi_sendmsg(rig->ep, &msg, FI_MORE | FI_FENCE), 0);
	msg.desc = &desc;
	iov.iov_len = INJECT + 1;
	msg.context = &context[1];
	assert_int_equal(fi_sendmsg(rig->ep, &msg, FI_MORE | FI_COMPLETION | FI_REMOTE_CQ_DATA), 0);
	msg.data = 1ULL << 32;
	assert_int_equal(fi_sendmsg(rig->ep, &msg, FI_MORE | FI_REMOTE_CQ_DATA), -FI_EINVAL);
	assert_int_equal(fi_sendmsg(rig->ep, &msg, FI_MORE | FI_INJECT), -FI_EMSGSIZE);
	assert_int_equal(fi_sendmsg(rig->ep, &msg, FI_MORE | FI_MULTICAST), -FI_EBADFLAGS);
	assert_int_equal(fi_sendmsg(rig->ep, NULL, FI_MORE), -FI_EINVAL);
	iov.iov_base = NULL;
	assert_int_equal(fi_sendmsg(rig->ep, &msg, FI_MORE), -FI_EINVAL);
	msg.msg_iov = NULL;
	assert_int_equal(fi_sendmsg(rig->ep, &msg, FI_MORE), -FI_EINVAL);
	memset(data, 'x', sizeof(data));
	assert_int_equal(qp->doorbells, 0);
	assert_int_equal(post(rig, 2, FI_COMPLETION), 0);
	assert_int_equal(qp->doorbells, 1);
	assert_int_equal(qp->sends.count, 3);

	check_singles(posts, data);
	for (i = 0; i < 3; i++)
		fake_complete_sends(rig_qp(rig), 1, IBV_WC_SUCCESS);
	expect(rig, 1, 2);
	rig_no_entry(rig->cq[0]);
}

/* RMA takes part, in order. */
static void test_mixed(void **state)
{
	struct fi_rma_iov remote = { .key = 1 };
	struct fi_msg_rma rma = { .rma_iov = &remote, .rma_iov_count = 1 };
	struct rig *rig = *state;
	struct fake_qp *qp = open_all(rig);

	assert_int_equal(post(rig, 0, FI_MORE), 0);
	assert_int_equal(fi_writemsg(rig->ep, &rma, FI_MORE), 0);
	assert_int_equal(fi_readmsg(rig->ep, &rma, 0), 0);
	assert_int_equal(qp->doorbells, 1);
	assert_int_equal(qp->sends.posts[0].wr.opcode, IBV_WR_SEND);
	assert_int_equal(qp->sends.posts[1].wr.opcode, IBV_WR_RDMA_WRITE);
	assert_int_equal(qp->sends.posts[2].wr.opcode, IBV_WR_RDMA_READ);
}

/*
 * The device refuses one of a batch of n: those before it proceed, those accepted behind it
 * complete in error, and the last call returns the error itself.
 */
static void refuse(struct rig *rig, int n, int good)
{
	struct fake_qp *qp = open_all(rig);
	int i;

	for (i = 0; i < n - 1; i++)
		assert_int_equal(post(rig, i, FI_MORE), 0);
	qp->post_err = ENOMEM;
	qp->post_good = good;
	assert_int_equal(post(rig, n - 1, 0), -FI_ENOMEM);
	if (good == n - 1) { /* only the last */
		assert_int_equal(qp->sends.count, n - 1);
		fake_complete_sends(rig_qp(rig), n - 1, IBV_WC_SUCCESS);
		expect(rig, 0, n - 1);
		rig_no_entry(rig->cq[0]);
		assert_int_equal(post(rig, 0, 0), 0);
		return;
	}
	expect_errors(rig, 0, n - 1, FI_ECANCELED);
	assert_int_equal(post(rig, 0, 0), -FI_EIO);
	assert_int_equal(fi_tx_size_left(rig->ep), 0);
}

static void test_refused(void **state)
{
	struct rig *rig = *state;
	int good;

	for (good = 0; good < 5; good++) {
		refuse(rig, 5, good);
		rig_close(rig);
		rig_init(rig);
	}
	refuse(rig, 1, 0);
}

/* Completed successes before the refused one stay successes. */
static void test_refused_late(void **state)
{
	struct rig *rig = *state;
	struct fake_qp *qp = open_all(rig);
	int i;

	for (i = 0; i < 4; i++)
		assert_int_equal(post(rig, i, 0), 0);
	fake_complete_sends(rig_qp(rig), 3, IBV_WC_SUCCESS);
	for (; i < 8; i++)
		assert_int_equal(post(rig, i, FI_MORE), 0);
	qp->post_err = EINVAL;
	qp->post_good = 2;
	assert_int_equal(post(rig, 8, 0), -FI_EINVAL);
	expect(rig, 0, 3);
	expect_errors(rig, 3, 5, FI_ECANCELED);
}

/* The batch is full or the queue is: nothing of the current call is at stake. */
static void test_refused_by_itself(void **state)
{
	struct rig *rig = *state;
	struct fake_qp *qp;
	int i;

	rig->info->tx_attr->size = 4;
	rig_connect(rig);
	qp = fake_qp(rig_qp(rig));
	for (i = 0; i < 4; i++)
		assert_int_equal(post(rig, i, FI_MORE), 0);
	qp->post_err = ENOMEM;
	qp->post_good = 1;
	assert_int_equal(post(rig, 4, FI_MORE), -FI_EIO);
	expect_errors(rig, 0, 4, FI_ECANCELED);
}

/* A device that takes nothing any more, not even in the error state. */
static void test_device_gone(void **state)
{
	struct rig *rig = *state;
	struct fake_qp *qp = open_all(rig);
	int i;

	for (i = 0; i < 4; i++)
		assert_int_equal(post(rig, i, i < 2 ? 0 : FI_MORE), 0);
	qp->deaf = true;
	qp->post_err = ENODEV;
	assert_int_equal(post(rig, 4, 0), -FI_ENODEV);
	expect_errors(rig, 0, 4, FI_ECANCELED);
}

/* Silent operations of a broken batch are reported too. */
static void test_silent(void **state)
{
	struct rig *rig = *state;
	struct fake_qp *qp;
	int i;

	rig->tx_bind = FI_SELECTIVE_COMPLETION;
	qp = open_all(rig);
	for (i = 0; i < 4; i++)
		assert_int_equal(post(rig, i, FI_MORE), 0);
	qp->post_err = ENOMEM;
	qp->post_good = 1;
	assert_int_equal(post(rig, 4, 0), -FI_ENOMEM);
	expect_errors(rig, 0, 4, FI_ECANCELED);
}

/* Operations held back when the connection ends are not forgotten. */
static void test_down(void **state)
{
	struct rig *rig = *state;

	open_all(rig);
	assert_int_equal(post(rig, 0, 0), 0);
	assert_int_equal(post(rig, 1, FI_MORE), 0);
	assert_int_equal(post(rig, 2, FI_MORE), 0);
	vrb_ep_down(vrb_ep(rig->ep), -FI_ENOTCONN);
	expect_errors(rig, 0, 3, FI_ECANCELED);
	assert_int_equal(post(rig, 3, 0), -FI_ENOTCONN);
	rig_no_entry(rig->cq[0]);
}

/* Held work requests are posted before the error state, in which a device may refuse them. */
static void test_down_refuses(void **state)
{
	struct rig *rig = *state;
	struct fake_qp *qp = open_all(rig);

	qp->deaf = true;
	assert_int_equal(post(rig, 0, 0), 0);
	assert_int_equal(post(rig, 1, FI_MORE), 0);
	vrb_ep_down(vrb_ep(rig->ep), -FI_ENOTCONN);
	assert_int_equal(qp->ibv.state, IBV_QPS_ERR);
	assert_int_equal(qp->sends.count, 2);
	fake_complete_sends(rig_qp(rig), 2, IBV_WC_WR_FLUSH_ERR);
	expect_errors(rig, 0, 2, FI_ECANCELED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(test_one_doorbell),
		RIG_TEST(test_full),
		RIG_TEST(test_polls_find_what_is_held),
		RIG_TEST(test_copies),
		RIG_TEST(test_single),
		RIG_TEST(test_mixed),
		RIG_TEST(test_refused),
		RIG_TEST(test_refused_late),
		RIG_TEST(test_device_gone),
		RIG_TEST(test_refused_by_itself),
		RIG_TEST(test_silent),
		RIG_TEST(test_down),
		RIG_TEST(test_down_refuses),
	};

	return RIG_RUN("verbs_batch", tests);
}
