/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Completion queues of reliable datagrams in poll sets: their contexts, and when they are ready. */
#include "unit.h"
#include <string.h>
#include "prov/rdm/cq.h"

static struct ofi_domain domain, another;
static struct ofi_rdm_cq cq;
static unsigned int reads, arrives;
static struct fi_ops fid_ops = { .size = sizeof(struct fi_ops), .control = ofi_cq_control };

/* Progress brings what is due. */
static ssize_t cq_read(struct fid_cq *fid, void *buf, size_t count)
{
	assert_ptr_equal(fid, &cq.fid);
	assert_null(buf);
	assert_int_equal(count, 0);
	reads++;
	cq.ring.tail += arrives;
	ofi_cq_ring_show(&cq.ring);
	arrives = 0;
	return cq.ring.tail == cq.ring.head ? -FI_EAGAIN : 0;
}

static struct fi_ops_cq ops = { .size = sizeof(ops), .read = cq_read };

static int begin(void **state)
{
	(void)state;
	memset(&cq, 0, sizeof(cq));
	cq.fid.fid.ops = &fid_ops;
	cq.fid.ops = &ops;
	cq.fid.fid.fclass = FI_CLASS_CQ;
	cq.domain = &domain;
	cq.base.slow = &cq.slow;
	cq.slow.parent = &domain.ref;
	reads = arrives = 0;
	return 0;
}

static void only_of_the_sets_domain(void **state)
{
	(void)state;
	assert_ptr_equal(ofi_cq_of(&cq.fid.fid, &domain.ref), &cq.base);
	assert_null(ofi_cq_of(&cq.fid.fid, &another.ref));
}

/* One of connections looks the same, but for its operations. */
static void only_of_this_kind(void **state)
{
	(void)state;
	cq.fid.fid.ops = NULL;
	assert_null(ofi_cq_of(&cq.fid.fid, &domain.ref));
}

static void ready_by_what_progress_brings(void **state)
{
	(void)state;
	assert_false(ofi_rdm_cq_ready(&cq.base));
	assert_int_equal(reads, 1);
	arrives = 1;
	assert_true(ofi_rdm_cq_ready(&cq.base));
	/* It stays so until it is read. */
	assert_true(ofi_rdm_cq_ready(&cq.base));
	cq.ring.head = cq.ring.tail;
	assert_false(ofi_rdm_cq_ready(&cq.base));
}

static void ready_by_what_was_lost(void **state)
{
	(void)state;
	cq.ring.overrun = true;
	ofi_cq_ring_show(&cq.ring);
	assert_true(ofi_rdm_cq_ready(&cq.base));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(only_of_the_sets_domain, begin),
		cmocka_unit_test_setup(only_of_this_kind, begin),
		cmocka_unit_test_setup(ready_by_what_progress_brings, begin),
		cmocka_unit_test_setup(ready_by_what_was_lost, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
