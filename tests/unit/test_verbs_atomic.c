/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Atomics: the work requests of each call, what is refused, and what the queries return. */
#include "unit.h"

#include <rdma/fi_atomic.h>
#include "verbs_rig.h"

#define ADDR	0xabcdef0123456788
#define KEY	0x87654321
#define BAD_KEY 0x187654321
#define DESC	((void *)0x12345678)

static uint64_t value = 0x1122334455667788, compared = 0x99aabbccddeeff00, result;

static const struct fake_post *open_all(struct rig *rig)
{
	rig_connect(rig);
	return rig_sent(rig);
}

static void check_sge(const struct fake_post *sent, const void *addr, uint32_t lkey)
{
	assert_int_equal(sent->wr.num_sge, 1);
	assert_ptr_equal((void *)(uintptr_t)sent->sge[0].addr, addr);
	assert_int_equal(sent->sge[0].length, 8);
	assert_int_equal(sent->sge[0].lkey, lkey);
}

static void check_atomic(const struct fake_post *sent, enum ibv_wr_opcode opcode)
{
	assert_int_equal(sent->wr.opcode, opcode);
	assert_true(sent->wr.wr.atomic.remote_addr == ADDR);
	assert_int_equal(sent->wr.wr.atomic.rkey, KEY);
}

static void check_rdma(const struct fake_post *sent, enum ibv_wr_opcode opcode)
{
	assert_int_equal(sent->wr.opcode, opcode);
	assert_true(sent->wr.wr.rdma.remote_addr == ADDR);
	assert_int_equal(sent->wr.wr.rdma.rkey, KEY);
}

static void check_done(struct rig *rig, uint64_t flags)
{
	struct fi_cq_data_entry entry;

	fake_complete_sends(rig_qp(rig), 1, IBV_WC_SUCCESS);
	entry = rig_entry(rig->cq[0]);
	assert_ptr_equal(entry.op_context, rig);
	assert_int_equal(entry.flags, flags);
}

static void test_add(void **state)
{
	const struct fake_post *sent;
	struct rig *rig = *state;
	struct vrb_domain *domain;

	sent = open_all(rig);
	domain = vrb_domain(rig->domain);
	assert_int_equal(fi_atomic(rig->ep, &value, 1, DESC, 0, ADDR, KEY, FI_UINT64, FI_SUM, rig),
			 0);
	check_atomic(sent, IBV_WR_ATOMIC_FETCH_AND_ADD);
	assert_true(sent->wr.wr.atomic.compare_add == value);
	assert_int_equal(sent->wr.send_flags, IBV_SEND_SIGNALED);
	check_sge(sent, domain->scratch, domain->scratch_mr->lkey);
	check_done(rig, FI_ATOMIC | FI_WRITE);

	assert_int_equal(fi_inject_atomic(rig->ep, &value, 1, 0, ADDR, KEY, FI_INT64, FI_SUM), 0);
	check_atomic(sent, IBV_WR_ATOMIC_FETCH_AND_ADD);
	assert_false(sent->wr.send_flags & IBV_SEND_INLINE);
	fake_complete_sends(rig_qp(rig), 1, IBV_WC_SUCCESS);
	rig_no_entry(rig->cq[0]);
}

static void test_write(void **state)
{
	const struct fake_post *sent;
	struct rig *rig = *state;

	sent = open_all(rig);
	assert_int_equal(
		fi_atomic(rig->ep, &value, 1, DESC, 0, ADDR, KEY, FI_INT64, FI_ATOMIC_WRITE, rig),
		0);
	check_rdma(sent, IBV_WR_RDMA_WRITE);
	check_sge(sent, &value, 0x12345678);
	assert_memory_equal(sent->data, &value, 8);
	check_done(rig, FI_ATOMIC | FI_WRITE);
	assert_int_equal(
		fi_inject_atomic(rig->ep, &value, 1, 0, ADDR, KEY, FI_UINT64, FI_ATOMIC_WRITE), 0);
	assert_memory_equal(sent->data, &value, 8);
}

static void test_fetch(void **state)
{
	const struct fake_post *sent;
	struct rig *rig = *state;

	sent = open_all(rig);
	assert_int_equal(fi_fetch_atomic(rig->ep, &value, 1, NULL, &result, DESC, 0, ADDR, KEY,
					 FI_UINT64, FI_SUM, rig),
			 0);
	check_atomic(sent, IBV_WR_ATOMIC_FETCH_AND_ADD);
	assert_true(sent->wr.wr.atomic.compare_add == value);
	check_sge(sent, &result, 0x12345678);
	check_done(rig, FI_ATOMIC | FI_READ);
	assert_int_equal(fi_fetch_atomic(rig->ep, NULL, 1, NULL, &result, DESC, 0, ADDR, KEY,
					 FI_INT64, FI_ATOMIC_READ, rig),
			 0);
	check_rdma(sent, IBV_WR_RDMA_READ);
	check_sge(sent, &result, 0x12345678);
	check_done(rig, FI_ATOMIC | FI_READ);
}

