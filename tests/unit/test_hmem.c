/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The interfaces of device memory: which are loaded, and what is said of those that are not. They
 * are loaded once, so each case is a process.
 */
#include "unit.h"

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <rdma/fi_errno.h>
#include "capture.h"
#include "prov/base/hmem.h"
#include "prov/base/hmem_copy.h"
#include "src/param.h"

/* What a process saw. */
struct seen {
	bool any, cuda, rocr, ze, neuron, may_export, rocr_may_export, ze_may_export, disabled,
		finder;
	char why[1024], cuda_why[256], rocr_why[256], ze_why[256], neuron_why[256], log[16384];
};

static struct seen *seen;
static struct fi_provider prov = { .name = "ofi_fake" };

#define NO_HSA "/nonexistent/libhsa-runtime64.so.1"
#define NO_ZE  "/nonexistent/libze_loader.so.1"
/* Files of libcuda.so.1, libhsa-runtime64.so.1 and libze_loader.so.1. */
static const char *library, *hsa = NO_HSA, *loader = NO_ZE;

static _Thread_local bool slow;
static sem_t loading;

void *__real_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags)
{
	if (slow) {
		sem_post(&loading);
		usleep(100000);
	}
	if (!strcmp(name, "libcuda.so.1"))
		return __real_dlopen(library, flags);
	if (!strcmp(name, "libhsa-runtime64.so.1"))
		return __real_dlopen(hsa, flags);
	return __real_dlopen(strcmp(name, "libze_loader.so.1") ? name : loader, flags);
}

static void look(void)
{
	const char *why = "";

	capture_start();
	seen->any = ofi_hmem_any(&prov, &why);
	if (!seen->any)
		snprintf(seen->why, sizeof(seen->why), "%s", why);
	seen->cuda = ofi_hmem_get(&prov, FI_HMEM_CUDA, &why) == &ofi_hmem_cuda;
	snprintf(seen->cuda_why, sizeof(seen->cuda_why), "%s", why);
	seen->rocr = ofi_hmem_get(&prov, FI_HMEM_ROCR, &why) == &ofi_hmem_rocr;
	snprintf(seen->rocr_why, sizeof(seen->rocr_why), "%s", why);
	seen->ze = ofi_hmem_get(&prov, FI_HMEM_ZE, &why) == &ofi_hmem_ze;
	snprintf(seen->ze_why, sizeof(seen->ze_why), "%s", why);
	seen->neuron = ofi_hmem_get(&prov, FI_HMEM_NEURON, &why);
	snprintf(seen->neuron_why, sizeof(seen->neuron_why), "%s", why);
	seen->may_export = ofi_hmem_may_export(&ofi_hmem_cuda);
	seen->rocr_may_export = ofi_hmem_may_export(&ofi_hmem_rocr);
	seen->ze_may_export = ofi_hmem_may_export(&ofi_hmem_ze);
	seen->disabled = ofi_hmem_p2p_disabled();
	seen->finder = ofi_hmem_finder == ofi_hmem_of && !ofi_hmem_of(&why);
	snprintf(seen->log, sizeof(seen->log), "%s", capture_stop());
}

