/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Wait sets: objects that were opened with a set are its members until they are closed. */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "ops.h"
#include "waitset.h"
#include "refuse.h"

/* The sets that this thread has waited for lately, and the number of their signals it has seen. */
enum { LATELY = 16 };
static __thread struct {
	uint64_t id;
	uint32_t seen;
} lately[LATELY];
static __thread uint32_t lately_next;

int ofi_waitset_join(struct fid_wait *wait, const struct ofi_ref *fabric,
		     struct ofi_waitset_member *member, struct fid *fid, int fd,
		     ofi_trywait_fn *trywait)
{
	struct ofi_waitset *set = (struct ofi_waitset *)wait;
	int ret;

	if (!wait || wait->fid.fclass != FI_CLASS_WAIT || set->parent != fabric)
		return -FI_EINVAL;
	ret = ofi_wait_watch(set->wait.fd, fd);
	if (ret)
		return ret;
	*member =
		(struct ofi_waitset_member){ .set = set, .fid = fid, .fd = fd, .trywait = trywait };
	ofi_lock(&set->lock);
	LIST_INSERT_HEAD(&set->members, member, link);
	ofi_unlock(&set->lock);
	return 0;
}

void ofi_waitset_leave(struct ofi_waitset_member *member)
{
	struct ofi_waitset *set = member->set;

	if (!set)
		return;
	epoll_ctl(set->wait.fd, EPOLL_CTL_DEL, member->fd, NULL);
	member->set = NULL;
	ofi_lock(&set->lock);
	LIST_REMOVE(member, link);
	ofi_unlock(&set->lock);
}

int ofi_waitset_trywait(struct ofi_waitset *set)
{
	struct ofi_waitset_member *member;
	int ret = 0;

	ofi_lock(&set->lock);
	ofi_wait_clear(&set->found);
	LIST_FOREACH (member, &set->members, link) {
		ret = member->trywait(member->fid);
		if (ret)
			break;
	}
	if (ret == -FI_EAGAIN)
		ofi_wait_signal(&set->found);
	ofi_unlock(&set->lock);
	return ret;
}

/* Returns 0 when the wait is over, -FI_EAGAIN to check again, or another error. */
static int waitset_sleep(void *object, int left)
{
	struct ofi_waitset *set = object;
	int ret = ofi_wait_sleep(&set->wait, left);

	return set->wait.obj == FI_WAIT_YIELD ? -FI_EAGAIN : ret;
}

/* Returns true if some thread has found a member ready since this thread last asked. */
static bool was_found(const struct ofi_waitset *set)
{
	uint32_t signals = __atomic_load_n(&set->found.signals, __ATOMIC_ACQUIRE);
	bool found;
	int i;

	for (i = 0; i < LATELY && lately[i].id != set->id; i++)
		;
	if (i == LATELY) {
		i = lately_next++ % LATELY;
		lately[i].id = set->id;
		lately[i].seen = 0;
	}
	found = lately[i].seen != signals;
	lately[i].seen = signals;
	return found;
}

/* What comes until the last check counts, even if the time is over by then. */
static int waitset_wait(struct fid_wait *fid, int timeout)
{
	struct ofi_waitset *set = (struct ofi_waitset *)fid;
	struct ofi_sleeper sleeper;
	uint64_t start = ofi_now_ms();
	int left = timeout, ret;

	ofi_sleeper_begin(&sleeper, &set->found);
	do {
		ofi_sleeper_look(&sleeper);
		ret = was_found(set) ? -FI_EAGAIN : ofi_waitset_trywait(set);
		if (ret) {
			ret = ret == -FI_EAGAIN ? 0 : ret;
			break;
		}
		if (!left) {
			ret = -FI_ETIMEDOUT;
			break;
		}
		left = ofi_wait_left(start, timeout);
		ret = ofi_sleeper_sleep(&sleeper, waitset_sleep, set, left);
	} while (ret == -FI_EAGAIN);
	if (!ret)
		was_found(set);
	ofi_sleeper_leave(&sleeper);
	return ret;
}

