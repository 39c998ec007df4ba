/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Messages: the work requests of each call, and what is refused. */
#include "unit.h"

#include <arpa/inet.h>
#include <string.h>
#include "prov/base/ep.h"
#include "verbs_rig.h"

#define INJECT	 64
#define MAX_SIZE (1 << 20)
#define DESC	 ((void *)0x12345678)
#define DATA	 0xdeadbeef

static char buf[MAX_SIZE + 1];

static void open_all(struct rig *rig)
{
	unsigned int i;

	for (i = 0; i < INJECT; i++)
		buf[i] = (char)(i + 1);
	rig_connect(rig);
}

/* Completes what was posted last; its entry. */
static struct fi_cq_data_entry done(struct rig *rig)
{
	fake_complete_sends(rig_qp(rig), 1, IBV_WC_SUCCESS);
	return rig_entry(rig->cq[0]);
}

static void check_sge(const struct ibv_sge *sge, const void *addr, size_t len)
{
	assert_ptr_equal((void *)(uintptr_t)sge->addr, addr);
	assert_int_equal(sge->length, len);
	assert_int_equal(sge->lkey, 0x12345678);
}

static void test_send(void **state)
{
	static const size_t sizes[] = { 0, 1, INJECT - 1, INJECT, INJECT + 1, 4096, MAX_SIZE };
	const struct fake_post *sent;
	struct rig *rig = *state;
	unsigned int i;

	open_all(rig);
	sent = rig_sent(rig);
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		assert_int_equal(fi_send(rig->ep, buf, sizes[i], DESC, 0, &buf[i]), 0);
		assert_int_equal(sent->wr.opcode, IBV_WR_SEND);
		assert_int_equal(sent->len, sizes[i]);
		assert_int_equal(sent->wr.num_sge, sizes[i] ? 1 : 0);
		assert_true(sent->wr.send_flags & IBV_SEND_SIGNALED);
		if (sizes[i])
			assert_int_equal(!!(sent->wr.send_flags & IBV_SEND_INLINE),
					 sizes[i] <= INJECT);
		if (sizes[i])
			check_sge(&sent->sge[0], buf, sizes[i]);
		assert_ptr_equal(done(rig).op_context, &buf[i]);
	}
	assert_int_equal(fi_send(rig->ep, buf, MAX_SIZE + 1, DESC, 0, NULL), -FI_EMSGSIZE);
	assert_int_equal(fi_send(rig->ep, buf, SIZE_MAX, DESC, 0, NULL), -FI_EMSGSIZE);
	assert_int_equal(fi_send(rig->ep, NULL, 1, DESC, 0, NULL), -FI_EINVAL);
	assert_int_equal(fi_send(rig->ep, NULL, 0, NULL, 0, NULL), 0);
	assert_int_equal(done(rig).flags, FI_MSG | FI_SEND);
}

static void test_senddata(void **state)
{
	const struct fake_post *sent;
	struct rig *rig = *state;

	open_all(rig);
	sent = rig_sent(rig);
	assert_int_equal(fi_senddata(rig->ep, buf, 9, DESC, DATA, 0, rig), 0);
	assert_int_equal(sent->wr.opcode, IBV_WR_SEND_WITH_IMM);
	assert_int_equal(ntohl(sent->wr.imm_data), DATA);
	assert_ptr_equal(done(rig).op_context, rig);
	assert_int_equal(fi_senddata(rig->ep, buf, 9, DESC, 1ULL << 32, 0, rig), -FI_EINVAL);
	assert_int_equal(fi_senddata(rig->ep, NULL, 9, DESC, 1, 0, rig), -FI_EINVAL);
	assert_int_equal(fi_senddata(rig->ep, buf, MAX_SIZE + 1, DESC, 1, 0, rig), -FI_EMSGSIZE);
}

/* An injected message has no entry, and the buffer is the caller's again at once. */
static void test_inject(void **state)
{
	const struct fake_post *sent;
	struct rig *rig = *state;
	size_t len;

	open_all(rig);
	sent = rig_sent(rig);
	for (len = 0; len <= INJECT; len++) {
		assert_int_equal(fi_inject(rig->ep, buf, len, 0), 0);
		assert_int_equal(sent->wr.opcode, IBV_WR_SEND);
		assert_true(!len || (sent->wr.send_flags & IBV_SEND_INLINE));
		assert_int_equal(sent->len, len);
		assert_memory_equal(sent->data, buf, len);
		fake_complete_sends(rig_qp(rig), 1, IBV_WC_SUCCESS);
		rig_no_entry(rig->cq[0]);
	}
	assert_int_equal(fi_injectdata(rig->ep, buf, 5, DATA, 0), 0);
	assert_int_equal(sent->wr.opcode, IBV_WR_SEND_WITH_IMM);
	assert_int_equal(ntohl(sent->wr.imm_data), DATA);
	assert_int_equal(fi_inject(rig->ep, buf, INJECT + 1, 0), -FI_EMSGSIZE);
	assert_int_equal(fi_inject(rig->ep, NULL, 1, 0), -FI_EINVAL);
	assert_int_equal(fi_injectdata(rig->ep, buf, 1, 1ULL << 32, 0), -FI_EINVAL);

	/* It has one when it fails. */
	fake_complete_sends(rig_qp(rig), 1, IBV_WC_RNR_RETRY_EXC_ERR);
	assert_int_equal(rig_error(rig->cq[0]).err, FI_ENORX);
}