/* In a new process, with this library and one variable of the environment. */
static void look_with(const char *file, const char *name, const char *value)
{
	int status;
	pid_t pid;

	memset(seen, 0, sizeof(*seen));
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		library = file;
		if (name)
			setenv(name, value, 1);
		ofi_param_init();
		look();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void test_works(void **state)
{
	(void)state;
	look_with(FALSE_CUDA, NULL, NULL);
	assert_true(seen->any);
	assert_true(seen->cuda);
	assert_true(seen->finder);
	assert_true(seen->may_export);
	assert_false(seen->disabled);
	assert_string_equal(seen->cuda_why, "");
	assert_false(seen->rocr);
	assert_non_null(strstr(seen->rocr_why, NO_HSA));
	assert_false(seen->ze);
	assert_non_null(strstr(seen->ze_why, NO_ZE));
	assert_false(seen->neuron);
	assert_non_null(strstr(seen->neuron_why, "does not support Neuron, "));
	assert_string_equal(seen->log, "");
}

/* Both, and each alone. */
static void test_rocr(void **state)
{
	(void)state;
	hsa = FALSE_ROCR;
	look_with(FALSE_CUDA, NULL, NULL);
	assert_true(seen->cuda && seen->rocr && seen->may_export && seen->rocr_may_export);
	look_with("/nonexistent/libcuda.so.1", NULL, NULL);
	assert_true(seen->any && seen->rocr && seen->finder && !seen->cuda);
	look_with(FALSE_CUDA, "FI_HMEM", "rocr");
	assert_true(seen->rocr && !seen->cuda);
	look_with(FALSE_CUDA, "FI_HMEM", "cuda");
	assert_true(seen->cuda && !seen->rocr);
	look_with(FALSE_CUDA, "FI_HMEM_ROCR_USE_DMABUF", "0");
	assert_true(seen->rocr && seen->may_export && !seen->rocr_may_export);
	hsa = NO_HSA;
}

/* Alone, and with another one. */
static void test_ze(void **state)
{
	(void)state;
	loader = FALSE_ZE;
	look_with("/nonexistent/libcuda.so.1", NULL, NULL);
	assert_true(seen->any && seen->ze && seen->finder && seen->ze_may_export && !seen->cuda);
	look_with(FALSE_CUDA, "FI_HMEM", "cuda");
	assert_true(seen->cuda && !seen->ze);
	look_with(FALSE_CUDA, "FI_HMEM", "ze,cuda");
	assert_true(seen->cuda && seen->ze);
	look_with(FALSE_CUDA, "FI_HMEM_ZE_USE_DMABUF", "0");
	assert_true(seen->ze && seen->may_export && !seen->ze_may_export);
	look_with(FALSE_CUDA, "FALSE_GPU_FAIL", "zeInit:2013265921");
	assert_true(seen->cuda && !seen->ze);
	assert_non_null(strstr(seen->ze_why, "zeInit returns 0x78000001: "));
	loader = NO_ZE;
}

static void test_not_loaded(void **state)
{
	(void)state;
	assert_null(ofi_hmem_of(&prov));
	assert_null(ofi_hmem_finder);
	assert_false(ofi_hmem_may_export(NULL));
}

/* The loader says what is wrong: a file that is not there, one that is no library. */
static void test_no_library(void **state)
{
	char name[] = "/tmp/libcuda.XXXXXX";
	int fd = mkstemp(name);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	look_with("/nonexistent/libcuda.so.1", NULL, NULL);
	assert_false(seen->any);
	assert_false(seen->finder);
	assert_non_null(strstr(seen->why, "cuda: /nonexistent/libcuda.so.1: "));
	assert_non_null(strstr(seen->why, "No such file or directory"));
	look_with(name, NULL, NULL);
	assert_false(seen->any);
	assert_non_null(strstr(seen->why, "file too short"));
	assert_null(strstr(seen->why, "installed"));
	unlink(name);
}

static void test_no_device(void **state)
{
	(void)state;
	look_with("libm.so.6", NULL, NULL);
	assert_false(seen->any);
	assert_non_null(strstr(seen->cuda_why, "too old: it has no cuInit"));
	look_with(FALSE_CUDA, "FALSE_GPU_NO_DEVICE", "1");
	assert_false(seen->any);
	assert_string_equal(seen->cuda_why, "the driver finds no device");
	look_with(FALSE_CUDA, "FALSE_GPU_FAIL", "cuInit:100");
	assert_false(seen->any);
	assert_string_equal(seen->cuda_why, "cuInit returns CUDA_ERROR_NO_DEVICE (100)");
	look_with(FALSE_CUDA, "FALSE_GPU_FAIL", "cuDeviceGetCount:999");
	assert_false(seen->any);
	assert_string_equal(seen->cuda_why,
			    "cuDeviceGetCount returns an error without a name (999)");
}

/* These name CUDA. */
static void test_named(void **state)
{
	static const char *const lists[] = {
		"cuda", "ALL", "system,cuda", "system; CUDA", "", ","
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		look_with(FALSE_CUDA, "FI_HMEM", lists[i]);
		assert_true(seen->cuda);
		assert_string_equal(seen->log, "");
	}
}

static void test_not_named(void **state)
{
	(void)state;
	look_with(FALSE_CUDA, "FI_HMEM", "system");
	assert_false(seen->any);
	assert_false(seen->cuda);
	assert_string_equal(seen->cuda_why, "FI_HMEM=system does not name it");
	assert_string_equal(seen->log, "");
}

/* A name that nobody knows: one warning, with those that are permitted. */
static void test_unknown_name(void **state)
{
	const char *warning;

	(void)state;
	look_with(FALSE_CUDA, "FI_HMEM", "kuda");
	assert_false(seen->any);
	assert_string_equal(seen->cuda_why, "FI_HMEM=kuda does not name it");
	warning = strstr(seen->log, "FI_HMEM: there is no interface \"kuda\"; "
				    "permitted are cuda, rocr, ze, system and all\n");
	assert_non_null(warning);
	assert_null(strstr(warning + 1, "FI_HMEM"));
	look_with(FALSE_CUDA, "FI_HMEM", "cuda,cud,allx");
	assert_true(seen->cuda);
	warning = strstr(seen->log, "there is no interface \"cud\"; ");
	assert_non_null(warning);
	assert_null(strstr(warning + 1, "there is no"));
}

static void test_parameters(void **state)
{
	(void)state;
	look_with(FALSE_CUDA, "FI_HMEM_DISABLE_P2P", "1");
	assert_true(seen->cuda);
	assert_true(seen->disabled);
	look_with(FALSE_CUDA, "FI_HMEM_CUDA_USE_DMABUF", "0");
	assert_true(seen->cuda);
	assert_false(seen->may_export);
}

static void *load(void *any)
{
	const char *why;

	slow = true;
	*(bool *)any = ofi_hmem_any(&prov, &why);
	return NULL;
}

static int fork_while_loading(void)
{
	pthread_t thread;
	bool any = false;
	int status = 1;
	pid_t pid;

	if (sem_init(&loading, 0, 0) || pthread_create(&thread, NULL, load, &any))
		return 1;
	sem_wait(&loading);
	pid = fork();
	if (!pid) {
		alarm(10);
		look();
		execl("/bin/true", "true", NULL);
		_exit(1);
	}
	waitpid(pid, &status, 0);
	pthread_join(thread, NULL);
	return status || !any;
}

/* The child waits neither for the thread, which it lacks, nor for what that held of the driver. */
static void test_fork(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	memset(seen, 0, sizeof(*seen));
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		library = FALSE_CUDA;
		ofi_param_init();
		_exit(fork_while_loading());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_false(seen->any);
	assert_non_null(strstr(seen->why, "cuda: the process was forked while it was loaded"));
	assert_null(strstr(strstr(seen->why, "cuda: ") + 1, "cuda: "));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_works),	     cmocka_unit_test(test_rocr),
		cmocka_unit_test(test_ze),	     cmocka_unit_test(test_not_loaded),
		cmocka_unit_test(test_no_library),   cmocka_unit_test(test_no_device),
		cmocka_unit_test(test_named),	     cmocka_unit_test(test_not_named),
		cmocka_unit_test(test_unknown_name), cmocka_unit_test(test_parameters),
		cmocka_unit_test(test_fork),
	};

	seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return cmocka_run_group_tests_name("hmem", tests, NULL, NULL);
}
