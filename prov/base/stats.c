/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The memory of statistics: a memfd of slots, made when the first object asks for one. */
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <ofi/lock.h>
#include <ofi/stats.h>

#define FILE_SIZE ((size_t)OFI_STATS_SLOT * (OFI_STATS_SLOTS + 1))

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

/* Guarded by lock. A free slot begins with the number of the next. */
static struct {
	bool forbidden;
	bool tried;
	struct ofi_stats_header *header; /* NULL when there is no file */
	int fd;
	ino_t inode;
	uint32_t free; /* 0 is none: slots are numbered from 1 */
	uint32_t taken;
} file;
static struct ofi_lock lock;
static uint32_t last_number; /* atomic */
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

void ofi_stats_forbid(void)
{
	file.forbidden = true;
}

static void *slot_at(uint32_t number)
{
	return (char *)file.header + (size_t)number * OFI_STATS_SLOT;
}

static void before_fork(void)
{
	ofi_lock(&lock);
}

static void in_parent(void)
{
	ofi_unlock(&lock);
}

/* An application may have closed the descriptor, and something else may have its number. */
static void close_file(void)
{
	struct stat st;

	if (!fstat(file.fd, &st) && st.st_ino == file.inode)
		close(file.fd);
}

/*
 * What a child has of its parent's objects is its own copy, which it may close; its statistics are not the
 * parent's. They begin anew with the first object it opens.
 */
static void in_child(void)
{
	size_t used;
	void *copy;

	if (file.header) {
		used = (size_t)OFI_STATS_SLOT * (file.header->used + 1);
		copy = mmap(NULL, FILE_SIZE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (copy != MAP_FAILED) {
			memcpy(copy, file.header, used);
			mremap(copy, FILE_SIZE, FILE_SIZE, MREMAP_MAYMOVE | MREMAP_FIXED,
			       file.header);
		}
		close_file();
	}
	file.tried = false;
	file.header = NULL;
	file.free = file.taken = 0;
	ofi_lock_init(&lock);
}

static void watch_forks(void)
{
	pthread_atfork(before_fork, in_parent, in_child);
}

/* Growing a file beyond the limit of the process would kill it. */
static bool wanted(void)
{
	struct rlimit limit;

	return !file.forbidden && !getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur >= FILE_SIZE;
}

/* Sealed once it is mapped: its size is for good, and no one else can ever write it. */
static void *map(int fd)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;
	struct stat st;
	void *base;

	if (fchmod(fd, 0400) || ftruncate(fd, FILE_SIZE) || fstat(fd, &st))
		return NULL;
	base = mmap(NULL, FILE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (base == MAP_FAILED)
		return NULL;
	if (fcntl(fd, F_ADD_SEALS, seals)) {
		munmap(base, FILE_SIZE);
		return NULL;
	}
	file.inode = st.st_ino;
	return base;
}

static void open_file(void)
{
	struct ofi_stats_header *header;
	int fd;

	file.tried = true;
	fd = wanted() ? memfd_create(OFI_STATS_FILE, MFD_CLOEXEC | MFD_ALLOW_SEALING) : -1;
	if (fd < 0)
		return;
	header = map(fd);
	if (!header) {
		close(fd);
		return;
	}
	pthread_once(&fork_once, watch_forks);
	*header = (struct ofi_stats_header){
		.magic = OFI_STATS_MAGIC,
		.version = OFI_STATS_VERSION,
		.pid = (uint32_t)getpid(),
		.slot_size = OFI_STATS_SLOT,
		.record_size = sizeof(struct ofi_stats),
		.slots = OFI_STATS_SLOTS,
	};
	file.fd = fd;
	file.header = header;
}

/* A slot that is free, or a new one; NULL when there is none. */
static void *take_slot(void)
{
	struct ofi_stats_header *header;
	void *slot = NULL;
	uint32_t number;

	ofi_lock(&lock);
	if (!file.tried)
		open_file();
	header = file.header;
	if (file.free) {
		slot = slot_at(file.free);
		file.free = *(uint32_t *)slot;
	} else if (header && header->used < header->slots) {
		number = header->used + 1;
		slot = slot_at(number);
		__atomic_store_n(&header->used, number, __ATOMIC_RELEASE);
	} else if (header) {
		__atomic_fetch_add(&header->more, 1, __ATOMIC_RELAXED);
	}
	file.taken += slot != NULL;
	ofi_unlock(&lock);
	return slot;
}

void *ofi_stats_alloc(size_t size)
{
	char *slot = size <= OFI_STATS_SLOT ? take_slot() : NULL;
	char *object = slot ? slot + OFI_STATS_SLOT - size : aligned_alloc(OFI_STATS_ALIGN, size);
	struct ofi_stats *stats;

	if (!object)
		return NULL;
	memset(object, 0, size);
	stats = (struct ofi_stats *)(object + size) - 1;
	stats->heap = !slot;
	return object;
}

/* Of a slot that the parent of this process took, nothing is left to do. */
static void give_slot(char *slot)
{
	ofi_lock(&lock);
	if (file.header && slot > (char *)file.header && slot < (char *)file.header + FILE_SIZE) {
		*(uint32_t *)slot = file.free;
		file.free = (uint32_t)((slot - (char *)file.header) / OFI_STATS_SLOT);
		file.taken--;
	}
	ofi_unlock(&lock);
}

void ofi_stats_free(void *object, struct ofi_stats *stats)
{
	if (!object)
		return;
	ofi_stats_hide(stats);
	if (stats->heap)
		free(object);
	else
		give_slot((char *)(stats + 1) - OFI_STATS_SLOT);
}

uint32_t ofi_stats_number(void)
{
	return __atomic_add_fetch(&last_number, 1, __ATOMIC_RELAXED);
}

void ofi_stats_show(struct ofi_stats *stats, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(stats->name, sizeof(stats->name), format, args);
	va_end(args);
	__atomic_store_n(&stats->id, ofi_stats_number(), __ATOMIC_RELEASE);
}

void ofi_stats_hide(struct ofi_stats *stats)
{
	__atomic_store_n(&stats->id, 0, __ATOMIC_RELEASE);
}

/* For a provider that is unloaded. When the process ends, others may still be at work on their objects. */
__attribute__((destructor)) static void end(void)
{
	if (!file.header || file.taken)
		return;
	munmap(file.header, FILE_SIZE);
	close_file();
	file.header = NULL;
}
