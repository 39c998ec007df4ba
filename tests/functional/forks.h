/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Forked children that go on without executing anything. */
#ifndef FORKS_H
#define FORKS_H

#include <stdbool.h>
#include <sys/types.h>
#include "check.h"

/* With RDMAV_FORK_SAFE libibverbs takes the pages of registered memory from the child. */
bool fork_takes_pages(void);
/* A child that runs the function, and exits with 0 when it returns. */
pid_t fork_child(void (*child)(void *arg), void *arg);
/* One that exits by itself, with 0, or one that goes on until it is killed. */
void fork_end(pid_t pid, bool exits);
/* Runs a test as it is, with FI_FORK_UNSAFE, and with RDMAV_FORK_SAFE. What main() returns. */
int fork_run(void (*test)(void *arg));

#endif
