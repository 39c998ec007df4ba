/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Completions in software: order, growth, formats, failures, out of memory. */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include "prov/base/cq_ring.h"
#include <rdma/fi_errno.h>

static bool no_memory;

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);

void *__wrap_calloc(size_t n, size_t size)
{
	if (!no_memory)
		return __real_calloc(n, size);
	errno = ENOMEM;
	return NULL;
}

static bool put(struct ofi_cq_ring *ring, uintptr_t n, int err)
{
	struct ofi_cq_item *item = ofi_cq_ring_next(ring);

	if (!item)
		return false;
	*item = (struct ofi_cq_item){
		.context = (void *)n,
		.flags = n + 1,
		.len = n + 2,
		.buf = (void *)(n + 3),
		.data = n + 4,
		.tag = n + 5,
		.src = n + 6,
		.err = err,
	};
	ofi_cq_ring_push(ring);
	return true;
}

static void test_empty(void **state)
{
	struct fi_cq_entry entry;
	struct ofi_cq_ring ring;

	(void)state;
	assert_int_equal(ofi_cq_ring_init(&ring, 0), 0);
	assert_true(ofi_cq_ring_empty(&ring));
	assert_int_equal(ofi_cq_ring_read(&ring, FI_CQ_FORMAT_CONTEXT, &entry, 1, NULL),
			 -FI_EAGAIN);
	assert_null(ofi_cq_ring_take_error(&ring));
	assert_true(put(&ring, 1, 0));
	assert_false(ofi_cq_ring_empty(&ring));
	assert_int_equal(ofi_cq_ring_read(&ring, FI_CQ_FORMAT_CONTEXT, NULL, 0, NULL), -FI_EAGAIN);
	ofi_cq_ring_fini(&ring);
}

/* Written and read at different speeds, it grows and loses nothing. */
static void test_order(void **state)
{
	struct fi_cq_entry entries[7];
	uintptr_t written = 0, seen = 0;
	struct ofi_cq_ring ring;
	ssize_t i, n;

	(void)state;
	assert_int_equal(ofi_cq_ring_init(&ring, 1), 0);
	while (written < 10000) {
		for (i = 0; i < 11; i++)
			assert_true(put(&ring, written++, 0));
		n = ofi_cq_ring_read(&ring, FI_CQ_FORMAT_CONTEXT, entries, 7, NULL);
		assert_int_equal(n, 7);
		for (i = 0; i < n; i++)
			assert_ptr_equal(entries[i].op_context, (void *)seen++);
	}
	while ((n = ofi_cq_ring_read(&ring, FI_CQ_FORMAT_CONTEXT, entries, 7, NULL)) > 0)
		for (i = 0; i < n; i++)
			assert_ptr_equal(entries[i].op_context, (void *)seen++);
	assert_int_equal(seen, written);
	ofi_cq_ring_fini(&ring);
}

/* Only unread items count. */
static void test_has(void **state)
{
	struct fi_cq_entry entry;
	struct ofi_cq_ring ring;

	(void)state;
	assert_int_equal(ofi_cq_ring_init(&ring, 0), 0);
	assert_true(put(&ring, 1, 0));
	assert_true(put(&ring, 2, FI_EIO));
	assert_true(ofi_cq_ring_has(&ring, (void *)1));
	assert_true(ofi_cq_ring_has(&ring, (void *)2));
	assert_false(ofi_cq_ring_has(&ring, (void *)3));
	assert_int_equal(ofi_cq_ring_read(&ring, FI_CQ_FORMAT_CONTEXT, &entry, 1, NULL), 1);
	assert_false(ofi_cq_ring_has(&ring, (void *)1));
	assert_non_null(ofi_cq_ring_take_error(&ring));
	assert_false(ofi_cq_ring_has(&ring, (void *)2));
	ofi_cq_ring_fini(&ring);
}

