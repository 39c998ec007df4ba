/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* RMA: the work requests of each call, and what is refused. */
#include "unit.h"

#include <arpa/inet.h>
#include <string.h>
#include <rdma/fi_rma.h>
#include "capture.h"
#include "verbs_rig.h"

#define INJECT	 64
#define MAX_SIZE (1 << 20)
#define DESC	 ((void *)0x12345678)
#define DATA	 0xdeadbeef
#define ADDR	 0xabcdef0123456789
#define KEY	 0x87654321
#define BAD_KEY	 0x187654321

static char buf[MAX_SIZE + 1];

static const struct fake_post *open_all(struct rig *rig)
{
	rig_connect(rig);
	return rig_sent(rig);
}

static void check_remote(const struct fake_post *sent, enum ibv_wr_opcode opcode, size_t len)
{
	assert_int_equal(sent->wr.opcode, opcode);
	assert_true(sent->wr.wr.rdma.remote_addr == ADDR);
	assert_int_equal(sent->wr.wr.rdma.rkey, KEY);
	assert_int_equal(sent->len, len);
}

static void check_done(struct rig *rig, void *context, uint64_t flags)
{
	struct fi_cq_data_entry entry;

	fake_complete_sends(rig_qp(rig), 1, IBV_WC_SUCCESS);
	entry = rig_entry(rig->cq[0]);
	assert_ptr_equal(entry.op_context, context);
	assert_int_equal(entry.flags, flags);
	assert_int_equal(entry.len, 0);
}

static void test_write(void **state)
{
	static const size_t sizes[] = { 0, 1, INJECT - 1, INJECT, INJECT + 1, 4096, MAX_SIZE };
	const struct fake_post *sent;
	struct rig *rig = *state;
	unsigned int i;

	sent = open_all(rig);
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		assert_int_equal(fi_write(rig->ep, buf, sizes[i], DESC, 0, ADDR, KEY, &buf[i]), 0);
		check_remote(sent, IBV_WR_RDMA_WRITE, sizes[i]);
		assert_int_equal(sent->wr.num_sge, sizes[i] ? 1 : 0);
		assert_true(sent->wr.send_flags & IBV_SEND_SIGNALED);
		if (sizes[i])
			assert_int_equal(!!(sent->wr.send_flags & IBV_SEND_INLINE),
					 sizes[i] <= INJECT);
		check_done(rig, &buf[i], FI_RMA | FI_WRITE);
	}
	assert_int_equal(fi_writedata(rig->ep, buf, 8, DESC, DATA, 0, ADDR, KEY, rig), 0);
	check_remote(sent, IBV_WR_RDMA_WRITE_WITH_IMM, 8);
	assert_int_equal(ntohl(sent->wr.imm_data), DATA);
	check_done(rig, rig, FI_RMA | FI_WRITE);
}

static void test_inject(void **state)
{
	const struct fake_post *sent;
	struct rig *rig = *state;

	sent = open_all(rig);
	assert_int_equal(fi_inject_write(rig->ep, buf, INJECT, 0, ADDR, KEY), 0);
	check_remote(sent, IBV_WR_RDMA_WRITE, INJECT);
	assert_true(sent->wr.send_flags & IBV_SEND_INLINE);
	assert_int_equal(fi_inject_writedata(rig->ep, buf, 3, DATA, 0, ADDR, KEY), 0);
	check_remote(sent, IBV_WR_RDMA_WRITE_WITH_IMM, 3);
	assert_int_equal(ntohl(sent->wr.imm_data), DATA);
	fake_complete_sends(rig_qp(rig), 2, IBV_WC_SUCCESS);
	rig_no_entry(rig->cq[0]);
}

static void test_read(void **state)
{
	static const size_t sizes[] = { 0, 1, INJECT, MAX_SIZE };
	const struct fake_post *sent;
	struct rig *rig = *state;
	unsigned int i;

	sent = open_all(rig);
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		assert_int_equal(fi_read(rig->ep, buf, sizes[i], DESC, 0, ADDR, KEY, &buf[i]), 0);
		check_remote(sent, IBV_WR_RDMA_READ, sizes[i]);
		assert_int_equal(sent->wr.send_flags, IBV_SEND_SIGNALED);
		check_done(rig, &buf[i], FI_RMA | FI_READ);
	}
	assert_int_equal(fi_read(rig->ep, buf, MAX_SIZE + 1, DESC, 0, ADDR, KEY, 0), -FI_EMSGSIZE);
	assert_int_equal(fi_read(rig->ep, buf, 1, DESC, 0, ADDR, BAD_KEY, 0), -FI_EKEYREJECTED);
	assert_int_equal(fi_read(rig->ep, NULL, 1, DESC, 0, ADDR, KEY, 0), -FI_EINVAL);
}

