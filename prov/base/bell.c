/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A thread that signals a condition variable on behalf of threads that must not wait for its mutex.
 */
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include "bell.h"

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

/* Signals for the application must not be delivered to this thread. */
static int bell_start(struct ofi_bell *bell)
{
	sigset_t every, before;
	int err;

	sigfillset(&every);
	pthread_sigmask(SIG_SETMASK, &every, &before);
	err = pthread_create(&bell->thread, NULL, bell_thread, bell);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return err;
}

struct ofi_bell *ofi_bell_open(pthread_mutex_t *mutex, pthread_cond_t *cond)
{
	struct ofi_bell *bell = calloc(1, sizeof(*bell));

	if (!bell)
		return NULL;
	bell->mutex = mutex;
	bell->cond = cond;
	sem_init(&bell->work, 0, 0);
	if (!bell_start(bell))
		return bell;
	sem_destroy(&bell->work);
	free(bell);
	return NULL;
}

void ofi_bell_close(struct ofi_bell *bell)
{
	if (!bell)
		return;
	__atomic_store_n(&bell->stop, true, __ATOMIC_RELEASE);
	sem_post(&bell->work);
	pthread_join(bell->thread, NULL);
	sem_destroy(&bell->work);
	free(bell);
}

void ofi_bell_ring(struct ofi_bell *bell)
{
	if (!__atomic_exchange_n(&bell->rung, true, __ATOMIC_SEQ_CST))
		sem_post(&bell->work);
}
