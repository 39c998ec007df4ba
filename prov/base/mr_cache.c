/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The registration cache. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <rdma/fi_errno.h>
#include "src/ds/process.h"
#include "mr_cache.h"

#define SPARES 16 /* objects that are not returned to the heap */

static size_t length(const struct ofi_mr_region *region)
{
	return region->end - region->start;
}

/* Returns the number of regions that start at or before addr. */
static size_t count_up_to(const struct ofi_mr_cache *cache, uintptr_t addr)
{
	size_t low = 0, high = cache->count, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (cache->index[middle]->start > addr)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/*
 * Steps down from *at, initially the number of regions that start below the end of a range, to a
 * region that overlaps the range; returns NULL if there is no other. The caller may remove that
 * region before the next step.
 */
static struct ofi_mr_region *next_overlap(const struct ofi_mr_cache *cache, uintptr_t start,
					  size_t *at)
{
	while (*at && cache->reach[*at - 1] > start)
		if (cache->index[--*at]->end > start)
			return cache->index[*at];
	return NULL;
}

static bool region_allows(const struct ofi_mr_region *region, unsigned int access)
{
	return !(access & ~region->access);
}

/* Among regions with the same access, the one that starts last also ends last. */
static struct ofi_mr_region *find_holder(const struct ofi_mr_cache *cache, uintptr_t start,
					 uintptr_t end, unsigned int access)
{
	size_t at = count_up_to(cache, start);

	while (at && cache->reach[at - 1] >= end) {
		at--;
		if (cache->index[at]->end >= end && region_allows(cache->index[at], access))
			return cache->index[at];
	}
	return NULL;
}

/* Recomputes reach from `at` on until it no longer changes. */
static void set_reach(struct ofi_mr_cache *cache, size_t at)
{
	uintptr_t reach = at ? cache->reach[at - 1] : 0;

	for (; at < cache->count; at++) {
		if (cache->index[at]->end > reach)
			reach = cache->index[at]->end;
		if (cache->reach[at] == reach)
			return;
		cache->reach[at] = reach;
	}
}

static void cache_insert(struct ofi_mr_cache *cache, struct ofi_mr_region *region)
{
	size_t at = count_up_to(cache, region->start), behind = cache->count - at;

	memmove(&cache->index[at + 1], &cache->index[at], behind * sizeof(*cache->index));
	memmove(&cache->reach[at + 1], &cache->reach[at], behind * sizeof(*cache->reach));
	cache->index[at] = region;
	cache->reach[at] = 0;
	cache->count++;
	cache->size += length(region);
	region->kept = true;
	set_reach(cache, at);
}

/* Removes a region from the index. Its last user, or the next deregister_dead(), deregisters it. */
static void cache_forget(struct ofi_mr_cache *cache, size_t at)
{
	struct ofi_mr_region *region = cache->index[at];
	size_t behind = --cache->count - at;

	cache->size -= length(region);
	memmove(&cache->index[at], &cache->index[at + 1], behind * sizeof(*cache->index));
	memmove(&cache->reach[at], &cache->reach[at + 1], behind * sizeof(*cache->reach));
	set_reach(cache, at);
	region->kept = false;
	if (region->users)
		return;
	TAILQ_REMOVE(&cache->unused, region, link);
	TAILQ_INSERT_TAIL(&cache->dead, region, link);
}

static size_t cache_place(const struct ofi_mr_cache *cache, const struct ofi_mr_region *region)
{
	size_t at = count_up_to(cache, region->start);

	while (cache->index[--at] != region)
		;
	return at;
}

static bool range_gone(struct ofi_monitor *monitor, uintptr_t start, uintptr_t end, bool unmapped)
{
	struct ofi_mr_cache *cache = (struct ofi_mr_cache *)monitor;
	struct ofi_mr_region *region, *pending = cache->pending;
	size_t at = count_up_to(cache, end - 1);

	while ((region = next_overlap(cache, start, &at))) {
		if (unmapped && start <= region->start && end >= region->end)
			region->watched = false;
		cache_forget(cache, at);
	}
	if (pending && pending->start < end && pending->end > start)
		pending->changed = true;
	return !TAILQ_EMPTY(&cache->dead);
}

static void narrow_range(const struct ofi_mr_region *region, uintptr_t *start, uintptr_t *end)
{
	if (region->start > *start)
		*start = region->start;
	if (region->end < *end)
		*end = region->end;
}

/* The first part belongs to the lowest region in the range, which next_overlap() finds last. */
static bool cache_wants(struct ofi_monitor *monitor, uintptr_t *start, uintptr_t *end)
{
	const struct ofi_mr_cache *cache = (struct ofi_mr_cache *)monitor;
	const struct ofi_mr_region *region, *lowest = cache->pending;
	size_t at = count_up_to(cache, *end - 1);

	if (lowest && (lowest->start >= *end || lowest->end <= *start))
		lowest = NULL;
	while ((region = next_overlap(cache, *start, &at)))
		if (!lowest || region->start < lowest->start)
			lowest = region;
	if (lowest)
		narrow_range(lowest, start, end);
	return lowest;
}

static struct ofi_mr_region *take_dead(struct ofi_mr_cache *cache)
{
	struct ofi_mr_region *region;

	ofi_lock(&cache->lock);
	region = TAILQ_FIRST(&cache->dead);
	if (region)
		TAILQ_REMOVE(&cache->dead, region, link);
	ofi_unlock(&cache->lock);
	return region;
}

static void mr_cache_unwatch(struct ofi_mr_cache *cache, struct ofi_mr_region *region)
{
	if (region->watched)
		ofi_monitor_unwatch(&cache->monitor, region->start, region->end);
	region->watched = false;
}

static struct ofi_mr_region *region_new(struct ofi_mr_cache *cache)
{
	struct ofi_mr_region *region;

	ofi_lock(&cache->lock);
	region = TAILQ_FIRST(&cache->spare);
	if (region) {
		TAILQ_REMOVE(&cache->spare, region, link);
		cache->spares--;
	}
	ofi_unlock(&cache->lock);
	if (!region)
		return calloc(1, sizeof(*region));
	*region = (struct ofi_mr_region){ 0 };
	return region;
}

static void region_free(struct ofi_mr_cache *cache, struct ofi_mr_region *region)
{
	ofi_lock(&cache->lock);
	if (cache->spares < SPARES) {
		TAILQ_INSERT_HEAD(&cache->spare, region, link);
		cache->spares++;
		region = NULL;
	}
	ofi_unlock(&cache->lock);
	free(region);
}

/* Deregisters the dead regions. Must not be called with the lock held. */
static void deregister_dead(struct ofi_mr_cache *cache)
{
	struct ofi_mr_region *region;

	while ((region = take_dead(cache))) {
		cache->dereg(cache->arg, region->mr);
		mr_cache_unwatch(cache, region);
		region_free(cache, region);
	}
}

static void cache_tidy(struct ofi_monitor *monitor)
{
	deregister_dead((struct ofi_mr_cache *)monitor);
}

/* Forgets the region that has had no users for longest. Returns its length, 0 if there is none. */
static size_t forget_oldest(struct ofi_mr_cache *cache)
{
	struct ofi_mr_region *oldest = TAILQ_FIRST(&cache->unused);

	if (!oldest)
		return 0;
	cache_forget(cache, cache_place(cache, oldest));
	return length(oldest);
}

static void make_room(struct ofi_mr_cache *cache, size_t len)
{
	while ((cache->count >= cache->max_count || cache->size + len > cache->max_size) &&
	       forget_oldest(cache))
		;
}

/*
 * Adds the region, which has one user, to the index and removes those that it makes redundant. The
 * lock is held.
 */
static void mr_cache_keep(struct ofi_mr_cache *cache, struct ofi_mr_region *region)
{
	size_t at = count_up_to(cache, region->end - 1);
	struct ofi_mr_region *other;

	while ((other = next_overlap(cache, region->start, &at)))
		if (other->start >= region->start && other->end <= region->end &&
		    region_allows(region, other->access))
			cache_forget(cache, at);
	make_room(cache, length(region));
	if (cache->count < cache->max_count && cache->size + length(region) <= cache->max_size)
		cache_insert(cache, region);
}

/* Extends the region to the whole pages that contain the buffer. */
static void round_out(struct ofi_mr_region *region)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

	region->start &= ~(page - 1);
	region->end = (region->end + page - 1) & ~(page - 1);
}

