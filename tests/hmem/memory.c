/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The memory of the false GPUs, which each of their libraries has. */
#include "memory.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ALLOCS = 256 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the table */
static struct false_memory allocs[ALLOCS];
static uint64_t ids;
static uint64_t calls; /* atomic */

int false_memory_called(const char *name)
{
	const char *fail = getenv("FALSE_GPU_FAIL");
	size_t len = strlen(name);

	__atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
	if (!fail || strncmp(fail, name, len) || fail[len] != ':')
		return 0;
	return atoi(fail + len + 1);
}

uint64_t false_gpu_calls(void)
{
	return __atomic_load_n(&calls, __ATOMIC_RELAXED);
}

static struct false_memory *find(uint64_t addr)
{
	int i;

	for (i = 0; i < ALLOCS; i++)
		if (allocs[i].id && addr >= (uintptr_t)allocs[i].device &&
		    addr < (uintptr_t)allocs[i].device + allocs[i].len)
			return &allocs[i];
	return NULL;
}

bool false_memory_find(uint64_t addr, struct false_memory *found)
{
	struct false_memory *alloc;

	pthread_mutex_lock(&lock);
	alloc = find(addr);
	if (alloc)
		*found = *alloc;
	pthread_mutex_unlock(&lock);
	return alloc;
}

static bool map(struct false_memory *alloc)
{
	alloc->fd = memfd_create("device memory", MFD_CLOEXEC);
	if (alloc->fd < 0)
		return false;
	if (ftruncate(alloc->fd, (off_t)alloc->len)) {
		close(alloc->fd);
		return false;
	}
	alloc->device = mmap(NULL, alloc->len, PROT_NONE, MAP_SHARED, alloc->fd, 0);
	alloc->host = mmap(NULL, alloc->len, PROT_READ | PROT_WRITE, MAP_SHARED, alloc->fd, 0);
	return alloc->device != MAP_FAILED && alloc->host != MAP_FAILED;
}

bool false_memory_new(size_t len, uint64_t *addr)
{
	bool done = false;
	int i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < ALLOCS && allocs[i].id; i++)
		;
	if (i < ALLOCS && len) {
		allocs[i].len = (len + FALSE_PAGE - 1) / FALSE_PAGE * FALSE_PAGE;
		done = map(&allocs[i]);
	}
	if (done) {
		allocs[i].id = ++ids;
		*addr = (uintptr_t)allocs[i].device;
	}
	pthread_mutex_unlock(&lock);
	return done;
}

bool false_memory_delete(uint64_t addr)
{
	struct false_memory *alloc;

	pthread_mutex_lock(&lock);
	alloc = find(addr);
	if (alloc) {
		munmap(alloc->device, alloc->len);
		munmap(alloc->host, alloc->len);
		close(alloc->fd);
		alloc->id = 0;
	}
	pthread_mutex_unlock(&lock);
	return alloc;
}

/* Where the processor finds the bytes; NULL when they are not all of one allocation. */
static uint8_t *second(uint64_t addr, size_t len)
{
	struct false_memory *alloc = find(addr);
	size_t at = alloc ? addr - (uintptr_t)alloc->device : 0;

	return alloc && len <= alloc->len - at ? alloc->host + at : NULL;
}

bool false_memory_put(uint64_t to, const void *from, size_t len)
{
	uint8_t *host;

	pthread_mutex_lock(&lock);
	host = second(to, len);
	if (host)
		memcpy(host, from, len);
	pthread_mutex_unlock(&lock);
	return host;
}

bool false_memory_get(void *to, uint64_t from, size_t len)
{
	uint8_t *host;

	pthread_mutex_lock(&lock);
	host = second(from, len);
	if (host)
		memcpy(to, host, len);
	pthread_mutex_unlock(&lock);
	return host;
}

static int open_at(const struct false_memory *alloc, uint64_t addr)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", alloc->fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd >= 0)
		lseek(fd, (off_t)(addr - (uintptr_t)alloc->device), SEEK_SET);
	return fd;
}

int false_memory_open(uint64_t addr, size_t len)
{
	int fd = -1;

	pthread_mutex_lock(&lock);
	if (second(addr, len))
		fd = open_at(find(addr), addr);
	pthread_mutex_unlock(&lock);
	return fd;
}

void *false_gpu_alloc(size_t len)
{
	uint64_t addr;

	return false_memory_new(len, &addr) ? (void *)(uintptr_t)addr : NULL;
}

bool false_gpu_free(const void *addr)
{
	return false_memory_delete((uintptr_t)addr);
}

bool false_gpu_owns(const void *addr)
{
	struct false_memory found;

	return false_memory_find((uintptr_t)addr, &found);
}

bool false_gpu_put(void *to, const void *from, size_t len)
{
	return false_memory_put((uintptr_t)to, from, len);
}

bool false_gpu_get(void *to, const void *from, size_t len)
{
	return false_memory_get(to, (uintptr_t)from, len);
}

int false_gpu_export(const void *addr, size_t len)
{
	return false_memory_open((uintptr_t)addr, len);
}
