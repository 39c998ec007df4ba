/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Waiting on a completion queue. The descriptor of FI_GETWAIT is an epoll over the device's
 * completion channel and an eventfd, so that fi_cq_signal and a lost device wake sleepers too.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>
#include "prov/base/cq.h"
#include "prov/base/poll.h"
#include "prov/base/wait.h"
#include <rdma/providers/fi_log.h>
#include "cq.h"
#include "prov/verbs/provider/err.h"
#include "prov/verbs/provider/prov.h"

#define ACK_BATCH 64

static bool has_fd(enum fi_wait_obj obj)
{
	return obj == FI_WAIT_FD || obj == FI_WAIT_POLLFD || obj == FI_WAIT_UNSPEC ||
	       obj == FI_WAIT_SET;
}

static int open_fds(struct vrb_cq *cq)
{
	cq->channel = ibv_create_comp_channel(cq->domain->ctx);
	if (!cq->channel)
		return -1;
	cq->epfd = epoll_create1(EPOLL_CLOEXEC);
	if (cq->epfd < 0 || fcntl(cq->channel->fd, F_SETFL, O_NONBLOCK))
		return -1;
	if (vrb_cq_watch(cq, cq->channel->fd) || vrb_cq_watch(cq, cq->wait.fd))
		return -1;
	return 0;
}

static int try_fid(struct fid *fid)
{
	return vrb_cq_trywait((struct vrb_cq *)fid);
}

int vrb_cq_wait_join(struct vrb_cq *cq, const struct fi_cq_attr *attr)
{
	int ret;

	if (cq->wait_obj != FI_WAIT_SET)
		return 0;
	cq->member.fid = &cq->fid.fid;
	cq->member.fd = cq->epfd;
	cq->member.trywait = try_fid;
	ret = ofi_waitset_join(attr->wait_set, &cq->domain->fabric->ref, &cq->member);
	if (ret)
		FI_WARN(&vrb_prov, FI_LOG_CQ,
			"fi_cq_open: wait_set %p: %s; it has to be one of the domain's fabric\n",
			(void *)attr->wait_set, fi_strerror(-ret));
	return ret;
}

int vrb_cq_wait_open(struct vrb_cq *cq, const struct fi_cq_attr *attr)
{
	bool fd = has_fd(attr->wait_obj);
	int err;

	cq->wait_obj = attr->wait_obj;
	cq->wait_cond = attr->wait_cond;
	cq->epfd = -1;
	err = -ofi_wait_init(&cq->wait, fd ? attr->wait_obj : FI_WAIT_NONE);
	if (attr->wait_obj == FI_WAIT_NONE || attr->wait_obj == FI_WAIT_YIELD)
		return 0;
	if (!fd) {
		FI_WARN(&vrb_prov, FI_LOG_CQ,
			"fi_cq_open: wait_obj %d is not supported; use FI_WAIT_FD, POLLFD, SET, YIELD, UNSPEC or NONE\n",
			attr->wait_obj);
		return -FI_ENOSYS;
	}
	if (!err && !open_fds(cq))
		return 0;
	err = err ? err : errno;
	FI_WARN(&vrb_prov, FI_LOG_CQ, "fi_cq_open: wait object: %s%s\n", strerror(err),
		vrb_remedy(err));
	return vrb_errno(err);
}

void vrb_cq_wait_close(struct vrb_cq *cq)
{
	if (cq->epfd >= 0)
		close(cq->epfd);
	ofi_wait_fini(&cq->wait);
	if (cq->channel)
		ibv_destroy_comp_channel(cq->channel);
}

int vrb_cq_signal(struct fid_cq *fid)
{
	struct vrb_cq *cq = vrb_cq(fid);

	if (cq->wait_obj == FI_WAIT_NONE)
		return -FI_ENOSYS;
	ofi_wait_end(&cq->wait);
	return 0;
}

/* They are acknowledged in bunches, each costs a mutex. */
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

/* Something to read: kept, where the next read looks first. */
static bool anything(struct vrb_cq *cq)
{
	int n = cq->kept ? 0 : vrb_cq_poll(cq, 1);

	if (n > 0)
		vrb_cq_keep(cq, cq->first, cq->first + n);
	return cq->kept;
}

/* With nothing there, or counters to be told. */
static int arm(struct vrb_cq *cq)
{
	int ret;

	if (!vrb_cq_counts(cq)) {
		ret = ibv_req_notify_cq(cq->ibv, 0);
		return ret ? vrb_errno(ret) : 0;
	}
	ret = vrb_cq_arm_counted(cq);
	return ret == -FI_EAGAIN ? 0 : ret;
}

