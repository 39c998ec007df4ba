/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reads the files of /sys, /proc and /dev below a root directory. */
#include "doctor_tree.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct path {
	char text[PATH_MAX];
};

static void make_path(struct path *path, const char *root, const char *fmt, va_list args)
{
	size_t len = (size_t)snprintf(path->text, sizeof(path->text), "%s", root);

	if (len < sizeof(path->text))
		vsnprintf(path->text + len, sizeof(path->text) - len, fmt, args);
}

static bool read_line(const char *path, const char *prefix, char *buf, size_t len)
{
	FILE *file = fopen(path, "re");
	bool found = false;

	while (file && !found && fgets(buf, (int)len, file))
		found = !strncmp(buf, prefix, strlen(prefix));
	if (file)
		fclose(file);
	if (!found)
		buf[0] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
	return found;
}

bool tree_line(const char *root, const char *prefix, char *buf, size_t len, const char *fmt, ...)
{
	struct path path;
	va_list args;

	va_start(args, fmt);
	make_path(&path, root, fmt, args);
	va_end(args);
	return read_line(path.text, prefix, buf, len);
}

void tree_each_line(const char *root, void (*each)(void *arg, const char *line), void *arg,
		    const char *fmt, ...)
{
	struct path path;
	char line[512];
	va_list args;
	FILE *file;

	va_start(args, fmt);
	make_path(&path, root, fmt, args);
	va_end(args);
	file = fopen(path.text, "re");
	while (file && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		each(arg, line);
	}
	if (file)
		fclose(file);
}

long tree_number(const char *root, long instead, const char *fmt, ...)
{
	struct path path;
	char text[64], *end;
	va_list args;
	long value;

	va_start(args, fmt);
	make_path(&path, root, fmt, args);
	va_end(args);
	if (!read_line(path.text, "", text, sizeof(text)))
		return instead;
	value = strtol(text, &end, 0);
	return end == text ? instead : value;
}

bool tree_exists(const char *root, const char *fmt, ...)
{
	struct path path;
	va_list args;

	va_start(args, fmt);
	make_path(&path, root, fmt, args);
	va_end(args);
	return !access(path.text, F_OK);
}

bool tree_link(const char *root, char *buf, size_t len, const char *fmt, ...)
{
	struct path path, target;
	const char *base;
	va_list args;
	ssize_t n;

	va_start(args, fmt);
	make_path(&path, root, fmt, args);
	va_end(args);
	n = readlink(path.text, target.text, sizeof(target.text) - 1);
	if (n <= 0)
		return false;
	target.text[n] = '\0';
	base = strrchr(target.text, '/');
	snprintf(buf, len, "%s", base ? base + 1 : target.text);
	return true;
}

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

int tree_list(const char *root, struct dirent ***names, const char *fmt, ...)
{
	struct path path;
	va_list args;
	int count;

	va_start(args, fmt);
	make_path(&path, root, fmt, args);
	va_end(args);
	count = scandir(path.text, names, is_visible, versionsort);
	if (count < 0)
		*names = NULL;
	return count < 0 ? 0 : count;
}

void tree_free(struct dirent **names, int count)
{
	int i;

	for (i = 0; i < count; i++)
		free(names[i]);
	free(names);
}
