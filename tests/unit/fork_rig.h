/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Forks in the middle of a call of another thread. The program wraps pthread_mutex_unlock. */
#ifndef FORK_RIG_H
#define FORK_RIG_H

/*
 * Makes the call in a thread, once for each mutex that it releases: the process forks just before
 * that, and the child makes the call, too.
 */
void fork_amid(void (*call)(void));

#endif
