/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Counters: values, sources, waiting. */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "cntr.h"
#include "ops.h"
#include "refuse.h"

/*
 * A sleeper notices within this time that another thread queued work for a counter that nobody
 * reads.
 */
#define NAP_MS	   20
#define LEAVING_US 100 /* interval at which fi_close looks for threads that finish work */

struct ofi_cntr_source {
	const struct ofi_cntr_source_ops *ops;
	void *object;
	int fd;
	unsigned int count; /* number of registrations */
	LIST_ENTRY(ofi_cntr_source) link;
};

void ofi_cntr_wake(struct ofi_cntr *cntr)
{
	uint8_t armed = __atomic_exchange_n(&cntr->armed, 0, __ATOMIC_SEQ_CST);

	if (armed & OFI_CNTR_TRIED)
		ofi_wait_signal(&cntr->wait);
	if (armed & OFI_CNTR_WAITED)
		ofi_wait_signal(&cntr->own);
}

static struct ofi_cntr_source *cntr_find(struct ofi_cntr *cntr, const void *object)
{
	struct ofi_cntr_source *source;

	LIST_FOREACH (source, &cntr->sources, link)
		if (source->object == object)
			break;
	return source;
}

static void unwatch_fd(struct ofi_cntr *cntr, int fd)
{
	if (cntr->epfd < 0 || fd < 0)
		return;
	epoll_ctl(cntr->epfd, EPOLL_CTL_DEL, fd, NULL);
	epoll_ctl(cntr->sources_fd, EPOLL_CTL_DEL, fd, NULL);
}

static int watch_fd(struct ofi_cntr *cntr, int fd)
{
	int ret = ofi_wait_watch(cntr->epfd, fd);

	if (!ret)
		ret = ofi_wait_watch(cntr->sources_fd, fd);
	if (ret)
		unwatch_fd(cntr, fd);
	return ret;
}

static int add_source(struct ofi_cntr *cntr, const struct ofi_cntr_source_ops *ops, void *object,
		      int fd)
{
	struct ofi_cntr_source *source = malloc(sizeof(*source));
	int ret;

	if (!source)
		return -FI_ENOMEM;
	*source = (struct ofi_cntr_source){ .ops = ops, .object = object, .fd = fd, .count = 1 };
	ret = watch_fd(cntr, fd);
	if (ret) {
		free(source);
		return ret;
	}
	cntr->mute += fd == OFI_CNTR_MUTE;
	LIST_INSERT_HEAD(&cntr->sources, source, link);
	return 0;
}

int ofi_cntr_watch(struct ofi_cntr *cntr, const struct ofi_cntr_source_ops *ops, void *object,
		   int fd)
{
	struct ofi_cntr_source *source;
	int ret = 0;

	ofi_lock(&cntr->lock);
	source = cntr_find(cntr, object);
	if (source)
		source->count++;
	else
		ret = add_source(cntr, ops, object, fd);
	ofi_unlock(&cntr->lock);
	if (ret)
		FI_WARN_SPARSE(
			cntr->prov, FI_LOG_CNTR, "counter %p: watching what it counts: %s%s\n",
			(void *)cntr, fi_strerror(-ret),
			ret == -FI_EINVAL
				? "; Linux limits how many counters with descriptors wait for the same completions, see fi_cntr(3); use FI_PROGRESS_AUTO, or FI_WAIT_NONE"
				: "");
	return ret;
}

static void remove_source(struct ofi_cntr *cntr, struct ofi_cntr_source *source)
{
	unwatch_fd(cntr, source->fd);
	cntr->mute -= source->fd == OFI_CNTR_MUTE;
	LIST_REMOVE(source, link);
	free(source);
}

void ofi_cntr_unwatch(struct ofi_cntr *cntr, void *object)
{
	struct ofi_cntr_source *source;

	ofi_lock(&cntr->lock);
	source = cntr_find(cntr, object);
	if (source && !--source->count)
		remove_source(cntr, source);
	ofi_unlock(&cntr->lock);
}

struct ofi_cntr_watch {
	struct ofi_cntr *cntr;
	void *object;
	LIST_ENTRY(ofi_cntr_watch) link, cntr_link; /* in the source's list and in the counter's */
};

