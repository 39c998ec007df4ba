/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Values of FI_* parameters, from the environment and from the machine's libfabric.conf. */
#ifndef OFI_CONF_H
#define OFI_CONF_H

#include <stddef.h>

/*
 * Returns the value of a variable, or NULL if it has none. The environment takes precedence over
 * the file, unless FI_PREFER_SYSCONFIG reverses that. The result is valid until the environment
 * changes.
 */
const char *ofi_conf_get(const char *env);
/* The same, but ignores the environment in a program with elevated privileges, such as setuid. */
const char *ofi_conf_get_secure(const char *env);
/* Returns the variable of the file's i-th entry, or NULL after the last. */
const char *ofi_conf_name(size_t i);
/*
 * Logs the first line of the file that is not an assignment, or that the file cannot be read, and
 * variables that are ignored because the program has elevated privileges.
 */
void ofi_conf_report(void);
/*
 * Returns the error with which fi_getinfo has to fail: the process was short of memory or file
 * descriptors when it read the file, and does not know what the file demands. Otherwise 0.
 */
int ofi_conf_error(void);
void ofi_conf_fini(void);

/* Discards all entries and reads another file, or none; for tests. */
void ofi_conf_load(const char *path);

#endif
