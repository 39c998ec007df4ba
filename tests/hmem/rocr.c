/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A false GPU: the part of libhsa-runtime64.so.1 that the library uses. It has two agents, the
 * processor and the GPU, and its dma-buf is that of the whole allocation.
 */
#include <stdlib.h>
#include <rdma/fi_domain.h>
#include "memory.h"

const int false_gpu_iface = FI_HMEM_ROCR;

enum {
	SUCCESS = 0,
	ERROR = 0x1000,
	INVALID_ARGUMENT = 0x1001,
	INVALID_ALLOCATION = 0x1003,
	INVALID_AGENT = 0x1004,
	NOT_INITIALIZED = 0x100B,
	CPU = 1, /* the handles of the agents */
	GPU = 2,
	INFO_DEVICE = 17,
	POINTER_UNKNOWN = 0,
	POINTER_HSA = 1,
};

struct agent {
	uint64_t handle;
};

struct pointer_info {
	uint32_t size;
	int type;
	void *agent_base, *host_base;
	size_t len;
	void *user_data;
	struct agent owner;
};

static int running; /* calls of hsa_init that are not undone */

/* For tests. */
int false_rocr_running(void);
int false_rocr_running(void)
{
	return running;
}

int hsa_init(void);
int hsa_init(void)
{
	int err = false_memory_called(__func__);

	if (err)
		return err;
	running++;
	return SUCCESS;
}

int hsa_shut_down(void);
int hsa_shut_down(void)
{
	int err = false_memory_called(__func__);

	if (err)
		return err;
	if (!running)
		return NOT_INITIALIZED;
	running--;
	return SUCCESS;
}

int hsa_status_string(int status, const char **text);
int hsa_status_string(int status, const char **text)
{
	if (status != ERROR)
		return INVALID_ARGUMENT;
	*text = "HSA_STATUS_ERROR: A generic error has occurred.";
	return SUCCESS;
}

int hsa_iterate_agents(int (*see)(struct agent agent, void *data), void *data);
int hsa_iterate_agents(int (*see)(struct agent agent, void *data), void *data)
{
	uint64_t last = getenv("FALSE_GPU_NO_DEVICE") ? CPU : GPU;
	struct agent agent;
	int err = false_memory_called(__func__);

	if (!err && !running)
		err = NOT_INITIALIZED;
	for (agent.handle = CPU; !err && agent.handle <= last; agent.handle++)
		err = see(agent, data);
	return err;
}

int hsa_agent_get_info(struct agent agent, int attribute, void *value);
int hsa_agent_get_info(struct agent agent, int attribute, void *value)
{
	int err = false_memory_called(__func__);

	if (err)
		return err;
	if (agent.handle != CPU && agent.handle != GPU)
		return INVALID_AGENT;
	if (attribute != INFO_DEVICE)
		return INVALID_ARGUMENT;
	*(int *)value = agent.handle == GPU;
	return SUCCESS;
}

int hsa_amd_pointer_info(const void *addr, struct pointer_info *info, void *(*alloc)(size_t),
			 uint32_t *agents, struct agent **accessible);
int hsa_amd_pointer_info(const void *addr, struct pointer_info *info, void *(*alloc)(size_t),
			 uint32_t *agents, struct agent **accessible)
{
	struct false_memory found;
	int err = false_memory_called(__func__);

	if (err)
		return err;
	if (!addr || info->size < sizeof(*info) || alloc || agents || accessible)
		return INVALID_ARGUMENT;
	info->type = false_memory_find((uintptr_t)addr, &found) ? POINTER_HSA : POINTER_UNKNOWN;
	if (info->type == POINTER_UNKNOWN)
		return SUCCESS;
	info->agent_base = info->host_base = found.device;
	info->len = found.len;
	info->user_data = NULL;
	info->owner.handle = getenv("FALSE_GPU_ON_HOST") ? CPU : GPU;
	return SUCCESS;
}

int hsa_memory_copy(void *to, const void *from, size_t len);
int hsa_memory_copy(void *to, const void *from, size_t len)
{
	int err = false_memory_called(__func__);

	if (err)
		return err;
	if (!to || !from)
		return INVALID_ARGUMENT;
	return false_memory_put((uintptr_t)to, from, len) ||
			       false_memory_get(to, (uintptr_t)from, len)
		       ? SUCCESS
		       : INVALID_ARGUMENT;
}

int hsa_amd_portable_export_dmabuf(const void *addr, size_t len, int *fd, uint64_t *offset);
int hsa_amd_portable_export_dmabuf(const void *addr, size_t len, int *fd, uint64_t *offset)
{
	struct false_memory found;
	int err = false_memory_called(__func__);

	if (err)
		return err;
	if (getenv("FALSE_GPU_NO_DMABUF"))
		return ERROR;
	if (!false_memory_find((uintptr_t)addr, &found))
		return INVALID_ALLOCATION;
	*offset = (uintptr_t)addr - (uintptr_t)found.device;
	if (len > found.len - *offset)
		return INVALID_ARGUMENT;
	*fd = false_memory_open((uintptr_t)found.device, found.len);
	return *fd < 0 ? ERROR : SUCCESS;
}
