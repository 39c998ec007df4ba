/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The memory of statistics: a memfd with slots, created when the first object asks for one. */
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "src/ds/lock.h"
#include "src/ds/memfd.h"
#include "src/ds/own_fd.h"
#include "stats.h"

#define FILE_SIZE OFI_STATS_SIZE

/* The parts of the file. */
enum pool { SLOT, WIDE, PEER, POOLS };

/* Guarded by lock. A free slot begins with the number of the next free one. */
static struct {
	bool forbidden;
	bool tried;
	struct ofi_stats_header *header; /* NULL if there is no file */
	struct ofi_own_fd own;
	uint32_t free[POOLS]; /* 0 means none: slots are numbered from 1 */
	uint32_t taken;
	const char *texts[OFI_STATS_TEXTS]; /* those in the file */
} file;
static struct ofi_lock lock;
static uint32_t last_number; /* atomic */

void ofi_stats_forbid(void)
{
	file.forbidden = true;
}

static void *slot_at(uint32_t number)
{
	return (char *)file.header + (size_t)number * OFI_STATS_SLOT;
}

/* Wide objects are also numbered from 1. */
static void *wide_at(uint32_t number)
{
	return slot_at(file.header->slots + 1 - number * file.header->wide);
}

/* Peers are also numbered from 1 and follow all slots. */
static void *peer_at(uint32_t number)
{
	return (char *)slot_at(file.header->slots + 1) +
	       (size_t)(number - 1) * file.header->peer_slot;
}

/* Slots are taken from the beginning, wide objects from the end. */
static uint32_t used_slots(void)
{
	return file.header->used + file.header->wide * file.header->wide_used;
}

static void before_fork(void)
{
	ofi_lock(&lock);
}

static void in_parent(void)
{
	ofi_unlock(&lock);
}

/*
 * A child gets its own copy of its parent's objects, which it may close; it does not share the
 * statistics with the parent. Its statistics start over with the first object that it opens. If
 * there is no memory for a copy, the child can only read the parent's objects, which fi_close does.
 */
