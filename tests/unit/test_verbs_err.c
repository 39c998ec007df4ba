/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The tables of errors. */
#include "unit.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <rdma/fi_errno.h>
#include "prov/verbs/provider/err.h"

static void test_errno(void **state)
{
	int err;

	(void)state;
	assert_int_equal(vrb_errno(0), -FI_EIO);
	for (err = 1; err < 134; err++) {
		if (err == EAGAIN) /* of a control group: the caller must not try for ever */
			continue;
		assert_int_equal(vrb_errno(err), -err);
		assert_int_equal(vrb_errno(-err), -err);
	}
	assert_int_equal(vrb_errno(EAGAIN), -FI_ENOMEM);
	assert_int_equal(vrb_errno(-EAGAIN), -FI_ENOMEM);
}

static void test_wc(void **state)
{
	static const struct {
		enum ibv_wc_status status;
		int send, recv;
	} table[] = {
		{ IBV_WC_SUCCESS, 0, 0 },
		{ IBV_WC_LOC_LEN_ERR, FI_EMSGSIZE, FI_ETRUNC },
		{ IBV_WC_LOC_QP_OP_ERR, FI_EINVAL, FI_EINVAL },
		{ IBV_WC_LOC_EEC_OP_ERR, FI_EIO, FI_EIO },
		{ IBV_WC_LOC_PROT_ERR, FI_EFAULT, FI_EFAULT },
		{ IBV_WC_WR_FLUSH_ERR, FI_ECANCELED, FI_ECANCELED },
		{ IBV_WC_MW_BIND_ERR, FI_EACCES, FI_EACCES },
		{ IBV_WC_BAD_RESP_ERR, FI_EREMOTEIO, FI_EREMOTEIO },
		{ IBV_WC_LOC_ACCESS_ERR, FI_EACCES, FI_EACCES },
		{ IBV_WC_REM_INV_REQ_ERR, FI_EREMOTEIO, FI_EREMOTEIO },
		{ IBV_WC_REM_ACCESS_ERR, FI_EKEYREJECTED, FI_EKEYREJECTED },
		{ IBV_WC_REM_OP_ERR, FI_EREMOTEIO, FI_EREMOTEIO },
		{ IBV_WC_RETRY_EXC_ERR, FI_ETIMEDOUT, FI_ETIMEDOUT },
		{ IBV_WC_RNR_RETRY_EXC_ERR, FI_ENORX, FI_ENORX },
		{ IBV_WC_LOC_RDD_VIOL_ERR, FI_EIO, FI_EIO },
		{ IBV_WC_REM_INV_RD_REQ_ERR, FI_ECONNRESET, FI_ECONNRESET },
		{ IBV_WC_REM_ABORT_ERR, FI_ECONNABORTED, FI_ECONNABORTED },
		{ IBV_WC_INV_EECN_ERR, FI_EIO, FI_EIO },
		{ IBV_WC_INV_EEC_STATE_ERR, FI_EIO, FI_EIO },
		{ IBV_WC_FATAL_ERR, FI_ENODEV, FI_ENODEV },
		{ IBV_WC_RESP_TIMEOUT_ERR, FI_ETIMEDOUT, FI_ETIMEDOUT },
		{ IBV_WC_GENERAL_ERR, FI_EIO, FI_EIO },
		{ 1000, FI_EIO, FI_EIO },
	};
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		assert_int_equal(vrb_wc_err(table[i].status, false), table[i].send);
		assert_int_equal(vrb_wc_err(table[i].status, true), table[i].recv);
	}
}

