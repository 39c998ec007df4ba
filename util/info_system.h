/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Explains what the system lacks for RDMA if no device was found. */
#ifndef INFO_SYSTEM_H
#define INFO_SYSTEM_H

/* Calls `say` once for each finding with its remedy. root is "" for the running system. */
void info_system_check(const char *root, void (*say)(void *context, const char *text),
		       void *context);

#endif
