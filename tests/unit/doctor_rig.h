/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A made-up host for the checks of fi_doctor: files below a root, and what is said of them. */
#ifndef DOCTOR_RIG_H
#define DOCTOR_RIG_H

#include "util/doctor.h"

extern struct doctor doctor;

/* For cmocka: an empty root, no variable set that the checks read. */
int rig_setup(void **state);
int rig_teardown(void **state);

/* Makes or replaces a file, with the directories that it is in. */
void rig_file(const char *path, const char *text);
void rig_link(const char *path, const char *target);
void rig_remove(const char *path);
/* rxe0 on eth0 as on a healthy host. */
void rig_healthy(void);

/* What is said between the two; each finding but what is well has a remedy. */
void rig_listen(void);
void rig_heard(void);
/* There was a line of this level that has these texts. */
void rig_expect(const char *level, const char *what, const char *fix);
/* There was none of this level. */
void rig_none(const char *level);

#endif
