/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Connections to peers: events are handled by the event thread or by the thread that is in the
 * endpoint, so a thread that is preempted in a call delays only its own connections.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include "conn_int.h"
#include "prov/rdm/lock.h"

#define RETRY_MS 20 /* until the event thread checks whether the tasks are done */

/*
 * Sets the timer unless it is set for an earlier time. If `armed` is in the past, its event is
 * still to come. The caller holds armed_lock.
 */
static void arm_timer(struct vrb_rdm_conns *conns, uint64_t now, uint64_t at)
{
	uint64_t ms = at > now ? at - now : 0;
	struct itimerspec spec = { .it_value = { (time_t)(ms / 1000),
						 (long)(ms % 1000) * 1000000 } };

	if (!ms)
		spec.it_value.tv_nsec = 1;
	if (at < conns->armed) {
		conns->armed = at;
		timerfd_settime(conns->timer.fd, 0, &spec, NULL);
	}
}

void vrb_rdm_conn_wake(struct ofi_rdm_ep *ep, uint64_t ms)
{
	struct vrb_rdm_conns *conns = &vrb_rc(ep)->conns;
	uint64_t now = ofi_now_ms(), at = now + ms;

	ofi_lock(&conns->armed_lock);
	if (at < conns->wanted)
		conns->wanted = at;
	arm_timer(conns, now, at);
	ofi_unlock(&conns->armed_lock);
}

/*
 * If there is nothing to read from the timer, it was set again since it expired. If it expired only
 * to check on the tasks, no tick is due: a thread that is always inside would otherwise run a tick
 * with each check.
 */
bool vrb_rdm_conn_expired(struct vrb_rdm_conns *conns, uint64_t *at)
{
	uint64_t ticks;
	bool due = false;

	ofi_lock(&conns->armed_lock);
	if (read(conns->timer.fd, &ticks, sizeof(ticks)) == sizeof(ticks)) {
		*at = conns->armed;
		conns->armed = UINT64_MAX;
		due = *at >= conns->wanted;
		if (due)
			conns->wanted = UINT64_MAX;
		else
			arm_timer(conns, ofi_now_ms(), conns->wanted);
	}
	ofi_unlock(&conns->armed_lock);
	return due;
}

void vrb_rdm_conn_hand(struct ofi_rdm_ep *ep, struct ofi_rdm_task *task)
{
	ofi_rdm_task_add(ep, task);
	if (!ofi_rdm_tasks_hand(ep))
		vrb_rdm_conn_wake(ep, 0);
}

void vrb_rdm_conn_tasks(struct ofi_rdm_ep *ep)
{
	struct vrb_rdm_conns *conns = &vrb_rc(ep)->conns;
	uint64_t now;

	if (ofi_rdm_tasks_try(ep))
		return;
	now = ofi_now_ms();
	ofi_lock(&conns->armed_lock);
	arm_timer(conns, now, now + RETRY_MS);
	ofi_unlock(&conns->armed_lock);
}

void vrb_rdm_conn_settle(struct ofi_rdm_ep *ep)
{
	ofi_rdm_lock(ep);
	ofi_rdm_tasks_run(ep);
	ofi_rdm_unlock(ep);
}

void vrb_rdm_conn_defer(struct ofi_rdm_ep *ep, struct vrb_rdm_deferred *deferred)
{
	struct vrb_rdm_conns *conns = &vrb_rc(ep)->conns;

	ofi_lock(&conns->deferred_lock);
	SLIST_INSERT_HEAD(&conns->deferred, deferred, link);
	ofi_unlock(&conns->deferred_lock);
	if (!ep->closing)
		vrb_rdm_conn_wake(ep, 0);
}

/* Tasks run in order, so events of an object are handled before it is freed. */
void vrb_rdm_conn_free_deferred(struct ofi_rdm_ep *ep)
{
	struct vrb_rdm_conns *conns = &vrb_rc(ep)->conns;
	struct vrb_rdm_deferred_list list;
	struct vrb_rdm_deferred *deferred;

	ofi_lock(&conns->deferred_lock);
	list = conns->deferred;
	SLIST_INIT(&conns->deferred);
	ofi_unlock(&conns->deferred_lock);
	if (SLIST_EMPTY(&list))
		return;
	while ((deferred = SLIST_FIRST(&list))) {
		SLIST_REMOVE_HEAD(&list, link);
		deferred->destroy(deferred);
		ofi_rdm_task_add(ep, &deferred->end);
	}
	vrb_rdm_conn_tasks(ep);
}

static void request_destroy(struct vrb_rdm_deferred *deferred)
{
	struct vrb_rdm_cm_event *pending =
		ofi_container(deferred, struct vrb_rdm_cm_event, deferred);

	rdma_destroy_id(pending->refused);
}

static void request_free(struct ofi_rdm_ep *ep, struct ofi_rdm_task *end)
{
	(void)ep;
	free(ofi_container(end, struct vrb_rdm_cm_event, deferred.end));
}

static void cm_event_run(struct ofi_rdm_ep *ep, struct ofi_rdm_task *task)
{
	struct vrb_rdm_cm_event *pending = (struct vrb_rdm_cm_event *)task;

	pending->refused = pending->handle(pending->owner, &pending->event);
	if (!pending->refused) {
		free(pending);
		return;
	}
	pending->deferred.destroy = request_destroy;
	pending->deferred.end.run = request_free;
	vrb_rdm_conn_defer(ep, &pending->deferred);
}

/* Also copies the private data, which is valid only until the event is acknowledged. */
static struct vrb_rdm_cm_event *cm_event_new(vrb_rdm_cm_event_fn *handle, struct vrb_owner *owner,
					     const struct rdma_cm_event *event)
{
	size_t len = event->param.conn.private_data ? event->param.conn.private_data_len : 0;
	struct vrb_rdm_cm_event *pending;
	struct rdma_conn_param *param;

	len += vrb_ud_carried(event);
	pending = malloc(sizeof(*pending) + len);

	if (!pending)
		return NULL;
	pending->task.run = cm_event_run;
	pending->handle = handle;
	pending->owner = owner;
	pending->event = *event;
	param = &pending->event.param.conn;
	if (len)
		memcpy(pending->data, param->private_data, len);
	if (param->private_data)
		param->private_data = pending->data;
	return pending;
}

bool vrb_rdm_conn_event_later(struct ofi_rdm_ep *ep, vrb_rdm_cm_event_fn *handle,
			      struct vrb_owner *owner, const struct rdma_cm_event *event)
{
	struct vrb_rdm_cm_event *pending = cm_event_new(handle, owner, event);

	if (!pending)
		return false;
	vrb_rdm_conn_hand(ep, &pending->task);
	return true;
}

/* If there is no memory, the event thread waits for the endpoint. */
void vrb_rdm_conn_event(struct ofi_rdm_ep *ep, vrb_rdm_cm_event_fn *handle, struct vrb_owner *owner,
			const struct rdma_cm_event *event, struct vrb_cm_left *left)
{
	struct vrb_rdm_cm_event *pending = cm_event_new(handle, owner, event);

	if (pending) {
		ofi_rdm_task_add(ep, &pending->task);
		vrb_rdm_conn_tasks(ep);
		return;
	}
	ofi_rdm_lock(ep);
	ofi_rdm_tasks_run(ep);
	left->destroy = handle(owner, event);
	ofi_rdm_unlock(ep);
}
