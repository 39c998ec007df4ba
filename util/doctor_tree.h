/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reads the files of /sys, /proc and /dev below a root directory. */
#ifndef DOCTOR_TREE_H
#define DOCTOR_TREE_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * The first line that starts with prefix, without its newline. False, and "", when there is none.
 */
bool tree_line(const char *root, const char *prefix, char *buf, size_t len, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
/* A number, or what it is instead. */
long tree_number(const char *root, long instead, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
bool tree_exists(const char *root, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The last part of where a link leads to. */
bool tree_link(const char *root, char *buf, size_t len, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* The names in a directory in order, free with tree_free. How many; 0 when there is none. */
int tree_list(const char *root, struct dirent ***names, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void tree_free(struct dirent **names, int count);

#endif
