/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A peer that stops at each step of the protocol, and is then killed or resumed. */
#ifndef RDM_POINTS_H
#define RDM_POINTS_H

#include <stdbool.h>

/* Runs the whole table. Returns the exit status. */
int points_run(bool killed);

#endif