static bool is_watched(const struct ofi_cntr_watches *watches, const struct ofi_cntr *cntr,
		       const void *object)
{
	const struct ofi_cntr_watch *watch;

	LIST_FOREACH (watch, watches, link)
		if (watch->cntr == cntr && watch->object == object)
			break;
	return watch;
}

static int add_watch(struct ofi_cntr_watches *watches, struct ofi_cntr *cntr,
		     const struct ofi_cntr_source_ops *ops, void *object, int fd)
{
	struct ofi_cntr_watch *watch = malloc(sizeof(*watch));
	int ret;

	if (!watch)
		return -FI_ENOMEM;
	*watch = (struct ofi_cntr_watch){ .cntr = cntr, .object = object };
	ret = ofi_cntr_watch(cntr, ops, object, fd);
	if (ret) {
		free(watch);
		return ret;
	}
	ofi_lock(&cntr->triggers->watch_lock);
	LIST_INSERT_HEAD(watches, watch, link);
	ofi_unlock(&cntr->triggers->watch_lock);
	LIST_INSERT_HEAD(&cntr->watches, watch, cntr_link);
	return 0;
}

static void remove_watch(struct ofi_cntr_watch *watch)
{
	struct ofi_triggers *triggers = watch->cntr->triggers;

	ofi_cntr_unwatch(watch->cntr, watch->object);
	ofi_lock(&triggers->watch_lock);
	LIST_REMOVE(watch, link);
	ofi_unlock(&triggers->watch_lock);
	LIST_REMOVE(watch, cntr_link);
	free(watch);
}

int ofi_cntr_watch_once(struct ofi_triggers *triggers, struct ofi_cntr_watches *watches,
			struct ofi_cntr *cntr, const struct ofi_cntr_source_ops *ops, void *object,
			int fd)
{
	int ret = 0;

	ofi_lock(&triggers->lock);
	if (!is_watched(watches, cntr, object))
		ret = add_watch(watches, cntr, ops, object, fd);
	ofi_unlock(&triggers->lock);
	return ret;
}

void ofi_cntr_wake_all(struct ofi_triggers *triggers, const struct ofi_cntr_watches *watches)
{
	const struct ofi_cntr_watch *watch;

	ofi_lock(&triggers->watch_lock);
	LIST_FOREACH (watch, watches, link)
		ofi_cntr_wake(watch->cntr);
	ofi_unlock(&triggers->watch_lock);
}

void ofi_cntr_unwatch_all(struct ofi_triggers *triggers, struct ofi_cntr_watches *watches)
{
	struct ofi_cntr_watch *watch;

	ofi_lock(&triggers->lock);
	while ((watch = LIST_FIRST(watches)))
		remove_watch(watch);
	ofi_unlock(&triggers->lock);
}

/* Unregisters all sources, which must not use a counter that is being closed. */
static void drop_watches(struct ofi_cntr *cntr)
{
	struct ofi_cntr_watch *watch;

	if (!cntr->triggers)
		return;
	ofi_lock(&cntr->triggers->lock);
	while ((watch = LIST_FIRST(&cntr->watches)))
		remove_watch(watch);
	ofi_unlock(&cntr->triggers->lock);
}

void ofi_cntr_look(struct ofi_cntr *cntr)
{
	struct ofi_cntr_source *source;

	ofi_lock(&cntr->lock);
	LIST_FOREACH (source, &cntr->sources, link)
		source->ops->progress(source->object);
	ofi_unlock(&cntr->lock);
}

void ofi_cntr_progress(struct ofi_cntr *cntr)
{
	ofi_cntr_look(cntr);
	if (ofi_unlikely(ofi_triggers_awaited(cntr->triggers)))
		ofi_triggers_progress(cntr->triggers);
	ofi_triggers_run(cntr->triggers);
}

/*
 * Returns 0 if each source will make its descriptor readable, -FI_EAGAIN to check again. The lock
 * is held.
 */
static int cntr_arm(struct ofi_cntr *cntr, struct ofi_wait *wait, uint8_t who)
{
	struct ofi_cntr_source *source;
	int ret = 0;

	ofi_wait_clear(wait);
	__atomic_fetch_or(&cntr->armed, who, __ATOMIC_SEQ_CST);
	LIST_FOREACH (source, &cntr->sources, link)
		if (source->ops->arm(source->object))
			ret = -FI_EAGAIN;
	return ret;
}

