/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A false GPU: the part of libcuda.so.1 that the library and the tests use. As with the driver,
 * copying, and looking up and exporting an allocation, need a context of the thread.
 */
#include <stdlib.h>
#include <rdma/fi_domain.h>
#include "memory.h"

const int false_gpu_iface = FI_HMEM_CUDA;

enum {
	SUCCESS = 0,
	INVALID_VALUE = 1,
	OUT_OF_MEMORY = 2,
	NOT_INITIALIZED = 3,
	NO_DEVICE = 100,
	INVALID_CONTEXT = 201,
	NOT_SUPPORTED = 801,
};

/* Pointer attributes. */
enum { CONTEXT = 1, MEMORY_TYPE = 2, SYNC_MEMOPS = 6, BUFFER_ID = 7, DEVICE_ORDINAL = 9 };

static bool initialized;
static __thread void *current;
static int primary; /* its address is the context */

static long retained; /* primary contexts, atomic */

/* For tests: the primary contexts that are retained. */
long false_cuda_retained(void);
long false_cuda_retained(void)
{
	return __atomic_load_n(&retained, __ATOMIC_RELAXED);
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
	int err = false_memory_called(__func__);

	if (err)
		return err;
	initialized = true;
	return flags ? INVALID_VALUE : SUCCESS;
}

int cuDeviceGetCount(int *devices);
int cuDeviceGetCount(int *devices)
{
	int err = false_memory_called(__func__);

	if (err)
		return err;
	*devices = getenv("FALSE_GPU_NO_DEVICE") ? 0 : 1;
	return initialized ? SUCCESS : NOT_INITIALIZED;
}

int cuDeviceGet(int *device, int ordinal);
int cuDeviceGet(int *device, int ordinal)
{
	int err = false_memory_called(__func__);

	if (err)
		return err;
	*device = 0;
	return ordinal ? INVALID_VALUE : SUCCESS;
}

int cuCtxGetCurrent(void **context);
int cuCtxGetCurrent(void **context)
{
	int err = false_memory_called(__func__);

	if (err)
		return err;
	*context = current;
	return SUCCESS;
}

int cuCtxPushCurrent_v2(void *context);
int cuCtxPushCurrent_v2(void *context)
{
	int err = false_memory_called(__func__);

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
	int err = false_memory_called(__func__);

	if (err)
		return err;
	*context = current;
	current = NULL;
	return *context ? SUCCESS : INVALID_CONTEXT;
}

int cuDevicePrimaryCtxRetain(void **context, int device);
int cuDevicePrimaryCtxRetain(void **context, int device)
{
	int err = false_memory_called(__func__);

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
	int err = false_memory_called(__func__);

	if (err)
		return err;
	if (device)
		return INVALID_VALUE;
	__atomic_sub_fetch(&retained, 1, __ATOMIC_RELAXED);
	return SUCCESS;
}

int cuMemAlloc_v2(uint64_t *addr, size_t len);
int cuMemAlloc_v2(uint64_t *addr, size_t len)
{
	int err = false_memory_called(__func__);

	if (err)
		return err;
	return false_memory_new(len, addr) ? SUCCESS : OUT_OF_MEMORY;
}

int cuMemFree_v2(uint64_t addr);
int cuMemFree_v2(uint64_t addr)
{
	int err = false_memory_called(__func__);

	if (err)
		return err;
	return false_memory_delete(addr) ? SUCCESS : INVALID_VALUE;
}

/* An address that is not the driver's has no memory, but attributes as well. */
static int attribute_of(const struct false_memory *memory, int attribute, void *value)
{
	if (attribute == CONTEXT)
		*(void **)value = memory && !getenv("FALSE_GPU_NO_CONTEXT") ? &primary : NULL;
	else if (attribute == MEMORY_TYPE)
		*(unsigned int *)value = memory ? 2 : 0;
	else if (attribute == BUFFER_ID)
		*(uint64_t *)value = memory ? memory->id : 0;
	else if (attribute == DEVICE_ORDINAL)
		*(int *)value = memory ? 0 : -2;
	else
		return INVALID_VALUE;
	return SUCCESS;
}

/* There is no cuPointerGetAttribute here: it is slow where memory is not the driver's. */
int cuPointerGetAttributes(unsigned int count, int *attributes, void **values, uint64_t addr);
int cuPointerGetAttributes(unsigned int count, int *attributes, void **values, uint64_t addr)
{
	struct false_memory found;
	int err = false_memory_called(__func__);
	bool own = false_memory_find(addr, &found);
	unsigned int i;

	for (i = 0; i < count && !err; i++)
		err = attribute_of(own ? &found : NULL, attributes[i], values[i]);
	return err;
}

int cuPointerSetAttribute(const void *value, int attribute, uint64_t addr);
int cuPointerSetAttribute(const void *value, int attribute, uint64_t addr)
{
	struct false_memory found;
	int err = false_memory_called(__func__);

	if (err)
		return err;
	return value && attribute == SYNC_MEMOPS && false_memory_find(addr, &found) ? SUCCESS
										    : INVALID_VALUE;
}

int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t len);
int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t len)
{
	int err = false_memory_called(__func__);

	if (err)
		return err;
	if (!current)
		return INVALID_CONTEXT;
	return false_memory_put(to, from, len) ? SUCCESS : INVALID_VALUE;
}

int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t len);
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t len)
{
	int err = false_memory_called(__func__);

	if (err)
		return err;
	if (!current)
		return INVALID_CONTEXT;
	return false_memory_get(to, from, len) ? SUCCESS : INVALID_VALUE;
}

int cuMemGetAddressRange_v2(uint64_t *base, size_t *len, uint64_t addr);
int cuMemGetAddressRange_v2(uint64_t *base, size_t *len, uint64_t addr)
{
	struct false_memory found;
	int err = false_memory_called(__func__);

	if (err)
		return err;
	if (!current)
		return INVALID_CONTEXT;
	if (!false_memory_find(addr, &found))
		return INVALID_VALUE;
	*base = (uintptr_t)found.device;
	*len = found.len;
	if (getenv("FALSE_GPU_CHUNKS")) { /* pages of cuMemCreate, mapped one behind the other */
		*base = addr & ~(uint64_t)(FALSE_PAGE - 1);
		*len = FALSE_PAGE;
	}
	return SUCCESS;
}

/* The dma-buf begins where the range does. */
int cuMemGetHandleForAddressRange(void *handle, uint64_t addr, size_t len, int type,
				  unsigned long long flags);
int cuMemGetHandleForAddressRange(void *handle, uint64_t addr, size_t len, int type,
				  unsigned long long flags)
{
	int fd = -1;
	int err = false_memory_called(__func__);

	if (err)
		return err;
	if (!current)
		return INVALID_CONTEXT;
	if (getenv("FALSE_GPU_NO_DMABUF"))
		return NOT_SUPPORTED;
	if (type == 1 && !flags && addr % FALSE_PAGE == 0 && len % FALSE_PAGE == 0)
		fd = false_memory_open(addr, len);
	*(int *)handle = fd;
	return fd < 0 ? INVALID_VALUE : SUCCESS;
}
