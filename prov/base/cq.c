/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Completion queues: the part that does not depend on the source of completions. */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "cq.h"
#include "stats.h"
#include "refuse.h"

/* Returns the number of entries, at most count, that satisfies the wait condition. */
static size_t cq_threshold(enum fi_cq_wait_cond wait_cond, const void *cond, size_t count)
{
	size_t want = 1;

	if (wait_cond == FI_CQ_COND_THRESHOLD && cond)
		memcpy(&want, &cond, sizeof(want));
	return want < 1 ? 1 : want < count ? want : count;
}

/* The structure has grown: err_data_size was added in API 1.5, src_addr in 1.20. */
void ofi_cq_copy_error(uint32_t version, struct fi_cq_err_entry *to,
		       const struct fi_cq_err_entry *from, const void *detail, size_t len)
{
	void *data = to->err_data;
	size_t room = 0;

	if (data && FI_VERSION_GE(version, FI_VERSION(1, 5)))
		room = to->err_data_size;
	memcpy(to, from, offsetof(struct fi_cq_err_entry, err_data));
	if (!room)
		to->err_data = (void *)(uintptr_t)detail;
	else if (room < len)
		len = 0;
	else if (len)
		memcpy(data, detail, len);
	if (FI_VERSION_GE(version, FI_VERSION(1, 5)))
		to->err_data_size = len;
	if (FI_VERSION_GE(version, FI_VERSION(1, 20)))
		to->src_addr = FI_ADDR_NOTAVAIL;
}

static bool is_served(enum fi_wait_obj obj)
{
	switch (obj) {
	case FI_WAIT_NONE:
	case FI_WAIT_UNSPEC:
	case FI_WAIT_FD:
	case FI_WAIT_POLLFD:
	case FI_WAIT_SET:
	case FI_WAIT_YIELD:
		return true;
	default:
		return false;
	}
}

int ofi_cq_check_attr(const struct fi_provider *prov, const struct fi_cq_attr *attr)
{
	if (attr->flags & ~FI_AFFINITY)
		return ofi_refuse_flags(prov, FI_LOG_CQ, "fi_cq_open", attr->flags);
	if ((attr->flags & FI_AFFINITY) && attr->signaling_vector < 0)
		return ofi_refuse(
			prov, FI_LOG_CQ, -FI_EINVAL,
			"fi_cq_open: signaling_vector %d; with FI_AFFINITY it is the number of a processor\n",
			attr->signaling_vector);
	if (attr->format > FI_CQ_FORMAT_TAGGED ||
	    (attr->wait_obj != FI_WAIT_NONE && attr->wait_cond > FI_CQ_COND_THRESHOLD))
		return ofi_refuse(prov, FI_LOG_CQ, -FI_EINVAL,
				  "fi_cq_open: format %d or wait_cond %d is not valid\n",
				  (int)attr->format, (int)attr->wait_cond);
	if (is_served(attr->wait_obj))
		return 0;
	return ofi_refuse(
		prov, FI_LOG_CQ, -FI_ENOSYS,
		"fi_cq_open: wait_obj %d is not supported; use FI_WAIT_FD, POLLFD, SET, YIELD, UNSPEC or NONE\n",
		attr->wait_obj);
}

int ofi_cq_watch(struct ofi_cq *cq, int fd)
{
	return ofi_wait_watch(cq->slow->epfd, fd);
}

void ofi_cq_unwatch(struct ofi_cq *cq, int fd)
{
	if (cq->slow->epfd >= 0 && fd >= 0)
		epoll_ctl(cq->slow->epfd, EPOLL_CTL_DEL, fd, NULL);
}

int ofi_cq_init(struct ofi_cq *cq, const struct fi_provider *prov, struct ofi_cq_slow *slow,
		const struct ofi_cq_ops *ops, struct ofi_ref *parent, const struct fi_cq_attr *attr)
{
	int ret;

	cq->format = attr->format ? attr->format : FI_CQ_FORMAT_CONTEXT;
	cq->slow = slow;
	slow->prov = prov;
	slow->ops = ops;
	slow->parent = parent;
	slow->cond = attr->wait_cond;
	slow->epfd = -1;
	ret = ofi_wait_init(&slow->wait, attr->wait_obj);
	if (ret || slow->wait.fd < 0)
		return ret;
	slow->epfd = epoll_create1(EPOLL_CLOEXEC);
	return slow->epfd < 0 ? -errno : ofi_cq_watch(cq, slow->wait.fd);
}

void ofi_cq_fini(struct ofi_cq *cq)
{
	if (cq->slow->epfd >= 0)
		close(cq->slow->epfd);
	ofi_wait_fini(&cq->slow->wait);
	free(cq->slow->peer);
}