/* Returns true if completions are not signaled, so that sources must be polled. */
static bool is_deaf(const struct ofi_cntr *cntr)
{
	return cntr->mute || (cntr->sources_fd < 0 && !LIST_EMPTY(&cntr->sources)) ||
	       ofi_triggers_awaited(cntr->triggers);
}

static uint64_t value_of(const struct ofi_cntr *cntr)
{
	return __atomic_load_n(&cntr->value, __ATOMIC_SEQ_CST);
}

static uint64_t errors_of(const struct ofi_cntr *cntr)
{
	return __atomic_load_n(&cntr->errors, __ATOMIC_SEQ_CST);
}

bool ofi_cntr_changed_since(const struct ofi_cntr *cntr, struct ofi_cntr_state *state)
{
	const struct ofi_cntr_state before = *state;

	/* A write that is not counted yet is counted next time, even if its value is seen now. */
	state->writes = __atomic_load_n(&cntr->writes, __ATOMIC_SEQ_CST);
	state->value = value_of(cntr);
	state->errors = errors_of(cntr);
	return state->value != before.value || state->errors != before.errors ||
	       state->writes != before.writes;
}

void ofi_cntr_finish(struct ofi_cntr *cntr, bool good)
{
	if (!cntr)
		return;
	ofi_ref_leave(&cntr->ref);
	ofi_cntr_count_result(cntr, good);
	ofi_ref_left(&cntr->ref);
}

void ofi_cntr_write(struct ofi_cntr *cntr, uint64_t *what, uint64_t value)
{
	if (__atomic_exchange_n(what, value, __ATOMIC_SEQ_CST) != value)
		__atomic_add_fetch(&cntr->writes, 1, __ATOMIC_SEQ_CST);
	ofi_cntr_changed(cntr);
}

int ofi_cntr_trywait(struct fid *fid)
{
	struct ofi_cntr *cntr = (struct ofi_cntr *)fid;
	int ret;

	if (cntr->wait.obj == FI_WAIT_NONE)
		return -FI_EINVAL;
	ofi_lock(&cntr->lock);
	ret = is_deaf(cntr) ? -FI_EAGAIN : cntr_arm(cntr, &cntr->wait, OFI_CNTR_TRIED);
	/* A change since the last call may have been signaled before the descriptor was cleared. */
	if (ofi_cntr_changed_since(cntr, &cntr->tried))
		ret = -FI_EAGAIN;
	/* The descriptor stays readable until a call finds nothing new. */
	if (ret)
		ofi_cntr_wake(cntr);
	ofi_unlock(&cntr->lock);
	ofi_triggers_run(cntr->triggers);
	return ofi_triggers_due(cntr->triggers) ? -FI_EAGAIN : ret;
}

static uint64_t cntr_read(struct fid_cntr *fid)
{
	ofi_cntr_progress(ofi_cntr(fid));
	return value_of(ofi_cntr(fid));
}

static uint64_t cntr_readerr(struct fid_cntr *fid)
{
	ofi_cntr_progress(ofi_cntr(fid));
	return errors_of(ofi_cntr(fid));
}

static int cntr_add(struct fid_cntr *fid, uint64_t value)
{
	ofi_cntr_count(ofi_cntr(fid), value);
	ofi_triggers_run(ofi_cntr(fid)->triggers);
	return 0;
}

static int cntr_adderr(struct fid_cntr *fid, uint64_t value)
{
	ofi_cntr_count_error(ofi_cntr(fid), value);
	ofi_triggers_run(ofi_cntr(fid)->triggers);
	return 0;
}

static int cntr_set(struct fid_cntr *fid, uint64_t value)
{
	ofi_cntr_write(ofi_cntr(fid), &ofi_cntr(fid)->value, value);
	ofi_triggers_run(ofi_cntr(fid)->triggers);
	return 0;
}

static int cntr_seterr(struct fid_cntr *fid, uint64_t value)
{
	ofi_cntr_write(ofi_cntr(fid), &ofi_cntr(fid)->errors, value);
	ofi_triggers_run(ofi_cntr(fid)->triggers);
	return 0;
}

