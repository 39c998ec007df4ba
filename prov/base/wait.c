/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A wait object that software signals: a file descriptor, a mutex with a condition variable, or
 * yielding.
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <rdma/fi_errno.h>
#include "wait.h"
#include "refuse.h"
#include "src/ds/thread.h"

/*
 * A thread that signals a condition variable on behalf of threads that must not wait for its mutex.
 */
struct ofi_bell {
	pthread_mutex_t *mutex;
	pthread_cond_t *cond;
	sem_t work;
	bool rung, stop; /* atomic */
	pthread_t thread;
};

static void *bell_thread(void *arg)
{
	struct ofi_bell *bell = arg;

	for (;;) {
		while (sem_wait(&bell->work))
			;
		if (__atomic_load_n(&bell->stop, __ATOMIC_ACQUIRE))
			return NULL;
		__atomic_store_n(&bell->rung, false, __ATOMIC_SEQ_CST);
		pthread_mutex_lock(bell->mutex);
		pthread_cond_broadcast(bell->cond);
		pthread_mutex_unlock(bell->mutex);
	}
}

/* Returns NULL if no memory or thread is available. */
static struct ofi_bell *bell_open(pthread_mutex_t *mutex, pthread_cond_t *cond)
{
	struct ofi_bell *bell = calloc(1, sizeof(*bell));

	if (!bell)
		return NULL;
	bell->mutex = mutex;
	bell->cond = cond;
	sem_init(&bell->work, 0, 0);
	if (!ofi_thread_start(&bell->thread, bell_thread, bell))
		return bell;
	sem_destroy(&bell->work);
	free(bell);
	return NULL;
}

static void bell_close(struct ofi_bell *bell)
{
	if (!bell)
		return;
	__atomic_store_n(&bell->stop, true, __ATOMIC_RELEASE);
	sem_post(&bell->work);
	pthread_join(bell->thread, NULL);
	sem_destroy(&bell->work);
	free(bell);
}

/* Wakes the threads waiting on the condition as soon as the mutex is free. Never blocks. */
static void bell_ring(struct ofi_bell *bell)
{
	if (!__atomic_exchange_n(&bell->rung, true, __ATOMIC_SEQ_CST))
		sem_post(&bell->work);
}

int ofi_wait_left(uint64_t start, int timeout)
{
	uint64_t spent;

	if (timeout < 0)
		return timeout;
	spent = ofi_now_ms() - start;
	return spent >= (uint64_t)timeout ? 0 : timeout - (int)spent;
}

int ofi_wait_init(struct ofi_wait *wait, enum fi_wait_obj obj)
{
	*wait = (struct ofi_wait){ .obj = obj, .fd = -1 };
	ofi_lock_init(&wait->lock);
	pthread_mutex_init(&wait->mutex, NULL);
	pthread_cond_init(&wait->cond, NULL);
	switch (obj) {
	case FI_WAIT_NONE:
	case FI_WAIT_YIELD:
	case FI_WAIT_MUTEX_COND:
		return 0;
	case FI_WAIT_UNSPEC:
	case FI_WAIT_FD:
	case FI_WAIT_POLLFD:
	case FI_WAIT_SET:
		wait->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		return wait->fd < 0 ? -errno : 0;
	default:
		return -FI_ENOSYS;
	}
}

void ofi_wait_fini(struct ofi_wait *wait)
{
	bell_close(wait->bell);
	wait->bell = NULL;
	if (wait->fd >= 0)
		close(wait->fd);
	wait->fd = -1;
	pthread_cond_destroy(&wait->cond);
	pthread_mutex_destroy(&wait->mutex);
}

/*
 * Must not wait for the mutex: the caller may hold locks that the application waits for while it
 * holds the mutex, or may be the application itself. Until the application has asked for the mutex,
 * only other signaling threads hold it, and only briefly.
 */