static void test_compare(void **state)
{
	const struct fake_post *sent;
	struct rig *rig = *state;

	sent = open_all(rig);
	assert_int_equal(fi_compare_atomic(rig->ep, &value, 1, NULL, &compared, NULL, &result, DESC,
					   0, ADDR, KEY, FI_UINT64, FI_CSWAP, rig),
			 0);
	check_atomic(sent, IBV_WR_ATOMIC_CMP_AND_SWP);
	assert_true(sent->wr.wr.atomic.compare_add == compared);
	assert_true(sent->wr.wr.atomic.swap == value);
	check_sge(sent, &result, 0x12345678);
	check_done(rig, FI_ATOMIC | FI_READ);
}

static ssize_t add(struct rig *rig, const void *buf, size_t count, uint64_t addr, uint64_t key,
		   enum fi_datatype type, enum fi_op op)
{
	return fi_atomic(rig->ep, buf, count, DESC, 0, addr, key, type, op, rig);
}

static ssize_t fetch(struct rig *rig, const void *buf, void *to, enum fi_op op)
{
	return fi_fetch_atomic(rig->ep, buf, 1, DESC, to, DESC, 0, ADDR, KEY, FI_UINT64, op, rig);
}

static ssize_t swap(struct rig *rig, const void *buf, const void *compare, void *to, enum fi_op op)
{
	return fi_compare_atomic(rig->ep, buf, 1, DESC, compare, DESC, to, DESC, 0, ADDR, KEY,
				 FI_UINT64, op, rig);
}

static void test_refused(void **state)
{
	struct rig *rig = *state;

	open_all(rig);
	assert_int_equal(add(rig, &value, 1, ADDR, KEY, FI_DOUBLE, FI_SUM), -FI_EOPNOTSUPP);
	assert_int_equal(add(rig, &value, 1, ADDR, KEY, FI_UINT32, FI_SUM), -FI_EOPNOTSUPP);
	assert_int_equal(add(rig, &value, 1, ADDR, KEY, FI_UINT64, FI_MIN), -FI_EOPNOTSUPP);
	assert_int_equal(add(rig, &value, 1, ADDR, KEY, 1000, FI_SUM), -FI_EOPNOTSUPP);
	assert_int_equal(add(rig, &value, 0, ADDR, KEY, FI_UINT64, FI_SUM), -FI_EINVAL);
	assert_int_equal(add(rig, &value, 2, ADDR, KEY, FI_UINT64, FI_SUM), -FI_EMSGSIZE);
	assert_int_equal(add(rig, &value, 1, ADDR + 4, KEY, FI_UINT64, FI_SUM), -FI_EINVAL);
	assert_int_equal(add(rig, NULL, 1, ADDR, KEY, FI_UINT64, FI_SUM), -FI_EINVAL);
	assert_int_equal(add(rig, &value, 1, ADDR, BAD_KEY, FI_UINT64, FI_SUM), -FI_EKEYREJECTED);
	assert_int_equal(fetch(rig, &value, &result, FI_ATOMIC_WRITE), -FI_EOPNOTSUPP);
	assert_int_equal(fetch(rig, NULL, &result, FI_SUM), -FI_EINVAL);
	assert_int_equal(fetch(rig, &value, NULL, FI_SUM), -FI_EINVAL);
	assert_int_equal(fetch(rig, NULL, NULL, FI_ATOMIC_READ), -FI_EINVAL);
	assert_int_equal(swap(rig, &value, &compared, &result, FI_CSWAP_NE), -FI_EOPNOTSUPP);
	assert_int_equal(swap(rig, NULL, &compared, &result, FI_CSWAP), -FI_EINVAL);
	assert_int_equal(swap(rig, &value, NULL, &result, FI_CSWAP), -FI_EINVAL);
	assert_int_equal(swap(rig, &value, &compared, NULL, FI_CSWAP), -FI_EINVAL);
	assert_int_equal(fake_qp(rig_qp(rig))->sends.total, 0);
}

static void test_inject_too_small(void **state)
{
	struct rig *rig = *state;

	rig->info->tx_attr->inject_size = 7;
	open_all(rig);
	assert_int_equal(fi_inject_atomic(rig->ep, &value, 1, 0, ADDR, KEY, FI_UINT64, FI_SUM),
			 -FI_EMSGSIZE);
	assert_int_equal(add(rig, &value, 1, ADDR, KEY, FI_UINT64, FI_ATOMIC_WRITE), 0);
	assert_false(rig_sent(rig)->wr.send_flags & IBV_SEND_INLINE);
}

