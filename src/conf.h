/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Values of FI_* parameters: the environment, and libfabric.conf of the machine. */
#ifndef OFI_CONF_H
#define OFI_CONF_H

#include <stddef.h>

/*
 * The value of a variable, NULL if it has none: of the environment, else of the file; the other way
 * round if FI_PREFER_SYSCONFIG says so. Valid as long as the environment is not changed.
 */
const char *ofi_conf_get(const char *env);
/* The same, but the environment does not count in a program with privileges of its file. */
const char *ofi_conf_get_secure(const char *env);
/* The variable of the file's entry number i, NULL behind the last. */
const char *ofi_conf_name(size_t i);
/* Logs which lines of the file are no assignments, if it can't be read, once. */
void ofi_conf_report(void);
void ofi_conf_fini(void);

/* For tests: another file, or none. Forgets what was read. */
void ofi_conf_load(const char *path);

#endif
