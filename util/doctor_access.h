/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Checks whether this user can open the device files. */
#ifndef DOCTOR_ACCESS_H
#define DOCTOR_ACCESS_H

#include "doctor.h"

void doctor_access(struct doctor *doctor);

#endif
