/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory of the first CUDA device, whose few functions are declared here. */
#include "pp_gpu.h"

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

#include <rdma/fi_errno.h>

#include "pp_log.h"

#define PP_CUDA "libcuda.so.1"

/* These return 0 or an error of CUDA. */
static struct {
	void *library;
	void *context;
	int (*init)(unsigned int flags);
	int (*device_get)(int *device, int ordinal);
	int (*retain)(void **context, int device);
	int (*release)(int device);
	int (*push)(void *context);
	int (*pop)(void **context);
	int (*alloc)(uint64_t *addr, size_t len);
	int (*free)(uint64_t addr);
	int (*put)(uint64_t to, const void *from, size_t len);
	int (*get)(void *to, uint64_t from, size_t len);
	int (*error_name)(int err, const char **name);
} cuda;

static int pp_cuda_failed(const char *call, int err, int ret)
{
	const char *name = NULL;

	if (cuda.error_name(err, &name) || !name)
		name = "unknown error";
	pp_error("%s: %s (%d)", call, name, err);
	return ret;
}

static int pp_load(void)
{
	const struct {
		const char *name;
		void *to;
	} symbols[] = {
		{ "cuInit", &cuda.init },
		{ "cuDeviceGet", &cuda.device_get },
		{ "cuDevicePrimaryCtxRetain", &cuda.retain },
		{ "cuDevicePrimaryCtxRelease_v2", &cuda.release },
		{ "cuCtxPushCurrent_v2", &cuda.push },
		{ "cuCtxPopCurrent_v2", &cuda.pop },
		{ "cuMemAlloc_v2", &cuda.alloc },
		{ "cuMemFree_v2", &cuda.free },
		{ "cuMemcpyHtoD_v2", &cuda.put },
		{ "cuMemcpyDtoH_v2", &cuda.get },
		{ "cuGetErrorName", &cuda.error_name },
	};
	void *found;
	size_t i;

	cuda.library = dlopen(PP_CUDA, RTLD_NOW | RTLD_LOCAL);
	if (!cuda.library) {
		pp_error("-D cuda: %s", dlerror());
		return -FI_ENODEV;
	}
	for (i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		found = dlsym(cuda.library, symbols[i].name);
		if (!found) {
			pp_error("-D cuda: " PP_CUDA " has no %s", symbols[i].name);
			return -FI_ENODEV;
		}
		memcpy(symbols[i].to, &found, sizeof(found));
	}
	return 0;
}

int pp_gpu_open(void)
{
	int device, err, ret = pp_load();

	if (ret)
		return ret;
	err = cuda.init(0);
	if (err)
		return pp_cuda_failed("cuInit", err, -FI_ENODEV);
	err = cuda.device_get(&device, 0);
	if (err)
		return pp_cuda_failed("cuDeviceGet", err, -FI_ENODEV);
	err = cuda.retain(&cuda.context, device);
	if (err)
		return pp_cuda_failed("cuDevicePrimaryCtxRetain", err, -FI_ENODEV);
	err = cuda.push(cuda.context);
	if (!err)
		return 0;
	cuda.release(device);
	cuda.context = NULL;
	return pp_cuda_failed("cuCtxPushCurrent", err, -FI_EIO);
}

/* The library of the driver stays loaded: libfabric uses it, too. */
void pp_gpu_close(void)
{
	void *context;

	if (!cuda.context)
		return;
	cuda.pop(&context);
	cuda.release(0);
	cuda.context = NULL;
}

int pp_gpu_alloc(size_t len, char **buf)
{
	uint64_t addr;
	int err = cuda.alloc(&addr, len);

	if (err) {
		pp_error("no device memory for %zu bytes; choose a smaller -S", len);
		return pp_cuda_failed("cuMemAlloc", err, -FI_ENOMEM);
	}
	*buf = (char *)(uintptr_t)addr;
	return 0;
}

void pp_gpu_free(char *buf)
{
	cuda.free((uintptr_t)buf);
}

int pp_gpu_put(char *to, const char *from, size_t len)
{
	int err = len ? cuda.put((uintptr_t)to, from, len) : 0;

	return err ? pp_cuda_failed("cuMemcpyHtoD", err, -FI_EIO) : 0;
}

int pp_gpu_get(char *to, const char *from, size_t len)
{
	int err = len ? cuda.get(to, (uintptr_t)from, len) : 0;

	return err ? pp_cuda_failed("cuMemcpyDtoH", err, -FI_EIO) : 0;
}
