/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Findings of fi_doctor: each is a line with what was found and the command that fixes it. */
#ifndef DOCTOR_H
#define DOCTOR_H

#include <stdbool.h>
#include <stdio.h>

#include "json.h"

enum doctor_level {
	DOCTOR_OK,
	DOCTOR_NOTE,
	DOCTOR_WARN,
	DOCTOR_FAIL,
	DOCTOR_LEVELS,
};

struct doctor {
	const char *root; /* root of /sys, /proc and /dev; "" for the running system */
	bool as_json;
	bool quiet; /* suppresses findings without problems */
	struct json json;
	const char *topic;
	long usec;	/* duration for the next finding, -1 if it has none */
	char fix[512];	/* remedy for the next finding */
	char what[512]; /* text of the last finding */
	unsigned int counts[DOCTOR_LEVELS];
};

void doctor_start(struct doctor *doctor, FILE *out);
void doctor_end(struct doctor *doctor);

/* Sets the remedy of the next finding. */
void doctor_fix(struct doctor *doctor, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void doctor_say(struct doctor *doctor, enum doctor_level level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
