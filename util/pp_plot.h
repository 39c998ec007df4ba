/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The text histogram of --plot. */
#ifndef PP_PLOT_H
#define PP_PLOT_H

#include <stdio.h>

#include "pp_hist.h"

/*
 * Prints a line for each interval of time: where it starts in microseconds, the number of samples,
 * and a bar. The last line has the slowest percent of them, if there are a hundred.
 */
void pp_plot(FILE *out, const struct pp_hist *hist);

#endif
