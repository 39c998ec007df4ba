/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reads the files of /sys, /proc and /dev below a root directory. */
#ifndef DOCTOR_TREE_H
#define DOCTOR_TREE_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * Reads the first line that starts with prefix, without its newline. Returns false and "" if there
 * is none.
 */
bool tree_line(const char *root, const char *prefix, char *buf, size_t len, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
/* Calls `each` for all lines of a file, without newlines. */
void tree_each_line(const char *root, void (*each)(void *arg, const char *line), void *arg,
		    const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* Returns the number in a file, or `instead`. */
long tree_number(const char *root, long instead, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
bool tree_exists(const char *root, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Returns the last component of a link's target. */
bool tree_link(const char *root, char *buf, size_t len, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/*
 * Lists a directory in order; tree_free() frees the names. Returns their number, 0 if the directory
 * does not exist.
 */
int tree_list(const char *root, struct dirent ***names, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void tree_free(struct dirent **names, int count);

#endif
