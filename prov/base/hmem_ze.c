/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory of Level Zero devices, which are Intel's GPUs. According to the specification, a context
 * can query and copy only its own memory, but fi_mr_regattr is not given a context. So the driver's
 * default context is used, or else one that the library creates. Intel's driver accepts the memory
 * of all contexts, and of the host, with either.
 */
#include "hmem.h"
#include "hmem_ze.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <rdma/fi_errno.h>

enum { DRIVERS = 8, DEVICES = 64, GROUPS = 16 }; /* any more are ignored */

/* These return OFI_ZE_SUCCESS or an error. */
static struct {
	int (*init)(uint32_t flags);
	int (*drivers)(uint32_t *count, void **drivers);
	int (*devices)(void *driver, uint32_t *count, void **devices);
	int (*device_properties)(void *device, struct ofi_ze_device_properties *properties);
	int (*groups)(void *device, uint32_t *count, struct ofi_ze_group_properties *groups);
	void *(*default_context)(void *driver); /* returns NULL if there is none */
	int (*create_context)(void *driver, const struct ofi_ze_context_desc *desc, void **context);
	int (*create_list)(void *context, void *device, const struct ofi_ze_queue_desc *desc,
			   void **list);
	int (*copy)(void *list, void *to, const void *from, size_t len, void *signal,
		    uint32_t count, void **events);
	int (*properties)(void *context, const void *addr,
			  struct ofi_ze_memory_properties *properties, void **device);
	int (*range)(void *context, const void *addr, void **base, size_t *len);
} ze;

static const struct ofi_hmem_symbol symbols[] = {
	{ "zeInit", &ze.init, false },
	{ "zeDriverGet", &ze.drivers, false },
	{ "zeDeviceGet", &ze.devices, false },
	{ "zeDeviceGetProperties", &ze.device_properties, false },
	{ "zeDeviceGetCommandQueueGroupProperties", &ze.groups, false },
	{ "zeDriverGetDefaultContext", &ze.default_context, true },
	{ "zeContextCreate", &ze.create_context, false },
	{ "zeCommandListCreateImmediate", &ze.create_list, false },
	{ "zeCommandListAppendMemoryCopy", &ze.copy, false },
	{ "zeMemGetAllocProperties", &ze.properties, false },
	{ "zeMemGetAddressRange", &ze.range, false },
	{ 0 },
};

static const struct ofi_hmem_error errors[] = {
	{ OFI_ZE_OUT_OF_HOST_MEMORY, FI_ENOMEM },
	{ OFI_ZE_OUT_OF_DEVICE_MEMORY, FI_ENOMEM },
	{ OFI_ZE_INVALID_ARGUMENT, FI_EINVAL },
	{ OFI_ZE_UNSUPPORTED_FEATURE, FI_EOPNOTSUPP },
	{ OFI_ZE_INVALID_ENUMERATION, FI_EOPNOTSUPP },
	{ OFI_ZE_UNSUPPORTED_ENUMERATION, FI_EOPNOTSUPP },
	{ 0 },
};

/* One context for each driver that has a GPU. Constant once the interface is open. */
static struct {
	void *of[DRIVERS];
	size_t count;
} contexts;

/* The command list that copies to and from a device. The first copy there creates it. */
struct queue {
	SLIST_ENTRY(queue) entry;
	void *device, *list;
	pthread_mutex_t lock; /* guards the command list, which one thread at a time may use */
};

static struct {
	pthread_mutex_t lock; /* guards the list of queues */
	SLIST_HEAD(, queue) list;
} queues = { .lock = PTHREAD_MUTEX_INITIALIZER };

static int to_errno(int result)
{
	return ofi_hmem_errno(&ofi_hmem_ze, result);
}

static bool call_failed(const char *call, int result, struct ofi_hmem_why *why)
{
	return ofi_hmem_cannot(
		why, "%s returns %#x%s", call, (unsigned int)result,
		result == OFI_ZE_UNINITIALIZED ? ": no driver is installed that works" : "");
}

