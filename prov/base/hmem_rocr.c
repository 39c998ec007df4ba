/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory of ROCm devices, using the HSA runtime, whose few prototypes are declared here. */
#include "hmem.h"

#include <rdma/fi_errno.h>

/* Values of the HSA runtime's interface and AMD's extension of it. */
enum {
	SUCCESS = 0,
	ERROR_INVALID_ARGUMENT = 0x1001,
	ERROR_INVALID_ALLOCATION = 0x1003,
	ERROR_OUT_OF_RESOURCES = 0x1008,
	AGENT_INFO_DEVICE = 17,
	DEVICE_TYPE_GPU = 1,
	POINTER_TYPE_UNKNOWN = 0,
	POINTER_TYPE_LOCKED = 2,
};

struct agent {
	uint64_t handle;
};

/* The structure grows at its end; the runtime fills in `size` bytes. */
struct pointer_info {
	uint32_t size;
	int type;
	void *agent_base, *host_base;
	size_t len;
	void *user_data;
	struct agent owner;
};

typedef int agent_fn(struct agent agent, void *data);

/* These return SUCCESS or an error. */
static struct {
	int (*init)(void);
	int (*shut_down)(void);
	int (*iterate_agents)(agent_fn *see, void *data);
	int (*agent_info)(struct agent agent, int attribute, void *value);
	int (*pointer_info)(const void *addr, struct pointer_info *info, void *(*alloc)(size_t),
			    uint32_t *agents, struct agent **accessible);
	int (*copy)(void *to, const void *from, size_t len);
	int (*export)(const void *addr, size_t len, int *fd, uint64_t *offset);
	int (*status_string)(int status, const char **text);
} hsa;

static const struct ofi_hmem_symbol symbols[] = {
	{ "hsa_init", &hsa.init, false },
	{ "hsa_shut_down", &hsa.shut_down, false },
	{ "hsa_iterate_agents", &hsa.iterate_agents, false },
	{ "hsa_agent_get_info", &hsa.agent_info, false },
	{ "hsa_amd_pointer_info", &hsa.pointer_info, false },
	{ "hsa_memory_copy", &hsa.copy, false },
	{ "hsa_amd_portable_export_dmabuf", &hsa.export, true },
	{ "hsa_status_string", &hsa.status_string, true },
	{ 0 },
};

static const struct ofi_hmem_error errors[] = {
	{ ERROR_INVALID_ARGUMENT, FI_EINVAL },
	{ ERROR_INVALID_ALLOCATION, FI_EFAULT },
	{ ERROR_OUT_OF_RESOURCES, FI_ENOMEM },
	{ 0 },
};

static int to_errno(int status)
{
	return ofi_hmem_errno(&ofi_hmem_rocr, status);
}

static bool call_failed(const char *call, int status, struct ofi_hmem_why *why)
{
	const char *text = NULL;

	if (!hsa.status_string || hsa.status_string(status, &text) != SUCCESS || !text)
		text = "an error without a name";
	return ofi_hmem_cannot(why, "%s returns %#x: %s", call, (unsigned int)status, text);
}

static bool is_gpu(struct agent agent)
{
	int type = 0;

	return hsa.agent_info(agent, AGENT_INFO_DEVICE, &type) == SUCCESS &&
	       type == DEVICE_TYPE_GPU;
}

static int count_gpus(struct agent agent, void *count)
{
	*(int *)count += is_gpu(agent);
	return SUCCESS;
}

static bool find_gpu(struct ofi_hmem_why *why)
{
	int count = 0, status = hsa.iterate_agents(count_gpus, &count);

	if (status)
		return call_failed("hsa_iterate_agents", status, why);
	return count || ofi_hmem_cannot(why, "the runtime finds no GPU");
}

/* The library is unloaded on failure, so the runtime must not be left running. */
static bool rocr_start(struct ofi_hmem_why *why)
{
	int status = hsa.init();

	if (status)
		return call_failed("hsa_init", status, why);
	if (find_gpu(why))
		return true;
	hsa.shut_down();
	return false;
}

/* Host memory that the runtime has allocated or locked counts as system memory. */
static bool rocr_owns(const void *addr)
{
	struct pointer_info info = { .size = sizeof(info) };

	return hsa.pointer_info(addr, &info, NULL, NULL, NULL) == SUCCESS &&
	       info.type != POINTER_TYPE_UNKNOWN && info.type != POINTER_TYPE_LOCKED &&
	       is_gpu(info.owner);
}

static int rocr_copy(void *to, const void *from, size_t len)
{
	return to_errno(hsa.copy(to, from, len));
}

static int rocr_export(const void *addr, size_t len, struct ofi_hmem_export *to)
{
	return hsa.export ? to_errno(hsa.export(addr, len, &to->fd, &to->offset)) : -FI_ENOSYS;
}

const struct ofi_hmem ofi_hmem_rocr = {
	.iface = FI_HMEM_ROCR,
	.name = "rocr",
	.library = "libhsa-runtime64.so.1",
	.dmabuf_param = "hmem_rocr_use_dmabuf",
	.symbols = symbols,
	.errors = errors,
	.start = rocr_start,
	.owns = rocr_owns,
	.copy_to = rocr_copy,
	.copy_from = rocr_copy,
	.export = rocr_export,
};
