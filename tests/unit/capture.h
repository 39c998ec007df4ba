/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Captures the output on stderr between two points of a test. */
#ifndef CAPTURE_H
#define CAPTURE_H

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static FILE *capture_file;
static int capture_saved;

static inline void capture_start(void)
{
	fflush(stderr);
	capture_file = tmpfile();
	capture_saved = dup(2);
	dup2(fileno(capture_file), 2);
}

/* Returns the text, which is valid until the next capture. */
static inline const char *capture_stop(void)
{
	static char text[16384];
	size_t len;

	fflush(stderr);
	dup2(capture_saved, 2);
	close(capture_saved);
	rewind(capture_file);
	len = fread(text, 1, sizeof(text) - 1, capture_file);
	text[len] = '\0';
	fclose(capture_file);
	return text;
}

#endif
