/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Forked children that continue without executing a program. */
#ifndef FORKS_H
#define FORKS_H

#include <stdbool.h>
#include <sys/types.h>
#include "check.h"

/*
 * Returns true if libibverbs takes the pages of registered memory from children (RDMAV_FORK_SAFE).
 */
bool fork_takes_pages(void);
/* Forks a child that runs the function and then exits with 0. */
pid_t fork_child(void (*child)(void *arg), void *arg);
/* Ends a child that exits by itself with 0, or one that must be killed. */
void fork_end(pid_t pid, bool exits);
/* Runs a test unchanged, with FI_FORK_UNSAFE, and with RDMAV_FORK_SAFE. Returns main()'s result. */
int fork_run(void (*test)(void *arg));

#endif
