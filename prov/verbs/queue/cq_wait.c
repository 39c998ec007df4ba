/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Waiting on a completion queue. The descriptor for FI_GETWAIT is an epoll descriptor over the
 * device's completion channel and an eventfd, so that fi_cq_signal and a lost device wake sleepers,
 * too.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <rdma/providers/fi_log.h>
#include "cq.h"
#include "prov/verbs/provider/err.h"
#include "prov/verbs/provider/prov.h"

#define ACK_BATCH 64

static int open_channel(struct vrb_cq *cq)
{
	if (cq->slow.epfd < 0)
		return 0;
	cq->channel = ibv_create_comp_channel(cq->domain->ctx);
	if (!cq->channel || fcntl(cq->channel->fd, F_SETFL, O_NONBLOCK))
		return -errno;
	return ofi_cq_watch(&cq->base, cq->channel->fd);
}

int vrb_cq_wait_open(struct vrb_cq *cq, const struct fi_cq_attr *attr)
{
	int ret = ofi_cq_init(&cq->base, &vrb_prov, &cq->slow, &vrb_cq_base_ops,
			      &cq->domain->base.ref, attr);

	if (!ret)
		ret = open_channel(cq);
	if (!ret)
		return 0;
	FI_WARN_SPARSE(&vrb_prov, FI_LOG_CQ, "fi_cq_open: wait object: %s%s\n", strerror(-ret),
		       vrb_remedy(-ret));
	return vrb_errno(-ret);
}

/* Events are acknowledged in batches, because each acknowledgment takes a mutex. */
static bool drain_channel(struct vrb_cq *cq)
{
	unsigned int before = cq->unacked;
	struct ibv_cq *ibv;
	void *context;
	bool some;

	while (!ibv_get_cq_event(cq->channel, &ibv, &context)) {
		cq->unacked++;
		ofi_stats_add(cq->stats, OFI_STATS_EVENTS, 1);
	}
	some = cq->unacked != before;
	if (cq->unacked >= ACK_BATCH) {
		ibv_ack_cq_events(cq->ibv, cq->unacked);
		cq->unacked = 0;
	}
	return some;
}

/* Returns true if there is a completion to read, which is then kept for the next read. */
static bool cq_has_entry(struct vrb_cq *cq)
{
	int n = cq->kept ? 0 : vrb_cq_poll(cq, 1);

	if (n > 0)
		vrb_cq_keep(cq, cq->first, cq->first + n);
	return cq->kept;
}

/* Requests an event. Called if the CQ is empty, or has counters to update. */
static int cq_wait_arm(struct vrb_cq *cq)
{
	int ret;

	if (!vrb_cq_counts(cq)) {
		ret = ibv_req_notify_cq(cq->ibv, 0);
		return ret ? vrb_errno(ret) : 0;
	}
	ret = vrb_cq_arm_counted(cq);
	return ret == -FI_EAGAIN ? 0 : ret;
}

static int cq_trywait(struct ofi_cq *base)
{
	struct vrb_cq *cq = (struct vrb_cq *)base;
	bool taken;
	int ret = 0;

	if (!cq->channel)
		return 0;
	vrb_cq_lock(cq);
	taken = ofi_wait_clear(&cq->slow.wait);
	taken = drain_channel(cq) || taken;
	if (!cq_has_entry(cq) || vrb_cq_counts(cq))
		ret = cq_wait_arm(cq);
	if (!ret && (cq->store.count || cq_has_entry(cq)))
		ret = -FI_EAGAIN;
	/* Other threads may be waiting for the event that was taken above. */
	if (ret && taken)
		ofi_wait_signal(&cq->slow.wait);
	vrb_cq_unlock(cq);
	ofi_triggers_run(&cq->domain->base.triggers);
	return ret;
}

static bool cq_ready(struct ofi_cq *base)
{
	struct vrb_cq *cq = (struct vrb_cq *)base;
	bool ready;

	vrb_cq_lock(cq);
	ready = cq_has_entry(cq);
	vrb_cq_unlock(cq);
	ofi_triggers_run(&cq->domain->base.triggers);
	return ready;
}

const struct ofi_cq_ops vrb_cq_base_ops = {
	.trywait = cq_trywait,
	.ready = cq_ready,
	.take_error = vrb_cq_take_error,
};

static void source_progress(void *object)
{
	struct vrb_cq *cq = object;

	vrb_cq_lock(cq);
	vrb_cq_ring_held(cq);
	while (vrb_cq_fetch(cq) == (int)cq->bunch)
		;
	vrb_cq_unlock(cq);
}

/*
 * Requests an event before the last check, so a completion after the check makes the descriptor
 * readable.
 */
static int source_arm(void *object)
{
	struct vrb_cq *cq = object;
	int ret = -FI_EAGAIN;

	if (!cq->channel)
		return ret;
	vrb_cq_lock(cq);
	vrb_cq_ring_held(cq);
	drain_channel(cq);
	ret = vrb_cq_arm_counted(cq);
	vrb_cq_unlock(cq);
	return ret;
}

const struct ofi_cntr_source_ops vrb_cq_source_ops = {
	.progress = source_progress,
	.arm = source_arm,
};
