/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Sends, writes and receives of device memory: what the device gets, what is copied, and errors. */
#include "unit.h"

#include <arpa/inet.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_trigger.h>
#include "cntr_rig.h"
#include "hmem_rig.h"
#include "prov/base/hmem_copy.h"

#define ADDR 0xabcdef0123456788
#define KEY  0x87654321
#define DATA 0xdeadbeef

static char host[256] = "of the host";

static void done(struct rig *rig)
{
	fake_complete_sends(rig_qp(rig), 1, IBV_WC_SUCCESS);
	assert_ptr_equal(rig_entry(rig->cq[0]).op_context, rig);
}

/* The device reads the memory itself, however short it is. */
static void check_direct(struct rig *rig, enum ibv_wr_opcode opcode, size_t len)
{
	const struct fake_post *sent = rig_sent(rig);

	assert_int_equal(sent->wr.opcode, opcode);
	assert_int_equal(sent->wr.num_sge, 1);
	assert_ptr_equal((void *)(uintptr_t)sent->sge[0].addr, hmem_rig_memory);
	assert_int_equal(sent->sge[0].length, len);
	assert_int_equal(sent->sge[0].lkey, HMEM_RIG_LKEY);
	assert_int_equal(sent->wr.send_flags, IBV_SEND_SIGNALED);
	assert_int_equal(hmem_rig_copies, 0);
	done(rig);
}

/* The bytes at an offset are in the work request. */
static void check_copied(struct rig *rig, enum ibv_wr_opcode opcode, size_t offset, size_t len)
{
	const struct fake_post *sent = rig_sent(rig);

	assert_int_equal(sent->wr.opcode, opcode);
	assert_true(sent->wr.send_flags & IBV_SEND_INLINE);
	assert_int_equal(sent->len, len);
	assert_memory_equal(sent->data, hmem_rig_data + offset, len);
	assert_int_equal(hmem_rig_copies, 1);
	hmem_rig_copies = 0;
}

static void test_send(void **state)
{
	struct rig *rig = *state;
	struct fid_ep *ep;
	void *desc;

	hmem_rig_connect(rig);
	ep = rig->ep;
	desc = hmem_rig_desc();
	assert_int_equal(fi_send(ep, hmem_rig_memory, 8, desc, 0, rig), 0);
	check_direct(rig, IBV_WR_SEND, 8);
	assert_int_equal(fi_send(ep, hmem_rig_memory, 4096, desc, 0, rig), 0);
	check_direct(rig, IBV_WR_SEND, 4096);
	assert_int_equal(fi_senddata(ep, hmem_rig_memory, 8, desc, DATA, 0, rig), 0);
	assert_int_equal(ntohl(rig_sent(rig)->wr.imm_data), DATA);
	check_direct(rig, IBV_WR_SEND_WITH_IMM, 8);
	assert_int_equal(fi_senddata(ep, hmem_rig_memory, 8, desc, 1ULL << 32, 0, rig), -FI_EINVAL);
	assert_int_equal(fi_send(ep, hmem_rig_memory, (1 << 20) + 1, desc, 0, rig), -FI_EMSGSIZE);
	assert_int_equal(hmem_rig_asks, 0);
}

/* An application that sets the limits to 0 still sends and receives one buffer. */
static void test_no_iov_limit(void **state)
{
	struct rig *rig = *state;
	void *desc = hmem_rig_desc();
	const struct iovec iov = { hmem_rig_memory, 8 };
	const struct fi_msg msg = { .msg_iov = &iov, .desc = &desc, .iov_count = 1 };

	rig->info->tx_attr->iov_limit = rig->info->rx_attr->iov_limit = 0;
	hmem_rig_connect(rig);
	assert_int_equal(fi_send(rig->ep, hmem_rig_memory, 8, desc, 0, rig), 0);
	check_direct(rig, IBV_WR_SEND, 8);
	assert_int_equal(fi_write(rig->ep, hmem_rig_memory, 8, desc, 0, ADDR, KEY, rig), 0);
	check_direct(rig, IBV_WR_RDMA_WRITE, 8);
	assert_int_equal(fi_recvmsg(rig->ep, &msg, 0), 0);
}

/* Nobody is asked whose memory it is. */
static void test_host(void **state)
{
	struct rig *rig = *state;
	const struct fake_post *sent = hmem_rig_connect(rig);

	assert_int_equal(fi_send(rig->ep, host, 11, (void *)0x77, 0, rig), 0);
	assert_true(sent->wr.send_flags & IBV_SEND_INLINE);
	assert_memory_equal(sent->data, host, 11);
	done(rig);
	assert_int_equal(fi_send(rig->ep, host, 200, (void *)0x77, 0, rig), 0);
	assert_int_equal(sent->wr.send_flags, IBV_SEND_SIGNALED);
	assert_int_equal(sent->sge[0].lkey, 0x77);
	done(rig);
	assert_int_equal(hmem_rig_asks, 0);
}

