/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A false GPU: the part of libcuda.so.1 that the library and the tests use. Its memory is mapped
 * without any access at the address that programs know, so that a processor that touches it ends
 * the program. The copies here and the dma-buf, which is a memfd, reach it by a second mapping.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	SUCCESS = 0,
	INVALID_VALUE = 1,
	OUT_OF_MEMORY = 2,
	NOT_INITIALIZED = 3,
	NO_DEVICE = 100,
	INVALID_CONTEXT = 201,
	NOT_SUPPORTED = 801,
	PAGE = 4096,
	ALLOCS = 256,
};

/* Pointer attributes. */
enum { CONTEXT = 1, MEMORY_TYPE = 2, SYNC_MEMOPS = 6, BUFFER_ID = 7, DEVICE_ORDINAL = 9 };

struct alloc {
	uint64_t id; /* 0: unused */
	uint8_t *device, *host;
	size_t len; /* whole pages */
	int fd;
	bool sync;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the table */
static struct alloc allocs[ALLOCS];
static uint64_t ids, calls;
static bool initialized;
static __thread void *current;
static int primary; /* its address is the context */

static long retained; /* primary contexts, atomic */

/* Returns the error that FALSE_CUDA_FAIL, such as cuInit:100, asks of this function, or SUCCESS. */
static int called(const char *name)
{
	const char *fail = getenv("FALSE_CUDA_FAIL");
	size_t len = strlen(name);

	__atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
	if (!fail || strncmp(fail, name, len) || fail[len] != ':')
		return SUCCESS;
	return atoi(fail + len + 1);
}

/* For tests: how often anybody called anything here. */
uint64_t false_cuda_calls(void);
uint64_t false_cuda_calls(void)
{
	return __atomic_load_n(&calls, __ATOMIC_RELAXED);
}

/* For tests: the primary contexts that are retained. */
long false_cuda_retained(void);
long false_cuda_retained(void)
{
	return __atomic_load_n(&retained, __ATOMIC_RELAXED);
}

static struct alloc *find(uint64_t addr)
{
	int i;