static void wait_announce(struct ofi_wait *wait)
{
	struct ofi_bell *bell;

	syscall(SYS_futex, &wait->signals, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
	while (pthread_mutex_trylock(&wait->mutex)) {
		bell = __atomic_load_n(&wait->bell, __ATOMIC_ACQUIRE);
		if (bell) {
			bell_ring(bell);
			return;
		}
		sched_yield();
	}
	pthread_cond_broadcast(&wait->cond);
	pthread_mutex_unlock(&wait->mutex);
}

void ofi_wait_signal(struct ofi_wait *wait)
{
	const uint64_t one = 1;

	ofi_lock(&wait->lock);
	wait->late = wait->sleepers;
	__atomic_store_n(&wait->signalled, true, __ATOMIC_RELEASE);
	__atomic_store_n(&wait->signals, wait->signals + 1, __ATOMIC_RELEASE);
	/*
	 * This fails only if the counter is at its limit, and then the descriptor is readable
	 * anyway.
	 */
	if (wait->fd >= 0)
		(void)!write(wait->fd, &one, sizeof(one));
	ofi_unlock(&wait->lock);
	if (wait->obj == FI_WAIT_MUTEX_COND)
		wait_announce(wait);
}

bool ofi_wait_clear(struct ofi_wait *wait)
{
	uint64_t count;
	bool cleared;

	if (!__atomic_load_n(&wait->signalled, __ATOMIC_ACQUIRE))
		return false;
	ofi_lock(&wait->lock);
	cleared = wait->signalled && !wait->late;
	if (cleared) {
		__atomic_store_n(&wait->signalled, false, __ATOMIC_RELAXED);
		if (wait->fd >= 0)
			(void)!read(wait->fd, &count, sizeof(count));
	}
	ofi_unlock(&wait->lock);
	return cleared;
}

void ofi_wait_end(struct ofi_wait *wait)
{
	__atomic_add_fetch(&wait->ends, 1, __ATOMIC_RELEASE);
	ofi_wait_signal(wait);
}

void ofi_sleeper_begin(struct ofi_sleeper *sleeper, struct ofi_wait *wait)
{
	sleeper->wait = wait;
	sleeper->ended = __atomic_load_n(&wait->ended, __ATOMIC_RELAXED);
	sleeper->joined = false;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &sleeper->cancel);
}

bool ofi_sleeper_ended(const struct ofi_sleeper *sleeper)
{
	struct ofi_wait *wait = sleeper->wait;
	uint32_t ends = __atomic_load_n(&wait->ends, __ATOMIC_ACQUIRE);

	if (ends == sleeper->ended)
		return false;
	__atomic_store_n(&wait->ended, ends, __ATOMIC_RELAXED);
	return true;
}

static void sleeper_forget(void *arg)
{
	struct ofi_sleeper *sleeper = arg;
	struct ofi_wait *wait = sleeper->wait;

	if (!sleeper->joined)
		return;
	ofi_lock(&wait->lock);
	wait->sleepers--;
	if (sleeper->seen != wait->signals)
		wait->late--;
	ofi_unlock(&wait->lock);
	sleeper->joined = false;
}

static int not_at_all(void *object, int timeout)
{
	(void)object;
	return timeout;
}

void ofi_sleeper_look(struct ofi_sleeper *sleeper)
{
	struct ofi_wait *wait = sleeper->wait;

	/* A call that always finds something to do does not sleep, but can be canceled. */
	ofi_sleeper_sleep(sleeper, not_at_all, NULL, 0);
	ofi_lock(&wait->lock);
	if (!sleeper->joined)
		wait->sleepers++;
	else if (sleeper->seen != wait->signals)
		wait->late--;
	sleeper->joined = true;
	sleeper->seen = wait->signals;
	ofi_unlock(&wait->lock);
}

void ofi_sleeper_leave(struct ofi_sleeper *sleeper)
{
	sleeper_forget(sleeper);
	pthread_setcancelstate(sleeper->cancel, NULL);
}

/* The thread can be canceled at any instruction: not every sleep is a cancellation point. */
int ofi_sleeper_sleep(struct ofi_sleeper *sleeper, int (*sleep)(void *object, int timeout),
		      void *object, int timeout)
{
	int type, ret;

	pthread_cleanup_push(sleeper_forget, sleeper);
	pthread_setcancelstate(sleeper->cancel, NULL);
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
	ret = sleep(object, timeout);
	pthread_setcanceltype(type, NULL);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	pthread_cleanup_pop(0);
	return ret;
}