static void test_formats(void **state)
{
	struct fi_cq_tagged_entry tagged;
	struct fi_cq_data_entry data;
	struct fi_cq_msg_entry msg;
	struct ofi_cq_ring ring;
	fi_addr_t src = 0;

	(void)state;
	assert_int_equal(ofi_cq_ring_init(&ring, 1), 0);
	put(&ring, 10, 0);
	put(&ring, 20, 0);
	put(&ring, 30, 0);
	assert_int_equal(ofi_cq_ring_read(&ring, FI_CQ_FORMAT_MSG, &msg, 1, NULL), 1);
	assert_ptr_equal(msg.op_context, (void *)10);
	assert_int_equal(msg.flags, 11);
	assert_int_equal(msg.len, 12);
	assert_int_equal(ofi_cq_ring_read(&ring, FI_CQ_FORMAT_DATA, &data, 1, &src), 1);
	assert_ptr_equal(data.buf, (void *)23);
	assert_int_equal(data.data, 24);
	assert_int_equal(src, 26);
	assert_int_equal(ofi_cq_ring_read(&ring, FI_CQ_FORMAT_TAGGED, &tagged, 1, NULL), 1);
	assert_int_equal(tagged.len, 32);
	assert_int_equal(tagged.data, 34);
	assert_int_equal(tagged.tag, 35);
	ofi_cq_ring_fini(&ring);
}

/* A failure stays in its place: what came before is read first, what came after waits. */
static void test_failures(void **state)
{
	const struct ofi_cq_item *item;
	struct fi_cq_entry entries[4];
	struct ofi_cq_ring ring;

	(void)state;
	assert_int_equal(ofi_cq_ring_init(&ring, 1), 0);
	put(&ring, 1, 0);
	put(&ring, 2, FI_ETRUNC);
	put(&ring, 3, 0);
	assert_null(ofi_cq_ring_take_error(&ring));
	assert_int_equal(ofi_cq_ring_read(&ring, FI_CQ_FORMAT_CONTEXT, entries, 4, NULL), 1);
	assert_int_equal(ofi_cq_ring_read(&ring, FI_CQ_FORMAT_CONTEXT, entries, 4, NULL),
			 -FI_EAVAIL);
	item = ofi_cq_ring_take_error(&ring);
	assert_non_null(item);
	assert_int_equal(item->err, FI_ETRUNC);
	assert_ptr_equal(item->context, (void *)2);
	assert_int_equal(ofi_cq_ring_read(&ring, FI_CQ_FORMAT_CONTEXT, entries, 4, NULL), 1);
	assert_ptr_equal(entries[0].op_context, (void *)3);
	ofi_cq_ring_fini(&ring);
}

/* What it held is still read; then it says once that some was lost. */
static void test_no_memory(void **state)
{
	const struct ofi_cq_item *item;
	struct fi_cq_entry entry;
	struct ofi_cq_ring ring;
	uintptr_t n = 0, seen = 0;

	(void)state;
	no_memory = true;
	assert_int_equal(ofi_cq_ring_init(&ring, 1), -FI_ENOMEM);
	no_memory = false;
	assert_int_equal(ofi_cq_ring_init(&ring, 1), 0);
	no_memory = true;
	while (put(&ring, n, 0))
		n++;
	no_memory = false;
	while (ofi_cq_ring_read(&ring, FI_CQ_FORMAT_CONTEXT, &entry, 1, NULL) == 1)
		seen++;
	assert_int_equal(seen, n);
	assert_int_equal(ofi_cq_ring_read(&ring, FI_CQ_FORMAT_CONTEXT, &entry, 1, NULL),
			 -FI_EAVAIL);
	item = ofi_cq_ring_take_error(&ring);
	assert_non_null(item);
	assert_int_equal(item->err, FI_EOVERRUN);
	assert_null(ofi_cq_ring_take_error(&ring));
	assert_int_equal(ofi_cq_ring_read(&ring, FI_CQ_FORMAT_CONTEXT, &entry, 1, NULL),
			 -FI_EAGAIN);
	ofi_cq_ring_fini(&ring);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),	 cmocka_unit_test(test_order),
		cmocka_unit_test(test_has),	 cmocka_unit_test(test_formats),
		cmocka_unit_test(test_failures), cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