static void waitset_free(struct ofi_waitset *set)
{
	if (set->wait.fd >= 0)
		close(set->wait.fd);
	ofi_wait_fini(&set->found);
	free(set);
}

static int waitset_close(struct fid *fid)
{
	struct ofi_waitset *set = (struct ofi_waitset *)fid;
	bool used;

	if (ofi_ref_inherited(&set->own))
		return 0;
	ofi_lock(&set->lock);
	used = !LIST_EMPTY(&set->members);
	ofi_unlock(&set->lock);
	if (used)
		return ofi_refuse(
			set->prov, FI_LOG_FABRIC, -FI_EBUSY,
			"fi_close: wait set %p is in use; close the queues and counters that were opened with it first\n",
			(void *)set);
	ofi_ref_put(set->parent);
	waitset_free(set);
	return 0;
}

static int waitset_control(struct fid *fid, int command, void *arg)
{
	struct ofi_waitset *set = (struct ofi_waitset *)fid;

	return ofi_wait_control(set->prov, &set->wait, command, arg);
}

static const struct fi_ops waitset_fid_ops = {
	.size = OFI_FID_DEFAULTS,
	.close = waitset_close,
	.control = waitset_control,
};

static const struct fi_ops_wait waitset_ops = {
	.size = OFI_WAIT_DEFAULTS,
	.wait = waitset_wait,
};

static int waitset_check_attr(const struct fi_provider *prov, const struct fi_wait_attr *attr)
{
	if (attr->flags)
		return ofi_refuse_flags(prov, FI_LOG_FABRIC, "fi_wait_open", attr->flags);
	switch (attr->wait_obj) {
	case FI_WAIT_UNSPEC:
	case FI_WAIT_FD:
	case FI_WAIT_POLLFD:
	case FI_WAIT_YIELD:
		return 0;
	default:
		return ofi_refuse(
			prov, FI_LOG_FABRIC, -FI_ENOSYS,
			"fi_wait_open: wait_obj %d is not supported; use FI_WAIT_FD, POLLFD, YIELD or UNSPEC\n",
			(int)attr->wait_obj);
	}
}

/* Returns 0 or -FI_E*. */
static int open_fds(struct ofi_waitset *set)
{
	int ret = ofi_wait_init(&set->found, FI_WAIT_FD);

	set->wait.fd = epoll_create1(EPOLL_CLOEXEC);
	if (set->wait.fd < 0)
		return -errno;
	return ret ? ret : ofi_wait_watch(set->wait.fd, set->found.fd);
}

int ofi_waitset_open(const struct fi_provider *prov, struct ofi_ref *parent,
		     const struct fi_wait_attr *attr, struct fid_wait **fid)
{
	static uint64_t ids;
	struct ofi_waitset *set;
	int ret;

	if (!attr || !fid)
		return ofi_refuse_null(prov, FI_LOG_FABRIC, "fi_wait_open", "attr or waitset");
	ret = waitset_check_attr(prov, attr);
	if (ret)
		return ret;
	set = calloc(1, sizeof(*set));
	if (!set)
		return -FI_ENOMEM;
	set->wait.obj = attr->wait_obj;
	ret = open_fds(set);
	if (ret) {
		FI_WARN(prov, FI_LOG_FABRIC, "fi_wait_open: %s\n", fi_strerror(-ret));
		waitset_free(set);
		return ret;
	}
	set->fid = (struct fid_wait){
		.fid = { .fclass = FI_CLASS_WAIT, .ops = ofi_ops(&waitset_fid_ops) },
		.ops = ofi_ops(&waitset_ops),
	};
	set->id = __atomic_add_fetch(&ids, 1, __ATOMIC_RELAXED);
	set->prov = prov;
	set->parent = parent;
	ofi_ref_own(&set->own);
	ofi_lock_init(&set->lock);
	LIST_INIT(&set->members);
	ofi_ref_get(parent);
	*fid = &set->fid;
	return 0;
}