static void test_sendv(void **state)
{
	struct iovec iov[5] = { { buf, 70 }, { buf + 100, 0 }, { buf + 200, 30 }, { buf, 1 } };
	void *desc[5] = { DESC, DESC, DESC, DESC, DESC };
	const struct fake_post *sent;
	struct rig *rig = *state;

	open_all(rig);
	sent = rig_sent(rig);
	assert_int_equal(fi_sendv(rig->ep, iov, desc, 3, 0, rig), 0);
	assert_int_equal(sent->wr.num_sge, 3);
	check_sge(&sent->sge[0], buf, 70);
	check_sge(&sent->sge[2], buf + 200, 30);
	assert_int_equal(sent->wr.send_flags, IBV_SEND_SIGNALED);
	assert_ptr_equal(done(rig).op_context, rig);
	assert_int_equal(fi_sendv(rig->ep, iov + 2, NULL, 2, 0, NULL), 0);
	assert_int_equal(sent->wr.num_sge, 1); /* some drivers copy only one */
	assert_int_equal(sent->len, 31);
	assert_memory_equal(sent->data, buf + 200, 30);
	assert_memory_equal(sent->data + 30, buf, 1);
	assert_int_equal(sent->wr.send_flags, IBV_SEND_SIGNALED | IBV_SEND_INLINE);
	done(rig);
	assert_int_equal(fi_sendv(rig->ep, NULL, NULL, 0, 0, NULL), 0);
	assert_int_equal(sent->wr.num_sge, 0);
	done(rig);

	assert_int_equal(fi_sendv(rig->ep, iov, desc, 5, 0, rig), -FI_EINVAL);
	assert_int_equal(fi_sendv(rig->ep, NULL, NULL, 1, 0, rig), -FI_EINVAL);
	iov[0].iov_len = iov[2].iov_len = SIZE_MAX / 2 + 1;
	assert_int_equal(fi_sendv(rig->ep, iov, desc, 3, 0, rig), -FI_EMSGSIZE);
	iov[0] = (struct iovec){ NULL, 4 };
	assert_int_equal(fi_sendv(rig->ep, iov, desc, 1, 0, rig), -FI_EINVAL);
	assert_int_equal(fake_qp(rig_qp(rig))->sends.count, 0);
}

static void test_sendmsg(void **state)
{
	struct iovec iov = { buf, 16 };
	struct fi_msg msg = { .msg_iov = &iov, .iov_count = 1, .data = DATA, .context = buf };
	const struct fake_post *sent;
	struct rig *rig = *state;

	open_all(rig);
	sent = rig_sent(rig);
	assert_int_equal(fi_sendmsg(rig->ep, &msg, FI_REMOTE_CQ_DATA | FI_FENCE), 0);
	assert_int_equal(sent->wr.opcode, IBV_WR_SEND_WITH_IMM);
	assert_int_equal(ntohl(sent->wr.imm_data), DATA);
	assert_int_equal(sent->wr.send_flags, IBV_SEND_SIGNALED | IBV_SEND_FENCE | IBV_SEND_INLINE);
	assert_ptr_equal(done(rig).op_context, buf);

	assert_int_equal(fi_sendmsg(rig->ep, &msg,
				    FI_COMPLETION | FI_INJECT | FI_INJECT_COMPLETE |
					    FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE),
			 0);
	assert_int_equal(sent->wr.opcode, IBV_WR_SEND);
	assert_memory_equal(sent->data, buf, 16);
	done(rig);

	assert_int_equal(fi_sendmsg(rig->ep, NULL, 0), -FI_EINVAL);
	assert_int_equal(fi_sendmsg(rig->ep, &msg, FI_MULTI_RECV), -FI_EBADFLAGS);
	assert_int_equal(fi_sendmsg(rig->ep, &msg, FI_PEEK), -FI_EBADFLAGS);
	assert_int_equal(fi_sendmsg(rig->ep, &msg, 1ULL << 63), -FI_EBADFLAGS);
	msg.data = 1ULL << 32;
	assert_int_equal(fi_sendmsg(rig->ep, &msg, FI_REMOTE_CQ_DATA), -FI_EINVAL);
	iov.iov_len = INJECT + 1;
	assert_int_equal(fi_sendmsg(rig->ep, &msg, FI_INJECT), -FI_EMSGSIZE);
	iov.iov_len = MAX_SIZE + 1;
	assert_int_equal(fi_sendmsg(rig->ep, &msg, 0), -FI_EMSGSIZE);
	assert_int_equal(fake_qp(rig_qp(rig))->sends.count, 0);
}

