/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Hands work of the event thread to the thread that is in an endpoint. */
#include "task.h"
#include "lock.h"
#include "rdm.h"

void ofi_rdm_task_add(struct ofi_rdm_ep *ep, struct ofi_rdm_task *task)
{
	struct ofi_rdm_tasks *tasks = &ep->tasks;

	task->next = NULL;
	ofi_lock(&tasks->lock);
	if (tasks->first)
		tasks->last->next = task;
	else
		tasks->first = task;
	tasks->last = task;
	ofi_unlock(&tasks->lock);
}

/* Returns NULL if there is none. */
static struct ofi_rdm_task *task_take(struct ofi_rdm_tasks *tasks)
{
	struct ofi_rdm_task *task;

	ofi_lock(&tasks->lock);
	task = tasks->first;
	if (task)
		tasks->first = task->next;
	ofi_unlock(&tasks->lock);
	return task;
}

static bool tasks_left(struct ofi_rdm_tasks *tasks)
{
	bool left;

	ofi_lock(&tasks->lock);
	left = tasks->first;
	ofi_unlock(&tasks->lock);
	return left;
}

/* Direct completion ends: the tasks must not write to the array of the thread that leaves. */
void ofi_rdm_tasks_run(struct ofi_rdm_ep *ep)
{
	struct ofi_rdm_task *task;

	ep->direct.cq = OFI_RDM_NO_DIRECT;
	ep->tasks.handed = 0;
	while ((task = task_take(&ep->tasks)))
		task->run(ep, task);
}

/*
 * Enters for a thread other than the owner. Returns false if the tasks are left to the owner: one
 * that is inside runs them when it leaves, and one that is outside may soon enter, so it is given
 * as much time as a barrier takes.
 */
static bool tasks_enter(struct ofi_rdm_ep *ep)
{
	struct ofi_rdm_tasks *tasks = &ep->tasks;
	uint64_t now = ofi_now_ms();

	if (!tasks->handed)
		tasks->handed = now;
	if (!ofi_bias_looks_inside(&ep->bias) && now - tasks->handed >= ofi_bias_cost())
		return ofi_bias_try_shut(&ep->bias);
	ofi_bias_call(&ep->bias);
	return false;
}

/*
 * If tasks_enter() returns false, the owner takes the lock at its next entry, and its call ends in
 * ofi_rdm_unlock(), which runs the tasks.
 */
bool ofi_rdm_tasks_try(struct ofi_rdm_ep *ep)
{
	if (!tasks_left(&ep->tasks))
		return true;
	if (!ofi_lock_or_mark(&ep->lock))
		return false;
	if (ep->biased && ofi_bias_outside && !tasks_enter(ep)) {
		ofi_unlock(&ep->lock);
		return false;
	}
	ofi_rdm_tasks_run(ep);
	ofi_rdm_unlock(ep);
	return true;
}

/* Whoever polls the endpoints of a shared receive context holds only the context's lock. */
bool ofi_rdm_tasks_hand(struct ofi_rdm_ep *ep)
{
	if (ep->biased)
		ofi_bias_call(&ep->bias);
	else if (!ep->srx)
		ofi_lock_or_mark(&ep->lock);
	return !ep->biased && !ep->srx;
}

OFI_OUTLINE void ofi_rdm_reopen(struct ofi_rdm_ep *ep)
{
	ofi_rdm_tasks_run(ep);
	ofi_bias_open(&ep->bias);
}

/*
 * The thread that adds a task has marked the lock if it was held. If the task was added after the
 * list was run, ofi_rdm_tasks_try() sees it, or the thread finds the lock free. With a bias, the
 * owner may have entered again, so the tasks are not run before the lock is released.
 */
OFI_OUTLINE void ofi_rdm_unlock_slow(struct ofi_rdm_ep *ep)
{
	if (!ep->biased)
		ofi_rdm_tasks_run(ep);
	ofi_unlock_slow(&ep->lock);
	ofi_rdm_tasks_try(ep);
}
