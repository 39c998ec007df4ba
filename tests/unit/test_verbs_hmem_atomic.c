/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Atomics with operands in device memory, which are copied, and results there, which are not. */
#include "unit.h"

#include <rdma/fi_atomic.h>
#include "hmem_rig.h"

#define ADDR 0xabcdef0123456788
#define KEY  0x87654321

static uint64_t word(size_t offset)
{
	uint64_t value;

	memcpy(&value, hmem_rig_data + offset, sizeof(value));
	return value;
}

static void done(struct rig *rig)
{
	fake_complete_sends(rig_qp(rig), 1, IBV_WC_SUCCESS);
	assert_ptr_equal(rig_entry(rig->cq[0]).op_context, rig);
}

static void check_result(const struct fake_post *sent, size_t offset)
{
	assert_int_equal(sent->wr.num_sge, 1);
	assert_ptr_equal((void *)(uintptr_t)sent->sge[0].addr, hmem_rig_memory + offset);
	assert_int_equal(sent->sge[0].lkey, HMEM_RIG_LKEY);
}

static void test_add(void **state)
{
	struct rig *rig = *state;
	const struct fake_post *sent = hmem_rig_connect(rig);
	void *desc = hmem_rig_desc();
	struct fi_ioc ioc = { hmem_rig_memory + 32, 1 };

	assert_int_equal(fi_atomic(rig->ep, hmem_rig_memory + 8, 1, desc, 0, ADDR, KEY, FI_UINT64,
				   FI_SUM, rig),
			 0);
	assert_int_equal(sent->wr.opcode, IBV_WR_ATOMIC_FETCH_AND_ADD);
	assert_true(sent->wr.wr.atomic.compare_add == word(8));
	done(rig);
	assert_int_equal(fi_atomicv(rig->ep, &ioc, &desc, 1, 0, ADDR, KEY, FI_UINT64, FI_SUM, rig),
			 0);
	assert_true(sent->wr.wr.atomic.compare_add == word(32));
	done(rig);
	assert_int_equal(hmem_rig_copies, 2);
	assert_int_equal(
		fi_inject_atomic(rig->ep, hmem_rig_memory + 16, 1, 0, ADDR, KEY, FI_UINT64, FI_SUM),
		0);
	assert_true(sent->wr.wr.atomic.compare_add == word(16));
	fake_complete_sends(rig_qp(rig), 1, IBV_WC_SUCCESS);
	rig_no_entry(rig->cq[0]);
}

/* The value is in the work request: the word that it was copied to is gone when it is sent. */
static void test_write(void **state)
{
	struct rig *rig = *state;
	const struct fake_post *sent = hmem_rig_connect(rig);
	uint64_t value = word(24);

	assert_int_equal(fi_atomic(rig->ep, hmem_rig_memory + 24, 1, hmem_rig_desc(), 0, ADDR, KEY,
				   FI_UINT64, FI_ATOMIC_WRITE, rig),
			 0);
	assert_int_equal(sent->wr.opcode, IBV_WR_RDMA_WRITE);
	assert_true(sent->wr.send_flags & IBV_SEND_INLINE);
	assert_memory_equal(sent->data, &value, sizeof(value));
	done(rig);
}

static void test_fetch(void **state)
{
	struct rig *rig = *state;
	const struct fake_post *sent = hmem_rig_connect(rig);
	char *memory = hmem_rig_memory;
	void *desc = hmem_rig_desc();

	assert_int_equal(fi_fetch_atomic(rig->ep, memory, 1, desc, memory + 64, desc, 0, ADDR, KEY,
					 FI_UINT64, FI_SUM, rig),
			 0);
	assert_true(sent->wr.wr.atomic.compare_add == word(0));
	check_result(sent, 64);
	done(rig);
	assert_int_equal(fi_fetch_atomic(rig->ep, NULL, 1, NULL, memory + 72, desc, 0, ADDR, KEY,
					 FI_UINT64, FI_ATOMIC_READ, rig),
			 0);
	assert_int_equal(sent->wr.opcode, IBV_WR_RDMA_READ);
	check_result(sent, 72);
	done(rig);
	assert_int_equal(hmem_rig_copies, 1);
}

static void test_compare(void **state)
{
	struct rig *rig = *state;
	const struct fake_post *sent = hmem_rig_connect(rig);
	char *memory = hmem_rig_memory;
	void *desc = hmem_rig_desc();

	assert_int_equal(fi_compare_atomic(rig->ep, memory, 1, desc, memory + 8, desc, memory + 64,
					   desc, 0, ADDR, KEY, FI_UINT64, FI_CSWAP, rig),
			 0);
	assert_int_equal(sent->wr.opcode, IBV_WR_ATOMIC_CMP_AND_SWP);
	assert_true(sent->wr.wr.atomic.swap == word(0));
	assert_true(sent->wr.wr.atomic.compare_add == word(8));
	check_result(sent, 64);
	done(rig);
}

/* Nothing is posted. */
static void test_refused(void **state)
{
	struct rig *rig = *state;
	char *memory;
	void *desc = hmem_rig_desc();
	unsigned long total;

	hmem_rig_connect(rig);
	memory = hmem_rig_memory;
	total = fake_qp(rig_qp(rig))->sends.total;
	hmem_rig_err = -FI_EIO;
	assert_int_equal(fi_atomic(rig->ep, memory, 1, desc, 0, ADDR, KEY, FI_UINT64, FI_SUM, rig),
			 -FI_EIO);
	hmem_rig_forbid(rig);
	hmem_rig_err = 0;
	assert_int_equal(fi_atomic(rig->ep, memory, 1, desc, 0, ADDR, KEY, FI_UINT64, FI_SUM, rig),
			 -FI_EOPNOTSUPP);
	assert_int_equal(fake_qp(rig_qp(rig))->sends.total, total);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(test_add),	RIG_TEST(test_write),	RIG_TEST(test_fetch),
		RIG_TEST(test_compare), RIG_TEST(test_refused),
	};

	return RIG_RUN("verbs_hmem_atomic", tests);
}