static void test_vectors(void **state)
{
	struct fi_ioc ioc[2] = { { &value, 1 }, { &value, 1 } }, to = { &result, 1 };
	struct fi_ioc compare = { &compared, 1 }, none = { &value, 0 };
	struct fi_ioc two = { &value, 2 };
	void *desc[1] = { DESC };
	const struct fake_post *sent;
	struct rig *rig = *state;

	sent = open_all(rig);
	assert_int_equal(fi_atomicv(rig->ep, ioc, desc, 1, 0, ADDR, KEY, FI_UINT64, FI_SUM, rig),
			 0);
	check_atomic(sent, IBV_WR_ATOMIC_FETCH_AND_ADD);
	assert_int_equal(fi_fetch_atomicv(rig->ep, ioc, desc, 1, &to, desc, 1, 0, ADDR, KEY,
					  FI_UINT64, FI_SUM, rig),
			 0);
	check_sge(sent, &result, 0x12345678);
	assert_int_equal(fi_compare_atomicv(rig->ep, ioc, NULL, 1, &compare, NULL, 1, &to, desc, 1,
					    0, ADDR, KEY, FI_UINT64, FI_CSWAP, rig),
			 0);
	check_atomic(sent, IBV_WR_ATOMIC_CMP_AND_SWP);

	assert_int_equal(fi_atomicv(rig->ep, ioc, desc, 2, 0, ADDR, KEY, FI_UINT64, FI_SUM, rig),
			 -FI_EMSGSIZE);
	assert_int_equal(fi_atomicv(rig->ep, &two, desc, 1, 0, ADDR, KEY, FI_UINT64, FI_SUM, rig),
			 -FI_EMSGSIZE);
	assert_int_equal(fi_fetch_atomicv(rig->ep, NULL, NULL, 0, &two, desc, 1, 0, ADDR, KEY,
					  FI_UINT64, FI_ATOMIC_READ, rig),
			 -FI_EMSGSIZE);
	assert_int_equal(fi_compare_atomicv(rig->ep, &two, NULL, 1, &two, NULL, 1, &two, desc, 1, 0,
					    ADDR, KEY, FI_UINT64, FI_CSWAP, rig),
			 -FI_EMSGSIZE);
	assert_int_equal(fi_atomicv(rig->ep, NULL, desc, 1, 0, ADDR, KEY, FI_UINT64, FI_SUM, rig),
			 -FI_EINVAL);
	assert_int_equal(fi_atomicv(rig->ep, &none, desc, 1, 0, ADDR, KEY, FI_UINT64, FI_SUM, rig),
			 -FI_EINVAL);
	assert_int_equal(fi_fetch_atomicv(rig->ep, ioc, desc, 1, NULL, NULL, 1, 0, ADDR, KEY,
					  FI_UINT64, FI_SUM, rig),
			 -FI_EINVAL);
	assert_int_equal(fake_qp(rig_qp(rig))->sends.total, 3);
}

static void test_messages(void **state)
{
	struct fi_ioc ioc = { &value, 1 }, to = { &result, 1 }, compare = { &compared, 1 };
	struct fi_rma_ioc remote = { ADDR, 1, KEY };
	struct fi_msg_atomic msg = { .msg_iov = &ioc, .iov_count = 1, .rma_iov = &remote };
	const struct fake_post *sent;
	struct rig *rig = *state;

	sent = open_all(rig);
	msg.rma_iov_count = 1;
	msg.datatype = FI_UINT64;
	msg.op = FI_SUM;
	msg.context = rig;
	assert_int_equal(fi_atomicmsg(rig->ep, &msg, FI_FENCE), 0);
	check_atomic(sent, IBV_WR_ATOMIC_FETCH_AND_ADD);
	assert_int_equal(sent->wr.send_flags, IBV_SEND_SIGNALED | IBV_SEND_FENCE);
	assert_int_equal(fi_fetch_atomicmsg(rig->ep, &msg, &to, NULL, 1, FI_COMPLETION), 0);
	check_sge(sent, &result, 0);
	msg.op = FI_CSWAP;
	assert_int_equal(fi_compare_atomicmsg(rig->ep, &msg, &compare, NULL, 1, &to, NULL, 1, 0),
			 0);
	check_atomic(sent, IBV_WR_ATOMIC_CMP_AND_SWP);

	assert_int_equal(fi_atomicmsg(rig->ep, NULL, 0), -FI_EINVAL);
	assert_int_equal(fi_atomicmsg(rig->ep, &msg, 0), -FI_EOPNOTSUPP);
	msg.op = FI_SUM;
	assert_int_equal(fi_atomicmsg(rig->ep, &msg, FI_REMOTE_CQ_DATA), -FI_EBADFLAGS);
	assert_int_equal(fi_fetch_atomicmsg(rig->ep, NULL, &to, NULL, 1, 0), -FI_EINVAL);
	assert_int_equal(fi_compare_atomicmsg(rig->ep, NULL, &compare, NULL, 1, &to, NULL, 1, 0),
			 -FI_EINVAL);
	remote.count = 2;
	assert_int_equal(fi_atomicmsg(rig->ep, &msg, 0), -FI_EMSGSIZE);
	msg.rma_iov = NULL;
	assert_int_equal(fi_atomicmsg(rig->ep, &msg, 0), -FI_EINVAL);
	assert_int_equal(fake_qp(rig_qp(rig))->sends.total, 3);
}

