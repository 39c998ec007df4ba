/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A thread that signals a condition variable on behalf of threads that must not wait for its mutex.
 */
#ifndef OFI_BELL_H
#define OFI_BELL_H

#include <pthread.h>

struct ofi_bell;

/* Returns NULL if no memory or thread is available. */
struct ofi_bell *ofi_bell_open(pthread_mutex_t *mutex, pthread_cond_t *cond);
void ofi_bell_close(struct ofi_bell *bell);
/* Wakes the threads waiting on the condition as soon as the mutex is free. Never blocks. */
void ofi_bell_ring(struct ofi_bell *bell);

#endif
