/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The number of this process: how many forks led to it, and its ID, which clone() changes, too. */
#include "process.h"

#include <pthread.h>
#include <unistd.h>

static uint32_t forks;

static void count_fork(void)
{
	forks++;
}

__attribute__((constructor)) static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, count_fork);
}

uint64_t ofi_process(void)
{
	return (uint64_t)forks << 32 | (uint32_t)getpid();
}