static void test_inject(void **state)
{
	struct rig *rig = *state;
	struct iovec iov = { NULL, 20 };
	struct fi_msg msg = { .msg_iov = &iov, .iov_count = 1, .context = rig };
	void *desc = hmem_rig_desc();

	hmem_rig_connect(rig);
	assert_int_equal(fi_inject(rig->ep, hmem_rig_memory + 5, 30, 0), 0);
	check_copied(rig, IBV_WR_SEND, 5, 30);
	fake_complete_sends(rig_qp(rig), 1, IBV_WC_SUCCESS);
	rig_no_entry(rig->cq[0]);
	assert_int_equal(fi_injectdata(rig->ep, hmem_rig_memory, 30, DATA, 0), 0);
	check_copied(rig, IBV_WR_SEND_WITH_IMM, 0, 30);
	fake_complete_sends(rig_qp(rig), 1, IBV_WC_SUCCESS);
	rig_no_entry(rig->cq[0]);
	iov.iov_base = hmem_rig_memory + 9;
	msg.desc = &desc;
	assert_int_equal(fi_sendmsg(rig->ep, &msg, FI_INJECT | FI_COMPLETION), 0);
	check_copied(rig, IBV_WR_SEND, 9, 20);
	done(rig);
	assert_int_equal(fi_inject(rig->ep, hmem_rig_memory, 65, 0), -FI_EMSGSIZE);
}

/* Nothing is posted. */
static void test_copy_fails(void **state)
{
	struct rig *rig = *state;
	unsigned long total;

	hmem_rig_connect(rig);
	total = fake_qp(rig_qp(rig))->sends.total;
	hmem_rig_err = -FI_EIO;
	assert_int_equal(fi_inject(rig->ep, hmem_rig_memory, 8, 0), -FI_EIO);
	assert_int_equal(fi_inject_write(rig->ep, hmem_rig_memory, 8, 0, ADDR, KEY), -FI_EIO);
	assert_int_equal(fake_qp(rig_qp(rig))->sends.total, total);
}

static void test_forbidden(void **state)
{
	struct rig *rig = *state;
	void *desc = hmem_rig_desc();
	struct iovec iov = { NULL, 8 }, parts[2] = { { host, 4 }, { host + 4, 7 } };
	struct fi_msg msg = { .msg_iov = &iov, .desc = &desc, .iov_count = 1, .context = rig };

	hmem_rig_connect(rig);
	hmem_rig_forbid(rig);
	iov.iov_base = hmem_rig_memory;
	assert_int_equal(fi_sendmsg(rig->ep, &msg, FI_INJECT), -FI_EOPNOTSUPP);
	assert_int_equal(fi_sendmsg(rig->ep, &msg, FI_COMPLETION), 0);
	check_direct(rig, IBV_WR_SEND, 8);
	assert_int_equal(fi_inject(rig->ep, host, 11, 0), 0);
	assert_memory_equal(rig_sent(rig)->data, host, 11);
	msg = (struct fi_msg){ .msg_iov = parts, .iov_count = 2, .context = rig };
	assert_int_equal(fi_sendmsg(rig->ep, &msg, FI_COMPLETION), 0);
	assert_int_equal(rig_sent(rig)->wr.num_sge, 1);
	assert_memory_equal(rig_sent(rig)->data, host, 11);
	assert_int_equal(hmem_rig_copies + hmem_rig_asks, 0);
}

/* Work that waits for a counter is copied from host memory; device memory has its descriptor. */
static void test_forbidden_triggered(void **state)
{
	struct rig *rig = *state;
	void *desc = hmem_rig_desc();
	struct fi_ioc operand = { host, 1 }, with, result = { host + 8, 1 };
	struct fi_rma_ioc target = { .addr = ADDR, .count = 1, .key = KEY };
	struct iovec iov = { host, 11 };
	struct fi_triggered_context at = { .event_type = FI_TRIGGER_THRESHOLD };
	struct fi_msg msg = { .msg_iov = &iov, .iov_count = 1, .context = &at };
	struct fi_msg_atomic swap = {
		&operand, NULL, 1, 0, &target, 1, FI_UINT64, FI_CSWAP, &at, 0
	};

	rig->info->caps |= FI_TRIGGER;
	hmem_rig_connect(rig);
	hmem_rig_forbid(rig);
	ofi_hmem_finder = ofi_hmem_of;
	with = (struct fi_ioc){ hmem_rig_memory, 1 };
	at.trigger.threshold.cntr = cnt_open_cntr(rig, FI_WAIT_NONE);
	at.trigger.threshold.threshold = 1;
	assert_int_equal(fi_sendmsg(rig->ep, &msg, FI_TRIGGER | FI_INJECT), 0);
	assert_int_equal(
		fi_compare_atomicmsg(rig->ep, &swap, &with, &desc, 1, &result, NULL, 1, FI_TRIGGER),
		-FI_EOPNOTSUPP);
	fi_cntr_add(at.trigger.threshold.cntr, 1);
	assert_int_equal(fake_qp(rig_qp(rig))->sends.total, 1);
	assert_memory_equal(rig_sent(rig)->data, host, 11);
	assert_int_equal(hmem_rig_copies + hmem_rig_asks, 0);
	ofi_hmem_finder = NULL;
	assert_int_equal(fi_close(&rig->ep->fid), 0);
	rig->ep = NULL;
	assert_int_equal(fi_close(&at.trigger.threshold.cntr->fid), 0);
}

