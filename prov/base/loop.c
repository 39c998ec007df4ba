/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The fabric's event thread. */
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "loop.h"
#include "refuse.h"
#include "wait.h"
#include "src/ds/bias.h"
#include "src/ds/process.h"
#include "src/ds/thread.h"

/* Calls ready() of a shared source. Returns false if another thread has unshared it meanwhile. */
static bool serve_shared(struct ofi_source *source)
{
	bool shared;

	ofi_lock(&source->lock);
	shared = __atomic_load_n(&source->shared, __ATOMIC_RELAXED);
	if (shared)
		source->ready(source);
	ofi_unlock(&source->lock);
	return shared;
}

static bool is_added(const struct ofi_loop *loop, const struct ofi_source *source)
{
	const struct ofi_source *other;

	LIST_FOREACH (other, &loop->sources, link)
		if (other == source)
			return true;
	return false;
}

/*
 * Calls ready() of a source if it still exists: it may have been removed since epoll returned it.
 */
static void loop_run(struct ofi_loop *loop, struct ofi_source *source)
{
	if (!is_added(loop, source))
		return;
	loop->current = source;
	pthread_mutex_unlock(&loop->mutex);
	if (!__atomic_load_n(&source->shared, __ATOMIC_ACQUIRE) || !serve_shared(source))
		source->ready(source);
	pthread_mutex_lock(&loop->mutex);
	loop->current = NULL;
	pthread_cond_broadcast(&loop->idle);
}

static int loop_watch(struct ofi_loop *loop, int fd, struct ofi_source *source)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = source };

	if (!epoll_ctl(loop->epfd, EPOLL_CTL_ADD, fd, &event))
		return 0;
	return -errno;
}

/*
 * Removes a claimed source from the epoll instance, which would wake the event thread even if it
 * asked for no events of the source. A forked child must leave the parent's instance alone. The
 * mutex is held. Returns 0 or -FI_E*.
 */
static int set_claimed(struct ofi_loop *loop, struct ofi_source *source, bool claimed)
{
	int ret = 0;

	if (loop->process != ofi_process())
		return -FI_EPERM;
	if (source->claimed == claimed)
		return 0;
	if (claimed)
		epoll_ctl(loop->epfd, EPOLL_CTL_DEL, source->fd, NULL);
	else
		ret = loop_watch(loop, source->fd, source);
	if (ret)
		return ret;
	__atomic_store_n(&source->claimed, claimed, __ATOMIC_RELAXED);
	loop->claims += claimed ? 1 : -1;
	return 0;
}

/* Ends the claims whose threads have stopped waiting. The mutex is held. */
static void end_claims(struct ofi_loop *loop)
{
	struct ofi_source *source;

	LIST_FOREACH (source, &loop->sources, link)
		if (ofi_now_ms() >=
		    __atomic_load_n(&source->claimed_at, __ATOMIC_RELAXED) + OFI_LOOP_CLAIM_MS)
			set_claimed(loop, source, false);
}

static void *loop_thread(void *arg)
{
	struct ofi_loop *loop = arg;
	struct epoll_event event;
	uint64_t count;
	int n, ms;

	ofi_bias_outside = true;
	pthread_mutex_lock(&loop->mutex);
	while (!loop->stop) {
		ms = loop->claims ? OFI_LOOP_CLAIM_MS : -1;
		pthread_mutex_unlock(&loop->mutex);
		/* One event at a time, so that no source is served from a stale list. */
		n = epoll_wait(loop->epfd, &event, 1, ms);
		pthread_mutex_lock(&loop->mutex);
		if (n == 1 && event.data.ptr)
			loop_run(loop, event.data.ptr);
		else if (n == 1)
			(void)!read(loop->wakefd, &count, sizeof(count));
		if (loop->claims)
			end_claims(loop);
	}
	pthread_mutex_unlock(&loop->mutex);
	return NULL;
}

/* Starts the thread. The mutex is held. */
static int loop_start(struct ofi_loop *loop)
{
	int err;

	if (loop->process)
		return 0;
	err = ofi_thread_start(&loop->thread, loop_thread, loop);
	if (err)
		return ofi_refuse(
			loop->prov, FI_LOG_FABRIC, -err,
			"no thread for events: %s; the limit of threads may be reached (ulimit -u, or pids.max of the control group)\n",
			fi_strerror(err));
	loop->process = ofi_process();
	return 0;
}

int ofi_loop_init(struct ofi_loop *loop, const struct fi_provider *prov)
{
	int ret;

	*loop = (struct ofi_loop){ .prov = prov, .epfd = -1, .wakefd = -1 };
	LIST_INIT(&loop->sources);
	pthread_mutex_init(&loop->mutex, NULL);
	pthread_cond_init(&loop->idle, NULL);

	loop->epfd = epoll_create1(EPOLL_CLOEXEC);
	loop->wakefd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	ret = loop->epfd < 0 || loop->wakefd < 0 ? -errno : loop_watch(loop, loop->wakefd, NULL);
	if (ret) {
		FI_WARN(loop->prov, FI_LOG_FABRIC,
			"event thread: cannot create a descriptor: %s; raise the limit of open files (ulimit -n)\n",
			fi_strerror(-ret));
		ofi_loop_fini(loop);
	}
	return ret;
}

