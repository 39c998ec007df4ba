/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A simulated host for the checks of fi_doctor: files below a root, and the findings. */
#ifndef DOCTOR_RIG_H
#define DOCTOR_RIG_H

#include "util/doctor.h"

extern struct doctor doctor;

/* cmocka setup: an empty root, and no environment variable set that the checks read. */
int rig_setup(void **state);
int rig_teardown(void **state);

/* Sets a variable in libfabric.conf, over which the environment takes precedence. */
void rig_conf(const char *name, const char *value);
/* Creates or replaces a file, including its directories. */
void rig_file(const char *path, const char *text);
void rig_link(const char *path, const char *target);
void rig_remove(const char *path);
/* Creates rxe0 on eth0 as on a healthy host. */
void rig_healthy(void);

/* Captures the findings between the two; each problem must have a remedy. */
void rig_listen(void);
void rig_heard(void);
/* Checks that there was a line of this level with these texts. */
void rig_expect(const char *level, const char *what, const char *fix);
/* Checks that there was no line of this level. */
void rig_none(const char *level);

#endif
