/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Registrations of the application's private anonymous memory, kept for the next time. A region
 * whose memory changes is forgotten at once, and deregistered by the monitor's thread or, if it is
 * in use, by its last user. Regions may overlap; none is held by another one that allows as much.
 * What overlaps a new one is joined to it as long as that at most doubles what is registered.
 * Without a monitor that passed its test, and of other memory, nothing is kept: each use registers.
 */
#ifndef OFI_MR_CACHE_H
#define OFI_MR_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>
#include "src/ds/lock.h"
#include "monitor.h"

struct ofi_mr_region {
	uintptr_t start, end;
	unsigned int wanted, access; /* what was asked for, what the registration allows */
	void *mr;		     /* of the user's reg() */
	int users;
	bool kept;			 /* found by later uses: in the index */
	bool watched;			 /* to be unwatched at its end */
	bool changed;			 /* while it was being registered */
	TAILQ_ENTRY(ofi_mr_region) link; /* unused or dead */
};

TAILQ_HEAD(ofi_mr_list, ofi_mr_region);

struct ofi_mr_cache {
	struct ofi_monitor monitor;
	/*
	 * 0 or -FI_E*. *access is what is wanted, a bit mask that the cache only compares; reg()
	 * may allow more and says so there.
	 */
	int (*reg)(void *arg, void *addr, size_t len, unsigned int *access, void **mr);
	void (*dereg)(void *arg, void *mr); /* also called in the monitor's thread */
	void *arg;
	size_t max_count, max_size; /* 0 count: nothing is kept */
	bool monitored;
	int refusal;		  /* -FI_E*: why it is not, though it was to be */
	pid_t pid;		  /* the process that opened it and has the registrations */
	struct ofi_lock reg_lock; /* one registration at a time; taken before lock */

	/* Nothing that could change a mapping is called with it held: see monitor.h. */
	struct ofi_lock lock;	      /* guards what follows */
	struct ofi_mr_region **index; /* by start, max_count + 1 of them */
	uintptr_t *reach;	      /* the largest end up to there */
	size_t count, size;	      /* regions and bytes in the index */
	struct ofi_mr_region *pending;
	struct ofi_mr_list unused; /* in the index without users, least recently used first */
	struct ofi_mr_list dead;   /* to be deregistered */
	struct ofi_mr_list spare;  /* of no use now, for the next registrations */
	size_t spares;
	uint64_t hits, misses, changes;
};

/* 0 or -FI_ENOMEM. Works without keeping anything where the kernel has no monitor for us. */
int ofi_mr_cache_init(struct ofi_mr_cache *cache, size_t max_count, size_t max_size, bool monitor);
/* Every region has been put back. A forked child leaves the registrations to its parent. */
void ofi_mr_cache_fini(struct ofi_mr_cache *cache);
/*
 * A region that holds [addr, addr + len), len > 0, and allows at least `access`. 0 or -FI_E* of
 * reg().
 */
int ofi_mr_cache_get(struct ofi_mr_cache *cache, const void *addr, size_t len, unsigned int access,
		     struct ofi_mr_region **region);
void ofi_mr_cache_put(struct ofi_mr_cache *cache, struct ofi_mr_region *region);

#endif
