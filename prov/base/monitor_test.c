/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Tests that the kernel reports every change of memory, before anything relies on it. */
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>
#include <rdma/fi_errno.h>
#include "monitor.h"
#include "src/ds/thread.h"

#define ANNOUNCE_MS 1000
#define PAGES	    3

struct seen {
	struct ofi_monitor monitor;
	struct ofi_lock lock;
	uintptr_t start, end; /* the last change; guarded by the lock */
	/*
	 * Bit mask of the pages that are still ours: another thread may reuse an unmapped page at
	 * once.
	 */
	unsigned int ours;
};

static bool note_change(struct ofi_monitor *monitor, uintptr_t start, uintptr_t end, bool unmapped)
{
	struct seen *seen = (struct seen *)monitor;

	(void)unmapped;
	seen->start = start;
	seen->end = end;
	return false;
}

static bool wants_nothing(struct ofi_monitor *monitor, uintptr_t *start, uintptr_t *end)
{
	(void)monitor;
	(void)start;
	(void)end;
	return false;
}

static bool was_seen(struct seen *seen, const char *start, size_t len)
{
	uintptr_t at = (uintptr_t)start;
	bool ret;

	ofi_lock(&seen->lock);
	ret = seen->start <= at && seen->end >= at + len;
	seen->start = seen->end = 0;
	ofi_unlock(&seen->lock);
	return ret;
}

/* Drops pages, moves the first half, unmaps the second half. Returns true if all is reported. */
static bool changes_are_reported(struct seen *seen, char *map, size_t half)
{
	uintptr_t at = (uintptr_t)map;
	bool told;
	char *moved;

	map[0] = map[half] = 1;
	if (ofi_monitor_watch(&seen->monitor, at, at + 2 * half))
		return false;
	told = !madvise(map, half, MADV_DONTNEED) && was_seen(seen, map, half);
	moved = mremap(map, half, half, MREMAP_MAYMOVE | MREMAP_FIXED, map + 2 * half);
	if (moved == MAP_FAILED)
		return false;
	seen->ours &= ~1u;
	told = was_seen(seen, map, half) && told;
	if (munmap(map + half, half))
		return false;
	seen->ours &= ~2u;
	return was_seen(seen, map + half, half) && told;
}

struct drop {
	char *map;
	size_t len;
};

static void *drop_pages(void *arg)
{
	struct drop *drop = arg;

	madvise(drop->map, drop->len, MADV_DONTNEED);
	return NULL;
}

/* While an event of watched pages cannot be read, its existence must be reported. */
static bool change_is_announced(struct seen *seen, char *map, size_t len)
{
	struct drop drop = { map, len };
	bool announced = false;
	pthread_t thread;
	int i;

	ofi_lock(&seen->lock);
	if (ofi_thread_start(&thread, drop_pages, &drop)) {
		ofi_unlock(&seen->lock);
		return false;
	}
	for (i = 0; i < ANNOUNCE_MS && !announced; i++) {
		announced = ofi_monitor_changing(&seen->monitor);
		if (!announced)
			usleep(1000);
	}
	ofi_unlock(&seen->lock);
	pthread_join(thread, NULL);
	return announced && !ofi_monitor_changing(&seen->monitor);
}

/*
 * Maps two pages, one of them shared. Shared memory would change without an event, so it must not
 * be watched.
 */
static bool shared_is_refused(struct seen *seen, size_t page)
{
	char *map =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uintptr_t at = (uintptr_t)map;
	bool refused;

	if (map == MAP_FAILED)
		return false;
	refused = mmap(map + page, page, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED &&
		  ofi_monitor_watch(&seen->monitor, at, at + 2 * page);
	ofi_monitor_unwatch(&seen->monitor, at, at + 2 * page);
	munmap(map, 2 * page);
	return refused;
}

/* The first page is watched already. */
static bool is_reliable(struct seen *seen, char *map, size_t page)
{
	bool ret = change_is_announced(seen, map, page) && changes_are_reported(seen, map, page) &&
		   shared_is_refused(seen, page);
	uintptr_t at = (uintptr_t)map;
	int i;

	for (i = 0; i < PAGES; i++, at += page)
		if (seen->ours & (1u << i))
			ofi_monitor_unwatch(&seen->monitor, at, at + page);
	return ret;
}

static void unmap_page(const struct seen *seen, char *map, size_t page)
{
	int i;

	for (i = 0; i < PAGES; i++)
		if (seen->ours & (1u << i))
			munmap(map + i * page, page);
}

int ofi_monitor_test(void)
{
	struct seen seen = {
		.monitor = { .lock = &seen.lock, .gone = note_change, .wants = wants_nothing },
		.ours = (1u << PAGES) - 1
	};
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *map;
	int ret;

	ofi_lock_init(&seen.lock);
	map = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED)
		return -FI_ENOMEM;
	ret = ofi_monitor_open_alone(&seen.monitor);
	if (!ret) {
		/* Write protection depends on the processor: aarch64 has it since Linux 6.10. */
		ret = ofi_monitor_watch(&seen.monitor, (uintptr_t)map, (uintptr_t)map + page);
		if (!ret && !is_reliable(&seen, map, page))
			ret = -FI_EIO;
		ofi_monitor_close(&seen.monitor);
	}
	unmap_page(&seen, map, page);
	return ret;
}