static void test_cm(void **state)
{
	static const struct {
		enum rdma_cm_event_type event;
		int status, err;
	} table[] = {
		{ RDMA_CM_EVENT_ADDR_ERROR, 0, FI_EADDRNOTAVAIL },
		{ RDMA_CM_EVENT_ADDR_ERROR, -EHOSTUNREACH, FI_EHOSTUNREACH },
		{ RDMA_CM_EVENT_ADDR_ERROR, -ENODEV, FI_EADDRNOTAVAIL },
		{ RDMA_CM_EVENT_ROUTE_ERROR, 0, FI_ENETUNREACH },
		{ RDMA_CM_EVENT_ROUTE_ERROR, -ETIMEDOUT, FI_ETIMEDOUT },
		{ RDMA_CM_EVENT_CONNECT_ERROR, 0, FI_ECONNABORTED },
		{ RDMA_CM_EVENT_CONNECT_ERROR, -EINVAL, FI_ECONNABORTED },
		{ RDMA_CM_EVENT_UNREACHABLE, 0, FI_EHOSTUNREACH },
		{ RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT, FI_ETIMEDOUT },
		{ RDMA_CM_EVENT_REJECTED, 8, FI_ECONNREFUSED },
		{ RDMA_CM_EVENT_REJECTED, 28, FI_ECONNREFUSED },
		{ RDMA_CM_EVENT_DEVICE_REMOVAL, 0, FI_ENODEV },
		{ RDMA_CM_EVENT_MULTICAST_ERROR, -ENOMEM, FI_ENOMEM },
		{ RDMA_CM_EVENT_MULTICAST_ERROR, 0, FI_EIO },
		{ RDMA_CM_EVENT_TIMEWAIT_EXIT, 0, FI_EIO },
	};
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		assert_int_equal(vrb_cm_err(table[i].event, table[i].status), table[i].err);
}

/* A remedy starts where the text of the errno ended. */
static void test_remedy(void **state)
{
	int err;

	(void)state;
	for (err = 0; err < 134; err++) {
		assert_non_null(vrb_remedy(err));
		if (*vrb_remedy(err))
			assert_memory_equal(vrb_remedy(err), "; ", 2);
	}
	assert_non_null(strstr(vrb_remedy(ENOMEM), "ulimit -l"));
	assert_non_null(strstr(vrb_remedy(EMFILE), "ulimit -n"));
	assert_non_null(strstr(vrb_remedy(EADDRINUSE), "port"));
	assert_string_equal(vrb_remedy(EINVAL), "");
}

/* With a limit of 0 the kernel denies permission, and it is not that of the devices. */
static void test_remedy_of_no_locked_memory(void **state)
{
	struct rlimit limit, none;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_MEMLOCK, &limit), 0);
	none = (struct rlimit){ 0, limit.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &none), 0);
	assert_non_null(strstr(vrb_remedy(EPERM), "ulimit -l"));
	assert_non_null(strstr(vrb_remedy(EACCES), "/dev/infiniband"));
	assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
	if (limit.rlim_cur)
		assert_non_null(strstr(vrb_remedy(EPERM), "/dev/infiniband"));
}

static enum ibv_fork_status fork_status;

enum ibv_fork_status ibv_is_fork_initialized(void)
{
	return fork_status;
}

/* Fork protection takes huge pages for small ones unless it is told to look. */
static void test_remedy_of_huge_pages(void **state)
{
	(void)state;
	unsetenv("RDMAV_HUGEPAGES_SAFE");
	unsetenv("RDMAV_FORK_SAFE");
	unsetenv("IBV_FORK_SAFE");
	fork_status = IBV_FORK_ENABLED;
	assert_non_null(strstr(vrb_reg_remedy(EINVAL), "RDMAV_HUGEPAGES_SAFE=1"));
	assert_string_equal(vrb_reg_remedy(ENOMEM), vrb_remedy(ENOMEM));
	setenv("RDMAV_HUGEPAGES_SAFE", "1", 1);
	assert_string_equal(vrb_reg_remedy(EINVAL), "");
	unsetenv("RDMAV_HUGEPAGES_SAFE");
	fork_status = IBV_FORK_UNNEEDED;
	assert_string_equal(vrb_reg_remedy(EINVAL), "");
	setenv("RDMAV_FORK_SAFE", "1", 1);
	assert_non_null(strstr(vrb_reg_remedy(EINVAL), "RDMAV_HUGEPAGES_SAFE=1"));
	unsetenv("RDMAV_FORK_SAFE");
	fork_status = IBV_FORK_DISABLED;
	assert_string_equal(vrb_reg_remedy(EINVAL), "");
}