/* Returns -FI_EAGAIN while there is nothing to report. */
static int cntr_reached(const struct ofi_cntr *cntr, uint64_t threshold, uint64_t errors)
{
	if (value_of(cntr) >= threshold)
		return 0;
	return errors_of(cntr) != errors ? -FI_EAVAIL : -FI_EAGAIN;
}

static int cntr_sleep(void *object, int ms)
{
	struct ofi_cntr *cntr = object;
	struct pollfd pfd[] = { { .fd = cntr->sources_fd, .events = POLLIN },
				{ .fd = cntr->own.fd, .events = POLLIN } };

	if (cntr->sources_fd >= 0)
		poll(pfd, 2, ms);
	else
		ofi_wait_sleep(&cntr->own, ms);
	return 0;
}

/* Sleeps, or yields if sleeping could miss an event. May wake up spuriously. */
static void cntr_nap(struct ofi_cntr *cntr, struct ofi_sleeper *sleeper, uint64_t threshold,
		     uint64_t errors, int left)
{
	bool deaf;
	int ret;

	ofi_sleeper_look(sleeper);
	ofi_lock(&cntr->lock);
	ret = cntr_arm(cntr, &cntr->own, OFI_CNTR_WAITED);
	deaf = is_deaf(cntr);
	ofi_unlock(&cntr->lock);
	if (deaf)
		sched_yield();
	else if (!ret && !ofi_triggers_due(cntr->triggers) &&
		 cntr_reached(cntr, threshold, errors) == -FI_EAGAIN)
		ofi_sleeper_sleep(sleeper, cntr_sleep, cntr,
				  left < 0 || left > NAP_MS ? NAP_MS : left);
}

/* What comes until the last check counts, even if the time is over by then. */
static int wait_for(struct ofi_cntr *cntr, struct ofi_sleeper *sleeper, uint64_t threshold,
		    int timeout)
{
	uint64_t errors = errors_of(cntr), start = ofi_now_ms();
	int ret, left = timeout;

	for (;;) {
		ofi_cntr_progress(cntr);
		ret = cntr_reached(cntr, threshold, errors);
		if (ret != -FI_EAGAIN)
			return ret;
		if (!left)
			return -FI_ETIMEDOUT;
		left = ofi_wait_left(start, timeout);
		cntr_nap(cntr, sleeper, threshold, errors, left);
	}
}

static int cntr_wait(struct fid_cntr *fid, uint64_t threshold, int timeout)
{
	struct ofi_cntr *cntr = ofi_cntr(fid);
	struct ofi_sleeper sleeper;
	int ret;

	ofi_sleeper_begin(&sleeper, &cntr->own);
	ret = wait_for(cntr, &sleeper, threshold, timeout);
	ofi_sleeper_leave(&sleeper);
	return ret;
}

static void cntr_free(struct ofi_cntr *cntr)
{
	if (!cntr)
		return;
	ofi_waitset_leave(&cntr->member);
	if (cntr->epfd >= 0)
		close(cntr->epfd);
	if (cntr->sources_fd >= 0)
		close(cntr->sources_fd);
	ofi_wait_fini(&cntr->own);
	ofi_wait_fini(&cntr->wait);
	free(cntr);
}

static int cntr_close(struct fid *fid)
{
	struct ofi_cntr *cntr = ofi_cntr((struct fid_cntr *)fid);
	struct ofi_ref *parent = cntr->parent;
	int ret;

	if (ofi_ref_inherited(parent))
		return 0;
	while (ofi_ref_is_leaving(&cntr->ref))
		usleep(LEAVING_US);
	ret = ofi_ref_busy(&cntr->ref);
	if (ret)
		return ofi_refuse(
			cntr->prov, FI_LOG_CNTR, ret,
			"fi_close: counter %p is still bound, or deferred work uses it; close its endpoints or cancel the work first\n",
			(void *)cntr);
	drop_watches(cntr);
	cntr_free(cntr);
	ofi_ref_put(parent);
	return 0;
}

static int cntr_control(struct fid *fid, int command, void *arg)
{
	struct ofi_cntr *cntr = ofi_cntr((struct fid_cntr *)fid);
	struct ofi_wait fds = { .obj = cntr->wait.obj, .fd = cntr->epfd };

	return ofi_wait_control(cntr->prov, cntr->epfd < 0 ? &cntr->wait : &fds, command, arg);
}