static void loop_wake(struct ofi_loop *loop)
{
	const uint64_t one = 1;

	(void)!write(loop->wakefd, &one, sizeof(one));
}

static void loop_stop(struct ofi_loop *loop)
{
	uint64_t process;

	pthread_mutex_lock(&loop->mutex);
	loop->stop = true;
	process = loop->process;
	pthread_mutex_unlock(&loop->mutex);
	/* A forked child has the object, but not the thread. */
	if (process != ofi_process())
		return;
	loop_wake(loop);
	pthread_join(loop->thread, NULL);
}

void ofi_loop_fini(struct ofi_loop *loop)
{
	loop_stop(loop);
	if (loop->wakefd >= 0)
		close(loop->wakefd);
	if (loop->epfd >= 0)
		close(loop->epfd);
	loop->wakefd = loop->epfd = -1;
	pthread_cond_destroy(&loop->idle);
	pthread_mutex_destroy(&loop->mutex);
}

int ofi_loop_add(struct ofi_loop *loop, struct ofi_source *source)
{
	int ret;

	pthread_mutex_lock(&loop->mutex);
	ret = loop_start(loop);
	if (!ret && loop_watch(loop, source->fd, source))
		ret = ofi_refuse(loop->prov, FI_LOG_FABRIC, -errno,
				 "event thread: cannot watch a descriptor: %s\n",
				 fi_strerror(errno));
	if (!ret)
		LIST_INSERT_HEAD(&loop->sources, source, link);
	pthread_mutex_unlock(&loop->mutex);
	return ret;
}

void ofi_loop_remove(struct ofi_loop *loop, struct ofi_source *source)
{
	bool here;

	pthread_mutex_lock(&loop->mutex);
	here = loop->process == ofi_process();
	if (is_added(loop, source)) {
		LIST_REMOVE(source, link);
		loop->claims -= source->claimed;
		source->claimed = false;
		/* A child shares the parent's epoll instance and must leave it alone. */
		if (here)
			epoll_ctl(loop->epfd, EPOLL_CTL_DEL, source->fd, NULL);
	}
	while (here && loop->current == source && !pthread_equal(pthread_self(), loop->thread))
		pthread_cond_wait(&loop->idle, &loop->mutex);
	pthread_mutex_unlock(&loop->mutex);
}

void ofi_loop_claim(struct ofi_loop *loop, struct ofi_source *source, uint64_t now)
{
	bool begins;

	if (!__atomic_load_n(&source->shared, __ATOMIC_RELAXED))
		return;
	__atomic_store_n(&source->claimed_at, now, __ATOMIC_RELAXED);
	if (__atomic_load_n(&source->claimed, __ATOMIC_RELAXED))
		return;
	pthread_mutex_lock(&loop->mutex);
	begins = is_added(loop, source) && !set_claimed(loop, source, true);
	pthread_mutex_unlock(&loop->mutex);
	/* The event thread must not sleep longer than the claim. */
	if (begins)
		loop_wake(loop);
}

/* A forked child shares the descriptors, and must leave the events to its parent. */
bool ofi_loop_claimed(const struct ofi_loop *loop, const struct ofi_source *source)
{
	return __atomic_load_n(&source->claimed, __ATOMIC_RELAXED) &&
	       __atomic_load_n(&source->shared, __ATOMIC_RELAXED) && loop->process == ofi_process();
}

int ofi_loop_wait(const struct ofi_source *source, int fd, int ms)
{
	struct pollfd fds[] = { { .fd = fd, .events = POLLIN },
				{ .fd = source->fd, .events = POLLIN } };
	bool brief = ms >= 0 && ms <= OFI_LOOP_CLAIM_MS;
	int n;

	if (ms && !__atomic_load_n(&source->idle, __ATOMIC_RELAXED))
		return 0;
	n = poll(fds, 2, brief ? ms : OFI_LOOP_CLAIM_MS);
	if (n < 0)
		return -errno;
	return n || !brief ? 0 : -FI_ETIMEDOUT;
}

/*
 * ready() must not run in a thread that enters as the owner of a bias (bias.h). A canceled thread
 * would keep the locks of ready().
 */
void ofi_loop_serve(struct ofi_source *source)
{
	bool outside = ofi_bias_outside;
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	ofi_bias_outside = true;
	serve_shared(source);
	ofi_bias_outside = outside;
	pthread_setcancelstate(cancel, NULL);
}

void ofi_loop_unshare(struct ofi_loop *loop, struct ofi_source *source)
{
	if (!__atomic_load_n(&source->shared, __ATOMIC_RELAXED))
		return;
	ofi_lock(&source->lock);
	__atomic_store_n(&source->shared, false, __ATOMIC_RELEASE);
	ofi_unlock(&source->lock);
	pthread_mutex_lock(&loop->mutex);
	set_claimed(loop, source, false);
	pthread_mutex_unlock(&loop->mutex);
}
