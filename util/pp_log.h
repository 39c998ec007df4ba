/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Messages of fi_pingpong, on standard error. */
#ifndef PP_LOG_H
#define PP_LOG_H

#include <stdbool.h>

extern bool pp_verbose;

void pp_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void pp_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Prints which libfabric call failed and returns ret. */
int pp_failed(const char *call, int ret);

#endif
