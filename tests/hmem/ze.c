/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A false GPU: the part of libze_loader.so.1 that the library uses. One driver has an accelerator
 * of another kind, the other one has the GPU, whose first group of queues cannot copy. The driver
 * keeps the descriptor of a dma-buf, and knows the memory of all contexts unless
 * FALSE_GPU_OTHER_CONTEXT is set.
 */
#include <sched.h>
#include <stdlib.h>
#include <rdma/fi_domain.h>
#include "memory.h"
#include "../../prov/base/hmem_ze.h"

const int false_gpu_iface = FI_HMEM_ZE;

enum { NPU = 5, COPY_GROUP = 1, GROUPS = 2 };

/* Their addresses are the handles. */
static int drivers[2], devices[2], default_context, created_context, list;
static bool initialized;
static int contexts, lists; /* created so far */
static bool copying;	    /* a copy is under way, atomic */

/* Tests read these. */
int false_ze_contexts(void);
int false_ze_contexts(void)
{
	return contexts;
}

int false_ze_lists(void);
int false_ze_lists(void)
{
	return lists;
}

/* Fills an array as the interface does: as many as there are, and as there is room for. */
static void fill(uint32_t *count, void **handles, int *first, uint32_t have)
{
	uint32_t i;

	*count = *count < have ? *count : have;
	for (i = 0; i < *count; i++)
		handles[i] = &first[i];
}

int zeInit(uint32_t flags);
int zeInit(uint32_t flags)
{
	int err = false_memory_called(__func__);

	if (err)
		return err;
	initialized = true;
	return flags ? OFI_ZE_INVALID_ENUMERATION : OFI_ZE_SUCCESS;
}

int zeDriverGet(uint32_t *count, void **handles);
int zeDriverGet(uint32_t *count, void **handles)
{
	int err = false_memory_called(__func__);

	if (err)
		return err;
	if (!initialized)
		return OFI_ZE_UNINITIALIZED;
	fill(count, handles, drivers, getenv("FALSE_GPU_NO_DEVICE") ? 1 : 2);
	return OFI_ZE_SUCCESS;
}

int zeDeviceGet(void *driver, uint32_t *count, void **handles);
int zeDeviceGet(void *driver, uint32_t *count, void **handles)
{
	int err = false_memory_called(__func__);

	if (err)
		return err;
	fill(count, handles, driver == &drivers[0] ? &devices[0] : &devices[1], 1);
	return OFI_ZE_SUCCESS;
}

int zeDeviceGetProperties(void *device, struct ofi_ze_device_properties *properties);
int zeDeviceGetProperties(void *device, struct ofi_ze_device_properties *properties)
{
	int err = false_memory_called(__func__);

	if (err)
		return err;
	if (properties->stype != OFI_ZE_STYPE_DEVICE_PROPERTIES || properties->next)
		return OFI_ZE_INVALID_ARGUMENT;
	*properties = (struct ofi_ze_device_properties){
		.stype = properties->stype,
		.type = device == &devices[1] ? OFI_ZE_DEVICE_GPU : NPU,
	};
	return OFI_ZE_SUCCESS;
}

int zeDeviceGetCommandQueueGroupProperties(void *device, uint32_t *count,
					   struct ofi_ze_group_properties *groups);
int zeDeviceGetCommandQueueGroupProperties(void *device, uint32_t *count,
					   struct ofi_ze_group_properties *groups)
{
	uint32_t i, have = getenv("FALSE_GPU_NO_COPY") ? COPY_GROUP : GROUPS;
	int err = false_memory_called(__func__);

	if (err)
		return err;
	*count = *count < have ? *count : have;
	for (i = 0; i < *count; i++) {
		if (groups[i].stype != OFI_ZE_STYPE_GROUP_PROPERTIES || groups[i].next)
			return OFI_ZE_INVALID_ARGUMENT;
		groups[i].flags = i == COPY_GROUP ? OFI_ZE_GROUP_COPY : OFI_ZE_GROUP_COPY - 1;
		groups[i].queues = 1;
	}
	return device == &devices[1] ? OFI_ZE_SUCCESS : OFI_ZE_INVALID_ARGUMENT;
}

void *zeDriverGetDefaultContext(void *driver);
void *zeDriverGetDefaultContext(void *driver)
{
	return driver == &drivers[1] && getenv("FALSE_GPU_DEFAULT_CONTEXT") ? &default_context
									    : NULL;
}

int zeContextCreate(void *driver, const struct ofi_ze_context_desc *desc, void **context);
int zeContextCreate(void *driver, const struct ofi_ze_context_desc *desc, void **context)
{
	int err = false_memory_called(__func__);

	if (err)
		return err;
	if (driver != &drivers[1] || desc->stype != OFI_ZE_STYPE_CONTEXT_DESC || desc->next ||
	    desc->flags)
		return OFI_ZE_INVALID_ARGUMENT;
	contexts++;
	*context = &created_context;
	return OFI_ZE_SUCCESS;
}