static int sleep_fd(struct ofi_wait *wait, int timeout)
{
	struct pollfd pfd = { .fd = wait->fd, .events = POLLIN };
	int ret = poll(&pfd, 1, timeout);

	if (ret < 0)
		return -errno;
	return ret ? 0 : -FI_ETIMEDOUT;
}

/* Does not use the mutex, which the application may hold, even around the call that sleeps. */
static int sleep_word(struct ofi_wait *wait, int timeout)
{
	struct timespec left = { .tv_sec = timeout / 1000,
				 .tv_nsec = (long)(timeout % 1000) * 1000000 };
	uint32_t seen = __atomic_load_n(&wait->signals, __ATOMIC_ACQUIRE);

	if (__atomic_load_n(&wait->signalled, __ATOMIC_ACQUIRE))
		return 0;
	if (!syscall(SYS_futex, &wait->signals, FUTEX_WAIT_PRIVATE, seen,
		     timeout < 0 ? NULL : &left, NULL, 0))
		return 0;
	return errno == EAGAIN ? 0 : -errno;
}

int ofi_wait_sleep(struct ofi_wait *wait, int timeout)
{
	switch (wait->obj) {
	case FI_WAIT_SET:
		return -FI_EINVAL;
	case FI_WAIT_NONE:
	case FI_WAIT_YIELD:
		sched_yield();
		return timeout ? 0 : -FI_ETIMEDOUT;
	case FI_WAIT_MUTEX_COND:
		return sleep_word(wait, timeout);
	default:
		return sleep_fd(wait, timeout);
	}
}

static int get_pollfd(const struct ofi_wait *wait, struct fi_wait_pollfd *arg)
{
	size_t room = arg->nfds;

	arg->nfds = 1;
	arg->change_index = 1;
	if (room < 1 || !arg->fd)
		return -FI_ETOOSMALL;
	arg->fd[0] = (struct pollfd){ .fd = wait->fd, .events = POLLIN };
	return 0;
}

/* Gives the mutex to the application, which may from now on hold it while a signal is needed. */
static int share_mutex(struct ofi_wait *wait, struct fi_mutex_cond *arg)
{
	struct ofi_bell *bell;

	ofi_lock(&wait->lock);
	bell = wait->bell ? wait->bell : bell_open(&wait->mutex, &wait->cond);
	__atomic_store_n(&wait->bell, bell, __ATOMIC_RELEASE);
	ofi_unlock(&wait->lock);
	if (!bell)
		return -FI_ENOMEM;
	*arg = (struct fi_mutex_cond){ .mutex = &wait->mutex, .cond = &wait->cond };
	return 0;
}

static int get_wait(struct ofi_wait *wait, void *arg)
{
	switch (wait->obj) {
	case FI_WAIT_UNSPEC:
	case FI_WAIT_FD:
		*(int *)arg = wait->fd;
		return 0;
	case FI_WAIT_POLLFD:
		return get_pollfd(wait, arg);
	case FI_WAIT_MUTEX_COND:
		return share_mutex(wait, arg);
	default:
		return -FI_ENODATA;
	}
}

int ofi_wait_watch(int epfd, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };

	if (epfd < 0 || fd < 0)
		return 0;
	return epoll_ctl(epfd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

int ofi_wait_control(const struct fi_provider *prov, struct ofi_wait *wait, int command, void *arg)
{
	int ret = -FI_ENOSYS;

	if (!arg)
		return ofi_refuse_null(prov, FI_LOG_FABRIC, "fi_control", "arg");
	if (command == FI_GETWAITOBJ) {
		*(enum fi_wait_obj *)arg = wait->obj == FI_WAIT_UNSPEC ? FI_WAIT_FD : wait->obj;
		return 0;
	}
	if (command == FI_GETWAIT)
		ret = get_wait(wait, arg);
	if (ret)
		ofi_decline(
			prov, FI_LOG_FABRIC, ret,
			"fi_control: command %d: %s; this object supports FI_GETWAITOBJ, and FI_GETWAIT unless it was opened with FI_WAIT_NONE, SET or YIELD\n",
			command, fi_strerror(-ret));
	return ret;
}
