/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Work that waits for counters: queueing, running in order, canceling. */
#include <sched.h>
#include <stddef.h>
#include "src/ds/bias.h"
#include "cntr.h"
#include "trigger.h"

void ofi_triggers_init(struct ofi_triggers *triggers)
{
	*triggers = (struct ofi_triggers){ 0 };
	ofi_lock_init(&triggers->lock);
	ofi_lock_init(&triggers->watch_lock);
	TAILQ_INIT(&triggers->ready);
	LIST_INIT(&triggers->cntrs);
}

void ofi_triggers_progress(struct ofi_triggers *triggers)
{
	bool outside = ofi_bias_outside;
	struct ofi_cntr *cntr;

	/* Other threads may be in the endpoints of these counters. */
	ofi_bias_outside = outside || triggers->apart;
	ofi_lock(&triggers->lock);
	LIST_FOREACH (cntr, &triggers->cntrs, trigger_link)
		ofi_cntr_look(cntr);
	ofi_unlock(&triggers->lock);
	ofi_bias_outside = outside;
}

/* The lock is held in this and all static functions below. */
static void wait_for(struct ofi_triggers *triggers, struct ofi_trigger *trigger)
{
	struct ofi_cntr *cntr = trigger->cntr;
	struct ofi_trigger *before;

	TAILQ_FOREACH_REVERSE(before, &cntr->waiting, ofi_trigger_list, link)
	if (before->threshold <= trigger->threshold)
		break;
	if (before)
		TAILQ_INSERT_AFTER(&cntr->waiting, before, trigger, link);
	else
		TAILQ_INSERT_HEAD(&cntr->waiting, trigger, link);
	if (cntr->awaited)
		return;
	LIST_INSERT_HEAD(&triggers->cntrs, cntr, trigger_link);
	__atomic_add_fetch(&triggers->awaited, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&cntr->awaited, true, __ATOMIC_SEQ_CST);
}

static void trigger_leave(struct ofi_trigger *trigger)
{
	struct ofi_cntr *cntr = trigger->cntr;

	TAILQ_REMOVE(&cntr->waiting, trigger, link);
	if (!TAILQ_EMPTY(&cntr->waiting))
		return;
	LIST_REMOVE(cntr, trigger_link);
	__atomic_store_n(&cntr->awaited, false, __ATOMIC_SEQ_CST);
	__atomic_sub_fetch(&cntr->triggers->awaited, 1, __ATOMIC_RELAXED);
}

/* Moves the work whose threshold the counter has reached to the ready list. */
static void collect_cntr(struct ofi_triggers *triggers, struct ofi_cntr *cntr)
{
	uint64_t value = __atomic_load_n(&cntr->value, __ATOMIC_SEQ_CST);
	uint64_t all = value + __atomic_load_n(&cntr->errors, __ATOMIC_SEQ_CST);
	struct ofi_trigger *trigger, *next;

	if (all < value)
		all = UINT64_MAX;
	for (trigger = TAILQ_FIRST(&cntr->waiting); trigger && trigger->threshold <= all;
	     trigger = next) {
		next = TAILQ_NEXT(trigger, link);
		if (!trigger->errors && trigger->threshold > value)
			continue;
		trigger_leave(trigger);
		TAILQ_INSERT_TAIL(&triggers->ready, trigger, link);
	}
}

static void collect_met(struct ofi_triggers *triggers)
{
	struct ofi_cntr *cntr, *next;

	for (cntr = LIST_FIRST(&triggers->cntrs); cntr; cntr = next) {
		next = LIST_NEXT(cntr, trigger_link);
		collect_cntr(triggers, cntr);
	}
}

/* Returns true if earlier work of the same owner is still in the list. */
static bool follows_blocked(const struct ofi_triggers *triggers, const struct ofi_trigger *trigger)
{
	const struct ofi_trigger *before;

	TAILQ_FOREACH (before, &triggers->ready, link)
		if (before == trigger || (before->owner && before->owner == trigger->owner))
			break;
	return before != trigger;
}

void ofi_trigger_finish(struct ofi_trigger *trigger)
{
	struct ofi_cntr *cntr = trigger->cntr;

	trigger->drop(trigger);
	ofi_ref_put(&cntr->ref);
}

/*
 * Releases the lock while the work runs; nobody else removes it from the list meanwhile. Returns
 * true if it is done. Then its reference is leaving, because others see that it is.
 */
