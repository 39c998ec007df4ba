/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Parameters of the library as it takes them: from the environment or libfabric.conf. */
#ifndef DOCTOR_PARAM_H
#define DOCTOR_PARAM_H

#include "doctor.h"

/* Copies the value of a parameter. Returns false if it has none. */
bool doctor_param(const char *name, char *value, size_t len);
/* Returns true if a boolean parameter is set and true. */
bool doctor_param_on(const char *name);
/* Sets the remedy of the next finding: to remove the parameter where it is set. */
void doctor_param_fix(struct doctor *doctor, const char *name);

#endif
