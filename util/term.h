/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the tools know of the terminal that they write to, if it is one. */
#ifndef TERM_H
#define TERM_H

#include <stdbool.h>
#include <stdio.h>

bool term_is(FILE *out);
/* Returns true for a terminal that has colors, unless NO_COLOR is set in the environment. */
bool term_has_colors(FILE *out);
/* Returns true for a terminal on which the cursor can be moved. */
bool term_is_screen(FILE *out);
/* Sets the size of the terminal, or 24 lines of 80 columns if it is unknown. */
void term_size(FILE *out, unsigned int *lines, unsigned int *columns);

#endif