int ofi_cq_join(struct ofi_cq *cq, const struct fi_provider *prov, const struct ofi_ref *fabric,
		const struct fi_cq_attr *attr)
{
	int ret;

	if (cq->slow->wait.obj != FI_WAIT_SET)
		return 0;
	ret = ofi_waitset_join(attr->wait_set, fabric, &cq->slow->member, &cq->fid.fid,
			       cq->slow->epfd, ofi_cq_trywait);
	if (ret)
		FI_WARN(prov, FI_LOG_CQ,
			"fi_cq_open: wait_set %p: %s; it must be a wait set of the domain's fabric\n",
			(void *)attr->wait_set, fi_strerror(-ret));
	return ret;
}

struct ofi_cq *ofi_cq_of(struct fid *fid, const struct ofi_ref *domain)
{
	struct ofi_cq *cq = (struct ofi_cq *)fid;

	if (!fid || fid->fclass != FI_CLASS_CQ || !fid->ops || fid->ops->control != ofi_cq_control)
		return NULL;
	return !domain || cq->slow->parent == domain ? cq : NULL;
}

int ofi_cq_trywait(struct fid *fid)
{
	struct ofi_cq *cq = (struct ofi_cq *)fid;

	return ofi_cq_can_wait(cq) ? cq->slow->ops->trywait(cq) : -FI_EINVAL;
}

ssize_t ofi_cq_readerr(struct fid_cq *fid, struct fi_cq_err_entry *entry, uint64_t flags)
{
	struct ofi_cq *cq = (struct ofi_cq *)fid;

	if (!entry)
		return -FI_EINVAL;
	if (flags)
		return -FI_EBADFLAGS;
	return cq->slow->ops->take_error(cq, entry) ? 1 : -FI_EAGAIN;
}

/* Returns 0 to poll again; -FI_EAGAIN if a signal or the timeout ends the wait. */
static int cq_sleep(void *object, int timeout)
{
	struct pollfd fd = { .fd = ((struct ofi_cq *)object)->slow->epfd, .events = POLLIN };
	int ret = poll(&fd, 1, timeout);

	if (ret < 0)
		return errno == EINTR ? -FI_EAGAIN : -errno;
	return ret ? 0 : -FI_EAGAIN;
}

/*
 * Returns 0 to poll again; -FI_EAGAIN if a signal, an interrupt or the timeout ends the wait. *left
 * is the time that was left before the last poll: what came after it was over still counts.
 */
static int cq_nap(struct ofi_cq *cq, struct ofi_sleeper *sleeper, uint64_t start, int timeout,
		  int *left)
{
	struct ofi_cq_slow *slow = cq->slow;
	int ret;

	ofi_sleeper_look(sleeper);
	if (ofi_sleeper_ended(sleeper) || !*left)
		return -FI_EAGAIN;
	*left = ofi_wait_left(start, timeout);
	if (slow->epfd < 0) {
		sched_yield();
		return 0;
	}
	ret = slow->ops->trywait(cq);
	if (ret)
		return ret == -FI_EAGAIN ? 0 : ret;
	if (slow->stats)
		ofi_stats_add_shared(slow->stats, OFI_STATS_SLEEPS, 1);
	return ofi_sleeper_sleep(sleeper, cq_sleep, cq, *left);
}

ssize_t ofi_cq_sreadfrom(struct fid_cq *fid, void *buf, size_t count, fi_addr_t *src,
			 const void *cond, int timeout)
{
	struct ofi_cq *cq = (struct ofi_cq *)fid;
	size_t done = 0, want = cq_threshold(cq->slow->cond, cond, count);
	struct ofi_sleeper sleeper;
	uint64_t start = ofi_now_ms();
	int left = timeout;
	ssize_t ret;
	char *at;

	if (!ofi_cq_can_wait(cq))
		return -FI_ENOSYS;
	if (cq->slow->wait.obj == FI_WAIT_SET)
		return -FI_EINVAL;
	ofi_sleeper_begin(&sleeper, &cq->slow->wait);
	do {
		at = (char *)buf + done * ofi_cq_entry_size(cq->format);
		ret = src ? fi_cq_readfrom(fid, at, count - done, src + done)
			  : fi_cq_read(fid, at, count - done);
		if (ret > 0)
			done += ret;
		if (done >= want || (ret < 0 && ret != -FI_EAGAIN))
			break;
		ret = cq_nap(cq, &sleeper, start, timeout, &left);
	} while (!ret);
	ofi_sleeper_leave(&sleeper);
	return done ? (ssize_t)done : ret;
}

ssize_t ofi_cq_sread(struct fid_cq *cq, void *buf, size_t count, const void *cond, int timeout)
{
	return ofi_cq_sreadfrom(cq, buf, count, NULL, cond, timeout);
}

int ofi_cq_signal(struct fid_cq *fid)
{
	struct ofi_cq *cq = (struct ofi_cq *)fid;

	if (!ofi_cq_can_wait(cq))
		return -FI_ENOSYS;
	ofi_wait_end(&cq->slow->wait);
	return 0;
}

int ofi_cq_control(struct fid *fid, int command, void *arg)
{
	const struct ofi_cq_slow *slow = ((struct ofi_cq *)fid)->slow;
	struct ofi_wait wait = { .obj = slow->wait.obj, .fd = slow->epfd };

	return ofi_wait_control(slow->prov, &wait, command, arg);
}
