/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "hmem_runtime.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

char *runtime_memory;

static const struct ofi_hmem *runtime;
static void *library;
static void *(*alloc_memory)(size_t len);
static bool (*free_memory)(const void *addr);

void runtime_open(const struct ofi_hmem *hmem, const char *file,
		  const struct ofi_hmem_symbol *symbols)
{
	const struct ofi_hmem_symbol own[] = {
		{ "false_gpu_alloc", &alloc_memory, false },
		{ "false_gpu_free", &free_memory, false },
		{ 0 },
	};
	struct ofi_hmem_why why;

	runtime = hmem;
	library = dlopen(file, RTLD_NOW);
	assert_non_null(library);
	assert_null(ofi_hmem_resolve(library, own));
	assert_null(ofi_hmem_resolve(library, symbols));
	assert_true(ofi_hmem_open(hmem, library, &why));
	runtime_memory = alloc_memory(RUNTIME_SIZE);
	assert_non_null(runtime_memory);
}

int runtime_close(void)
{
	return !free_memory(runtime_memory) || dlclose(library);
}

int runtime_end_test(void **state)
{
	static const char *const names[] = {
		"FALSE_GPU_FAIL",	   "FALSE_GPU_NO_DEVICE", "FALSE_GPU_NO_DMABUF",
		"FALSE_GPU_NO_CONTEXT",	   "FALSE_GPU_ON_HOST",	  "FALSE_GPU_DEFAULT_CONTEXT",
		"FALSE_GPU_OTHER_CONTEXT", "FALSE_GPU_TYPE",	  "FALSE_GPU_NO_COPY",
		"FALSE_GPU_POOLED",	   "FALSE_GPU_CHUNKS",
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unsetenv(names[i]);
	return 0;
}

void runtime_starts_not(const char *name, const char *value, const char *text)
{
	struct ofi_hmem_why why;

	setenv(name, value, 1);
	assert_false(ofi_hmem_open(runtime, library, &why));
	assert_string_equal(why.text, text);
	unsetenv(name);
}

void runtime_copy_fails(const struct runtime_failure *failures)
{
	char byte = 0;

	for (; failures->fail; failures++) {
		setenv("FALSE_GPU_FAIL", failures->fail, 1);
		assert_int_equal(runtime->copy_to(runtime_memory, &byte, 1), failures->err);
	}
	unsetenv("FALSE_GPU_FAIL");
}

void runtime_copy(const char *text)
{
	char back[32] = "";

	assert_int_equal(runtime->copy_to(runtime_memory + 100, text, strlen(text) + 1), 0);
	assert_int_equal(runtime->copy_from(back, runtime_memory + 100, strlen(text) + 1), 0);
	assert_string_equal(back, text);
}

/* A library of another kind has none of the functions, and the interface is opened again. */
void runtime_too_old(void **state)
{
	void *other = dlopen("libm.so.6", RTLD_NOW);
	struct ofi_hmem_why why;
	char text[128];

	(void)state;
	assert_non_null(other);
	assert_false(ofi_hmem_open(runtime, other, &why));
	snprintf(text, sizeof(text), "the installed %s is too old: it has no %s", runtime->library,
		 runtime->symbols[0].name);
	assert_string_equal(why.text, text);
	dlclose(other);
	assert_true(ofi_hmem_open(runtime, library, &why));
}

void runtime_owns(void **state)
{
	(void)state;
	assert_true(runtime->owns(runtime_memory));
	assert_true(runtime->owns(runtime_memory + RUNTIME_SIZE - 1));
	assert_false(runtime->owns(runtime_memory + RUNTIME_SIZE));
	assert_false(runtime->owns(&runtime_memory));
	assert_false(runtime->owns(NULL));
}

void runtime_copies(void **state)
{
	(void)state;
	runtime_copy("copied");
	assert_true(!runtime->sync || runtime->sync(runtime_memory) == 0);
}

void runtime_check_export(size_t at, size_t len)
{
	struct ofi_hmem_export export = { .fd = -1 };
	char back[8] = "";
	off_t begin;

	assert_int_equal(runtime->copy_to(runtime_memory + at, "exported", 8), 0);
	assert_int_equal(runtime->export(runtime_memory + at, len, &export), 0);
	begin = lseek(export.fd, 0, SEEK_CUR);
	assert_int_equal(pread(export.fd, back, 8, begin + (off_t) export.offset), 8);
	assert_memory_equal(back, "exported", 8);
	assert_int_equal(close(export.fd), 0);
}

void runtime_export(void **state)
{
	struct ofi_hmem_export export;

	(void)state;
	runtime_check_export(RUNTIME_PAGE + 10, RUNTIME_PAGE);
	runtime_check_export(0, RUNTIME_SIZE);
	runtime_check_export(RUNTIME_SIZE - 8, 8);
	assert_true(runtime->export(runtime_memory + 1, RUNTIME_SIZE, &export) < 0);
	assert_int_equal(runtime->export(&runtime_memory, 1, &export), -FI_EFAULT);
}
