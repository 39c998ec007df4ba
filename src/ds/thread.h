/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Threads of the library. */
#ifndef OFI_THREAD_H
#define OFI_THREAD_H

#include <pthread.h>

/*
 * Starts a thread with all signals blocked, because signals are for the application. Returns 0 or
 * an errno: ENOMEM if the limit of threads is reached, because an application tries again on
 * EAGAIN.
 */
int ofi_thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg);

#endif
