/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Rejections: bounded in number, logged with the nearest first, and passed to the thread that
 * listens.
 */
#include "unit.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include "fake_prov.h"
#include "fork_rig.h"
#include <ofi/explain.h>
#include "src/log.h"
#include "src/reject.h"
#include <rdma/fi_ext.h>

static int told;
static char lines[512][256];
static int warned, logged;

static void count(void *context, const struct fi_explain_entry *entry)
{
	assert_string_equal(entry->attr, "caps");
	*(int *)context += 1;
}

static void reject(uint32_t misses, const char *domain)
{
	struct fi_explain_entry entry = { .prov_name = "verbs",
					  .domain_name = domain,
					  .misses = misses,
					  .attr = "caps",
					  .asked = "a",
					  .has = "b" };

	ofi_reject(&entry);
}

static int log_enabled(const struct fi_provider *prov, enum fi_log_level level,
		       enum fi_log_subsys subsys, uint64_t flags)
{
	(void)prov;
	(void)subsys;
	(void)flags;
	return level <= FI_LOG_INFO;
}

static void log_keep(const struct fi_provider *prov, enum fi_log_level level,
		     enum fi_log_subsys subsys, const char *func, int line, const char *msg)
{
	(void)prov;
	(void)subsys;
	(void)func;
	(void)line;
	warned += level == FI_LOG_WARN;
	if (logged < 512)
		snprintf(lines[logged++], sizeof(lines[0]), "%s", msg);
}

static struct fi_ops_log log_ops = { sizeof(log_ops), log_enabled, NULL, log_keep };
static struct fid_logging log_fid = { .fid.fclass = FI_CLASS_LOG, .ops = &log_ops };

static int start(void **state)
{
	(void)state;
	told = warned = logged = 0;
	return fi_import_log(FI_VERSION(2, 0), 0, &log_fid);
}

static int stop(void **state)
{
	int ret = fi_close(&log_fid.fid);

	(void)state;
	log_fid.fid.ops = NULL;
	return ret;
}

static void test_nearest_first(void **state)
{
	struct ofi_rejects rejects;

	(void)state;
	ofi_rejects_begin(&rejects, false);
	reject(3, "far");
	reject(1, "near");
	reject(1, "near2");
	reject(2, NULL);
	ofi_rejects_log(&rejects, 2);
	ofi_rejects_end(&rejects);
	assert_int_equal(logged, 4);
	assert_int_equal(warned, 2);
	assert_string_equal(lines[0], "candidate verbs/near rejected: caps: asked a, has b\n");
	assert_string_equal(lines[1], "candidate verbs/near2 rejected: caps: asked a, has b\n");
	assert_string_equal(lines[2], "candidate verbs rejected: caps: asked a, has b\n");
	assert_string_equal(lines[3], "candidate verbs/far rejected: caps: asked a, has b\n");
}

static void test_bounded(void **state)
{
	struct ofi_rejects rejects;
	int i;

	(void)state;
	ofi_rejects_begin(&rejects, false);
	for (i = 0; i < 300; i++)
		reject(5, "far");
	reject(1, "near");
	assert_int_equal(rejects.total, 301);
	assert_true(rejects.count < 100);
	ofi_rejects_log(&rejects, 1);
	ofi_rejects_end(&rejects);
	assert_non_null(strstr(lines[0], "verbs/near"));
	assert_string_equal(lines[logged - 1], "and 237 more candidates\n");
}

static void test_nested(void **state)
{
	struct ofi_rejects outer, inner;

	(void)state;
	ofi_rejects_begin(&outer, false);
	reject(1, "outer");
	ofi_rejects_begin(&inner, false);
	reject(1, "inner");
	reject(1, "inner");
	assert_int_equal(inner.count, 2);
	ofi_rejects_end(&inner);
	assert_int_equal(outer.count, 1);
	ofi_rejects_end(&outer);
	reject(1, "nobody listens");
}

static void *elsewhere(void *arg)
{
	reject(1, "other thread");
	return arg;
}

