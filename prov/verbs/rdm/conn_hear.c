/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Connections to peers: events are handled by the event thread or by the thread that is in the
 * endpoint, so a thread that loses its processor in a call delays only its own connections.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include "conn_int.h"
#include "prov/rdm/lock.h"

#define RETRY_MS 20 /* until the event thread checks whether the errands are done */

void vrb_rdm_conn_wake(struct ofi_rdm_ep *ep, uint64_t ms)
{
	struct itimerspec spec = { .it_value = { (time_t)(ms / 1000),
						 (long)(ms % 1000) * 1000000 } };

	if (!ms)
		spec.it_value.tv_nsec = 1;
	timerfd_settime(vrb_rc(ep)->conn.timer.fd, 0, &spec, NULL);
}

void vrb_rdm_conn_errands(struct ofi_rdm_ep *ep)
{
	if (!ofi_rdm_errands_try(ep))
		vrb_rdm_conn_wake(ep, RETRY_MS);
}

void vrb_rdm_conn_settle(struct ofi_rdm_ep *ep)
{
	ofi_rdm_lock(ep);
	ofi_rdm_errands_run(ep);
	ofi_rdm_unlock(ep);
}

static void refuse(struct ofi_rdm_ep *ep, struct vrb_rdm_heard *heard)
{
	struct vrb_rdm_conns *conn = &vrb_rc(ep)->conn;

	ofi_lock(&conn->burial.lock);
	SLIST_INSERT_HEAD(&conn->burial.requests, heard, over);
	__atomic_store_n(&conn->burial.some, true, __ATOMIC_RELAXED);
	ofi_unlock(&conn->burial.lock);
	if (!ep->closing)
		vrb_rdm_conn_wake(ep, 0);
}

static void heard_run(struct ofi_rdm_ep *ep, struct ofi_rdm_errand *errand)
{
	struct vrb_rdm_heard *heard = (struct vrb_rdm_heard *)errand;

	heard->refused = heard->handle(heard->owner, &heard->event);
	if (heard->refused)
		refuse(ep, heard);
	else
		free(heard);
}

/* Copies the private data too, which are valid until the event is acknowledged. */
static struct vrb_rdm_heard *heard_new(vrb_rdm_heard_fn *handle, struct vrb_owner *owner,
				       const struct rdma_cm_event *event)
{
	struct vrb_rdm_heard *heard = malloc(sizeof(*heard));
	struct rdma_conn_param *param;

	if (!heard)
		return NULL;
	heard->errand.run = heard_run;
	heard->handle = handle;
	heard->owner = owner;
	heard->event = *event;
	param = &heard->event.param.conn;
	if (param->private_data && param->private_data_len)
		memcpy(heard->data, param->private_data, param->private_data_len);
	if (param->private_data)
		param->private_data = heard->data;
	return heard;
}

/* If there is no memory, the event thread waits for the endpoint. */
void vrb_rdm_conn_hear(struct ofi_rdm_ep *ep, vrb_rdm_heard_fn *handle, struct vrb_owner *owner,
		       const struct rdma_cm_event *event, struct vrb_cm_left *left)
{
	struct vrb_rdm_heard *heard = heard_new(handle, owner, event);

	if (heard) {
		ofi_rdm_errand_add(ep, &heard->errand);
		vrb_rdm_conn_errands(ep);
		return;
	}
	ofi_rdm_lock(ep);
	ofi_rdm_errands_run(ep);
	left->destroy = handle(owner, event);
	ofi_rdm_unlock(ep);
}
