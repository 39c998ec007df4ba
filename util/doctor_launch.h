/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Checks the limit of locked memory that processes get which a launcher of MPI starts here. */
#ifndef DOCTOR_LAUNCH_H
#define DOCTOR_LAUNCH_H

#include "doctor.h"

/* The user's rules in limits.conf count, beside those for everybody; NULL is an unnamed user. */
void doctor_launch(struct doctor *doctor, const char *user);

#endif
