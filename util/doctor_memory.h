/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How much memory may be locked, and is registered memory safe from fork and on huge pages, is
 * freeing it told?
 */
#ifndef DOCTOR_MEMORY_H
#define DOCTOR_MEMORY_H

#include <stdbool.h>

#include "doctor.h"

#define DOCTOR_REGISTER (64UL << 20) /* bytes that an application may well register */

void doctor_memory(struct doctor *doctor);
/*
 * What userfaultfd(2) ended with, 0 or errno; `old`: the kernel does not know UFFD_USER_MODE_ONLY.
 */
void doctor_userfaultfd(struct doctor *doctor, int err, bool old);

#endif
