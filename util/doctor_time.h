/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* How long steps take. */
#ifndef DOCTOR_TIME_H
#define DOCTOR_TIME_H

#include <time.h>

static inline long doctor_usec(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (long)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

#endif