/*
 * Extends the region over cached regions that overlap it, so that a buffer that is used in pieces
 * becomes one region. The region at most doubles, so the total that is ever registered stays
 * proportional to the total requested.
 */
static void cache_join(struct ofi_mr_cache *cache, struct ofi_mr_region *region)
{
	const size_t twice = length(region) <= SIZE_MAX / 2 ? 2 * length(region) : SIZE_MAX,
		     most = twice < cache->max_size ? twice : cache->max_size;
	size_t at = count_up_to(cache, region->end - 1);
	const struct ofi_mr_region *other;
	uintptr_t start, end;

	while ((other = next_overlap(cache, region->start, &at))) {
		start = other->start < region->start ? other->start : region->start;
		end = other->end > region->end ? other->end : region->end;
		if (end - start > most || !region_allows(other, region->wanted))
			continue;
		region->start = start;
		region->end = end;
	}
}

bool ofi_mr_cache_shed(struct ofi_mr_cache *cache, size_t len)
{
	size_t shed = 0, more = 1;

	ofi_lock(&cache->lock);
	for (; shed < len && more; shed += more)
		more = forget_oldest(cache);
	ofi_unlock(&cache->lock);
	deregister_dead(cache);
	return shed;
}

static int register_region(struct ofi_mr_cache *cache, struct ofi_mr_region *region)
{
	region->access = region->wanted;
	return cache->reg(cache->arg, (void *)region->start, length(region), &region->access,
			  &region->mr);
}

