/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A wait object that software signals: a file descriptor, a mutex and condition, or yielding. */
#ifndef OFI_WAIT_H
#define OFI_WAIT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <rdma/fi_eq.h>
#include <rdma/providers/fi_prov.h>
#include "src/ds/lock.h"

struct ofi_bell;

struct ofi_wait {
	enum fi_wait_obj obj;  /* as opened; FI_WAIT_UNSPEC is served by a descriptor */
	int fd;		       /* eventfd of FD, POLLFD, UNSPEC and SET, else -1 */
	pthread_mutex_t mutex; /* of MUTEX_COND; the application may hold it while it calls us */
	pthread_cond_t cond;
	struct ofi_bell *bell; /* signals for us once the application has the mutex; atomic */
	uint32_t ends, ended;  /* ofi_wait_end()s, and up to which they ended a call; atomic */
	bool signalled;	       /* since the last clear; atomic, changed with the lock held */
	struct ofi_lock lock;  /* guards what follows; no other is taken with it held */
	uint32_t signals;
	unsigned int sleepers; /* calls that wait */
	unsigned int late;     /* of them those that have not looked since the last signal */
};

/*
 * A call that waits, perhaps one of many. What it waits for may be gone when it looks; but a signal
 * stays until each that was there has looked.
 */
struct ofi_sleeper {
	uint32_t ended, seen;
	bool joined;
};

/* -FI_ENOSYS for a kind it does not serve. */
int ofi_wait_init(struct ofi_wait *wait, enum fi_wait_obj obj);
void ofi_wait_fini(struct ofi_wait *wait);
/* With any lock held, and by a thread that holds the mutex that the application got. */
void ofi_wait_signal(struct ofi_wait *wait);
/*
 * Takes back the signals so far, unless sleepers have not looked. Call it only when there is
 * nothing to wake anybody for, under the lock under which events are queued: a signal that comes
 * after that is for a later event. A caller that comes earlier, and gets true, has to signal when
 * there was something. True: there was a signal.
 */
bool ofi_wait_clear(struct ofi_wait *wait);
/* Ends the calls that wait, or the next one. */
void ofi_wait_end(struct ofi_wait *wait);

/* The call begins. */
static inline void ofi_sleeper_begin(struct ofi_sleeper *sleeper, const struct ofi_wait *wait)
{
	sleeper->ended = __atomic_load_n(&wait->ended, __ATOMIC_RELAXED);
	sleeper->joined = false;
}

/* Before it looks whether there is what it waits for, and then sleeps. */
void ofi_sleeper_look(struct ofi_sleeper *sleeper, struct ofi_wait *wait);
/* Whether ofi_wait_end() is for it. */
bool ofi_sleeper_ended(const struct ofi_sleeper *sleeper, struct ofi_wait *wait);
/* The call returns. */
void ofi_sleeper_leave(struct ofi_sleeper *sleeper, struct ofi_wait *wait);

/*
 * Sleeps until a signal or the time-out (ms, negative is forever). 0, -FI_ETIMEDOUT or -FI_EINTR.
 * FI_WAIT_YIELD gives up the processor once and returns 0 while there is time left.
 */
int ofi_wait_sleep(struct ofi_wait *wait, int timeout);
/* Serves FI_GETWAIT and FI_GETWAITOBJ. */
int ofi_wait_control(const struct fi_provider *prov, struct ofi_wait *wait, int command, void *arg);
/* Milliseconds left of a time-out that began at start (ofi_now_ms); negative stays negative. */
int ofi_wait_left(uint64_t start, int timeout);
uint64_t ofi_now_ms(void);

#endif
