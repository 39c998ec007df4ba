/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Makes each call of some functions fail in turn, each in a separate process, until a run has no
 * such call.
 */
#ifndef RUN_H
#define RUN_H

#include "script.h"

/* Implements main() of a test. functions ends with NULL; the arguments FUNCTION [N] replace it. */
int run_faults(int argc, char **argv, const char *const *functions);
/* The same with a different script. */
int run_faults_of(int argc, char **argv, const char *const *functions, script_fn *script);

#endif