/* Lets the process open so many files more. */
static void leave_files(struct rlimit *limit, int files)
{
	int first = dup(STDERR_FILENO);
	struct rlimit few;

	assert_true(first >= 0);
	close(first);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, limit), 0);
	few = (struct rlimit){ (rlim_t)(first + files), limit->rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
}

static void test_cause_is_the_limit_of_files(void **state)
{
	struct rlimit limit;
	int files, causes[6], same;

	(void)state;
	assert_int_equal(vrb_err_cause(ENOSYS), ENOSYS);
	assert_int_equal(vrb_err_cause(0), 0);
	assert_int_equal(vrb_err_opening(ENODEV, "no such file"), ENODEV);
	for (files = 0; files < 6; files++) {
		leave_files(&limit, files);
		causes[files] = vrb_err_cause(ENODEV);
		same = vrb_err_cause(EMFILE);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
		assert_int_equal(same, EMFILE);
	}
	assert_int_equal(causes[0], EMFILE);
	assert_int_equal(causes[3], EMFILE);
	assert_int_equal(causes[4], ENODEV);
	assert_int_equal(causes[5], ENODEV);
}

static int access_err = ENOENT;

/* In place of libc's. */
int eaccess(const char *path, int mode)
{
	(void)path;
	(void)mode;
	errno = access_err;
	return -1;
}

static void test_denied_files(void **state)
{
	(void)state;
	access_err = EACCES;
	assert_int_equal(vrb_err_opening(ENODEV, "uverbs0"), EACCES);
	access_err = EPERM;
	assert_int_equal(vrb_err_opening(ENODEV, "uverbs0"), EPERM);
	access_err = ENOENT;
	assert_int_equal(vrb_err_opening(ENODEV, "uverbs0"), ENODEV);
}

static void test_eq_strerror(void **state)
{
	char text[128], small[8];

	(void)state;
	assert_ptr_equal(vrb_eq_strerror(8, NULL, 0, text, sizeof(text)), text);
	assert_non_null(strstr(text, "nobody listens"));
	assert_non_null(strstr(vrb_eq_strerror(6, NULL, 0, NULL, 0), "no longer knows"));
	assert_non_null(strstr(vrb_eq_strerror(10, NULL, 0, NULL, 0), "stale connection"));
	vrb_eq_strerror(28, NULL, 0, text, sizeof(text));
	assert_non_null(strstr(text, "application"));
	assert_non_null(strstr(text, "28"));
	vrb_eq_strerror(-ETIMEDOUT, NULL, 0, text, sizeof(text));
	assert_non_null(strstr(text, fi_strerror(FI_ETIMEDOUT)));
	assert_non_null(strstr(vrb_eq_strerror(8, NULL, 0, NULL, 0), "nobody listens"));
	assert_non_null(strstr(vrb_eq_strerror(INT_MIN, NULL, 0, NULL, 0), "-2147483648"));
	vrb_eq_strerror(8, NULL, 0, small, sizeof(small));
	assert_int_equal(strlen(small), sizeof(small) - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_errno),
		cmocka_unit_test(test_wc),
		cmocka_unit_test(test_cm),
		cmocka_unit_test(test_remedy),
		cmocka_unit_test(test_eq_strerror),
		cmocka_unit_test(test_remedy_of_no_locked_memory),
		cmocka_unit_test(test_remedy_of_huge_pages),
		cmocka_unit_test(test_cause_is_the_limit_of_files),
		cmocka_unit_test(test_denied_files),
	};

	return cmocka_run_group_tests_name("verbs_err", tests, NULL, NULL);
}