static bool trigger_fire(struct ofi_triggers *triggers, struct ofi_trigger *trigger)
{
	struct ofi_ref *ref = &trigger->cntr->ref;
	int ret;

	if (follows_blocked(triggers, trigger))
		return false;
	triggers->firing = trigger;
	ofi_ref_leave(ref);
	ofi_unlock(&triggers->lock);
	ret = trigger->fire(trigger);
	ofi_lock(&triggers->lock);
	triggers->firing = NULL;
	if (ret)
		ofi_ref_return(ref);
	return !ret;
}

/* Tries all ready work once. Returns true if some of it was done. */
static bool fire_ready(struct ofi_triggers *triggers)
{
	struct ofi_trigger *trigger, *next;
	struct ofi_cntr *cntr;
	bool done, any = false;

	for (trigger = TAILQ_FIRST(&triggers->ready); trigger; trigger = next) {
		done = trigger_fire(triggers, trigger);
		next = TAILQ_NEXT(trigger, link);
		if (!done)
			continue;
		TAILQ_REMOVE(&triggers->ready, trigger, link);
		cntr = trigger->cntr;
		trigger->drop(trigger);
		ofi_ref_left(&cntr->ref);
		any = true;
	}
	return any;
}

static void set_due(struct ofi_triggers *triggers, bool due)
{
	__atomic_store_n(&triggers->due, due, __ATOMIC_SEQ_CST);
}

/*
 * Called without the lock. Work that changes counters makes more work due, which the same loop
 * runs.
 */
void ofi_triggers_run_due(struct ofi_triggers *triggers)
{
	bool done;

	ofi_lock(&triggers->lock);
	if (!triggers->running) {
		triggers->running = true;
		do {
			set_due(triggers, false);
			collect_met(triggers);
			done = fire_ready(triggers);
		} while (done || ofi_triggers_due(triggers));
		if (!TAILQ_EMPTY(&triggers->ready))
			set_due(triggers, true);
		triggers->running = false;
	}
	ofi_unlock(&triggers->lock);
}

void ofi_triggers_add(struct ofi_triggers *triggers, struct ofi_trigger *trigger)
{
	ofi_ref_get(&trigger->cntr->ref);
	ofi_lock(&triggers->lock);
	wait_for(triggers, trigger);
	set_due(triggers, true);
	ofi_unlock(&triggers->lock);
	ofi_triggers_run(triggers);
}

static bool matches(const struct ofi_trigger *trigger, const struct ofi_trigger_match *match)
{
	return (!match->owner || match->owner == trigger->owner) &&
	       (!match->part || match->part == trigger->part) &&
	       (!match->key || match->key == trigger->key) &&
	       (!match->context || match->context == trigger->context) &&
	       (!match->cntr || match->cntr == trigger->cntr);
}

static struct ofi_trigger *take_waiting(struct ofi_triggers *triggers,
					const struct ofi_trigger_match *match)
{
	struct ofi_trigger *trigger;
	struct ofi_cntr *cntr;

	LIST_FOREACH (cntr, &triggers->cntrs, trigger_link)
		TAILQ_FOREACH (trigger, &cntr->waiting, link)
			if (matches(trigger, match)) {
				trigger_leave(trigger);
				return trigger;
			}
	return NULL;
}

static struct ofi_trigger *take_ready(struct ofi_triggers *triggers,
				      const struct ofi_trigger_match *match)
{
	struct ofi_trigger *trigger;

	TAILQ_FOREACH (trigger, &triggers->ready, link)
		if (trigger != triggers->firing && matches(trigger, match)) {
			TAILQ_REMOVE(&triggers->ready, trigger, link);
			return trigger;
		}
	return NULL;
}

/* The caller holds the lock. */
static struct ofi_trigger *take_one(struct ofi_triggers *triggers,
				    const struct ofi_trigger_match *match)
{
	struct ofi_trigger *trigger = take_waiting(triggers, match);

	return trigger ? trigger : take_ready(triggers, match);
}

unsigned int ofi_triggers_cancel(struct ofi_triggers *triggers,
				 const struct ofi_trigger_match *match)
{
	struct ofi_trigger *trigger;
	unsigned int n = 0;

	ofi_lock(&triggers->lock);
	while (triggers->firing && matches(triggers->firing, match)) {
		ofi_unlock(&triggers->lock);
		sched_yield();
		ofi_lock(&triggers->lock);
	}
	for (; (trigger = take_one(triggers, match)); n++)
		ofi_trigger_finish(trigger);
	ofi_unlock(&triggers->lock);
	return n;
}

struct ofi_trigger *ofi_triggers_take(struct ofi_triggers *triggers,
				      const struct ofi_trigger_match *match)
{
	struct ofi_trigger *trigger;

	ofi_lock(&triggers->lock);
	trigger = take_one(triggers, match);
	ofi_unlock(&triggers->lock);
	return trigger;
}
