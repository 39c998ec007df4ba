/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The fabric's event thread. */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "loop.h"
#include "src/ds/bias.h"

/*
 * Calls ready() of a source if it still exists: it may have been removed since epoll returned it.
 */
static void loop_run(struct ofi_loop *loop, const struct ofi_source *seen)
{
	struct ofi_source *source;

	LIST_FOREACH (source, &loop->sources, link)
		if (source == seen)
			break;
	if (!source)
		return;
	loop->current = source;
	pthread_mutex_unlock(&loop->mutex);
	source->ready(source);
	pthread_mutex_lock(&loop->mutex);
	loop->current = NULL;
	pthread_cond_broadcast(&loop->idle);
}

static void *loop_thread(void *arg)
{
	struct ofi_loop *loop = arg;
	struct epoll_event event;
	int n;

	ofi_bias_outside = true;
	pthread_mutex_lock(&loop->mutex);
	while (!loop->stop) {
		pthread_mutex_unlock(&loop->mutex);
		/* One event at a time, so that no source is served from a stale list. */
		n = epoll_wait(loop->epfd, &event, 1, -1);
		pthread_mutex_lock(&loop->mutex);
		if (n == 1 && event.data.ptr)
			loop_run(loop, event.data.ptr);
	}
	pthread_mutex_unlock(&loop->mutex);
	return NULL;
}

/* Starts the thread, which takes no signals meant for the application. The mutex is held. */
static int loop_start(struct ofi_loop *loop)
{
	sigset_t all, old;
	int err;

	if (loop->pid)
		return 0;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&loop->thread, NULL, loop_thread, loop);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err) {
		FI_WARN(loop->prov, FI_LOG_FABRIC, "pthread_create of the event thread: %s\n",
			fi_strerror(err));
		return -err;
	}
	loop->pid = getpid();
	return 0;
}

static int loop_watch(struct ofi_loop *loop, int fd, struct ofi_source *source)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = source };

	if (!epoll_ctl(loop->epfd, EPOLL_CTL_ADD, fd, &event))
		return 0;
	return -errno;
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

static void loop_stop(struct ofi_loop *loop)
{
	const uint64_t one = 1;
	pid_t pid;

	pthread_mutex_lock(&loop->mutex);
	loop->stop = true;
	pid = loop->pid;
	pthread_mutex_unlock(&loop->mutex);
	/* A forked child has the object, but not the thread. */
	if (pid != getpid())
		return;
	(void)!write(loop->wakefd, &one, sizeof(one));
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
	if (!ret)
		ret = loop_watch(loop, source->fd, source);
	if (!ret)
		LIST_INSERT_HEAD(&loop->sources, source, link);
	pthread_mutex_unlock(&loop->mutex);
	return ret;
}

void ofi_loop_remove(struct ofi_loop *loop, struct ofi_source *source)
{
	struct ofi_source *other;
	bool here;

	pthread_mutex_lock(&loop->mutex);
	here = loop->pid == getpid();
	LIST_FOREACH (other, &loop->sources, link)
		if (other == source)
			break;
	if (other) {
		LIST_REMOVE(source, link);
		/* A child shares the parent's epoll instance and must leave it alone. */
		if (here)
			epoll_ctl(loop->epfd, EPOLL_CTL_DEL, source->fd, NULL);
	}
	while (here && loop->current == source && !pthread_equal(pthread_self(), loop->thread))
		pthread_cond_wait(&loop->idle, &loop->mutex);
	pthread_mutex_unlock(&loop->mutex);
}
