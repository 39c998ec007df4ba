/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reading statistics of the process's own objects and of other processes. */
#ifndef STATS_H
#define STATS_H

#include <string.h>
#include <rdma/fi_stats.h>
#include "fixture.h"

static inline uint64_t stats_item(const struct fi_stats_item *items, size_t count, const char *name)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (!strcmp(items[i].name, name))
			return items[i].value;
	FAIL("there is no item %s", name);
}

/* Reads an item of an object of this process. */
static inline uint64_t stats_of(struct fid *fid, const char *name)
{
	struct fi_stats_item items[FI_STATS_MAX];
	struct fi_ops_stats *ops;
	ssize_t n;

	OK(fi_open_ops(fid, FI_STATS_OPS, 0, (void **)&ops, NULL));
	n = ops->read(fid, items, FI_STATS_MAX);
	CHECK(n > 0 && n <= FI_STATS_MAX);
	return stats_item(items, (size_t)n, name);
}

/*
 * Returns the sum of an item over the objects of a class in a process (0 for this one), and their
 * number in *count.
 */
static inline uint64_t stats_sum(pid_t pid, uint32_t fclass, const char *name, int *count)
{
	struct fi_stats_attr attr = { .size = sizeof(attr), .pid = pid };
	struct fi_stats_object object = { 0 };
	struct fi_ops_stats_process *ops;
	struct fid *fid;
	uint64_t sum = 0;
	int ret;

	OK(fi_open(FI_VERSION(2, 6), "stats", &attr, sizeof(attr), 0, &fid, NULL));
	OK(fi_open_ops(fid, FI_STATS_PROCESS_OPS, 0, (void **)&ops, NULL));
	*count = 0;
	while ((ret = ops->next(fid, object.id, &object)) == 1) {
		if (object.fclass != fclass)
			continue;
		sum += stats_item(object.items, object.count, name);
		++*count;
	}
	RETURNS(ret, 0);
	OK(fi_close(fid));
	return sum;
}

#endif
