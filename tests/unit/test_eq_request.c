/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connection requests in event queues that nobody takes: their fi_info is freed. */
#include "unit.h"

#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include "prov/base/eq.h"

static struct fi_provider prov = { .name = "test" };
static struct ofi_ref parent;

static struct fid_eq *open_plain(void)
{
	struct fid_eq *eq = NULL;

	assert_int_equal(ofi_eq_open(&prov, FI_VERSION(1, 17), &parent, NULL, NULL, &eq, NULL), 0);
	return eq;
}

static void close_eq(struct fid_eq *eq)
{
	assert_int_equal(fi_close(&eq->fid), 0);
}

static int rejected;

/* The reader that peeked at a request may have used the handle, so that it is no longer one. */
static int reject(struct fid_pep *fid, fid_t handle, const void *param, size_t len)
{
	(void)fid;
	assert_string_equal((char *)handle, "used");
	assert_true(!param && !len);
	rejected++;
	return -FI_EINVAL;
}

static struct fi_ops_cm cm_ops = { .size = sizeof(cm_ops), .reject = reject };
static struct fid_pep pep = { .cm = &cm_ops };

static void post_request(struct fid_eq *eq)
{
	struct fi_eq_cm_entry entry = { .fid = &pep.fid, .info = fi_allocinfo() };

	entry.info->handle = (fid_t) "used";
	assert_int_equal(ofi_eq_post(ofi_eq(eq), FI_CONNREQ, &entry, sizeof(entry)), 0);
}

static void forgetting_rejects_unread_requests(void **state)
{
	struct fid other;
	struct fid_eq *eq = open_plain();
	struct fi_eq_cm_entry entry = { .fid = &other };
	uint32_t event;
	int i;

	(void)state;
	rejected = 0;
	for (i = 0; i < 2; i++) {
		post_request(eq);
		assert_int_equal(ofi_eq_post(ofi_eq(eq), FI_CONNECTED, &entry, sizeof(entry)), 0);
		ofi_eq_forget(ofi_eq(eq), &pep.fid);
		assert_int_equal(rejected, i + 1);
	}
	assert_int_equal(fi_eq_read(eq, &event, &entry, sizeof(entry), 0), sizeof(entry));
	assert_int_equal(event, FI_CONNECTED);
	post_request(eq);
	close_eq(eq);
	assert_int_equal(rejected, 3);
}

static void reading_no_entry_drops_a_request(void **state)
{
	struct fid_eq *eq = open_plain();
	struct fi_eq_cm_entry entry;
	uint32_t event;

	(void)state;
	rejected = 0;
	post_request(eq);
	assert_int_equal(fi_eq_read(eq, &event, NULL, 0, 0), 0);
	assert_int_equal(event, FI_CONNREQ);
	assert_int_equal(rejected, 1);
	/* Not one that was peeked at: the application has its fi_info. */
	post_request(eq);
	assert_int_equal(fi_eq_read(eq, &event, &entry, sizeof(entry), FI_PEEK), sizeof(entry));
	assert_int_equal(fi_eq_read(eq, &event, NULL, 0, 0), 0);
	assert_int_equal(rejected, 1);
	fi_freeinfo(entry.info);
	close_eq(eq);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forgetting_rejects_unread_requests),
		cmocka_unit_test(reading_no_entry_drops_a_request),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
