/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory that peers may access, by the device's key. */
#include "mr_table.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include "domain.h"

#define REMOTE (IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE)

struct region {
	uint32_t key;
	int access;
	uint64_t addr;
	size_t len;
};

static int region_compare(const void *a, const void *b)
{
	uint32_t x = ((const struct region *)a)->key, y = ((const struct region *)b)->key;

	return x < y ? -1 : x > y;
}

void vrb_mr_table_open(struct vrb_mr_table *table)
{
	ofi_lock_init(&table->lock);
	table->used = true;
}

void vrb_mr_table_close(struct vrb_mr_table *table)
{
	tdestroy(table->tree, free);
	table->tree = NULL;
}

int vrb_mr_table_add(struct vrb_domain *domain, const struct ibv_mr *mr, int access)
{
	struct vrb_mr_table *table = &domain->table;
	struct region *region;
	struct region **node;
	bool added;

	if (!table->used || !(access & REMOTE))
		return 0;
	region = malloc(sizeof(*region));
	if (!region)
		return ENOMEM;
	*region = (struct region){
		.key = mr->rkey,
		.access = access,
		.addr = (uintptr_t)mr->addr,
		.len = mr->length,
	};
	ofi_lock(&table->lock);
	node = tsearch(region, &table->tree, region_compare);
	added = node && *node == region; /* the node may be freed once the lock is released */
	ofi_unlock(&table->lock);
	if (added)
		return 0;
	free(region);
	return ENOMEM;
}

void vrb_mr_table_remove(struct vrb_domain *domain, const struct ibv_mr *mr)
{
	struct vrb_mr_table *table = &domain->table;
	struct region wanted, **found, *region = NULL;

	if (!table->used)
		return;
	wanted.key = mr->rkey;
	ofi_lock(&table->lock);
	found = tfind(&wanted, &table->tree, region_compare);
	if (found && (*found)->addr == (uintptr_t)mr->addr && (*found)->len == mr->length)
		region = *found;
	if (region)
		tdelete(region, &table->tree, region_compare);
	ofi_unlock(&table->lock);
	free(region);
}

static bool permits(const struct region *region, uint64_t addr, size_t len, int access)
{
	return region->access & access && addr >= region->addr && len <= region->len &&
	       addr - region->addr <= region->len - len;
}

bool vrb_mr_table_copy(struct vrb_domain *domain, uint32_t key, uint64_t addr, size_t len,
		       bool written, void *buffer)
{
	const int access = written ? IBV_ACCESS_REMOTE_WRITE : IBV_ACCESS_REMOTE_READ;
	struct vrb_mr_table *table = &domain->table;
	const struct region wanted = { .key = key };
	void *memory = (void *)(uintptr_t)addr;
	struct region **found;
	bool fits;

	ofi_lock(&table->lock);
	found = tfind(&wanted, &table->tree, region_compare);
	fits = found && permits(*found, addr, len, access);
	if (fits && buffer)
		memcpy(written ? memory : buffer, written ? buffer : memory, len);
	ofi_unlock(&table->lock);
	return fits;
}
