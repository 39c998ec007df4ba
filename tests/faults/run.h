/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Lets each call of some functions fail in turn, in a process of its own, until one run has no such
 * call.
 */
#ifndef RUN_H
#define RUN_H

#include "script.h"

/* main() of a test; functions ends with NULL, arguments replace it: FUNCTION [N]. */
int run_faults(int argc, char **argv, const char *const *functions);
/* With a script other than script_run. */
int run_faults_of(int argc, char **argv, const char *const *functions, script_fn *script);

#endif
