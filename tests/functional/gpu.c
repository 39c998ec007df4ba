/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The fake GPU of tests/hmem, and the registration of its dma-bufs. Soft-RoCE does not support
 * them, so a second mapping of the memory is registered at the address of the first one.
 */
#include "gpu.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <infiniband/verbs.h>
#include <rdma/fi_domain.h>
#include "check.h"

enum { REGIONS = 1024 };

/* The library calls these functions instead of those of libibverbs. */
#define EXPORTED __attribute__((visibility("default")))

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

static uint64_t registered; /* atomic */

static uint64_t gpu_regions(void)
{
	return __atomic_load_n(&registered, __ATOMIC_RELAXED);
}

static const struct gpu false_gpu = {
	.alloc = gpu_alloc,
	.free = gpu_free,
	.owns = gpu_owns,
	.put = gpu_put,
	.get = gpu_get,
	.export = gpu_export,
	.calls = gpu_calls,
	.regions = gpu_regions,
};

const struct gpu *const gpu = &false_gpu;

/* The second mappings of regions. */
static struct {
	struct ibv_mr *mr;
	void *map;
	size_t len;
} regions[REGIONS];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards them */

static bool note(struct ibv_mr *mr, void *map, size_t len)
{
	int i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < REGIONS && regions[i].mr; i++)
		;
	if (i < REGIONS) {
		regions[i].mr = mr;
		regions[i].map = map;
		regions[i].len = len;
	}
	pthread_mutex_unlock(&lock);
	return i < REGIONS;
}

typedef struct ibv_mr *reg_fn(struct ibv_pd *pd, void *addr, size_t len, uint64_t iova,
			      unsigned int access);
typedef int dereg_fn(struct ibv_mr *mr);

EXPORTED struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t len,
					  uint64_t iova, int fd, int access)
{
	reg_fn *reg = (reg_fn *)dlsym(RTLD_NEXT, "ibv_reg_mr_iova2");
	off_t begin = lseek(fd, 0, SEEK_CUR);
	struct ibv_mr *mr;
	uint8_t *map;
	int err;

	if (begin < 0)
		return NULL;
	map = mmap(NULL, offset + len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, begin);
	if (map == MAP_FAILED)
		return NULL;
	mr = reg(pd, map + offset, len, iova, (unsigned int)access);
	__atomic_add_fetch(&registered, mr != NULL, __ATOMIC_RELAXED);
	if (mr && note(mr, map, offset + len))
		return mr;
	err = errno;
	munmap(map, offset + len);
	errno = err;
	return NULL;
}

/* The memory of the mapping remains while the device uses it. */
EXPORTED int ibv_dereg_mr(struct ibv_mr *mr)
{
	dereg_fn *dereg = (dereg_fn *)dlsym(RTLD_NEXT, "ibv_dereg_mr");
	void *map = NULL;
	size_t len = 0;
	int i, err;

	pthread_mutex_lock(&lock);
	for (i = 0; i < REGIONS; i++) {
		if (regions[i].mr != mr)
			continue;
		map = regions[i].map;
		len = regions[i].len;
		regions[i].mr = NULL;
	}
	pthread_mutex_unlock(&lock);
	err = dereg(mr);
	if (map)
		munmap(map, len);
	return err;
}