static void test_listener(void **state)
{
	struct fi_explain_attr attr = { sizeof(attr), count, &told };
	struct fid *fid, *second;
	pthread_t thread;

	(void)state;
	assert_int_equal(fi_open(FI_VERSION(2, 6), "explain", &attr, sizeof(attr), 0, &fid, NULL),
			 0);
	reject(1, "a");
	assert_int_equal(told, 1);
	assert_int_equal(pthread_create(&thread, NULL, elsewhere, NULL), 0);
	pthread_join(thread, NULL);
	assert_int_equal(told, 1);
	assert_int_equal(ofi_explain_open(&attr, sizeof(attr), 0, &second, NULL), 0);
	reject(1, "a");
	assert_int_equal(told, 3);
	assert_int_equal(fi_close(fid), 0);
	reject(1, "a");
	assert_int_equal(told, 4);
	assert_int_equal(fi_close(second), 0);
	reject(1, "a");
	assert_int_equal(told, 4);
}

static void test_news(void **state)
{
	struct fi_explain_attr attr = { sizeof(attr), count, &told };
	struct ofi_rejects one, same, other;
	struct fid *fid;

	(void)state;
	ofi_rejects_begin(&one, false);
	reject(1, "a");
	assert_true(ofi_rejects_news(&one));
	ofi_rejects_begin(&same, false);
	reject(1, "a");
	assert_false(ofi_rejects_news(&same));
	ofi_rejects_begin(&other, false);
	reject(1, "b");
	assert_int_equal(ofi_explain_open(&attr, sizeof(attr), 0, &fid, NULL), 0);
	assert_false(ofi_rejects_news(&other));
	assert_int_equal(fi_close(fid), 0);
	assert_true(ofi_rejects_news(&other));
	assert_false(ofi_rejects_news(&other));
	ofi_rejects_end(&other);
	ofi_rejects_end(&same);
	ofi_rejects_end(&one);
}

static void test_bad_listeners(void **state)
{
	struct fi_explain_attr attr = { sizeof(attr), count, NULL };
	struct fid *fid;

	(void)state;
	assert_int_equal(ofi_explain_open(NULL, 0, 0, &fid, NULL), -FI_EINVAL);
	assert_int_equal(ofi_explain_open(&attr, 4, 0, &fid, NULL), -FI_EINVAL);
	assert_int_equal(ofi_explain_open(&attr, sizeof(attr), 1, &fid, NULL), -FI_EBADFLAGS);
	attr.reject = NULL;
	assert_int_equal(ofi_explain_open(&attr, sizeof(attr), 0, &fid, NULL), -FI_EINVAL);
	attr.reject = count;
	attr.size = 8;
	assert_int_equal(ofi_explain_open(&attr, sizeof(attr), 0, &fid, NULL), -FI_EINVAL);
}

/* A provider reaches the collector through its context alone. */
static void test_by_context(void **state)
{
	struct ofi_prov_context context = { .magic = OFI_PROV_CONTEXT_MAGIC, .reject = ofi_reject };
	struct fi_explain_entry entry = { .prov_name = "p", .misses = 1, .attr = "caps" };
	struct fi_provider prov = { .name = "p" };
	struct ofi_rejects rejects;

	(void)state;
	ofi_rejects_begin(&rejects, false);
	ofi_explain(&prov, &entry);
	assert_int_equal(rejects.count, 0);
	memcpy(&prov.context, &context, sizeof(context));
	ofi_explain(&prov, &entry);
	assert_int_equal(rejects.count, 1);
	ofi_rejects_end(&rejects);
}

static void listen_and_reject(void)
{
	struct fi_explain_attr attr = { sizeof(attr), count, &told };
	struct ofi_rejects rejects;
	struct fid *fid;

	ofi_explain_open(&attr, sizeof(attr), 0, &fid, NULL);
	ofi_rejects_begin(&rejects, false);
	reject(1, "a");
	fi_close(fid);
	ofi_rejects_news(&rejects);
	ofi_rejects_end(&rejects);
}

static void test_fork(void **state)
{
	(void)state;
	fork_amid(listen_and_reject);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_nearest_first, start, stop),
		cmocka_unit_test_setup_teardown(test_bounded, start, stop),
		cmocka_unit_test_setup_teardown(test_nested, start, stop),
		cmocka_unit_test_setup_teardown(test_listener, start, stop),
		cmocka_unit_test_setup_teardown(test_news, start, stop),
		cmocka_unit_test_setup_teardown(test_bad_listeners, start, stop),
		cmocka_unit_test_setup_teardown(test_by_context, start, stop),
		cmocka_unit_test_setup_teardown(test_fork, start, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
