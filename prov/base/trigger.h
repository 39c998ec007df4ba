/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Work that waits for counters. A counter that changes says so; the work is done by whoever then
 * looks at a counter or a queue of the domain, with no lock held, one thread at a time, in order of
 * thresholds.
 */
#ifndef OFI_TRIGGER_H
#define OFI_TRIGGER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include "src/ds/lock.h"
#include "src/ds/compiler.h"

struct ofi_cntr;

/* One piece of work; what follows it in memory is the provider's. */
struct ofi_trigger {
	struct ofi_cntr *cntr; /* has a reference until the work is done */
	uint64_t threshold;
	bool errors;	   /* the counter's errors count towards the threshold too */
	const void *owner; /* an endpoint or the like: its work keeps its order; may be NULL */
	const void *key;   /* names it to ofi_triggers_cancel(); may be NULL */
	/* 0 when it is done, or -FI_EAGAIN: nothing is done yet, to be called again. */
	int (*fire)(struct ofi_trigger *trigger);
	void (*drop)(struct ofi_trigger *trigger); /* frees it, done or not; takes no lock */
	TAILQ_ENTRY(ofi_trigger) link;
};

TAILQ_HEAD(ofi_trigger_list, ofi_trigger);

/* Of a domain. */
struct ofi_triggers {
	unsigned int awaited; /* counters that work waits for; atomic */
	bool due;	      /* there may be something to do; atomic */
	struct ofi_lock
		lock; /* guards what follows, and the waiting lists of the domain's counters */
	bool running;
	const struct ofi_trigger *firing;
	struct ofi_trigger_list ready; /* their counters are there; in order */
	LIST_HEAD(, ofi_cntr) cntrs;   /* those that work waits for */
};

/* What ofi_triggers_cancel() takes; NULL matches all. */
struct ofi_trigger_match {
	const void *owner, *key;
	const struct ofi_cntr *cntr;
};

void ofi_triggers_init(struct ofi_triggers *triggers);
/* Queues work, which may be done before it returns. */
void ofi_triggers_add(struct ofi_triggers *triggers, struct ofi_trigger *trigger);
/* Drops what matches and is not done, and waits for what is being done. How many. */
unsigned int ofi_triggers_cancel(struct ofi_triggers *triggers,
				 const struct ofi_trigger_match *match);
/* Lets the counters that work waits for count what has completed. */
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

/* Does what is due. With no lock held that a post or a counter takes. */
static inline void ofi_triggers_run(struct ofi_triggers *triggers)
{
	if (ofi_unlikely(ofi_triggers_due(triggers)))
		ofi_triggers_run_due(triggers);
}

#endif