static void test_refused(void **state)
{
	struct rig *rig = *state;
	struct fid_ep *ep;

	open_all(rig);
	ep = rig->ep;
	assert_int_equal(fi_write(ep, buf, MAX_SIZE + 1, 0, 0, ADDR, KEY, 0), -FI_EMSGSIZE);
	assert_int_equal(fi_write(ep, buf, 1, 0, 0, ADDR, BAD_KEY, 0), -FI_EKEYREJECTED);
	assert_int_equal(fi_write(ep, NULL, 1, 0, 0, ADDR, KEY, 0), -FI_EINVAL);
	assert_int_equal(fi_writedata(ep, buf, 1, 0, 1ULL << 32, 0, ADDR, KEY, 0), -FI_EINVAL);
	assert_int_equal(fi_inject_write(ep, buf, INJECT + 1, 0, ADDR, KEY), -FI_EMSGSIZE);
	assert_int_equal(fi_inject_write(ep, NULL, 1, 0, ADDR, KEY), -FI_EINVAL);
	assert_int_equal(fi_inject_write(ep, buf, 1, 0, ADDR, BAD_KEY), -FI_EKEYREJECTED);
	assert_int_equal(fi_inject_writedata(ep, buf, 1, 1ULL << 32, 0, ADDR, KEY), -FI_EINVAL);
	assert_int_equal(fake_qp(rig_qp(rig))->sends.total, 0);
}

static void test_vectors(void **state)
{
	struct iovec iov[5] = {
		{ buf, 70 }, { buf + 200, 30 }, { buf, 1 }, { buf, 1 }, { buf, 1 }
	};
	void *desc[5] = { DESC, DESC, DESC, DESC, DESC };
	const struct fake_post *sent;
	struct rig *rig = *state;

	sent = open_all(rig);
	assert_int_equal(fi_writev(rig->ep, iov, desc, 2, 0, ADDR, KEY, rig), 0);
	check_remote(sent, IBV_WR_RDMA_WRITE, 100);
	assert_int_equal(sent->wr.num_sge, 2);
	assert_int_equal(sent->sge[1].lkey, 0x12345678);
	check_done(rig, rig, FI_RMA | FI_WRITE);
	assert_int_equal(fi_writev(rig->ep, iov + 1, desc, 2, 0, ADDR, KEY, rig), 0);
	assert_int_equal(sent->wr.num_sge, 1); /* some drivers copy only one */
	assert_memory_equal(sent->data, buf + 200, 30);
	assert_memory_equal(sent->data + 30, buf, 1);
	check_remote(sent, IBV_WR_RDMA_WRITE, 31);
	check_done(rig, rig, FI_RMA | FI_WRITE);
	assert_int_equal(fi_readv(rig->ep, iov, desc, 4, 0, ADDR, KEY, rig), 0);
	check_remote(sent, IBV_WR_RDMA_READ, 102);
	check_done(rig, rig, FI_RMA | FI_READ);
	assert_int_equal(fi_writev(rig->ep, NULL, NULL, 0, 0, ADDR, KEY, rig), 0);
	check_remote(sent, IBV_WR_RDMA_WRITE, 0);

	assert_int_equal(fi_writev(rig->ep, iov, desc, 5, 0, ADDR, KEY, rig), -FI_EINVAL);
	assert_int_equal(fi_writev(rig->ep, NULL, desc, 1, 0, ADDR, KEY, rig), -FI_EINVAL);
	assert_int_equal(fi_readv(rig->ep, NULL, desc, 1, 0, ADDR, KEY, rig), -FI_EINVAL);
	iov[0].iov_len = iov[1].iov_len = SIZE_MAX / 2 + 1;
	assert_int_equal(fi_readv(rig->ep, iov, desc, 2, 0, ADDR, KEY, rig), -FI_EMSGSIZE);
	assert_int_equal(fake_qp(rig_qp(rig))->sends.total, 4);
}

/* A device may read into fewer buffers than it sends from, and would break the connection. */
static void test_read_limit(void **state)
{
	struct iovec iov[3] = { { buf, 70 }, { buf + 200, 30 }, { buf + 300, 1 } };
	void *desc[3] = { DESC, DESC, DESC };
	struct fi_rma_iov remote = { ADDR, 101, KEY };
	struct fi_msg_rma msg = {
		.msg_iov = iov, .desc = desc, .iov_count = 3, .rma_iov = &remote, .rma_iov_count = 1
	};
	static bool logged;
	struct rig *rig = *state;

	fake.attr.max_sge_rd = 2;
	open_all(rig);
	capture_start();
	assert_int_equal(fi_readv(rig->ep, iov, desc, 3, 0, ADDR, KEY, rig), -FI_EINVAL);
	logged |= strstr(capture_stop(), "into 2 at most (max_sge_rd)") != NULL;
	assert_true(logged); /* once in a while */
	assert_int_equal(fi_readmsg(rig->ep, &msg, FI_MORE), -FI_EINVAL);
	assert_int_equal(fake_qp(rig_qp(rig))->sends.total, 0);
	assert_int_equal(fi_readv(rig->ep, iov, desc, 2, 0, ADDR, KEY, rig), 0);
	check_done(rig, rig, FI_RMA | FI_READ);
	assert_int_equal(fi_writev(rig->ep, iov, desc, 3, 0, ADDR, KEY, rig), 0);
	check_done(rig, rig, FI_RMA | FI_WRITE);
}

