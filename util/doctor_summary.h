/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Prints what a bug report should say about a host. */
#ifndef DOCTOR_SUMMARY_H
#define DOCTOR_SUMMARY_H

#include "doctor_port.h"

/* library is what it says about its version, NULL if it is not used. */
void doctor_summary(struct doctor *doctor, const struct doctor_ports *ports, const char *library);

#endif
