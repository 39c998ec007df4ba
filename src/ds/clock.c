/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The clock of all timeouts and ages. */
#include <time.h>
#include "clock.h"

uint64_t ofi_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}
