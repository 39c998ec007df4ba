/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Prints the findings of fi_doctor. */
#include "doctor.h"

#include <stdarg.h>

static const char *const levels[DOCTOR_LEVELS] = { "ok", "note", "warn", "fail" };

void doctor_start(struct doctor *doctor, FILE *out)
{
	doctor->json.out = out;
	doctor->usec = -1;
	if (!doctor->as_json)
		return;
	json_object(&doctor->json, NULL);
	json_array(&doctor->json, "findings");
}

void doctor_end(struct doctor *doctor)
{
	const unsigned int *counts = doctor->counts;
	int level;

	if (!doctor->as_json) {
		fprintf(doctor->json.out, "%u ok, %u note, %u warn, %u fail\n", counts[DOCTOR_OK],
			counts[DOCTOR_NOTE], counts[DOCTOR_WARN], counts[DOCTOR_FAIL]);
		return;
	}
	json_array_end(&doctor->json);
	json_object(&doctor->json, "counts");
	for (level = 0; level < DOCTOR_LEVELS; level++)
		json_uint(&doctor->json, levels[level], counts[level]);
	json_object_end(&doctor->json);
	json_object_end(&doctor->json);
}

void doctor_fix(struct doctor *doctor, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(doctor->fix, sizeof(doctor->fix), fmt, args);
	va_end(args);
}

static void say_json(struct doctor *doctor, enum doctor_level level)
{
	struct json *json = &doctor->json;

	json_object(json, NULL);
	json_string(json, "level", levels[level]);
	json_string(json, "topic", doctor->topic);
	json_string(json, "what", doctor->what);
	json_string(json, "fix", doctor->fix[0] ? doctor->fix : NULL);
	if (doctor->usec >= 0)
		json_int(json, "usec", doctor->usec);
	json_object_end(json);
}

static void say_text(const struct doctor *doctor, enum doctor_level level)
{
	FILE *out = doctor->json.out;

	fprintf(out, "%-4s  %s", levels[level], doctor->what);
	if (doctor->usec >= 0)
		fprintf(out, "  (%.3f ms)", (double)doctor->usec / 1e3);
	if (doctor->fix[0])
		fprintf(out, "  -> %s", doctor->fix);
	fputc('\n', out);
}

void doctor_say(struct doctor *doctor, enum doctor_level level, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(doctor->what, sizeof(doctor->what), fmt, args);
	va_end(args);
	doctor->counts[level]++;
	if (doctor->as_json)
		say_json(doctor, level);
	else if (level != DOCTOR_OK || !doctor->quiet)
		say_text(doctor, level);
	fflush(doctor->json.out);
	doctor->fix[0] = '\0';
	doctor->usec = -1;
}
