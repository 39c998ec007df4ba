/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The process that fi_stat watches: its name, and whether it has ended. */
#ifndef STAT_PROCESS_H
#define STAT_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

struct stat_process {
	pid_t pid;
	unsigned long long started; /* distinguishes it from a later process of the same number */
	char name[32];
};

/* Returns false if there is no such process, or only a zombie. */
bool stat_process_find(struct stat_process *process, pid_t pid);
bool stat_process_has_ended(const struct stat_process *process);

#endif