int vrb_cq_trywait(struct vrb_cq *cq)
{
	bool taken;
	int ret = 0;

	if (!cq->channel)
		return cq->wait_obj == FI_WAIT_NONE ? -FI_EINVAL : 0;
	vrb_cq_lock(cq);
	taken = ofi_wait_clear(&cq->wait);
	taken = drain_channel(cq) || taken;
	if (!anything(cq) || vrb_cq_counts(cq))
		ret = arm(cq);
	if (!ret && (cq->store.count || anything(cq)))
		ret = -FI_EAGAIN;
	/* Others may sleep until what was taken back here. */
	if (ret && taken)
		ofi_wait_signal(&cq->wait);
	vrb_cq_unlock(cq);
	ofi_triggers_run(&cq->domain->triggers);
	return ret;
}

static struct ofi_ref *cq_ref(struct fid *fid, const struct ofi_ref *domain)
{
	struct vrb_cq *cq = (struct vrb_cq *)fid;

	return fid->ops->control == vrb_cq_control && &cq->domain->ref == domain ? &cq->ref : NULL;
}

static bool cq_ready(struct fid *fid)
{
	struct vrb_cq *cq = (struct vrb_cq *)fid;
	bool ready;

	vrb_cq_lock(cq);
	ready = anything(cq);
	vrb_cq_unlock(cq);
	ofi_triggers_run(&cq->domain->triggers);
	return ready;
}

const struct ofi_poll_ops vrb_cq_poll_ops = {
	.cq_ref = cq_ref,
	.cq_ready = cq_ready,
};

/*
 * Sleeps until something may be there. 0, or -FI_EAGAIN when a signal, an interrupt or the time-out
 * ends the wait.
 */
static int wait_once(struct vrb_cq *cq, struct ofi_sleeper *sleeper, uint64_t start, int timeout)
{
	struct pollfd fd = { .fd = cq->epfd, .events = POLLIN };
	int left = ofi_wait_left(start, timeout);
	int ret;

	ofi_sleeper_look(sleeper, &cq->wait);
	if (ofi_sleeper_ended(sleeper, &cq->wait) || !left)
		return -FI_EAGAIN;
	if (cq->wait_obj == FI_WAIT_YIELD) {
		sched_yield();
		return 0;
	}
	ret = vrb_cq_trywait(cq);
	if (ret)
		return ret == -FI_EAGAIN ? 0 : ret;
	ofi_stats_add_shared(cq->stats, OFI_STATS_SLEEPS, 1);
	ret = poll(&fd, 1, left);
	if (ret < 0)
		return errno == EINTR ? -FI_EAGAIN : vrb_errno(errno);
	return ret ? 0 : -FI_EAGAIN;
}

ssize_t vrb_cq_sreadfrom(struct fid_cq *fid, void *buf, size_t count, fi_addr_t *src,
			 const void *cond, int timeout)
{
	struct vrb_cq *cq = vrb_cq(fid);
	size_t done = 0, want = ofi_cq_threshold(cq->wait_cond, cond, count);
	struct ofi_sleeper sleeper;
	uint64_t start = ofi_now_ms();
	ssize_t ret;

	if (cq->wait_obj == FI_WAIT_NONE)
		return -FI_ENOSYS;
	if (cq->wait_obj == FI_WAIT_SET)
		return -FI_EINVAL;
	ofi_sleeper_begin(&sleeper, &cq->wait);
	for (;;) {
		ret = cq->fid.ops->readfrom(fid, (char *)buf + done * ofi_cq_entry_size(cq->format),
					    count - done, src ? src + done : NULL);
		if (ret > 0)
			done += ret;
		if (done >= want || (ret < 0 && ret != -FI_EAGAIN))
			break;
		ret = wait_once(cq, &sleeper, start, timeout);
		if (ret)
			break;
	}
	ofi_sleeper_leave(&sleeper, &cq->wait);
	return done ? (ssize_t)done : ret;
}

ssize_t vrb_cq_sread(struct fid_cq *fid, void *buf, size_t count, const void *cond, int timeout)
{
	return vrb_cq_sreadfrom(fid, buf, count, NULL, cond, timeout);
}

int vrb_cq_control(struct fid *fid, int command, void *arg)
{
	struct vrb_cq *cq = vrb_cq((struct fid_cq *)fid);
	struct ofi_wait wait = { .obj = cq->wait_obj, .fd = cq->epfd };

	return ofi_wait_control(&wait, command, arg);
}

static void source_progress(void *object)
{
	struct vrb_cq *cq = object;

	vrb_cq_lock(cq);
	vrb_cq_ring_held(cq);
	while (vrb_cq_fetch(cq) == (int)cq->bunch)
		;
	vrb_cq_unlock(cq);
}

/* Asked for before the last look: what comes after it makes the descriptor readable. */
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
