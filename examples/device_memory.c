/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The client sends from the memory of its GPU to the memory of the server's GPU. CUDA's driver is
 * opened at run time, so that this builds without it. Without a GPU it says so, with exit status
 * 77.
 */
#include <dlfcn.h>
#include "example.h"

enum { SIZE = 100000 };

/* What a program that is linked with CUDA gets from cuda.h. */
static struct {
	int (*init)(unsigned int flags);
	int (*device)(int *device, int ordinal);
	int (*retain)(void **context, int device);
	int (*enter)(void *context);
	int (*alloc)(uintptr_t *addr, size_t len);
	int (*release)(uintptr_t addr);
	int (*put)(uintptr_t to, const void *from, size_t len);
	int (*get)(void *to, uintptr_t from, size_t len);
} cuda;

static void no_gpu(const char *why)
{
	fprintf(stderr, "device_memory needs a GPU: %s\n", why);
	exit(77);
}

static void find(void *library, const char *name, void *function)
{
	void *found = dlsym(library, name);

	if (!found)
		no_gpu(dlerror());
	memcpy(function, &found, sizeof(found));
}

static void open_gpu(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW), *context;
	int device;

	if (!library)
		no_gpu(dlerror());
	find(library, "cuInit", &cuda.init);
	find(library, "cuDeviceGet", &cuda.device);
	find(library, "cuDevicePrimaryCtxRetain", &cuda.retain);
	find(library, "cuCtxPushCurrent_v2", &cuda.enter);
	find(library, "cuMemAlloc_v2", &cuda.alloc);
	find(library, "cuMemFree_v2", &cuda.release);
	find(library, "cuMemcpyHtoD_v2", &cuda.put);
	find(library, "cuMemcpyDtoH_v2", &cuda.get);
	if (cuda.init(0) || cuda.device(&device, 0) || cuda.retain(&context, device) ||
	    cuda.enter(context))
		no_gpu("the driver found none");
}

static void gpu_must(int result, const char *call)
{
	if (!result)
		return;
	fprintf(stderr, "%s: CUDA error %d\n", call, result);
	exit(1);
}

/* guide: register */
static struct fid_mr *register_gpu(struct node *n, uintptr_t addr, size_t len)
{
	struct iovec iov = { (void *)addr, len };
	struct fi_mr_attr attr = {
		.mr_iov = &iov, .iov_count = 1, .access = FI_SEND | FI_RECV, .iface = FI_HMEM_CUDA
	};
	struct fid_mr *mr;

	must(fi_mr_regattr(n->domain, &attr, 0, &mr), "fi_mr_regattr");
	return mr;
}
/* guide: end */

/* guide: transfer */
static void transfer(struct node *n, uintptr_t addr, struct fid_mr *mr)
{
	void *buf = (void *)addr, *desc = fi_mr_desc(mr);
	struct op done = { 0 };

	if (n->client)
		while (full(n, fi_send(n->ep, buf, SIZE, desc, n->peer, &done), "fi_send"))
			;
	else
		while (full(n, fi_recv(n->ep, buf, SIZE, desc, FI_ADDR_UNSPEC, &done), "fi_recv"))
			;
	wait_for(n, &done);
}
/* guide: end */

int main(int argc, char **argv)
{
	static char here[SIZE], expected[SIZE];
	struct fid_mr *mr;
	uintptr_t addr;
	struct node n;

	for (int i = 0; i < SIZE; i++)
		expected[i] = (char)(i * 31 + i / 256);
	if (argc < 2 || argv[1][0] != '-')
		open_gpu();
	node_open(&n, new_hints(FI_MSG | FI_HMEM, FI_MR_HMEM | FI_MR_LOCAL), argc, argv,
		  "Sends from the memory of one GPU to that of another.");
	node_meet(&n);
	gpu_must(cuda.alloc(&addr, SIZE), "cuMemAlloc");
	mr = register_gpu(&n, addr, SIZE);
	if (n.client)
		gpu_must(cuda.put(addr, expected, SIZE), "cuMemcpyHtoD");
	transfer(&n, addr, mr);
	gpu_must(cuda.get(here, addr, SIZE), "cuMemcpyDtoH");
	printf("%d bytes in the memory of the GPU: %s\n", SIZE,
	       memcmp(here, expected, SIZE) ? "wrong" : "right");
	must(fi_close(&mr->fid), "fi_close"); /* before the memory is freed */
	gpu_must(cuda.release(addr), "cuMemFree");
	node_close(&n);
	return memcmp(here, expected, SIZE) != 0;
}
