/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Mutexes in static memory that no thread holds while the process forks: fork waits for the holder,
 * and a child can take them.
 */
#ifndef OFI_FORK_H
#define OFI_FORK_H

#include <pthread.h>

/*
 * The holder of an outer mutex may take inner ones, and that of an inner one innermost ones. The
 * numbers are the order of constructors: fork takes the mutexes in the opposite order.
 */
enum { OFI_FORK_INNERMOST = 1000, OFI_FORK_INNER = 1001, OFI_FORK_OUTER = 1002 };

#define OFI_FORK_MUTEX(mutex, order)                                            \
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;               \
	static void mutex##_take(void)                                          \
	{                                                                       \
		pthread_mutex_lock(&mutex);                                     \
	}                                                                       \
	static void mutex##_release(void)                                       \
	{                                                                       \
		pthread_mutex_unlock(&mutex);                                   \
	}                                                                       \
	__attribute__((constructor(order))) static void mutex##_watch(void)     \
	{                                                                       \
		pthread_atfork(mutex##_take, mutex##_release, mutex##_release); \
	}                                                                       \
	_Static_assert(order >= OFI_FORK_INNERMOST && order <= OFI_FORK_OUTER, "an order")

#endif
