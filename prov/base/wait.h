/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A wait object that software signals: a file descriptor, a mutex with a condition variable, or
 * yielding.
 */
#ifndef OFI_WAIT_H
#define OFI_WAIT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <rdma/fi_eq.h>
#include <rdma/providers/fi_prov.h>
#include "src/ds/clock.h"
#include "src/ds/lock.h"

struct ofi_bell;

struct ofi_wait {
	enum fi_wait_obj obj; /* as opened; FI_WAIT_UNSPEC uses a descriptor */
	int fd;		      /* eventfd for FD, POLLFD, UNSPEC and SET, else -1 */
	/* For MUTEX_COND; the application may hold it while it calls the library. */
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	/* Signals on our behalf once the application has the mutex; atomic. */
	struct ofi_bell *bell;
	/* Numbers of ofi_wait_end() calls, and of those that have ended a wait; atomic. */
	uint32_t ends, ended;
	/* True if signaled since the last clear; atomic, changed with the lock held. */
	bool signalled;
	struct ofi_lock lock; /* guards what follows; innermost lock */
	/* number of signals; atomic; with MUTEX_COND, waiting calls sleep on it */
	uint32_t signals;
	unsigned int sleepers; /* number of waiting calls */
	unsigned int late;     /* number of these that have not checked since the last signal */
};

/*
 * A waiting call, possibly one of many. The event may be gone when it checks, but a signal persists
 * until every call that was waiting has checked.
 */
struct ofi_sleeper {
	struct ofi_wait *wait;
	uint32_t ended, seen;
	bool joined;
	int cancel; /* the thread's cancelability outside the call */
};

/* Returns -FI_ENOSYS for an unsupported kind. */
int ofi_wait_init(struct ofi_wait *wait, enum fi_wait_obj obj);
void ofi_wait_fini(struct ofi_wait *wait);
/*
 * Signals the object. May be called with any lock held, and by a thread that holds the mutex given
 * to the application.
 */
void ofi_wait_signal(struct ofi_wait *wait);
/*
 * Clears earlier signals unless some sleepers have not checked yet. Call it only if there is no
 * event to wake anyone for, and with the lock held that guards the queue of events: any later
 * signal is then for a later event. A caller without that lock that gets true must signal again if
 * there was an event. Returns true if a signal was cleared.
 */
bool ofi_wait_clear(struct ofi_wait *wait);
/* Ends all waiting calls, or the next one if there are none. */
void ofi_wait_end(struct ofi_wait *wait);

/* Begins a waiting call. Until it ends, its thread can be canceled only in the next two calls. */
void ofi_sleeper_begin(struct ofi_sleeper *sleeper, struct ofi_wait *wait);
/* Called before each check for the event, and so before each sleep. */
void ofi_sleeper_look(struct ofi_sleeper *sleeper);
/* Calls and returns sleep(object, timeout), which must hold and take nothing. */
int ofi_sleeper_sleep(struct ofi_sleeper *sleeper, int (*sleep)(void *object, int timeout),
		      void *object, int timeout);
/* Returns true if an ofi_wait_end() applies to this call. */
bool ofi_sleeper_ended(const struct ofi_sleeper *sleeper);
/* Ends the call. */
void ofi_sleeper_leave(struct ofi_sleeper *sleeper);

/*
 * Sleeps until a signal or the timeout (in ms, negative for no limit). Returns 0, -FI_ETIMEDOUT,
 * -FI_EINTR, or -FI_EINVAL for FI_WAIT_SET. With FI_WAIT_NONE and FI_WAIT_YIELD, yields the
 * processor once and returns 0 while time is left.
 */
int ofi_wait_sleep(struct ofi_wait *wait, int timeout);
/* Makes epfd readable while fd is, if both exist. Returns 0 or -FI_E*. */
int ofi_wait_watch(int epfd, int fd);
/* Implements FI_GETWAIT and FI_GETWAITOBJ. */
int ofi_wait_control(const struct fi_provider *prov, struct ofi_wait *wait, int command, void *arg);
/*
 * Returns the milliseconds left of a timeout that started at `start` (ofi_now_ms); negative
 * timeouts stay negative.
 */
int ofi_wait_left(uint64_t start, int timeout);

#endif
