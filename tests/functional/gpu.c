/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The fake GPU of tests/hmem, for the fixtures. */
#include "gpu.h"

#include <dlfcn.h>
#include <string.h>
#include <rdma/fi_domain.h>
#include "check.h"

static struct {
	int (*init)(unsigned int flags);
	int (*alloc)(uint64_t *addr, size_t len);
	int (*release)(uint64_t addr);
	int (*attribute)(void *value, int attribute, uint64_t addr);
	int (*to_device)(uint64_t to, const void *from, size_t len);
	int (*to_host)(void *to, uint64_t from, size_t len);
	int (*push)(void *context);
	int (*pop)(void **context);
	int (*retain)(void **context, int device);
	int (*handle)(void *handle, uint64_t addr, size_t len, int type, unsigned long long flags);
	uint64_t (*calls)(void);
} cuda;

static void find(void *library, const char *name, void *to)
{
	void *found = dlsym(library, name);

	CHECK(found);
	memcpy(to, &found, sizeof(found));
}

/* Its name in the process is libcuda.so.1, so that the library opens the same one. */
__attribute__((constructor)) static void open_false_gpu(void)
{
	void *library = dlopen(GPU_LIBRARY, RTLD_NOW);

	if (!library)
		FAIL("%s", dlerror());
	find(library, "cuInit", &cuda.init);
	find(library, "cuMemAlloc_v2", &cuda.alloc);
	find(library, "cuMemFree_v2", &cuda.release);
	find(library, "cuPointerGetAttribute", &cuda.attribute);
	find(library, "cuMemcpyHtoD_v2", &cuda.to_device);
	find(library, "cuMemcpyDtoH_v2", &cuda.to_host);
	find(library, "cuCtxPushCurrent_v2", &cuda.push);
	find(library, "cuCtxPopCurrent_v2", &cuda.pop);
	find(library, "cuDevicePrimaryCtxRetain", &cuda.retain);
	find(library, "cuMemGetHandleForAddressRange", &cuda.handle);
	find(library, "false_cuda_calls", &cuda.calls);
}

static void *gpu_alloc(size_t len)
{
	uint64_t addr;

	EQUAL(cuda.alloc(&addr, len), 0);
	return (void *)(uintptr_t)addr;
}

static void gpu_free(void *addr)
{
	EQUAL(cuda.release((uintptr_t)addr), 0);
}

static bool gpu_owns(const void *addr)
{
	unsigned int type = 0;

	return !cuda.attribute(&type, 2, (uintptr_t)addr) && type == 2;
}

/* The thread has a context only here, so that the library has to find its own. */
static void enter(void)
{
	void *context;

	EQUAL(cuda.retain(&context, 0), 0);
	EQUAL(cuda.push(context), 0);
}

static void leave(void)
{
	void *context;

	EQUAL(cuda.pop(&context), 0);
}

static void gpu_put(void *to, const void *from, size_t len)
{
	enter();
	EQUAL(cuda.to_device((uintptr_t)to, from, len), 0);
	leave();
}

static void gpu_get(void *to, const void *from, size_t len)
{
	enter();
	EQUAL(cuda.to_host(to, (uintptr_t)from, len), 0);
	leave();
}

static int gpu_export(const void *addr, size_t len)
{
	int fd;

	EQUAL(cuda.handle(&fd, (uintptr_t)addr, len, 1, 0), 0);
	return fd;
}

static uint64_t gpu_calls(void)
{
	return cuda.calls();
}

static const struct gpu false_gpu = {
	.alloc = gpu_alloc,
	.free = gpu_free,
	.owns = gpu_owns,
	.put = gpu_put,
	.get = gpu_get,
	.export = gpu_export,
	.calls = gpu_calls,
	.regions = false_dmabuf_regions,
};

const struct gpu *const gpu = &false_gpu;