static bool is_context(const void *context)
{
	return context == &default_context || context == &created_context;
}

int zeCommandListCreateImmediate(void *context, void *device, const struct ofi_ze_queue_desc *desc,
				 void **created);
int zeCommandListCreateImmediate(void *context, void *device, const struct ofi_ze_queue_desc *desc,
				 void **created)
{
	int err = false_memory_called(__func__);

	if (err)
		return err;
	if (!is_context(context) || device != &devices[1] || desc->next ||
	    desc->stype != OFI_ZE_STYPE_QUEUE_DESC || desc->ordinal != COPY_GROUP || desc->index ||
	    desc->flags || desc->mode != OFI_ZE_QUEUE_SYNCHRONOUS || desc->priority)
		return OFI_ZE_INVALID_ARGUMENT;
	lists++;
	*created = &list;
	return OFI_ZE_SUCCESS;
}

/* A list takes calls of one thread at a time. */
int zeCommandListAppendMemoryCopy(void *to_list, void *to, const void *from, size_t len,
				  void *signal, uint32_t count, void **events);
int zeCommandListAppendMemoryCopy(void *to_list, void *to, const void *from, size_t len,
				  void *signal, uint32_t count, void **events)
{
	int err = false_memory_called(__func__);
	bool done;

	if (err)
		return err;
	if (to_list != &list || !to || !from || signal || count || events)
		return OFI_ZE_INVALID_ARGUMENT;
	if (__atomic_exchange_n(&copying, true, __ATOMIC_ACQ_REL))
		return OFI_ZE_UNSUPPORTED_FEATURE;
	sched_yield();
	done = false_memory_put((uintptr_t)to, from, len) ||
	       false_memory_get(to, (uintptr_t)from, len);
	__atomic_store_n(&copying, false, __ATOMIC_RELEASE);
	return done ? OFI_ZE_SUCCESS : OFI_ZE_INVALID_ARGUMENT;
}

/* The type of memory is FALSE_GPU_TYPE, or that of a device. */
static void describe(const struct false_memory *found, struct ofi_ze_memory_properties *properties,
		     void **device)
{
	const char *type = getenv("FALSE_GPU_TYPE");

	properties->type = type ? atoi(type) : OFI_ZE_MEMORY_DEVICE;
	properties->id = found->id;
	properties->page = FALSE_PAGE;
	if (device)
		*device = &devices[1];
}

int zeMemGetAllocProperties(void *context, const void *addr,
			    struct ofi_ze_memory_properties *properties, void **device);
int zeMemGetAllocProperties(void *context, const void *addr,
			    struct ofi_ze_memory_properties *properties, void **device)
{
	struct ofi_ze_export_fd *export = properties->next;
	struct false_memory found;
	int err = false_memory_called(__func__);

	if (err)
		return err;
	if (!is_context(context) || !addr || properties->stype != OFI_ZE_STYPE_MEMORY_PROPERTIES)
		return OFI_ZE_INVALID_ARGUMENT;
	properties->type = 0;
	if (getenv("FALSE_GPU_OTHER_CONTEXT") || !false_memory_find((uintptr_t)addr, &found))
		return OFI_ZE_SUCCESS;
	describe(&found, properties, device);
	if (!export)
		return OFI_ZE_SUCCESS;
	if (getenv("FALSE_GPU_NO_DMABUF") || export->stype != OFI_ZE_STYPE_EXPORT_FD ||
	    export->flags != OFI_ZE_EXTERNAL_DMA_BUF)
		return OFI_ZE_UNSUPPORTED_ENUMERATION;
	export->fd = found.fd;
	return OFI_ZE_SUCCESS;
}

/* With FALSE_GPU_POOLED each page is an allocation of its own, in a pool that has one dma-buf. */
int zeMemGetAddressRange(void *context, const void *addr, void **base, size_t *len);
int zeMemGetAddressRange(void *context, const void *addr, void **base, size_t *len)
{
	struct false_memory found;
	int err = false_memory_called(__func__);

	if (err)
		return err;
	if (!is_context(context) || !false_memory_find((uintptr_t)addr, &found))
		return OFI_ZE_INVALID_ARGUMENT;
	*base = found.device;
	*len = found.len;
	if (getenv("FALSE_GPU_POOLED")) {
		*base = found.device +
			((uintptr_t)addr - (uintptr_t)found.device) / FALSE_PAGE * FALSE_PAGE;
		*len = FALSE_PAGE;
	}
	return OFI_ZE_SUCCESS;
}
