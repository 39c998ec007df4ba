/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The fake GPU of tests/hmem, for the fixtures: of CUDA, or with FALSE_GPU=rocr of ROCm, with
 * FALSE_GPU=ze of Level Zero.
 */
#include "gpu.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_domain.h>
#include "check.h"

static struct {
	void *(*alloc)(size_t len);
	bool (*release)(const void *addr);
	bool (*owns)(const void *addr);
	bool (*put)(void *to, const void *from, size_t len);
	bool (*get)(void *to, const void *from, size_t len);
	int (*export)(const void *addr, size_t len);
	uint64_t (*calls)(void);
	const int *iface;
} memory;

static void find(void *library, const char *name, void *to)
{
	void *found = dlsym(library, name);

	CHECK(found);
	memcpy(to, &found, sizeof(found));
}

/* Returns the file name of the kind's library. */
static const char *library_of(const char *kind)
{
	static const char *const kinds[][2] = {
		{ "cuda", "libcuda.so.1" },
		{ "rocr", "libhsa-runtime64.so.1" },
		{ "ze", "libze_loader.so.1" },
	};
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kind, kinds[i][0]))
			return kinds[i][1];
	FAIL("FALSE_GPU=%s is not a kind of GPU", kind);
}

/* Its name in the process is that of the real one, so that the library opens the same one. */
__attribute__((constructor)) static void open_false_gpu(void)
{
	const char *kind = getenv("FALSE_GPU");
	char path[4096];
	void *library;

	snprintf(path, sizeof(path), "%s/%s", GPU_LIBRARIES, library_of(kind ? kind : "cuda"));
	library = dlopen(path, RTLD_NOW);
	if (!library)
		FAIL("%s", dlerror());
	find(library, "false_gpu_alloc", &memory.alloc);
	find(library, "false_gpu_free", &memory.release);
	find(library, "false_gpu_owns", &memory.owns);
	find(library, "false_gpu_put", &memory.put);
	find(library, "false_gpu_get", &memory.get);
	find(library, "false_gpu_export", &memory.export);
	find(library, "false_gpu_calls", &memory.calls);
	find(library, "false_gpu_iface", &memory.iface);
}

static void *gpu_alloc(size_t len)
{
	void *addr = memory.alloc(len);

	CHECK(addr);
	return addr;
}

static void gpu_free(void *addr)
{
	CHECK(memory.release(addr));
}

static bool gpu_owns(const void *addr)
{
	return memory.owns(addr);
}

static void gpu_put(void *to, const void *from, size_t len)
{
	CHECK(memory.put(to, from, len));
}

static void gpu_get(void *to, const void *from, size_t len)
{
	CHECK(memory.get(to, from, len));
}

static int gpu_export(const void *addr, size_t len)
{
	int fd = memory.export(addr, len);

	CHECK(fd >= 0);
	return fd;
}

static uint64_t gpu_calls(void)
{
	return memory.calls();
}

static enum fi_hmem_iface gpu_iface(void)
{
	return (enum fi_hmem_iface) * memory.iface;
}

static const struct gpu false_gpu = {
	.alloc = gpu_alloc,
	.free = gpu_free,
	.owns = gpu_owns,
	.put = gpu_put,
	.get = gpu_get,
	.export = gpu_export,
	.calls = gpu_calls,
	.iface = gpu_iface,
	.regions = false_dmabuf_regions,
};

const struct gpu *const gpu = &false_gpu;