static void in_child(void)
{
	size_t used, wide;
	char *copy, *end;

	if (file.header) {
		used = (size_t)OFI_STATS_SLOT * (file.header->used + 1);
		wide = (size_t)OFI_STATS_SLOT * file.header->wide * file.header->wide_used;
		end = peer_at(1);
		copy = mmap(NULL, FILE_SIZE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (copy == MAP_FAILED) {
			mprotect(file.header, FILE_SIZE, PROT_READ);
		} else {
			memcpy(copy, file.header, used);
			memcpy(copy + (end - (char *)file.header) - wide, end - wide,
			       wide + (size_t)file.header->peers * file.header->peer_slot);
			mremap(copy, FILE_SIZE, FILE_SIZE, MREMAP_MAYMOVE | MREMAP_FIXED,
			       file.header);
		}
		ofi_own_fd_drop(&file.own);
	}
	file.tried = false;
	file.header = NULL;
	memset(file.free, 0, sizeof(file.free));
	file.taken = 0;
	memset(file.texts, 0, sizeof(file.texts));
	ofi_lock_init(&lock);
}

/* Handlers that the application registers later may use the library: they run outside of these. */
__attribute__((constructor)) static void watch_forks(void)
{
	pthread_atfork(before_fork, in_parent, in_child);
}

/* Maps and then seals the file: its size is final, and no other process can ever write it. */
static void *stats_map(int fd)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;
	void *base;

	if (fchmod(fd, 0400))
		return NULL;
	base = mmap(NULL, FILE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (base == MAP_FAILED)
		return NULL;
	if (fcntl(fd, F_ADD_SEALS, seals)) {
		munmap(base, FILE_SIZE);
		return NULL;
	}
	return base;
}

/*
 * Allocates memory that is stored to at once. Returns false if there is none, and true if the
 * application has closed the file.
 */
static bool reserve(const void *at, size_t len)
{
	return !ofi_own_fd_valid(&file.own) ||
	       ofi_memfd_reserve(file.own.fd, (size_t)((const char *)at - (char *)file.header),
				 len);
}

static void open_file(void)
{
	struct ofi_stats_header *header;
	int fd;

	file.tried = true;
	fd = file.forbidden ? -1 : ofi_memfd(OFI_STATS_FILE, FILE_SIZE);
	if (!ofi_own_fd_take(&file.own, fd))
		return;
	header = ofi_memfd_reserve(fd, 0, OFI_STATS_SLOT) ? stats_map(fd) : NULL;
	if (!header) {
		ofi_own_fd_drop(&file.own);
		return;
	}
	*header = (struct ofi_stats_header){
		.magic = OFI_STATS_MAGIC,
		.version = OFI_STATS_VERSION,
		.pid = (uint32_t)getpid(),
		.slot_size = OFI_STATS_SLOT,
		.record_size = sizeof(struct ofi_stats),
		.slots = OFI_STATS_SLOTS,
	};
	file.header = header;
}

/*
 * Returns a free slot, or a new one if there is room; otherwise NULL. The caller holds the lock
 * here and in the next function.
 */
static void *take_slot(uint32_t *free_list, uint32_t *used, bool room, void *(*at)(uint32_t number),
		       size_t len)
{
	void *slot;

	if (*free_list) {
		slot = at(*free_list);
		*free_list = *(uint32_t *)slot;
		return slot;
	}
	slot = room ? at(*used + 1) : NULL;
	if (!slot || !reserve(slot, len))
		return NULL;
	__atomic_store_n(used, *used + 1, __ATOMIC_RELEASE);
	return slot;
}

/* All wide objects have as many slots as the first one, and all peers have its size. */
static void *take_from(struct ofi_stats_header *header, enum pool pool, uint32_t n)
{
	switch (pool) {
	case SLOT:
		return take_slot(&file.free[SLOT], &header->used, used_slots() < header->slots,
				 slot_at, OFI_STATS_SLOT);
	case WIDE:
		if (!header->wide)
			header->wide = n;
		if (header->wide != n)
			return NULL;
		return take_slot(&file.free[WIDE], &header->wide_used,
				 used_slots() + n <= header->slots, wide_at,
				 (size_t)n * OFI_STATS_SLOT);
	default:
		if (!header->peer_slot)
			__atomic_store_n(&header->peer_slot, n, __ATOMIC_RELEASE);
		if (header->peer_slot != n)
			return NULL;
		return take_slot(&file.free[PEER], &header->peers,
				 (header->peers + 1UL) * n <= OFI_STATS_PEERS, peer_at, n);
	}
}

/* n is the number of slots of a wide object, or the number of bytes of a peer. */
static void *stats_take(enum pool pool, uint32_t n)
{
	struct ofi_stats_header *header;
	void *slot = NULL;

	ofi_lock(&lock);
	if (!file.tried)
		open_file();
	header = file.header;
	if (header)
		slot = take_from(header, pool, n);
	if (header && !slot)
		__atomic_fetch_add(&header->more, 1, __ATOMIC_RELAXED);
	file.taken += slot != NULL;
	ofi_unlock(&lock);
	return slot;
}

static size_t slots_for(size_t size)
{
	return (size + OFI_STATS_SLOT - 1) / OFI_STATS_SLOT;
}

void *ofi_stats_alloc(size_t size)
{
	size_t room = slots_for(size) * OFI_STATS_SLOT;
	uint32_t slots = (uint32_t)slots_for(size);
	char *slot = room < FILE_SIZE ? stats_take(slots > 1 ? WIDE : SLOT, slots) : NULL;
	char *object = slot ? slot + room - size : aligned_alloc(OFI_STATS_ALIGN, size);
	struct ofi_stats *stats;

	if (!object)
		return NULL;
	memset(object, 0, size);
	stats = (struct ofi_stats *)(object + size) - 1;
	stats->heap = !slot;
	return object;
}

void *ofi_stats_peer_alloc(size_t size)
{
	char *slot = size <= OFI_STATS_PEERS ? stats_take(PEER, (uint32_t)size) : NULL;
	char *object = slot ? slot : malloc(size);

	if (!object)
		return NULL;
	memset(object, 0, size);
	((struct ofi_stats_peer *)(void *)(object + size) - 1)->heap = !slot;
	return object;
}

static void put_slot(enum pool pool, uint32_t number, void *(*at)(uint32_t number))
{
	*(uint32_t *)at(number) = file.free[pool];
	file.free[pool] = number;
	file.taken--;
}

/* Frees the slot, slots or peer that end at `end`. The caller holds the lock. */
static void put_back(const char *end)
{
	const struct ofi_stats_header *header = file.header;
	uint32_t last = (uint32_t)((end - (const char *)header) / OFI_STATS_SLOT - 1);
	const char *peers = peer_at(1);

	if (end > peers)
		put_slot(PEER, (uint32_t)((size_t)(end - peers) / header->peer_slot), peer_at);
	else if (last <= header->used)
		put_slot(SLOT, last, slot_at);
	else
		put_slot(WIDE, (header->slots - last) / header->wide + 1, wide_at);
}

/*
 * Returns false for an object that the parent process allocated, for which there is nothing left to
 * do.
 */
static bool is_ours(const char *object)
{
	const char *base = (const char *)file.header;

	return base && object > base && object < base + FILE_SIZE;
}

/* Frees an object whose record ends at `end`. */
static void stats_free(void *object, uint32_t *id, bool heap, const void *end)
{
	ofi_stats_hide(id);
	if (heap) {
		free(object);
		return;
	}
	ofi_lock(&lock);
	if (is_ours(object))
		put_back(end);
	ofi_unlock(&lock);
}

void ofi_stats_free(void *object, struct ofi_stats *stats)
{
	if (object)
		stats_free(object, &stats->id, stats->heap, stats + 1);
}

void ofi_stats_peer_free(void *object, struct ofi_stats_peer *peer)
{
	if (object)
		stats_free(object, &peer->id, peer->heap, peer + 1);
}

/* The caller holds the lock. */
static uint8_t text_number(const char *text)
{
	char *texts = (char *)file.header + OFI_STATS_FIRST + OFI_STATS_PEERS;
	uint8_t i;

	for (i = 1; i < OFI_STATS_TEXTS && file.texts[i]; i++)
		if (!strcmp(file.texts[i], text))
			return i;
	if (i == OFI_STATS_TEXTS || !reserve(texts + (size_t)i * OFI_STATS_TEXT, OFI_STATS_TEXT))
		return 0;
	file.texts[i] = text;
	snprintf(texts + (size_t)i * OFI_STATS_TEXT, OFI_STATS_TEXT, "%s", text);
	return i;
}

uint8_t ofi_stats_text(const char *text)
{
	uint8_t number = 0;

	ofi_lock(&lock);
	if (file.header && *text)
		number = text_number(text);
	ofi_unlock(&lock);
	return number;
}

void ofi_stats_peer_place(const struct ofi_stats_place *place)
{
	ofi_lock(&lock);
	if (file.header)
		memcpy(file.header->place, place, sizeof(file.header->place));
	ofi_unlock(&lock);
}

uint32_t ofi_stats_number(void)
{
	return __atomic_add_fetch(&last_number, 1, __ATOMIC_RELAXED);
}

void ofi_stats_publish(uint32_t *id)
{
	__atomic_store_n(id, ofi_stats_number(), __ATOMIC_RELEASE);
}

void ofi_stats_hide(uint32_t *id)
{
	__atomic_store_n(id, 0, __ATOMIC_RELEASE);
}

void ofi_stats_show(struct ofi_stats *stats, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(stats->name, sizeof(stats->name), format, args);
	va_end(args);
	ofi_stats_publish(&stats->id);
}

void ofi_stats_show_like(struct ofi_stats *stats, const struct ofi_stats *other)
{
	memcpy(stats->name, other->name, sizeof(stats->name));
	ofi_stats_publish(&stats->id);
}

/*
 * Runs when the provider is unloaded. Does nothing if objects are left, because other threads may
 * still use them while the process exits.
 */
__attribute__((destructor)) static void end(void)
{
	if (!file.header || file.taken)
		return;
	munmap(file.header, FILE_SIZE);
	ofi_own_fd_drop(&file.own);
	file.header = NULL;
}

/*
 * A sequence lock: readers that see an odd number, or different numbers before and after, try
 * again.
 */
void ofi_stats_peer_enter(struct ofi_stats_peer *peer, const char *state, const char *cause,
			  const char *waits, uint64_t now)
{
	uint8_t texts[] = { ofi_stats_text(state), ofi_stats_text(cause), ofi_stats_text(waits) };

	__atomic_store_n(&peer->turn, peer->turn + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	peer->since = now;
	peer->state = texts[0];
	peer->cause = texts[1];
	peer->waits = texts[2];
	__atomic_store_n(&peer->turn, peer->turn + 1, __ATOMIC_RELEASE);
}
