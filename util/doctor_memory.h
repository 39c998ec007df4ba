/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Checks how much memory may be locked, whether registered memory is safe from fork and on huge
 * pages, and whether freeing it is reported.
 */
#ifndef DOCTOR_MEMORY_H
#define DOCTOR_MEMORY_H

#include <stdbool.h>

#include "doctor.h"

#define DOCTOR_REGISTER (64UL << 20) /* a realistic amount of memory to register */

void doctor_memory(struct doctor *doctor);
/*
 * Reports the result of userfaultfd(2), 0 or errno; `old` means that the kernel does not know
 * UFFD_USER_MODE_ONLY.
 */
void doctor_userfaultfd(struct doctor *doctor, int err, bool old);

#endif