/* With selective completion only what asks has an entry. */
static void test_selective(void **state)
{
	struct fi_msg msg = { .context = buf };
	uint64_t flags = FI_TRANSMIT | FI_COMPLETION;
	struct rig *rig = *state;

	rig->tx_bind = rig->rx_bind = FI_SELECTIVE_COMPLETION;
	open_all(rig);
	assert_int_equal(fi_sendmsg(rig->ep, &msg, 0), 0);
	assert_int_equal(rig_send(rig->ep, rig), 0);
	fake_complete_sends(rig_qp(rig), 2, IBV_WC_SUCCESS);
	rig_no_entry(rig->cq[0]);
	assert_int_equal(fi_sendmsg(rig->ep, &msg, FI_COMPLETION), 0);
	assert_ptr_equal(done(rig).op_context, buf);

	assert_int_equal(fi_recvmsg(rig->ep, &msg, 0), 0);
	assert_int_equal(fi_recvmsg(rig->ep, &msg, FI_COMPLETION), 0);
	fake_complete_recv(rig_qp(rig), IBV_WC_SUCCESS, IBV_WC_RECV, 0, NULL);
	rig_no_entry(rig->cq[1]);
	fake_complete_recv(rig_qp(rig), IBV_WC_SUCCESS, IBV_WC_RECV, 0, NULL);
	assert_ptr_equal(rig_entry(rig->cq[1]).op_context, buf);

	assert_int_equal(fi_control(&rig->ep->fid, FI_SETOPSFLAG, &flags), 0);
	assert_int_equal(rig_send(rig->ep, rig), 0);
	assert_ptr_equal(done(rig).op_context, rig);
	assert_int_equal(fi_sendmsg(rig->ep, &msg, 0), 0);
	fake_complete_sends(rig_qp(rig), 1, IBV_WC_SUCCESS);
	rig_no_entry(rig->cq[0]);
}

/* FI_INJECT as a default limits plain sends. */
static void test_default_inject(void **state)
{
	uint64_t flags = FI_TRANSMIT | FI_INJECT | FI_FENCE;
	struct rig *rig = *state;

	open_all(rig);
	assert_int_equal(fi_control(&rig->ep->fid, FI_SETOPSFLAG, &flags), 0);
	assert_int_equal(fi_send(rig->ep, buf, INJECT + 1, NULL, 0, NULL), -FI_EMSGSIZE);
	assert_int_equal(fi_send(rig->ep, buf, INJECT, NULL, 0, NULL), 0);
	assert_true(rig_sent(rig)->wr.send_flags & IBV_SEND_FENCE);
	assert_true(rig_sent(rig)->wr.send_flags & IBV_SEND_INLINE);
}

static const struct fake_post *received(struct rig *rig)
{
	return &fake_qp(rig_qp(rig))->recvs.last;
}

static void test_recv(void **state)
{
	struct iovec iov[5] = { { buf, 70 }, { buf + 200, 30 } };
	void *desc[2] = { DESC, DESC };
	struct fi_msg msg = { .msg_iov = iov, .desc = desc, .iov_count = 2, .context = iov };
	struct rig *rig = *state;

	open_all(rig);
	assert_int_equal(fi_recv(rig->ep, buf, 4096, DESC, 0, buf), 0);
	assert_int_equal(received(rig)->wr.num_sge, 1);
	check_sge(&received(rig)->sge[0], buf, 4096);
	fake_complete_recv(rig_qp(rig), IBV_WC_SUCCESS, IBV_WC_RECV, 77, NULL);
	assert_int_equal(rig_entry(rig->cq[1]).len, 77);

	assert_int_equal(fi_recv(rig->ep, NULL, 0, NULL, 0, buf), 0);
	assert_int_equal(received(rig)->wr.num_sge, 0);
	assert_int_equal(fi_recvv(rig->ep, iov, desc, 2, 0, buf), 0);
	assert_int_equal(received(rig)->wr.num_sge, 2);
	check_sge(&received(rig)->sge[1], buf + 200, 30);
	assert_int_equal(fi_recvmsg(rig->ep, &msg, OFI_RX_FLAGS), 0);
	assert_int_equal(fake_qp(rig_qp(rig))->recvs.count, 3);

	assert_int_equal(fi_recv(rig->ep, buf, 1ULL << 32, DESC, 0, buf), -FI_EMSGSIZE);
	assert_int_equal(fi_recvmsg(rig->ep, NULL, 0), -FI_EINVAL);
	assert_int_equal(fi_recvmsg(rig->ep, &msg, FI_MULTI_RECV), -FI_EBADFLAGS);
	assert_int_equal(fi_recvmsg(rig->ep, &msg, FI_PEEK), -FI_EBADFLAGS);
	assert_int_equal(fi_recvv(rig->ep, iov, NULL, 5, 0, buf), -FI_EINVAL);
	assert_int_equal(fi_recvv(rig->ep, NULL, NULL, 1, 0, buf), -FI_EINVAL);
	iov[0].iov_len = SIZE_MAX;
	assert_int_equal(fi_recvv(rig->ep, iov, NULL, 2, 0, buf), -FI_EMSGSIZE);
	assert_int_equal(fake_qp(rig_qp(rig))->recvs.count, 3);
}