static void test_write(void **state)
{
	struct rig *rig = *state;
	const struct fake_post *sent = hmem_rig_connect(rig);
	char *from = hmem_rig_memory;
	void *desc = hmem_rig_desc();
	struct iovec iov = { from, 40 };

	assert_int_equal(fi_write(rig->ep, from, 8, desc, 0, ADDR, KEY, rig), 0);
	assert_true(sent->wr.wr.rdma.remote_addr == ADDR);
	assert_int_equal(sent->wr.wr.rdma.rkey, KEY);
	check_direct(rig, IBV_WR_RDMA_WRITE, 8);
	assert_int_equal(fi_writedata(rig->ep, from, 8, desc, DATA, 0, ADDR, KEY, rig), 0);
	assert_int_equal(ntohl(sent->wr.imm_data), DATA);
	check_direct(rig, IBV_WR_RDMA_WRITE_WITH_IMM, 8);
	assert_int_equal(fi_writev(rig->ep, &iov, &desc, 1, 0, ADDR, KEY, rig), 0);
	check_direct(rig, IBV_WR_RDMA_WRITE, 40);
	assert_int_equal(fi_inject_write(rig->ep, from + 3, 16, 0, ADDR, KEY), 0);
	check_copied(rig, IBV_WR_RDMA_WRITE, 3, 16);
	assert_int_equal(fi_inject_writedata(rig->ep, from, 16, DATA, 0, ADDR, KEY), 0);
	check_copied(rig, IBV_WR_RDMA_WRITE_WITH_IMM, 0, 16);
	assert_int_equal(fi_write(rig->ep, from, 8, desc, 0, ADDR, 1ULL << 32, rig),
			 -FI_EKEYREJECTED);
}

static void test_write_wrong(void **state)
{
	struct rig *rig = *state;
	void *desc = hmem_rig_desc();
	struct iovec iov = { NULL, 40 };
	struct fi_rma_iov remote = { ADDR, 41, KEY };
	struct fi_msg_rma msg = { .msg_iov = &iov,
				  .desc = &desc,
				  .iov_count = 1,
				  .rma_iov = &remote,
				  .rma_iov_count = 1 };

	hmem_rig_connect(rig);
	iov.iov_base = hmem_rig_memory;
	assert_int_equal(fi_writemsg(rig->ep, &msg, 0), -FI_EINVAL);
	remote.len = 40;
	assert_int_equal(fi_writemsg(rig->ep, &msg, FI_MULTI_RECV), -FI_EBADFLAGS);
	assert_int_equal(fi_writemsg(rig->ep, NULL, 0), -FI_EINVAL);
	assert_int_equal(fi_sendmsg(rig->ep, NULL, 0), -FI_EINVAL);
	msg.rma_iov_count = 0;
	assert_int_equal(fi_writemsg(rig->ep, &msg, 0), -FI_EINVAL);
}

/* More receives than the queue has, several times: none waits for a lock that the last one took. */
static void test_recv(void **state)
{
	struct rig *rig = *state;
	void *desc = hmem_rig_desc();
	int i, round, posted;

	hmem_rig_connect(rig);
	for (round = 0; round < 3; round++) {
		for (posted = 0; !fi_recv(rig->ep, hmem_rig_memory, 64, desc, FI_ADDR_UNSPEC, rig);
		     posted++)
			;
		assert_int_equal(fi_recv(rig->ep, hmem_rig_memory, 64, desc, 0, rig), -FI_EAGAIN);
		assert_true(posted >= 8);
		for (i = 0; i < posted; i++) {
			fake_complete_recv(rig_qp(rig), IBV_WC_SUCCESS, IBV_WC_RECV, 64, NULL);
			assert_ptr_equal(rig_entry(rig->cq[1]).op_context, rig);
		}
	}
	assert_int_equal(hmem_rig_copies + hmem_rig_asks, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(test_send),	     RIG_TEST(test_host),
		RIG_TEST(test_inject),	     RIG_TEST(test_copy_fails),
		RIG_TEST(test_forbidden),    RIG_TEST(test_write),
		RIG_TEST(test_write_wrong),  RIG_TEST(test_recv),
		RIG_TEST(test_no_iov_limit), RIG_TEST(test_forbidden_triggered),
	};

	return RIG_RUN("verbs_hmem", tests);
}
