/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The registration of dma-bufs of the fake GPU, linked with a test or preloaded. Soft-RoCE does not
 * support them, so a second mapping of the memory is registered at the address of the first one.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>
#include <infiniband/verbs.h>

enum { REGIONS = 1024 };

/* The library calls these functions instead of those of libibverbs. */
#define EXPORTED __attribute__((visibility("default")))

static uint64_t registered; /* atomic */

/* For tests: dma-buf registrations so far. */
uint64_t false_dmabuf_regions(void);
uint64_t false_dmabuf_regions(void)
{
	return __atomic_load_n(&registered, __ATOMIC_RELAXED);
}

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
