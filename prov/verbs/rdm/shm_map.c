/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory that processes of one user share: sealed files without a name. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "shm_map.h"
#include "src/ds/memfd.h"
#include "src/ds/min.h"

#define BOOT_ID "/proc/sys/kernel/random/boot_id"
/* If the file could shrink, processes that have mapped it would get SIGBUS. */
#define SEALS	   (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
#define FIRST_PAGE 4096u

static bool find_host(struct vrb_shm_place *place)
{
	unsigned int digit, n = 0;
	struct stat ns;
	FILE *file;
	int c;

	memset(place->boot, 0, sizeof(place->boot));
	file = fopen(BOOT_ID, "re");
	if (!file)
		return false;
	while (n < 32 && (c = getc(file)) != EOF) {
		if (c == '-')
			continue;
		digit = c >= 'a' ? (unsigned int)c - 'a' + 10 : (unsigned int)c - '0';
		place->boot[n / 16] = place->boot[n / 16] << 4 | (digit & 15);
		n++;
	}
	fclose(file);
	if (n < 32 || stat("/proc/self/ns/net", &ns))
		return false;
	place->netns = ns.st_ino;
	return true;
}

static void *map_fd(int fd, size_t size)
{
	void *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return map == MAP_FAILED ? NULL : map;
}

/*
 * Allocates what is stored to at once. Most rings are never filled, so the other pages are only
 * allocated where any of them may be refused later.
 */
static bool reserve(int fd, size_t size)
{
	return ofi_memfd_reserve(fd, 0, ofi_memory_is_strict() ? size : ofi_min(size, FIRST_PAGE));
}

static int create_fd(size_t size)
{
	int fd = ofi_memfd("weft", size);

	if (fd >= 0 && (!reserve(fd, size) || fcntl(fd, F_ADD_SEALS, SEALS))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

void *vrb_shm_create(size_t size, struct vrb_shm_place *place)
{
	void *map;
	int fd;

	if (!find_host(place) ||
	    getrandom(place->token, sizeof(place->token), 0) != sizeof(place->token))
		return NULL;
	fd = create_fd(size);
	if (fd < 0)
		return NULL;
	map = map_fd(fd, size);
	if (!map) {
		close(fd);
		return NULL;
	}
	memcpy(map, place->token, sizeof(place->token));
	place->pid = (uint32_t)getpid();
	place->fd = (uint32_t)fd;
	return map;
}

/*
 * A file can change its size until it is sealed, so the size is checked after the seals. The kernel
 * may add seals of its own.
 */
static bool is_whole(int fd, size_t size)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat file;

	return seals >= 0 && (seals & SEALS) == SEALS && !fstat(fd, &file) &&
	       file.st_size == (off_t)size;
}

/* Returns true for a file that is in memory: a file system may delay opening its files for ever. */
static bool is_in_memory(const struct statx *file)
{
	int fd = memfd_create("weft", MFD_CLOEXEC);
	struct stat ours;
	bool found = fd >= 0 && !fstat(fd, &ours);

	if (fd >= 0)
		close(fd);
	return found && ours.st_dev == makedev(file->stx_dev_major, file->stx_dev_minor);
}

/* The file system is not asked. */
static bool may_be_theirs(int found, size_t size)
{
	struct statx file;

	return !statx(found, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &file) &&
	       S_ISREG(file.stx_mode) && !file.stx_nlink && file.stx_uid == geteuid() &&
	       file.stx_size == size && is_in_memory(&file);
}

/*
 * Opens the file only if it is one that vrb_shm_create() can have made: opening something else may
 * have effects, and writing to it would damage it.
 */
static int open_theirs(const struct vrb_shm_place *place, size_t size)
{
	char path[64];
	int fd, found;

	snprintf(path, sizeof(path), "/proc/%u/fd/%u", place->pid, place->fd);
	found = open(path, O_PATH | O_CLOEXEC);
	if (found < 0)
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", found);
	fd = may_be_theirs(found, size) ? open(path, O_RDWR | O_CLOEXEC) : -1;
	close(found);
	if (fd >= 0 && !is_whole(fd, size)) {
		close(fd);
		return -1;
	}
	return fd;
}

void *vrb_shm_map(const struct vrb_shm_place *place, size_t size)
{
	struct vrb_shm_place here;
	void *map;
	int fd;

	if (!find_host(&here) || memcmp(here.boot, place->boot, sizeof(here.boot)) ||
	    here.netns != place->netns)
		return NULL;
	fd = open_theirs(place, size);
	if (fd < 0)
		return NULL;
	map = map_fd(fd, size);
	close(fd);
	if (map && memcmp(map, place->token, sizeof(place->token))) {
		munmap(map, size);
		return NULL;
	}
	return map;
}
