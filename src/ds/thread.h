/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Threads of the library. */
#ifndef OFI_THREAD_H
#define OFI_THREAD_H

#include <pthread.h>

/*
 * Starts a thread with the signals blocked that may come from outside, because these are for the
 * application; what its own instructions cause, such as SIGSEGV, reaches the application's handler.
 * Returns 0 or an errno: ENOMEM if the limit of threads is reached, because an application tries
 * again on EAGAIN.
 */
int ofi_thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg);

#endif
