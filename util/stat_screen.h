/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Draws a text over the previous one on a terminal. */
#ifndef STAT_SCREEN_H
#define STAT_SCREEN_H

#include <stdbool.h>
#include <stdio.h>

struct stat_screen {
	FILE *out;
	unsigned int lines, columns;
	bool drawn; /* there is a previous text */
};

/*
 * Folds lines that are too long. If there are more than the terminal has, the last one says how
 * many are not shown.
 */
void stat_screen_draw(struct stat_screen *screen, const char *text);

#endif
