/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Registrations kept for the next time. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <rdma/fi_errno.h>
#include <ofi/mr_cache.h>

static size_t length(const struct ofi_mr_region *region)
{
	return region->end - region->start;
}

/* The first region that ends behind addr. */
static size_t find(const struct ofi_mr_cache *cache, uintptr_t addr)
{
	size_t low = 0, high = cache->count, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (cache->index[middle]->end > addr)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static struct ofi_mr_region *holder(const struct ofi_mr_cache *cache, uintptr_t start,
				    uintptr_t end, unsigned int access)
{
	size_t at = find(cache, start);
	struct ofi_mr_region *region = at < cache->count ? cache->index[at] : NULL;

	if (!region || region->start > start || region->end < end || access & ~region->access)
		return NULL;
	return region;
}

static void insert(struct ofi_mr_cache *cache, struct ofi_mr_region *region)
{
	size_t at = find(cache, region->start);

	memmove(&cache->index[at + 1], &cache->index[at],
		(cache->count - at) * sizeof(*cache->index));
	cache->index[at] = region;
	cache->count++;
	cache->size += length(region);
	region->kept = true;
}

/* Out of the index; its last user, or whoever looks next, deregisters it. */
static void forget(struct ofi_mr_cache *cache, size_t at)
{
	struct ofi_mr_region *region = cache->index[at];

	cache->count--;
	cache->size -= length(region);
	memmove(&cache->index[at], &cache->index[at + 1],
		(cache->count - at) * sizeof(*cache->index));
	region->kept = false;
	if (region->users)
		return;
	TAILQ_REMOVE(&cache->unused, region, link);
	TAILQ_INSERT_TAIL(&cache->dead, region, link);
}

static void gone(struct ofi_monitor *monitor, uintptr_t start, uintptr_t end)
{
	struct ofi_mr_cache *cache = (struct ofi_mr_cache *)monitor;
	struct ofi_mr_region *pending = cache->pending;
	size_t at = find(cache, start);

	cache->changes++;
	while (at < cache->count && cache->index[at]->start < end)
		forget(cache, at);
	if (pending && pending->start < end && pending->end > start)
		pending->changed = true;
}

/* Deregisters the dead. Not with the lock held. */
static void bury(struct ofi_mr_cache *cache)
{
	struct ofi_mr_region *region;

	for (;;) {
		ofi_lock(&cache->lock);
		region = TAILQ_FIRST(&cache->dead);
		if (region)
			TAILQ_REMOVE(&cache->dead, region, link);
		ofi_unlock(&cache->lock);
		if (!region)
			return;
		cache->dereg(cache->arg, region->mr);
		free(region);
	}
}

static void make_room(struct ofi_mr_cache *cache, size_t len)
{
	struct ofi_mr_region *oldest;

	while ((cache->count >= cache->max_count || cache->size + len > cache->max_size) &&
	       (oldest = TAILQ_FIRST(&cache->unused)))
		forget(cache, find(cache, oldest->start));
}

/* With the lock held. The region has one user. */
static void keep(struct ofi_mr_cache *cache, struct ofi_mr_region *region)
{
	size_t at = find(cache, region->start);

	while (at < cache->count && cache->index[at]->start < region->end)
		forget(cache, at);
	make_room(cache, length(region));
	if (cache->count < cache->max_count && cache->size + length(region) <= cache->max_size)
		insert(cache, region);
}

/* Whole pages that hold the buffer, and what the cache has of the memory around it. */
static void settle(struct ofi_mr_cache *cache, struct ofi_mr_region *region, bool join)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	size_t at;

	region->start &= ~(page - 1);
	region->end = (region->end + page - 1) & ~(page - 1);
	if (!join)
		return;
	ofi_lock(&cache->lock);
	for (at = find(cache, region->start);
	     at < cache->count && cache->index[at]->start < region->end; at++) {
		if (cache->index[at]->start < region->start)
			region->start = cache->index[at]->start;
		if (cache->index[at]->end > region->end)
			region->end = cache->index[at]->end;
	}
	ofi_unlock(&cache->lock);
}

static int register_region(struct ofi_mr_cache *cache, struct ofi_mr_region *region)
{
	region->access = region->wanted;
	return cache->reg(cache->arg, (void *)region->start, length(region), &region->access,
			  &region->mr);
}

/*
 * Watched before it is registered, so that no change goes unseen. What can't be kept (a mapped file is not
 * watched, a part of what is joined may be gone by now) is registered for this use alone.
 */
static int add(struct ofi_mr_cache *cache, struct ofi_mr_region *region)
{
	const uintptr_t start = region->start, end = region->end;
	int ret;

	settle(cache, region, true);
	ofi_lock(&cache->lock);
	cache->pending = region;
	ofi_unlock(&cache->lock);
	ret = ofi_monitor_watch(&cache->monitor, region->start, region->end);
	if (!ret)
		ret = register_region(cache, region);

	ofi_lock(&cache->lock);
	cache->pending = NULL;
	if (!ret && !region->changed)
		keep(cache, region);
	ofi_unlock(&cache->lock);
	if (!ret)
		return 0;
	region->start = start;
	region->end = end;
	settle(cache, region, false);
	return register_region(cache, region);
}

static struct ofi_mr_region *look_up(struct ofi_mr_cache *cache, uintptr_t start, uintptr_t end,
				     unsigned int access)
{
	struct ofi_mr_region *region;

	ofi_lock(&cache->lock);
	region = holder(cache, start, end, access);
	if (region) {
		if (!region->users++)
			TAILQ_REMOVE(&cache->unused, region, link);
		cache->hits++;
	}
	ofi_unlock(&cache->lock);
	return region;
}

static int get_new(struct ofi_mr_cache *cache, uintptr_t start, uintptr_t end, unsigned int access,
		   struct ofi_mr_region **found)
{
	struct ofi_mr_region *region = calloc(1, sizeof(*region));
	int ret;

	if (!region)
		return -FI_ENOMEM;
	region->start = start;
	region->end = end;
	region->wanted = access;
	region->users = 1;
	cache->misses++;
	if (cache->monitored && end - start <= cache->max_size) {
		ret = add(cache, region);
	} else {
		settle(cache, region, false);
		ret = register_region(cache, region);
	}
	if (ret)
		free(region);
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
	bury(cache);
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
		bury(cache);
}

int ofi_mr_cache_init(struct ofi_mr_cache *cache, size_t max_count, size_t max_size, bool monitor)
{
	cache->max_count = max_count;
	cache->max_size = max_size;
	ofi_lock_init(&cache->lock);
	ofi_lock_init(&cache->reg_lock);
	TAILQ_INIT(&cache->unused);
	TAILQ_INIT(&cache->dead);
	if (!monitor || !max_count)
		return 0;
	cache->index = calloc(max_count + 1, sizeof(*cache->index));
	if (!cache->index)
		return -FI_ENOMEM;
	cache->monitor = (struct ofi_monitor){ .lock = &cache->lock, .gone = gone };
	cache->monitored = !ofi_monitor_test() && !ofi_monitor_open(&cache->monitor);
	return 0;
}

void ofi_mr_cache_fini(struct ofi_mr_cache *cache)
{
	if (cache->monitored)
		ofi_monitor_close(&cache->monitor);
	while (cache->count)
		forget(cache, cache->count - 1);
	bury(cache);
	free(cache->index);
}