/* The region is watched before it is registered, so that no change goes unnoticed. */
static int add_kept(struct ofi_mr_cache *cache, struct ofi_mr_region *region)
{
	int ret;

	ofi_lock(&cache->lock);
	cache_join(cache, region);
	cache->pending = region;
	ofi_unlock(&cache->lock);
	ret = ofi_monitor_watch(&cache->monitor, region->start, region->end);
	region->watched = ret != -FI_EOPNOTSUPP;
	if (!ret)
		ret = register_region(cache, region);

	ofi_lock(&cache->lock);
	cache->pending = NULL;
	if (!ret && !region->changed)
		mr_cache_keep(cache, region);
	ofi_unlock(&cache->lock);
	return ret;
}

/*
 * Registers the region, and keeps it if possible. Otherwise (file memory is not watched, and part
 * of the merged memory may be gone) it is registered for this use alone.
 */
static int mr_cache_add(struct ofi_mr_cache *cache, struct ofi_mr_region *region)
{
	const uintptr_t start = region->start, end = region->end;

	if (!add_kept(cache, region))
		return 0;
	mr_cache_unwatch(cache, region);
	region->start = start;
	region->end = end;
	return register_region(cache, region);
}

static struct ofi_mr_region *look_up(struct ofi_mr_cache *cache, uintptr_t start, uintptr_t end,
				     unsigned int access)
{
	struct ofi_mr_region *region;

	ofi_lock(&cache->lock);
	region = find_holder(cache, start, end, access);
	if (region && !region->users++)
		TAILQ_REMOVE(&cache->unused, region, link);
	ofi_unlock(&cache->lock);
	return region;
}

static int get_new(struct ofi_mr_cache *cache, uintptr_t start, uintptr_t end, unsigned int access,
		   struct ofi_mr_region **found)
{
	struct ofi_mr_region *region = region_new(cache);
	int ret;

