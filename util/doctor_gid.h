/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reports which GID of a port would be used, and why. */
#ifndef DOCTOR_GID_H
#define DOCTOR_GID_H

#include "doctor.h"
#include "doctor_port.h"

void doctor_gids_check(struct doctor *doctor, const struct doctor_ports *ports);

#endif
