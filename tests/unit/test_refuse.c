/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Refused calls: one log line each, at the level of its kind, and the error. */
#include "unit.h"

#include <stdio.h>
#include <rdma/fi_ext.h>
#include "prov/base/refuse.h"

static struct fi_provider prov = { .name = "test" };
static char text[256], by[64];
static enum fi_log_level level, most;
static int lines;

static int log_enabled(const struct fi_provider *from, enum fi_log_level at,
		       enum fi_log_subsys subsys, uint64_t flags)
{
	(void)subsys;
	(void)flags;
	assert_ptr_equal(from, &prov);
	return at <= most;
}

static void log_keep(const struct fi_provider *from, enum fi_log_level at,
		     enum fi_log_subsys subsys, const char *func, int line, const char *msg)
{
	assert_ptr_equal(from, &prov);
	assert_int_equal(subsys, FI_LOG_CQ);
	assert_true(line > 0);
	level = at;
	lines++;
	snprintf(by, sizeof(by), "%s", func);
	snprintf(text, sizeof(text), "%s", msg);
}

static void expect(int ret, int want, enum fi_log_level at, const char *said)
{
	assert_int_equal(ret, want);
	assert_int_equal(lines, 1);
	assert_int_equal(level, at);
	assert_string_equal(text, said);
	assert_string_equal(by, "test_lines");
	lines = 0;
}

static void test_lines(void **state)
{
	static struct fi_ops_log ops = { sizeof(ops), log_enabled, NULL, log_keep };
	static struct fid_logging log = { .ops = &ops };

	(void)state;
	most = FI_LOG_INFO;
	assert_int_equal(fi_import_log(FI_VERSION(2, 6), 0, &log), 0);
	expect(ofi_refuse(&prov, FI_LOG_CQ, -FI_EBUSY, "fi_x: %d of %s\n", 3, "four"), -FI_EBUSY,
	       FI_LOG_WARN, "fi_x: 3 of four\n");
	expect(ofi_decline(&prov, FI_LOG_CQ, -FI_ENOSYS, "no\n"), -FI_ENOSYS, FI_LOG_INFO, "no\n");
	expect(ofi_refuse_null(&prov, FI_LOG_CQ, "fi_x", "attr"), -FI_EINVAL, FI_LOG_WARN,
	       "fi_x: attr is NULL\n");
	expect(ofi_refuse_flags(&prov, FI_LOG_CQ, "fi_x", 0x30), -FI_EBADFLAGS, FI_LOG_WARN,
	       "fi_x: flags 0x30 are not valid here\n");
	expect(ofi_refuse_second(&prov, FI_LOG_CQ, "fi_x", "a queue"), -FI_EBUSY, FI_LOG_WARN,
	       "fi_x: a queue is bound already\n");
	expect(ofi_decline_command(&prov, FI_LOG_CQ, 99, "there is FI_ENABLE"), -FI_ENOSYS,
	       FI_LOG_INFO, "fi_control: command 99; there is FI_ENABLE\n");
	most = FI_LOG_WARN;
	assert_int_equal(ofi_decline(&prov, FI_LOG_CQ, -FI_ENOSYS, "no\n"), -FI_ENOSYS);
	assert_int_equal(lines, 0);
	fi_close(&log.fid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
	};

	return cmocka_run_group_tests_name("refuse", tests, NULL, NULL);
}