	if (!region)
		return -FI_ENOMEM;
	region->start = start;
	region->end = end;
	region->wanted = access;
	region->users = 1;
	round_out(region);
	if (cache->monitored && length(region) <= cache->max_size)
		ret = mr_cache_add(cache, region);
	else
		ret = register_region(cache, region);
	if (ret)
		region_free(cache, region);
	else
		*found = region;
	return ret;
}

int ofi_mr_cache_get(struct ofi_mr_cache *cache, const void *addr, size_t len, unsigned int access,
		     struct ofi_mr_region **region)
{
	uintptr_t start = (uintptr_t)addr, end;
	int ret = 0;

	if (!len || __builtin_add_overflow(start, len, &end))
		return -FI_EINVAL;
	if (cache->monitored)
		ofi_monitor_settle(&cache->monitor);
	*region = look_up(cache, start, end, access);
	if (*region)
		return 0;
	ofi_lock(&cache->reg_lock);
	*region = look_up(cache, start, end, access);
	if (!*region)
		ret = get_new(cache, start, end, access, region);
	ofi_unlock(&cache->reg_lock);
	deregister_dead(cache);
	return ret;
}

void ofi_mr_cache_put(struct ofi_mr_cache *cache, struct ofi_mr_region *region)
{
	bool dead = false;

	ofi_lock(&cache->lock);
	if (!--region->users) {
		dead = !region->kept;
		if (dead)
			TAILQ_INSERT_TAIL(&cache->dead, region, link);
		else
			TAILQ_INSERT_TAIL(&cache->unused, region, link);
	}
	ofi_unlock(&cache->lock);
	if (dead)
		deregister_dead(cache);
}

static int start_monitor(struct ofi_mr_cache *cache)
{
	int ret = ofi_monitor_test();

	cache->monitor = (struct ofi_monitor){
		.lock = &cache->lock,
		.gone = range_gone,
		.wants = cache_wants,
		.tidy = cache_tidy,
	};
	return ret ? ret : ofi_monitor_open(&cache->monitor);
}

int ofi_mr_cache_init(struct ofi_mr_cache *cache, size_t max_count, size_t max_size, bool monitor)
{
	cache->max_count = max_count;
	cache->max_size = max_size;
	cache->process = ofi_process();
	ofi_lock_init(&cache->lock);
	ofi_lock_init(&cache->reg_lock);
	TAILQ_INIT(&cache->unused);
	TAILQ_INIT(&cache->dead);
	TAILQ_INIT(&cache->spare);
	if (!monitor || !max_count)
		return 0;
	cache->index = calloc(max_count + 1, sizeof(*cache->index));
	cache->reach = calloc(max_count + 1, sizeof(*cache->reach));
	if (!cache->index || !cache->reach) {
		free(cache->index);
		free(cache->reach);
		return -FI_ENOMEM;
	}
	cache->refusal = start_monitor(cache);
	cache->monitored = !cache->refusal;
	return 0;
}

static void forget_all(struct ofi_mr_cache *cache)
{
	ofi_lock(&cache->lock);
	while (cache->count)
		cache_forget(cache, cache->count - 1);
	ofi_unlock(&cache->lock);
	deregister_dead(cache);
}

/* In a child, a thread of the parent may hold a lock, so the regions are left alone. */
void ofi_mr_cache_fini(struct ofi_mr_cache *cache)
{
	struct ofi_mr_region *region;

	if (cache->process == ofi_process())
		forget_all(cache);
	/* The monitor's thread may still deregister regions, which then become spare ones. */
	if (cache->monitored)
		ofi_monitor_close(&cache->monitor);
	while ((region = TAILQ_FIRST(&cache->spare))) {
		TAILQ_REMOVE(&cache->spare, region, link);
		free(region);
	}
	free(cache->index);
	free(cache->reach);
}
