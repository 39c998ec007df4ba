/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A wait object that software signals: a file descriptor, a mutex and condition, or yielding. */
#ifndef OFI_WAIT_H
#define OFI_WAIT_H

#include <pthread.h>
#include <stdbool.h>
#include <rdma/fi_eq.h>

struct ofi_wait {
	enum fi_wait_obj obj;  /* as opened; FI_WAIT_UNSPEC is served by a descriptor */
	int fd;		       /* eventfd of FD, POLLFD, UNSPEC and SET, else -1 */
	pthread_mutex_t mutex; /* of MUTEX_COND; the application may hold it while it calls us */
	pthread_cond_t cond;
	bool signalled; /* atomic: since the last clear */
};

/* -FI_ENOSYS for a kind it does not serve. */
int ofi_wait_init(struct ofi_wait *wait, enum fi_wait_obj obj);
void ofi_wait_fini(struct ofi_wait *wait);
/* Takes the mutex of MUTEX_COND: not to be called with a lock that ofi_wait_clear's caller holds. */
void ofi_wait_signal(struct ofi_wait *wait);
/*
 * Takes back the signals so far. Call it only when there is nothing to wake anybody for, under the
 * lock under which events are queued: a signal that comes after that is for a later event.
 */
void ofi_wait_clear(struct ofi_wait *wait);
/*
 * Sleeps until a signal or the time-out (ms, negative is for ever). 0, -FI_ETIMEDOUT or -FI_EINTR.
 * FI_WAIT_YIELD gives up the processor once and returns 0 while there is time left.
 */
int ofi_wait_sleep(struct ofi_wait *wait, int timeout);
/* Serves FI_GETWAIT and FI_GETWAITOBJ. */
int ofi_wait_control(struct ofi_wait *wait, int command, void *arg);
/* Milliseconds left of a time-out that began at start (ofi_now_ms); negative stays negative. */
int ofi_wait_left(uint64_t start, int timeout);
uint64_t ofi_now_ms(void);

#endif
