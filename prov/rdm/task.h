/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Work of the event thread on an endpoint. The event thread does not wait for a thread that is in
 * the endpoint, which may have lost its processor: that thread runs the tasks when it leaves, in
 * the order in which they were added.
 */
#ifndef OFI_RDM_TASK_H
#define OFI_RDM_TASK_H

#include <stdbool.h>
#include <stdint.h>
#include "src/ds/lock.h"

struct ofi_rdm_ep;

struct ofi_rdm_task {
	struct ofi_rdm_task *next;
	/* Called with the endpoint's lock held and no other thread inside; may free the task. */
	void (*run)(struct ofi_rdm_ep *ep, struct ofi_rdm_task *task);
};

/* Initially all zero. */
struct ofi_rdm_tasks {
	struct ofi_lock lock; /* guards the list; taken last */
	struct ofi_rdm_task *first, *last;
	/* Time in ms when they were left to the owner of the bias, or 0; guarded by ep->lock. */
	uint64_t handed;
};

/* Queues a task. Called without the lock. */
void ofi_rdm_task_add(struct ofi_rdm_ep *ep, struct ofi_rdm_task *task);
/*
 * Runs all tasks if that is possible without waiting. Returns false if there are some and a thread
 * is inside, which runs them when it leaves or at its next call; the caller must try again later,
 * because the owner of the bias may make no other call. Called without the lock.
 */
bool ofi_rdm_tasks_try(struct ofi_rdm_ep *ep);
/*
 * Makes the calling thread, which is inside, run all tasks when it leaves. Returns false if it may
 * not do so; then another thread must try, too.
 */
bool ofi_rdm_tasks_hand(struct ofi_rdm_ep *ep);
/* Runs all tasks. Called with the lock held and no other thread inside. */
void ofi_rdm_tasks_run(struct ofi_rdm_ep *ep);

/* The slow paths of ofi_rdm_unlock() (lock.h). */
void ofi_rdm_reopen(struct ofi_rdm_ep *ep);
void ofi_rdm_unlock_slow(struct ofi_rdm_ep *ep);

#endif
