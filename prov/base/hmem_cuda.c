/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory of CUDA devices, using the driver's interface, whose few prototypes are declared here. */
#include "hmem.h"

#include <unistd.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>

/* Values of CUDA's driver interface. */
enum {
	SUCCESS = 0,
	INVALID_VALUE = 1,
	OUT_OF_MEMORY = 2,
	NO_DEVICE = 100,
	NOT_SUPPORTED = 801,
	ATTRIBUTE_CONTEXT = 1,
	ATTRIBUTE_MEMORY_TYPE = 2,
	ATTRIBUTE_SYNC_MEMOPS = 6,
	ATTRIBUTE_DEVICE_ORDINAL = 9,
	MEMORY_TYPE_DEVICE = 2,
	HANDLE_DMA_BUF_FD = 1,
};

typedef uint64_t device_ptr;

/* These return SUCCESS or an error. */
static struct {
	int (*init)(unsigned int flags);
	int (*device_count)(int *count);
	int (*device_get)(int *device, int ordinal);
	int (*current)(void **context);
	int (*push)(void *context);
	int (*pop)(void **context);
	int (*retain)(void **context, int device);
	int (*release)(int device);
	int (*attributes)(unsigned int count, int *attributes, void **values, device_ptr addr);
	int (*set_attribute)(const void *value, int attribute, device_ptr addr);
	int (*to_device)(device_ptr to, const void *from, size_t len);
	int (*to_host)(void *to, device_ptr from, size_t len);
	int (*range)(device_ptr *base, size_t *len, device_ptr addr);
	int (*handle)(void *handle, device_ptr addr, size_t len, int type,
		      unsigned long long flags);
	int (*error_name)(int err, const char **name);
} cuda;

/* The value of FI_HMEM_CUDA_ENABLE_XFER, as an int for fi_param_get(). */
static int may_copy;

static const struct ofi_hmem_symbol symbols[] = {
	{ "cuInit", &cuda.init, false },
	{ "cuDeviceGetCount", &cuda.device_count, false },
	{ "cuDeviceGet", &cuda.device_get, false },
	{ "cuCtxGetCurrent", &cuda.current, false },
	{ "cuCtxPushCurrent_v2", &cuda.push, false },
	{ "cuCtxPopCurrent_v2", &cuda.pop, false },
	{ "cuDevicePrimaryCtxRetain", &cuda.retain, false },
	{ "cuDevicePrimaryCtxRelease_v2", &cuda.release, false },
	{ "cuPointerGetAttributes", &cuda.attributes, false },
	{ "cuPointerSetAttribute", &cuda.set_attribute, false },
	{ "cuMemcpyHtoD_v2", &cuda.to_device, false },
	{ "cuMemcpyDtoH_v2", &cuda.to_host, false },
	{ "cuMemGetAddressRange_v2", &cuda.range, false },
	{ "cuMemGetHandleForAddressRange", &cuda.handle, true },
	{ "cuGetErrorName", &cuda.error_name, true },
	{ 0 },
};

static const struct ofi_hmem_error errors[] = {
	{ INVALID_VALUE, FI_EINVAL },
	{ OUT_OF_MEMORY, FI_ENOMEM },
	{ NO_DEVICE, FI_ENODEV },
	{ NOT_SUPPORTED, FI_EOPNOTSUPP },
	{ 0 },
};

static int to_errno(int err)
{
	return ofi_hmem_errno(&ofi_hmem_cuda, err);
}

static bool call_failed(const char *call, int err, struct ofi_hmem_why *why)
{
	const char *name = NULL;

	if (!cuda.error_name || cuda.error_name(err, &name) != SUCCESS || !name)
		name = "an error without a name";
	return ofi_hmem_cannot(why, "%s returns %s (%d)", call, name, err);
}

static bool cuda_start(struct ofi_hmem_why *why)
{
	int count = 0, err = cuda.init(0);

	may_copy = true;
	fi_param_get_bool(NULL, "hmem_cuda_enable_xfer", &may_copy);
	if (err)
		return call_failed("cuInit", err, why);
	err = cuda.device_count(&count);
	if (err)
		return call_failed("cuDeviceGetCount", err, why);
	return count || ofi_hmem_cannot(why, "the driver finds no device");
}

static device_ptr pointer(const void *addr)
{
	return (device_ptr)(uintptr_t)addr;
}

/*
 * Reads one attribute with cuPointerGetAttributes, which succeeds without a value for an address in
 * system memory. For such an address cuPointerGetAttribute returns an error, which takes the driver
 * 6 to 15 times as long.
 */
static bool memory_has(int attribute, void *value, const void *addr)
{
	return cuda.attributes(1, &attribute, &value, pointer(addr)) == SUCCESS;
}

