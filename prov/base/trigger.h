/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Work that waits for counters. A counter that changes sets a flag; the next thread that reads a
 * counter or a queue of the domain then runs the work that is due, without holding a lock. One
 * thread at a time does so. Work of a counter runs in the order of thresholds.
 */
#ifndef OFI_TRIGGER_H
#define OFI_TRIGGER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include "src/ds/lock.h"
#include "src/ds/compiler.h"

struct ofi_cntr;

/* Parts of an endpoint whose work can be canceled separately. */
enum { OFI_TRIGGER_SENDS = 1, OFI_TRIGGER_RECEIVES = 2 };

/* One piece of work; the provider's data follows it in memory. */
struct ofi_trigger {
	struct ofi_cntr *cntr; /* referenced until the work is done */
	uint64_t threshold;
	bool errors;	   /* errors of the counter also count toward the threshold */
	const void *owner; /* work of one owner, such as an endpoint, stays in order; may be NULL */
	uint8_t part;	   /* part of the owner, or 0 */
	const void *key;   /* identifies the work to ofi_triggers_cancel(); may be NULL */
	const void *context; /* identifies the work to ofi_triggers_take(); may be NULL */
	/*
	 * Does the work. Returns 0, or -FI_EAGAIN if nothing was done and it must be called again.
	 */
	int (*fire)(struct ofi_trigger *trigger);
	/* Frees it, whether or not it was done; takes no lock. */
	void (*drop)(struct ofi_trigger *trigger);
	TAILQ_ENTRY(ofi_trigger) link;
};

TAILQ_HEAD(ofi_trigger_list, ofi_trigger);

/* The triggers of a domain. */
struct ofi_triggers {
	unsigned int awaited; /* number of counters that work waits for; atomic */
	bool due;	      /* work may be due; atomic */
	bool apart;	      /* nothing serializes the threads in endpoints with one another */
	struct ofi_lock
		lock; /* guards what follows, and the waiting lists of the domain's counters */
	bool running;
	const struct ofi_trigger *firing;
	struct ofi_trigger_list ready; /* work whose threshold is reached; in order */
	LIST_HEAD(, ofi_cntr) cntrs;   /* counters that work waits for */
	/* Taken after `lock` to change a source's list of watches; enough to read it. */
	struct ofi_lock watch_lock;
};

/* Selects work; NULL and 0 match everything. */
struct ofi_trigger_match {
	const void *owner, *key, *context;
	const struct ofi_cntr *cntr;
	uint8_t part;
};

void ofi_triggers_init(struct ofi_triggers *triggers);
/* Queues work, which may run before this returns. */
void ofi_triggers_add(struct ofi_triggers *triggers, struct ofi_trigger *trigger);
/*
 * Drops matching work that has not run and waits for work that is running. Returns the number
 * dropped.
 */
unsigned int ofi_triggers_cancel(struct ofi_triggers *triggers,
				 const struct ofi_trigger_match *match);
/*
 * Removes work that waits for its counter. Returns it, to be passed to ofi_trigger_finish(), or
 * NULL if there is none.
 */
struct ofi_trigger *ofi_triggers_take(struct ofi_triggers *triggers,
				      const struct ofi_trigger_match *match);
/* Frees work that is in no list. */
void ofi_trigger_finish(struct ofi_trigger *trigger);
/* Makes progress on the sources of all counters that work waits for. */
void ofi_triggers_progress(struct ofi_triggers *triggers);
void ofi_triggers_run_due(struct ofi_triggers *triggers);

static inline bool ofi_triggers_awaited(const struct ofi_triggers *triggers)
{
	return triggers && __atomic_load_n(&triggers->awaited, __ATOMIC_RELAXED);
}

static inline bool ofi_triggers_due(const struct ofi_triggers *triggers)
{
	return triggers && __atomic_load_n(&triggers->due, __ATOMIC_ACQUIRE);
}

/* Runs work that is due. The caller holds no lock that a post or a counter takes. */
static inline void ofi_triggers_run(struct ofi_triggers *triggers)
{
	if (ofi_unlikely(ofi_triggers_due(triggers)))
		ofi_triggers_run_due(triggers);
}

#endif
