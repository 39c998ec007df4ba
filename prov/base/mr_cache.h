/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The registration cache: keeps registrations of the application's private anonymous memory for
 * later use. A region whose memory changes leaves the cache at once; the monitor's thread
 * deregisters it, or, if it is in use, its last user does. Regions may overlap, but none lies
 * within another one with at least its access. Regions that overlap a new one are merged with it as
 * long as that at most doubles the registered size. Other memory is registered for each use; so is
 * all memory if there is no monitor that passed its test.
 */
#ifndef OFI_MR_CACHE_H
#define OFI_MR_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include "src/ds/lock.h"
#include "monitor.h"

struct ofi_mr_region {
	uintptr_t start, end;
	/* The access that was requested, and the access that the registration allows. */
	unsigned int wanted, access;
	void *mr; /* from the user's reg() */
	int users;
	bool kept;			 /* in the index, where later uses find it */
	bool watched;			 /* must be unwatched at its end */
	bool changed;			 /* changed while it was being registered */
	TAILQ_ENTRY(ofi_mr_region) link; /* in unused or dead */
};

TAILQ_HEAD(ofi_mr_list, ofi_mr_region);

struct ofi_mr_cache {
	struct ofi_monitor monitor;
	/*
	 * Registers memory. *access is the requested access, a bit mask that the cache only
	 * compares; reg() may allow more and reports it there. It may shed regions, see
	 * ofi_mr_cache_shed(). Returns 0 or -FI_E*.
	 */
	int (*reg)(void *arg, void *addr, size_t len, unsigned int *access, void **mr);
	void (*dereg)(void *arg, void *mr); /* also called from the monitor's thread */
	void *arg;
	size_t max_count, max_size; /* if max_count is 0, nothing is kept */
	bool monitored;
	int refusal;		  /* -FI_E*, the reason why nothing is kept although it should be */
	uint64_t process;	  /* the process that opened it and owns the registrations */
	struct ofi_lock reg_lock; /* serializes registrations; taken before lock */

	/* No function that could change a mapping may be called with it held: see monitor.h. */
	struct ofi_lock lock;	      /* guards the rest */
	struct ofi_mr_region **index; /* sorted by start, max_count + 1 entries */
	uintptr_t *reach;   /* for each entry, the largest end of it and those before it */
	size_t count, size; /* number and total size of the regions in the index */
	struct ofi_mr_region *pending;
	/* Regions in the index without users, least recently used first. */
	struct ofi_mr_list unused;
	struct ofi_mr_list dead;  /* regions to be deregistered */
	struct ofi_mr_list spare; /* free objects for later registrations */
	size_t spares;
};

/*
 * Returns 0 or -FI_ENOMEM. If the kernel provides no monitor, the cache works without keeping
 * anything.
 */
int ofi_mr_cache_init(struct ofi_mr_cache *cache, size_t max_count, size_t max_size, bool monitor);
/* The caller has put back all regions. A forked child leaves the registrations to its parent. */
void ofi_mr_cache_fini(struct ofi_mr_cache *cache);
/*
 * Finds or registers a region that contains [addr, addr + len), len > 0, with at least the given
 * access. Returns 0 or -FI_E*.
 */
int ofi_mr_cache_get(struct ofi_mr_cache *cache, const void *addr, size_t len, unsigned int access,
		     struct ofi_mr_region **region);
void ofi_mr_cache_put(struct ofi_mr_cache *cache, struct ofi_mr_region *region);
/*
 * Deregisters the least recently used regions without users, up to the length, so that the limit of
 * locked memory leaves room for others. Returns false if there is none.
 */
bool ofi_mr_cache_shed(struct ofi_mr_cache *cache, size_t len);

#endif