/* For each operation and type the queries say what the calls do. */
static void test_queries(void **state)
{
	enum fi_datatype type;
	struct rig *rig = *state;
	struct fi_atomic_attr attr;
	size_t count;
	enum fi_op op;
	int ret;

	open_all(rig);
	for (op = 0; op <= FI_MSWAP; op++) {
		for (type = 0; type <= FI_LONG_DOUBLE_COMPLEX; type++) {
			ret = (int)add(rig, &value, 1, ADDR, KEY, type, op);
			assert_int_equal(fi_atomicvalid(rig->ep, type, op, &count), ret);
			assert_int_equal(fi_query_atomic(rig->domain, type, op, &attr, 0), ret);
			if (!ret)
				assert_true(count == 1 && attr.count == 1 && attr.size == 8);
			ret = (int)fi_fetch_atomic(rig->ep, &value, 1, DESC, &result, DESC, 0, ADDR,
						   KEY, type, op, rig);
			assert_int_equal(fi_fetch_atomicvalid(rig->ep, type, op, &count), ret);
			assert_int_equal(
				fi_query_atomic(rig->domain, type, op, &attr, FI_FETCH_ATOMIC),
				ret);
			ret = (int)fi_compare_atomic(rig->ep, &value, 1, DESC, &compared, DESC,
						     &result, DESC, 0, ADDR, KEY, type, op, rig);
			assert_int_equal(fi_compare_atomicvalid(rig->ep, type, op, &count), ret);
			assert_int_equal(
				fi_query_atomic(rig->domain, type, op, &attr, FI_COMPARE_ATOMIC),
				ret);
			while (fake_qp(rig_qp(rig))->sends.count) {
				fake_complete_sends(rig_qp(rig), 1, IBV_WC_SUCCESS);
				rig_entry(rig->cq[0]);
			}
		}
	}
	assert_int_equal(fake_qp(rig_qp(rig))->sends.total, 2 * (2 + 2 + 1));
	assert_int_equal(fi_atomicvalid(rig->ep, FI_UINT64, FI_SUM, NULL), 0);
	assert_int_equal(fi_query_atomic(rig->domain, FI_UINT64, FI_SUM, NULL, 0), -FI_EINVAL);
	assert_int_equal(fi_query_atomic(rig->domain, FI_UINT64, FI_SUM, &attr, FI_MORE),
			 -FI_EBADFLAGS);
	assert_int_equal(fi_query_atomic(rig->domain, FI_UINT64, FI_SUM, &attr,
					 FI_FETCH_ATOMIC | FI_COMPARE_ATOMIC),
			 -FI_EINVAL);
	assert_int_equal(fi_query_atomic(rig->domain, FI_UINT64, FI_SUM, &attr, FI_TAGGED),
			 -FI_EOPNOTSUPP);
}

static void check_none(struct rig *rig)
{
	struct fi_atomic_attr attr;

	open_all(rig);
	assert_int_equal(fi_query_atomic(rig->domain, FI_UINT64, FI_SUM, &attr, 0), -FI_EOPNOTSUPP);
	assert_int_equal(add(rig, &value, 1, ADDR, KEY, FI_UINT64, FI_SUM), -FI_ENOSYS);
	assert_int_equal(fi_atomicvalid(rig->ep, FI_UINT64, FI_SUM, NULL), -FI_ENOSYS);
}

static void test_none(void **state)
{
	fake.attr.atomic_cap = IBV_ATOMIC_NONE;
	check_none(*state);
}

/* fi_getinfo does not offer them there, whatever the device says. */
static void test_iwarp(void **state)
{
	fake.device.transport_type = IBV_TRANSPORT_IWARP;
	check_none(*state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(test_add),	RIG_TEST(test_write),	 RIG_TEST(test_fetch),
		RIG_TEST(test_compare), RIG_TEST(test_refused),	 RIG_TEST(test_inject_too_small),
		RIG_TEST(test_vectors), RIG_TEST(test_messages), RIG_TEST(test_queries),
		RIG_TEST(test_none),	RIG_TEST(test_iwarp),
	};

	return RIG_RUN("verbs_atomic", tests);
}