static void test_recv_null(void **state)
{
	struct iovec iov = { NULL, 4 };
	struct rig *rig = *state;

	open_all(rig);
	assert_int_equal(fi_recv(rig->ep, NULL, 4, NULL, 0, buf), 0);
	assert_int_equal(fake_qp(rig_qp(rig))->recvs.last.sge[0].addr, 0);
	assert_int_equal(fi_recvv(rig->ep, &iov, NULL, 1, 0, buf), 0);
	assert_int_equal(fake_qp(rig_qp(rig))->recvs.last.sge[0].length, 4);
	assert_int_equal(fi_sendv(rig->ep, &iov, NULL, 1, 0, buf), -FI_EINVAL);
}

/* mlx4 and mlx5 take the highest bit of a segment's length for a flag. */
static void test_recv_long(void **state)
{
	const size_t lens[] = { INT32_MAX, 1UL << 31, (1UL << 31) + 1, UINT32_MAX };
	struct iovec iov[2] = { { buf, 1 } };
	struct rig *rig = *state;
	size_t i;

	open_all(rig);
	for (i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		assert_int_equal(fi_recv(rig->ep, buf, lens[i], DESC, 0, NULL), 0);
		check_sge(&received(rig)->sge[0], buf, INT32_MAX);
		iov[1] = (struct iovec){ buf, lens[i] - 1 };
		assert_int_equal(fi_recvv(rig->ep, iov, NULL, 2, 0, NULL), 0);
		assert_int_equal(received(rig)->sge[0].length, 1);
		assert_int_equal(received(rig)->sge[1].length, i ? INT32_MAX : INT32_MAX - 1);
	}
}

/* Devices whose messages have 2 GiB take buffers of that size. */
static void test_recv_longest(void **state)
{
	struct rig *rig = *state;

	rig->info->ep_attr->max_msg_size = 1UL << 31;
	open_all(rig);
	assert_int_equal(fi_recv(rig->ep, buf, 1UL << 31, DESC, 0, NULL), 0);
	check_sge(&received(rig)->sge[0], buf, 1UL << 31);
}

static void test_iwarp(void **state)
{
	struct fi_msg_rma rma = { .rma_iov_count = 1 };
	struct fi_msg msg = { .iov_count = 0 };
	struct rig *rig = *state;

	fake.device.transport_type = IBV_TRANSPORT_IWARP;
	open_all(rig);
	assert_int_equal(fi_sendmsg(rig->ep, &msg, FI_DELIVERY_COMPLETE), -FI_EBADFLAGS);
	assert_int_equal(fi_sendmsg(rig->ep, &msg, FI_TRANSMIT_COMPLETE), 0);
	rma.rma_iov = &(struct fi_rma_iov){ 0 };
	assert_int_equal(fi_writemsg(rig->ep, &rma, FI_DELIVERY_COMPLETE), -FI_EBADFLAGS);
	assert_int_equal(fi_readmsg(rig->ep, &rma, FI_DELIVERY_COMPLETE), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(test_send),	  RIG_TEST(test_senddata),	 RIG_TEST(test_inject),
		RIG_TEST(test_sendv),	  RIG_TEST(test_sendmsg),	 RIG_TEST(test_selective),
		RIG_TEST(test_recv),	  RIG_TEST(test_default_inject), RIG_TEST(test_recv_null),
		RIG_TEST(test_recv_long), RIG_TEST(test_recv_longest),	 RIG_TEST(test_iwarp),
	};

	return RIG_RUN("verbs_msg", tests);
}
