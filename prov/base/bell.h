/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A thread that signals a condition for those who can't wait for its mutex. */
#ifndef OFI_BELL_H
#define OFI_BELL_H

#include <pthread.h>

struct ofi_bell;

/* NULL when out of memory or threads. */
struct ofi_bell *ofi_bell_open(pthread_mutex_t *mutex, pthread_cond_t *cond);
void ofi_bell_close(struct ofi_bell *bell);
/* Wakes the sleepers on the condition as soon as the mutex is free. Never waits. */
void ofi_bell_ring(struct ofi_bell *bell);

#endif
