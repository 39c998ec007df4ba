/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The process that fi_stat watches: its name, and whether it has ended. */
#include "stat_process.h"

#include <stdio.h>
#include <string.h>

/* Copies what is between the parentheses; the name may contain some itself. */
static void copy_name(struct stat_process *process, const char *start, const char *end)
{
	snprintf(process->name, sizeof(process->name), "%.*s", (int)(end - start), start);
}

/* Parses the text of /proc/PID/stat, see proc(5): "PID (NAME) STATE" and many numbers. */
static bool parse(struct stat_process *process, const char *text)
{
	const char *name = strchr(text, '('), *end = strrchr(text, ')');
	char state;

	if (!name || !end || end < name)
		return false;
	copy_name(process, name + 1, end);
	if (sscanf(end + 1,
		   " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
		   &state, &process->started) != 2)
		return false;
	return state != 'Z' && state != 'X';
}

bool stat_process_find(struct stat_process *process, pid_t pid)
{
	char path[32], text[1024];
	size_t len;
	FILE *file;

	*process = (struct stat_process){ .pid = pid };
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	len = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[len] = '\0';
	return parse(process, text);
}

bool stat_process_has_ended(const struct stat_process *process)
{
	struct stat_process now;

	return !stat_process_find(&now, process->pid) || now.started != process->started;
}