static bool has_gpu(void *driver)
{
	struct ofi_ze_device_properties properties = { .stype = OFI_ZE_STYPE_DEVICE_PROPERTIES };
	uint32_t count = DEVICES, i;
	void *devices[DEVICES];

	if (ze.devices(driver, &count, devices))
		return false;
	for (i = 0; i < count; i++)
		if (!ze.device_properties(devices[i], &properties) &&
		    properties.type == OFI_ZE_DEVICE_GPU)
			return true;
	return false;
}

static int add_context(void *driver)
{
	const struct ofi_ze_context_desc desc = { .stype = OFI_ZE_STYPE_CONTEXT_DESC };
	void *context = ze.default_context ? ze.default_context(driver) : NULL;
	int result = context ? OFI_ZE_SUCCESS : ze.create_context(driver, &desc, &context);

	if (!result)
		contexts.of[contexts.count++] = context;
	return result;
}

/* All drivers are initialized, because the application may need one that has no GPU. */
static bool ze_start(struct ofi_hmem_why *why)
{
	int result = ze.init(0), failed = OFI_ZE_SUCCESS;
	uint32_t count = DRIVERS, i;
	void *drivers[DRIVERS];

	if (result)
		return call_failed("zeInit", result, why);
	result = ze.drivers(&count, drivers);
	if (result)
		return call_failed("zeDriverGet", result, why);
	contexts.count = 0;
	for (i = 0; i < count; i++) {
		result = has_gpu(drivers[i]) ? add_context(drivers[i]) : OFI_ZE_SUCCESS;
		failed = result ? result : failed;
	}
	if (contexts.count)
		return true;
	return failed ? call_failed("zeContextCreate", failed, why)
		      : ofi_hmem_cannot(why, "the drivers find no GPU");
}

/* Describes where device memory is. */
struct place {
	void *context, *device;
};

/* Finds device memory. Host and shared memory, which the CPU may access, do not count. */
static bool find(const void *addr, struct place *place)
{
	struct ofi_ze_memory_properties properties;
	size_t i;

	for (i = 0; addr && i < contexts.count; i++) {
		properties =
			(struct ofi_ze_memory_properties){ .stype =
								   OFI_ZE_STYPE_MEMORY_PROPERTIES };
		place->context = contexts.of[i];
		if (!ze.properties(place->context, addr, &properties, &place->device) &&
		    properties.type == OFI_ZE_MEMORY_DEVICE)
			return true;
	}
	return false;
}

static bool ze_owns(const void *addr)
{
	struct place place;

	return find(addr, &place);
}

/* Finds a group of queues that can copy. */
static int find_group(void *device, uint32_t *ordinal)
{
	struct ofi_ze_group_properties groups[GROUPS];
	uint32_t count = GROUPS, i;
	int result;

	for (i = 0; i < GROUPS; i++)
		groups[i] =
			(struct ofi_ze_group_properties){ .stype = OFI_ZE_STYPE_GROUP_PROPERTIES };
	result = ze.groups(device, &count, groups);
	if (result)
		return result;
	for (*ordinal = 0; *ordinal < count; ++*ordinal)
		if (groups[*ordinal].flags & OFI_ZE_GROUP_COPY)
			return OFI_ZE_SUCCESS;
	return OFI_ZE_UNSUPPORTED_FEATURE;
}