	for (i = 0; i < ALLOCS; i++)
		if (allocs[i].id && addr >= (uintptr_t)allocs[i].device &&
		    addr < (uintptr_t)allocs[i].device + allocs[i].len)
			return &allocs[i];
	return NULL;
}

int cuGetErrorName(int err, const char **name);
int cuGetErrorName(int err, const char **name)
{
	*name = err == NO_DEVICE       ? "CUDA_ERROR_NO_DEVICE"
		: err == NOT_SUPPORTED ? "CUDA_ERROR_NOT_SUPPORTED"
				       : NULL;
	return *name ? SUCCESS : INVALID_VALUE;
}

int cuInit(unsigned int flags);
int cuInit(unsigned int flags)
{
	int err = called(__func__);

	if (err)
		return err;
	initialized = true;
	return flags ? INVALID_VALUE : SUCCESS;
}

int cuDeviceGetCount(int *devices);
int cuDeviceGetCount(int *devices)
{
	int err = called(__func__);

	if (err)
		return err;
	*devices = getenv("FALSE_CUDA_NO_DEVICE") ? 0 : 1;
	return initialized ? SUCCESS : NOT_INITIALIZED;
}

int cuDeviceGet(int *device, int ordinal);
int cuDeviceGet(int *device, int ordinal)
{
	int err = called(__func__);

	if (err)
		return err;
	*device = 0;
	return ordinal ? INVALID_VALUE : SUCCESS;
}

int cuCtxGetCurrent(void **context);
int cuCtxGetCurrent(void **context)
{
	int err = called(__func__);

	if (err)
		return err;
	*context = current;
	return SUCCESS;
}

int cuCtxPushCurrent_v2(void *context);
int cuCtxPushCurrent_v2(void *context)
{
	int err = called(__func__);

	if (err)
		return err;
	if (context != &primary || current)
		return INVALID_CONTEXT;
	current = context;
	return SUCCESS;
}

int cuCtxPopCurrent_v2(void **context);
int cuCtxPopCurrent_v2(void **context)
{
	int err = called(__func__);

	if (err)
		return err;
	*context = current;
	current = NULL;
	return *context ? SUCCESS : INVALID_CONTEXT;
}

int cuDevicePrimaryCtxRetain(void **context, int device);
int cuDevicePrimaryCtxRetain(void **context, int device)
{
	int err = called(__func__);

	if (err)
		return err;
	if (device)
		return INVALID_VALUE;
	*context = &primary;
	__atomic_add_fetch(&retained, 1, __ATOMIC_RELAXED);
	return SUCCESS;
}

int cuDevicePrimaryCtxRelease_v2(int device);
int cuDevicePrimaryCtxRelease_v2(int device)
{
	int err = called(__func__);

	if (err)
		return err;
	if (device)
		return INVALID_VALUE;
	__atomic_sub_fetch(&retained, 1, __ATOMIC_RELAXED);
	return SUCCESS;
}

static int map(struct alloc *alloc)
{
	alloc->fd = memfd_create("device memory", MFD_CLOEXEC);
	if (alloc->fd < 0)
		return OUT_OF_MEMORY;
	if (ftruncate(alloc->fd, (off_t)alloc->len)) {
		close(alloc->fd);
		return OUT_OF_MEMORY;
	}
	alloc->device = mmap(NULL, alloc->len, PROT_NONE, MAP_SHARED, alloc->fd, 0);
	alloc->host = mmap(NULL, alloc->len, PROT_READ | PROT_WRITE, MAP_SHARED, alloc->fd, 0);
	return alloc->device == MAP_FAILED || alloc->host == MAP_FAILED ? OUT_OF_MEMORY : SUCCESS;
}

int cuMemAlloc_v2(uint64_t *addr, size_t len);
int cuMemAlloc_v2(uint64_t *addr, size_t len)
{
	int i, ret = OUT_OF_MEMORY;
	int err = called(__func__);

	if (err)
		return err;
	pthread_mutex_lock(&lock);
	for (i = 0; i < ALLOCS && allocs[i].id; i++)
		;
	if (i < ALLOCS && len) {
		allocs[i].len = (len + PAGE - 1) / PAGE * PAGE;
		ret = map(&allocs[i]);
	}
	if (!ret) {
		allocs[i].id = ++ids;
		allocs[i].sync = false;
		*addr = (uintptr_t)allocs[i].device;
	}
	pthread_mutex_unlock(&lock);
	return ret;
}

int cuMemFree_v2(uint64_t addr);
int cuMemFree_v2(uint64_t addr)
{
	struct alloc *alloc;
	int err = called(__func__);

	if (err)
		return err;
	pthread_mutex_lock(&lock);
	alloc = find(addr);
	if (alloc) {
		munmap(alloc->device, alloc->len);
		munmap(alloc->host, alloc->len);
		close(alloc->fd);
		alloc->id = 0;
	}
	pthread_mutex_unlock(&lock);
	return alloc ? SUCCESS : INVALID_VALUE;
}

int cuPointerGetAttribute(void *value, int attribute, uint64_t addr);
int cuPointerGetAttribute(void *value, int attribute, uint64_t addr)
{
	struct alloc *alloc;
	int ret = SUCCESS;
	int err = called(__func__);

	if (err)
		return err;
	pthread_mutex_lock(&lock);
	alloc = find(addr);
	if (!alloc)
		ret = INVALID_VALUE;
	else if (attribute == CONTEXT)
		*(void **)value = getenv("FALSE_CUDA_NO_CONTEXT") ? NULL : &primary;
	else if (attribute == MEMORY_TYPE)
		*(unsigned int *)value = 2;
	else if (attribute == BUFFER_ID)
		*(uint64_t *)value = alloc->id;
	else if (attribute == DEVICE_ORDINAL)
		*(int *)value = 0;
	else
		ret = INVALID_VALUE;
	pthread_mutex_unlock(&lock);
	return ret;
}

int cuPointerSetAttribute(const void *value, int attribute, uint64_t addr);
int cuPointerSetAttribute(const void *value, int attribute, uint64_t addr)
{
	struct alloc *alloc;
	int err = called(__func__);

	if (err)
		return err;
	pthread_mutex_lock(&lock);
	alloc = find(addr);
	if (alloc && attribute == SYNC_MEMOPS)
		alloc->sync = *(const unsigned int *)value;
	pthread_mutex_unlock(&lock);
	return alloc && attribute == SYNC_MEMOPS ? SUCCESS : INVALID_VALUE;
}

/* Where the processor finds the bytes; NULL when they are not all of one allocation. */
static uint8_t *second(uint64_t addr, size_t len)
{
	struct alloc *alloc = find(addr);
	size_t at = alloc ? addr - (uintptr_t)alloc->device : 0;

	return alloc && len <= alloc->len - at ? alloc->host + at : NULL;
}

static int copy(void *to, const void *from, size_t len)
{
	if (!current)
		return INVALID_CONTEXT;
	if (!to || !from)
		return INVALID_VALUE;
	memcpy(to, from, len);
	return SUCCESS;
}

int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t len);
int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t len)
{
	int ret;
	int err = called(__func__);

	if (err)
		return err;
	pthread_mutex_lock(&lock);
	ret = copy(second(to, len), from, len);
	pthread_mutex_unlock(&lock);
	return ret;
}

int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t len);
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t len)
{
	int ret;
	int err = called(__func__);

	if (err)
		return err;
	pthread_mutex_lock(&lock);
	ret = copy(to, second(from, len), len);
	pthread_mutex_unlock(&lock);
	return ret;
}

int cuMemGetAddressRange_v2(uint64_t *base, size_t *len, uint64_t addr);
int cuMemGetAddressRange_v2(uint64_t *base, size_t *len, uint64_t addr)
{
	struct alloc *alloc;
	int err = called(__func__);

	if (err)
		return err;
	pthread_mutex_lock(&lock);
	alloc = find(addr);
	if (alloc) {
		*base = (uintptr_t)alloc->device;
		*len = alloc->len;
	}
	pthread_mutex_unlock(&lock);
	return alloc ? SUCCESS : INVALID_VALUE;
}

/*
 * The dma-buf begins where the range does. Its file's position says so to the test's registration,
 * which is why it is a file of its own.
 */
static int open_range(const struct alloc *alloc, uint64_t addr)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", alloc->fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd >= 0)
		lseek(fd, (off_t)(addr - (uintptr_t)alloc->device), SEEK_SET);
	return fd;
}

int cuMemGetHandleForAddressRange(void *handle, uint64_t addr, size_t len, int type,
				  unsigned long long flags);
int cuMemGetHandleForAddressRange(void *handle, uint64_t addr, size_t len, int type,
				  unsigned long long flags)
{
	int fd = -1;
	int err = called(__func__);

	if (err)
		return err;
	if (getenv("FALSE_CUDA_NO_DMABUF"))
		return NOT_SUPPORTED;
	pthread_mutex_lock(&lock);
	if (type == 1 && !flags && addr % PAGE == 0 && len % PAGE == 0 && second(addr, len))
		fd = open_range(find(addr), addr);
	pthread_mutex_unlock(&lock);
	*(int *)handle = fd;
	return fd < 0 ? INVALID_VALUE : SUCCESS;
}