static bool cuda_owns(const void *addr)
{
	unsigned int type = 0;

	return memory_has(ATTRIBUTE_MEMORY_TYPE, &type, addr) && type == MEMORY_TYPE_DEVICE;
}

/*
 * A thread without a context, such as one that only communicates, uses the context of the memory.
 * Memory from cuMemCreate has none, so the primary context of its device is used.
 */
struct visit {
	bool pushed;
	int retained; /* the device whose primary context is retained, or -1 */
};

static int cuda_enter(const void *addr, struct visit *visit)
{
	void *context = NULL;
	int ordinal = -1, device;

	*visit = (struct visit){ .retained = -1 };
	if (cuda.current(&context) == SUCCESS && context)
		return 0;
	if (!memory_has(ATTRIBUTE_CONTEXT, &context, addr) || !context) {
		if (!memory_has(ATTRIBUTE_DEVICE_ORDINAL, &ordinal, addr) ||
		    cuda.device_get(&device, ordinal) || cuda.retain(&context, device))
			return -FI_EFAULT;
		visit->retained = device;
	}
	visit->pushed = cuda.push(context) == SUCCESS;
	if (visit->pushed)
		return 0;
	if (visit->retained >= 0)
		cuda.release(visit->retained);
	return -FI_EIO;
}

static int cuda_leave(const struct visit *visit, int err)
{
	void *context;

	if (visit->pushed)
		cuda.pop(&context);
	if (visit->retained >= 0)
		cuda.release(visit->retained);
	return to_errno(err);
}

static int begin_copy(const void *addr, struct visit *visit)
{
	if (may_copy)
		return cuda_enter(addr, visit);
	FI_WARN_SPARSE(NULL, FI_LOG_CORE,
		       "memory of a CUDA device is not copied: FI_HMEM_CUDA_ENABLE_XFER is off\n");
	return -FI_EOPNOTSUPP;
}

static int cuda_copy_to(void *device, const void *host, size_t len)
{
	struct visit visit;
	int ret = begin_copy(device, &visit);

	return ret ? ret : cuda_leave(&visit, cuda.to_device(pointer(device), host, len));
}

static int cuda_copy_from(void *host, const void *device, size_t len)
{
	struct visit visit;
	int ret = begin_copy(device, &visit);

	return ret ? ret : cuda_leave(&visit, cuda.to_host(host, pointer(device), len));
}

static int cuda_sync(const void *addr)
{
	const unsigned int yes = 1;

	return to_errno(cuda.set_attribute(&yes, ATTRIBUTE_SYNC_MEMOPS, pointer(addr)));
}

/*
 * Returns true if the range is allocated. It may consist of several contiguous allocations of
 * cuMemCreate, such as those of PyTorch's expandable segments.
 */
static bool is_allocated(device_ptr addr, size_t len)
{
	device_ptr base, at = addr;
	size_t size;

	while (at < addr + len) {
		if (cuda.range(&base, &size, at) || base + size <= at)
			return false;
		at = base + size;
	}
	return true;
}

/*
 * Exports the whole pages around the range. The thread must have a context. The driver refuses
 * managed memory and memory of pools with INVALID_VALUE.
 */
static int export_pages(device_ptr addr, size_t len, struct ofi_hmem_export *to)
{
	device_ptr first, end, page = (device_ptr)sysconf(_SC_PAGESIZE);

	if (!is_allocated(addr, len))
		return -FI_EFAULT;
	first = addr & ~(page - 1);
	end = (addr + len + page - 1) & ~(page - 1);
	to->offset = addr - first;
	return to_errno(cuda.handle(&to->fd, first, end - first, HANDLE_DMA_BUF_FD, 0));
}

static int cuda_export(const void *addr, size_t len, struct ofi_hmem_export *to)
{
	struct visit visit;
	int ret;

	if (!cuda.handle)
		return -FI_ENOSYS;
	ret = cuda_enter(addr, &visit);
	if (ret)
		return ret;
	ret = export_pages(pointer(addr), len, to);
	cuda_leave(&visit, SUCCESS);
	return ret;
}

const struct ofi_hmem ofi_hmem_cuda = {
	.iface = FI_HMEM_CUDA,
	.name = "cuda",
	.library = "libcuda.so.1",
	.dmabuf_param = "hmem_cuda_use_dmabuf",
	.symbols = symbols,
	.errors = errors,
	.start = cuda_start,
	.owns = cuda_owns,
	.copy_to = cuda_copy_to,
	.copy_from = cuda_copy_from,
	.sync = cuda_sync,
	.export = cuda_export,
};