static int add_queue(const struct place *place, struct queue **added)
{
	struct ofi_ze_queue_desc desc = {
		.stype = OFI_ZE_STYPE_QUEUE_DESC,
		.mode = OFI_ZE_QUEUE_SYNCHRONOUS,
	};
	struct queue *queue = calloc(1, sizeof(*queue));
	int result;

	if (!queue)
		return OFI_ZE_OUT_OF_HOST_MEMORY;
	result = find_group(place->device, &desc.ordinal);
	if (!result)
		result = ze.create_list(place->context, place->device, &desc, &queue->list);
	if (result) {
		free(queue);
		return result;
	}
	queue->device = place->device;
	pthread_mutex_init(&queue->lock, NULL);
	SLIST_INSERT_HEAD(&queues.list, queue, entry);
	*added = queue;
	return OFI_ZE_SUCCESS;
}

static int find_queue(const struct place *place, struct queue **queue)
{
	int result = OFI_ZE_SUCCESS;

	pthread_mutex_lock(&queues.lock);
	SLIST_FOREACH (*queue, &queues.list, entry)
		if ((*queue)->device == place->device)
			break;
	if (!*queue)
		result = add_queue(place, queue);
	pthread_mutex_unlock(&queues.lock);
	return result;
}

static int copy(const void *device, void *to, const void *from, size_t len)
{
	struct queue *queue;
	struct place place;
	int result;

	if (!find(device, &place))
		return -FI_EFAULT;
	result = find_queue(&place, &queue);
	if (result)
		return to_errno(result);
	pthread_mutex_lock(&queue->lock);
	result = ze.copy(queue->list, to, from, len, NULL, 0, NULL);
	pthread_mutex_unlock(&queue->lock);
	return to_errno(result);
}

static int ze_copy_to(void *device, const void *host, size_t len)
{
	return copy(device, device, host, len);
}

static int ze_copy_from(void *host, const void *device, size_t len)
{
	return copy(device, host, device, len);
}

/*
 * The driver may place a small allocation inside a larger one. The dma-buf is then that of the
 * larger one, and the offset of the small one in it is unknown. The dma-buf belongs to this
 * allocation alone if it is no larger than the length rounded up to pages, or to huge pages.
 */
static bool is_dmabuf_of(int fd, size_t len, uint64_t page)
{
	const uint64_t huge = 1 << 21;
	uint64_t unit = len >= huge && page < huge ? huge : page;
	struct stat buf;

	return unit && !fstat(fd, &buf) && (uint64_t)buf.st_size >= len &&
	       (uint64_t)buf.st_size <= (len + unit - 1) / unit * unit;
}

/* The driver keeps its descriptor for later calls and closes it, so the caller gets a copy. */
static int ze_export(const void *addr, size_t len, struct ofi_hmem_export *to)
{
	struct ofi_ze_export_fd export = { .stype = OFI_ZE_STYPE_EXPORT_FD,
					   .flags = OFI_ZE_EXTERNAL_DMA_BUF,
					   .fd = -1 };
	struct ofi_ze_memory_properties properties = { .stype = OFI_ZE_STYPE_MEMORY_PROPERTIES,
						       .next = &export };
	struct place place;
	int result;
	void *base;
	size_t size;

	if (!find(addr, &place) || ze.range(place.context, addr, &base, &size))
		return -FI_EFAULT;
	to->offset = (uintptr_t)addr - (uintptr_t)base;
	if (len > size - to->offset)
		return -FI_EFAULT;
	result = ze.properties(place.context, base, &properties, NULL);
	if (result)
		return to_errno(result);
	if (!is_dmabuf_of(export.fd, size, properties.page))
		return -FI_EOPNOTSUPP;
	to->fd = fcntl(export.fd, F_DUPFD_CLOEXEC, 0);
	return to->fd < 0 ? -errno : 0;
}

const struct ofi_hmem ofi_hmem_ze = {
	.iface = FI_HMEM_ZE,
	.name = "ze",
	.library = "libze_loader.so.1",
	.dmabuf_param = "hmem_ze_use_dmabuf",
	.symbols = symbols,
	.errors = errors,
	.start = ze_start,
	.owns = ze_owns,
	.copy_to = ze_copy_to,
	.copy_from = ze_copy_from,
	.export = ze_export,
};