static const struct fi_ops cntr_fid_ops = {
	.size = OFI_FID_DEFAULTS,
	.close = cntr_close,
	.control = cntr_control,
};

static const struct fi_ops_cntr cntr_ops = {
	.size = OFI_CNTR_DEFAULTS,
	.read = cntr_read,
	.readerr = cntr_readerr,
	.add = cntr_add,
	.set = cntr_set,
	.wait = cntr_wait,
	.adderr = cntr_adderr,
	.seterr = cntr_seterr,
};

static int cntr_check_attr(const struct fi_provider *prov, const struct fi_cntr_attr *attr)
{
	if (attr->flags)
		return ofi_refuse_flags(prov, FI_LOG_CNTR, "fi_cntr_open", attr->flags);
	if (attr->events != FI_CNTR_EVENTS_COMP)
		return ofi_refuse(
			prov, FI_LOG_CNTR, -FI_ENOSYS,
			"fi_cntr_open: events %d; only FI_CNTR_EVENTS_COMP is supported\n",
			(int)attr->events);
	if (attr->wait_obj > FI_WAIT_YIELD)
		return ofi_refuse(
			prov, FI_LOG_CNTR, -FI_ENOSYS,
			"fi_cntr_open: wait_obj %d is not supported; use FI_WAIT_FD, SET, MUTEX_COND, YIELD, UNSPEC or NONE\n",
			(int)attr->wait_obj);
	return 0;
}

static int open_wait(struct ofi_cntr *cntr, const struct fi_cntr_attr *attr,
		     const struct ofi_ref *fabric)
{
	int ret = ofi_wait_init(&cntr->wait, attr->wait_obj);
	int own = ofi_wait_init(&cntr->own, attr->wait_obj);

	cntr->epfd = cntr->sources_fd = -1;
	if (ret || own || cntr->wait.fd < 0)
		return ret ? ret : own;
	cntr->epfd = epoll_create1(EPOLL_CLOEXEC);
	cntr->sources_fd = epoll_create1(EPOLL_CLOEXEC);
	ret = cntr->epfd < 0 || cntr->sources_fd < 0 ? -errno
						     : ofi_wait_watch(cntr->epfd, cntr->wait.fd);
	if (ret || attr->wait_obj != FI_WAIT_SET)
		return ret;
	return ofi_waitset_join(attr->wait_set, fabric, &cntr->member, &cntr->fid.fid, cntr->epfd,
				ofi_cntr_trywait);
}

int ofi_cntr_open(const struct fi_provider *prov, struct ofi_ref *parent,
		  const struct ofi_ref *fabric, struct ofi_triggers *triggers,
		  const struct fi_cntr_attr *attr, struct fid_cntr **fid, void *context)
{
	static const struct fi_cntr_attr none;
	struct ofi_cntr *cntr;
	int ret;

	if (!attr)
		attr = &none;
	ret = fid ? cntr_check_attr(prov, attr)
		  : ofi_refuse_null(prov, FI_LOG_CNTR, "fi_cntr_open", "cntr");
	if (ret)
		return ret;
	cntr = calloc(1, sizeof(*cntr));
	if (!cntr)
		return -FI_ENOMEM;
	cntr->prov = prov;
	cntr->parent = parent;
	ofi_lock_init(&cntr->lock);
	LIST_INIT(&cntr->sources);
	TAILQ_INIT(&cntr->waiting);
	cntr->triggers = triggers;
	ret = open_wait(cntr, attr, fabric);
	if (ret) {
		FI_WARN_SPARSE(prov, FI_LOG_CNTR, "fi_cntr_open: wait object: %s\n",
			       fi_strerror(-ret));
		cntr_free(cntr);
		return ret;
	}
	cntr->fid = (struct fid_cntr){
		.fid = { .fclass = FI_CLASS_CNTR,
			 .context = context,
			 .ops = ofi_ops(&cntr_fid_ops) },
		.ops = ofi_ops(&cntr_ops),
	};
	ofi_ref_get(parent);
	*fid = &cntr->fid;
	return 0;
}