static void test_messages(void **state)
{
	struct iovec iov = { buf, 16 };
	struct fi_rma_iov remote[2] = { { ADDR, 16, KEY }, { ADDR, 16, KEY } };
	struct fi_msg_rma msg = { .msg_iov = &iov, .iov_count = 1, .rma_iov = remote };
	const struct fake_post *sent;
	struct rig *rig = *state;

	sent = open_all(rig);
	msg.rma_iov_count = 1;
	msg.data = DATA;
	assert_int_equal(fi_writemsg(rig->ep, &msg, FI_REMOTE_CQ_DATA | FI_FENCE), 0);
	check_remote(sent, IBV_WR_RDMA_WRITE_WITH_IMM, 16);
	assert_int_equal(ntohl(sent->wr.imm_data), DATA);
	assert_int_equal(sent->wr.send_flags, IBV_SEND_SIGNALED | IBV_SEND_FENCE | IBV_SEND_INLINE);
	assert_int_equal(fi_readmsg(rig->ep, &msg, FI_FENCE | FI_COMPLETION), 0);
	check_remote(sent, IBV_WR_RDMA_READ, 16);
	assert_int_equal(sent->wr.send_flags, IBV_SEND_SIGNALED | IBV_SEND_FENCE);

	assert_int_equal(fi_writemsg(rig->ep, NULL, 0), -FI_EINVAL);
	assert_int_equal(fi_writemsg(rig->ep, &msg, FI_MULTI_RECV), -FI_EBADFLAGS);
	assert_int_equal(fi_readmsg(rig->ep, &msg, FI_REMOTE_CQ_DATA), -FI_EBADFLAGS);
	assert_int_equal(fi_readmsg(rig->ep, &msg, FI_INJECT), -FI_EBADFLAGS);
	msg.data = 1ULL << 32;
	assert_int_equal(fi_writemsg(rig->ep, &msg, FI_REMOTE_CQ_DATA), -FI_EINVAL);
	msg.rma_iov_count = 2;
	assert_int_equal(fi_writemsg(rig->ep, &msg, 0), -FI_EINVAL);
	msg.rma_iov_count = 1;
	remote[0].len = 15;
	assert_int_equal(fi_writemsg(rig->ep, &msg, 0), -FI_EINVAL);
	remote[0].len = 16;
	remote[0].key = BAD_KEY;
	assert_int_equal(fi_readmsg(rig->ep, &msg, 0), -FI_EKEYREJECTED);
	msg.rma_iov = NULL;
	assert_int_equal(fi_readmsg(rig->ep, &msg, 0), -FI_EINVAL);
	assert_int_equal(fake_qp(rig_qp(rig))->sends.total, 2);
}

/* Programs ask for FI_MSG only, and write. */
static void test_only_msg(void **state)
{
	struct rig *rig = *state;
	const struct fake_post *sent;

	rig->info->caps = FI_MSG | FI_SEND | FI_RECV;
	sent = open_all(rig);
	assert_int_equal(fi_write(rig->ep, buf, 1, DESC, 0, ADDR, KEY, rig), 0);
	check_remote(sent, IBV_WR_RDMA_WRITE, 1);
	assert_int_equal(fi_inject_write(rig->ep, buf, 1, 0, ADDR, KEY), 0);
}

/* An endpoint that only receives. */
static void test_no_rma(void **state)
{
	struct rig *rig = *state;

	rig->info->caps = FI_MSG | FI_RECV;
	open_all(rig);
	assert_int_equal(fi_write(rig->ep, buf, 1, 0, 0, ADDR, KEY, 0), -FI_ENOSYS);
	assert_int_equal(fi_read(rig->ep, buf, 1, 0, 0, ADDR, KEY, 0), -FI_ENOSYS);
	assert_int_equal(fi_inject_write(rig->ep, buf, 1, 0, ADDR, KEY), -FI_ENOSYS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(test_write),	RIG_TEST(test_inject),	   RIG_TEST(test_read),
		RIG_TEST(test_refused), RIG_TEST(test_vectors),	   RIG_TEST(test_messages),
		RIG_TEST(test_no_rma),	RIG_TEST(test_read_limit), RIG_TEST(test_only_msg),
	};

	return RIG_RUN("verbs_rma", tests);
}
